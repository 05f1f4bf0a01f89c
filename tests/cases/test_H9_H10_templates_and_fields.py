"""A template's misspelt name stops the run before it costs anything; a payload's field is one."""

import json
from pathlib import Path

import pytest

from calls import Actor, call
from fleets import Scripted

TASK = "{% block context %}{{ you }}{{ events }}{% endblock %}{% block task %}Work.\n"
UNDEFINED = {
    "attribute": "{{ agent.nmae }}",
    "section": "{{ evnts }}",
    "in-if": "{% if agent.nmae %}x{% endif %}",
    "in-loop": "{% for one in events.itms %}{{ one }}{% endfor %}",
    "in-filter": "{{ agent.nmae | upper }}",
    "loop-over-name": "{% for one in evnts %}{{ one }}{% endfor %}",
    "in-include": "{% include 'part.md.j2' %}",
    "syntax": "{% if %}",
}


@pytest.mark.parametrize("kind", UNDEFINED)
def test_an_undefined_name_launches_nothing(tmp_path: Path, kind: str) -> None:
    """H9: wherever it stands: `render_failed` with template and line, nothing started."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    home.put("prompts/part.md.j2", "one\n{{ agent.nmae }}")
    home.put("prompts/base.md.j2", f"{TASK}{UNDEFINED[kind]}{{% endblock %}}")
    home.call("emit", "note", "n=1")

    done = home.call("run", "worker")
    shown = home.call("context", "worker")

    (run,) = home.runs()
    place = "prompts/part.md.j2:2: " if kind == "in-include" else "prompts/base.md.j2:2: "
    assert (done.returncode, run.outcome) == (8, "render_failed")
    assert place in run.reason
    assert shown.returncode == 8
    assert shown.stdout == ""
    assert place in shown.stderr
    assert not (actor.cwd / "prompt.txt").exists()
    assert home.call("check").returncode == 7


def test_what_failed_to_render_is_told_next_time(tmp_path: Path) -> None:
    """H9: after the mend the agent runs, and the event that waited is in its prompt."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    good = (home.root / "prompts" / "base.md.j2").read_text()
    home.put("prompts/base.md.j2", good.replace("{{ you }}", "{{ yuo }}"))
    event = home.call("emit", "note", "n=1").stdout.strip()

    assert home.call("run", "worker").returncode == 8
    home.put("prompts/base.md.j2", good)
    actor.does()

    assert event in actor.prompt
    assert "redelivered" not in actor.prompt


NAMES = ["items", "keys", "values", "get", "update", "pop", "copy", "ref", "seq", "type", "payload"]


def test_a_field_may_have_any_name(tmp_path: Path) -> None:
    """H10: fields named like methods or like fleet's own words render their own values."""
    home = Scripted(tmp_path / "home")
    line = "NAME={{ e.payload.NAME }}|{{ e.payload['NAME'] }}\n"
    lines = "".join(line.replace("NAME", name) for name in NAMES)
    loop = "{% for e in events.items %}" + lines + "{{ e.ref }}\n{% endfor %}{% endblock %}"
    home.put("prompts/base.md.j2", TASK + loop)
    actor = Actor(home, "worker")
    payload = {"n": "1"} | {name: f"value of {name}" for name in NAMES}
    home.call("emit", "note", "--data", json.dumps(payload))

    actor.does(call("events", "--where", "items=value of items", "--json"))

    prompt = actor.prompt
    for name in NAMES:
        assert f"{name}=value of {name}|value of {name}\n" in prompt
        assert f'{name}="value of {name}"' in prompt
    assert prompt.endswith("events#1\n")


def test_a_line_feed_at_the_end_stays(tmp_path: Path) -> None:
    """H10: the line feed that ends a template is kept, and none is made up inside of it."""
    home = Scripted(tmp_path / "home")
    home.put("prompts/base.md.j2", f"{TASK}{{# x #}}last{{{{ '' }}}} line\n{{% endblock %}}\n")
    actor = Actor(home, "worker")

    actor.does()

    assert actor.prompt.endswith("Work.\nlast line\n")
