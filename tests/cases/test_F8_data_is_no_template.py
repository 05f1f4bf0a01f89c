"""Templates are the operator's; what agents write is rendered once, as text."""

import re
from pathlib import Path

import pytest

from calls import Actor, call
from fleets import Scripted

DATA = [
    "{{ 7*7 }}", "{% raw %}x{% endraw %}", "{# gone #}", "{{ agent.__class__ }}", "{%- set x=1 -%}"
]  # fmt: skip
REACHING = [
    "{{ agent.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ '{0.__class__}'.format(agent) }}",
    "{{ self._TemplateReference__context }}",
    "{% for e in events.items %}{{ e.__init__ }}{% endfor %}{{ events.__dict__ }}",
    "{% include '/etc/passwd' %}",
    "{% include '../fleet.yaml' %}",
    "{% import 'os' as os %}",
    "{{ lipsum(1000000) }}",
    "{% for i in range(10**9) %}{{ i }}{% endfor %}",
]


def test_what_agents_write_is_never_rendered(tmp_path: Path) -> None:
    """F8: Jinja's marks in a post, an event, a report or a note stand literally in a prompt."""
    home = Scripted(tmp_path / "home")
    home.put(
        "prompts/loop.md.j2",
        "{% block context %}{{ you }}{{ awareness }}{{ events }}{{ channels }}{% endblock %}"
        "{% block task %}Work.\n{% for e in events.items %}{{ e.payload.n }}\n{% endfor %}"
        "{% endblock %}",
    )
    writer = Actor(home, "writer")
    reader = Actor(home, "reader", "collaborators: [writer]", "prompt: loop.md.j2")

    done = writer.does(
        *(call("post", "strategy", f"post {text}") for text in DATA),
        *(call("emit", "note", f"n=event {text}") for text in DATA),
        call("report", "report " + " ".join(DATA)),
    )
    reader.does(call("report", " ".join(DATA)))
    first = reader.prompt
    reader.does()

    assert {one.code for one in done} == {0}
    for text in DATA:
        assert f"post {text}" in first
        assert first.count(f"event {text}") == 2  # the section's line and the operator's own loop
    assert f"report {DATA[0]}" in first
    assert f"You reported: {DATA[0]}" in reader.prompt
    assert not re.search(r"\b49\b", first)


@pytest.mark.parametrize("body", REACHING)
def test_a_template_that_reaches_out_launches_nothing(tmp_path: Path, body: str) -> None:
    """F8: `__class__`, files, modules and endless work in a template are `render_failed`."""
    home = Scripted(tmp_path / "home")
    Actor(home, "worker")
    home.put(
        "prompts/base.md.j2",
        "{% block context %}Hello\n" + body + "{% endblock %}{% block task %}Work{% endblock %}",
    )

    done = home.call("run", "worker")

    (run,) = home.runs()
    assert (done.returncode, run.outcome) == (8, "render_failed"), done
    assert "base.md.j2" in run.reason
    assert not (home.root / "work" / "worker" / "prompt.txt").exists()
