"""Templates are the operator's: mistakes in them are named with file and line, and cost no time."""

import time
from pathlib import Path
from typing import Any

import pytest

from fleet.context import RenderFailed
from fleet.context.templates import render

HEAD = '{% extends "base.md.j2" %}\n{% block task %}\n'


def failure(world: Any, body: str) -> str:
    """What a template with this task says when it fails."""
    world.template(HEAD + body + "\n{% endblock %}")
    with pytest.raises(RenderFailed) as caught:
        world.build()
    assert caught.value.exit_code == 8
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("{{ agent.nmae }}", "prompts/outreach.md.j2:3: 'agent' has no 'nmae'"),
        ("{{ evnts }}", "'evnts' is not known here, did you mean 'events'?"),
        ("{{ agent.ids }}", "did you mean 'id'?"),
        ("\n\n{{ 1/0 }}", "prompts/outreach.md.j2:5: division by zero"),
        ("{% if %}", "prompts/outreach.md.j2:3: Expected an expression"),
        ("{{ ''.__class__ }}", "prompts/outreach.md.j2:3: access to attribute '__class__'"),
        ("{{ agent._values }}", "prompts/outreach.md.j2:3:"),
        ("{% include 'gone.md' %}", "there is no template prompts/gone.md"),
        ("{% include '../fleet.yaml' %}", "there is no template prompts/../fleet.yaml"),
        ("{{ run.id.x.y }}", "prompts/outreach.md.j2:3:"),
    ],
)
def test_a_fault_is_named_with_its_place(world: Any, body: str, says: str) -> None:
    """Unknown names, bad syntax, forbidden access and missing files: template, line, a hint."""
    assert says in failure(world, body)


@pytest.mark.parametrize(
    "body",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxx{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ range(10 ** 9) | list }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ 'x' * 10000000000 }}",
        "{{ 'x' | center(10000000000) }}",
        "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s=n.s~n.s %}{% endfor %}",
        "{% set n = namespace(s=3) %}{% for i in range(60) %}{% set n.s = n.s * n.s %}{% endfor %}",
    ],
)
def test_a_template_without_end_ends_soon(world: Any, body: str) -> None:
    """Endless loops, recursion, huge numbers and texts fail soon, and the process lives."""
    began = time.monotonic()

    assert "prompts/outreach.md.j2:" in failure(world, body)

    assert time.monotonic() - began < 10
    world.template(HEAD + "fine{% endblock %}")
    assert "fine" in world.build().prompt_md


@pytest.mark.parametrize(
    "text",
    [
        "just text",
        "{% block context %}text{% endblock %}",
        HEAD + "  \n{% endblock %}",
        HEAD + "x{% endblock %}{% block context %}{% endblock %}",
    ],
)
def test_both_blocks_must_print_something(world: Any, text: str) -> None:
    """A template without a task, or with an empty context, is refused with the way to write it."""
    world.template(text)
    with pytest.raises(RenderFailed, match=r"its block '\w+' is missing or empty: begin with"):
        world.build()


def test_a_block_may_build_on_its_parent(world: Any) -> None:
    """`super()` adds to a block and splits nothing; text outside of blocks is dropped."""
    world.template(
        'dropped{% extends "base.md.j2" %}{% block context %}A{{ super() }}B{% endblock %}'
        "{% block task %}{{ super() }}C{% endblock %}"
    )

    context = world.build()

    assert context.context_md.startswith("A## You are outreach")
    assert context.context_md.endswith("B")
    assert context.prompt_md == "Task for outreach, run run-0:\nWork.C"
    assert "dropped" not in context.context_md + context.prompt_md


def test_a_link_that_leads_out_of_the_folder_is_no_template(world: Any, tmp_path: Path) -> None:
    """Neither the template nor what it includes may be a link to a file elsewhere."""
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    (world.root / "prompts" / "link.md").symlink_to(secret)

    assert "there is no template prompts/link.md" in failure(world, "{% include 'link.md' %}")


def test_a_broken_file_is_said_to_be_broken(world: Any) -> None:
    """Bytes that are no UTF-8, and a file over the limit, fail with the file's name."""
    path = world.root / "prompts" / "outreach.md.j2"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RenderFailed, match=r"prompts/outreach.md.j2:1: not UTF-8"):
        world.build()
    path.write_bytes(b"x" * (257 << 10))
    with pytest.raises(RenderFailed, match="over 262144 bytes"):
        world.build()


def test_an_edited_template_holds_from_the_next_build_on(world: Any) -> None:
    """Compiled templates are kept, yet a changed file, or a changed parent, is seen at once."""
    world.template(HEAD + "one{% endblock %}")
    assert "one" in world.build().prompt_md
    world.template(HEAD + "second{% endblock %}")
    assert "second" in world.build().prompt_md
    world.template(
        "{% block context %}base{% endblock %}{% block task %}{% endblock %}", "base.md.j2"
    )
    assert world.build().context_md == "base"


def test_names_of_sections_to_come_print_nothing(world: Any) -> None:
    """inbox, memory, metrics, knowledge and matches are known names without text or items."""
    world.template(
        HEAD + "[{{ inbox }}{{ memory }}{{ metrics }}{{ knowledge }}{{ matches }}]"
        "{{ memory.items | length }}{% if inbox %}no{% endif %}{% endblock %}"
    )

    assert "[]0" in world.build().prompt_md


def test_what_rendering_takes_is_given_back(world: Any) -> None:
    """After a render neither a trace nor a memory limit is left behind."""
    import resource
    import sys

    before = resource.getrlimit(resource.RLIMIT_AS), sys.gettrace()
    world.build()
    failure(world, "{{ 'x' * 10000000000 }}")

    assert (resource.getrlimit(resource.RLIMIT_AS), sys.gettrace()) == before


def test_hashes_name_every_file_that_took_part(world: Any) -> None:
    """The manifest's templates are the agent's own and each parent or include."""
    (world.root / "prompts" / "part.md").write_text("part")
    world.template(HEAD + "{% include 'part.md' %}{% endblock %}")

    rendered = world.build().manifest["templates"]

    assert set(rendered) == {"base.md.j2", "outreach.md.j2", "part.md"}


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    """An agent whose template is gone says which one."""
    with pytest.raises(RenderFailed, match=r"there is no template prompts/x.md.j2"):
        render(tmp_path, "x.md.j2", {})
