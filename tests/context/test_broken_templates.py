"""A template that is broken while the operator edits: it is told, and its last good text serves."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.alerts import open_ones
from fleet.context import build
from fleet.ops.check import check
from fleet.runner.reload import KIND, Reload
from fleet.status import status
from fleets import BASE, Scripted

GOOD = BASE.replace("Work.", "Work well.")


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home whose agent has a template of its own that was looked at while it was good."""
    home = Scripted(tmp_path / "home")
    home.put("prompts/own.md.j2", GOOD)
    home.agent("worker", "cat > prompt; echo done", "prompt: own.md.j2")
    assert home.fleet.looked_over() == ""
    return home


def test_a_broken_template_is_told_at_once(home: Scripted) -> None:
    """P30: `status` names file and line before any slot comes, and all is not well."""
    home.put("prompts/own.md.j2", "{% if %}")

    state = status(home.fleet.seen)

    assert "prompts/own.md.j2:1: " in str(state["warning"])
    assert "its last good text is in force" in str(state["warning"])
    assert any(found.severity == "error" for found in check(home.root))
    home.put("prompts/own.md.j2", GOOD)
    assert status(home.fleet.seen)["warning"] == ""


def test_its_last_good_text_goes_on(home: Scripted) -> None:
    """P30: a run renders it, and its record names what was really used."""
    home.put("prompts/own.md.j2", "{% if %}")
    fleet = home.fleet

    context = build(fleet.sources(), fleet.config.agents["worker"], run="x")

    assert "Work well." in context.prompt_md
    assert context.templates["own.md.j2"] == GOOD


def test_the_runner_says_it_and_raises_the_alert(home: Scripted) -> None:
    """P30: its look at the files echoes the fault; mended, the alert is closed."""
    said: list[str] = []
    fleet, now = home.fleet, datetime(2026, 12, 1, tzinfo=UTC)
    home.put("prompts/own.md.j2", "{% if %}")
    reload = Reload(said.append)
    reload.look(fleet, now)
    during = [one.kind for one in open_ones(fleet.store, fleet.cache)]
    home.put("prompts/own.md.j2", GOOD)
    reload._next = 0.0

    reload.look(fleet, now)

    assert "prompts/own.md.j2:1: " in said[0]
    assert (during, open_ones(fleet.store, fleet.cache)) == ([KIND], [])


def test_one_that_never_was_good_says_so(home: Scripted) -> None:
    """Nothing can stand in for it."""
    home.put("prompts/new.md.j2", "{% block %}")

    assert "prompts/new.md.j2:1: " in home.fleet.looked_over()
    assert "no run can begin with it" in home.fleet.looked_over()
