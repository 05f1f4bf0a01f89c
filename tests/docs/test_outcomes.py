"""The page about outcomes says what the code does, word by word."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from docs.test_readme import ROOT
from fleet.config.model import Agent, Budget, HomeConfig
from fleet.ops.inert import AGENT_FIELDS
from fleet.runner.decide import decide
from fleet.runner.state import WAIT, AccountState, AgentState, Slot, State
from fleet.runs.outcome import NOT_STARTED, OUTCOMES

PAGE = ROOT / "docs" / "outcomes.md"
FAULTS = {"": False, "nobody's": False, "yours": False, "the agent's": True}
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
SPENT = {"reserve": 0.4, "cost_today": 0.7}
HELD: dict[str, dict[str, Any]] = {
    "skipped_overlap": {"known": {"running": "r"}},
    "missed": {"due": NOON - timedelta(hours=2)},
    "paused": {"known": {"paused": "by you"}},
    "halted": {"known": {"halted": "by you"}},
    "gated": {"known": {"gate": "exit 1"}, "fields": {"gate": ("true",)}},
    "over_budget": {"known": SPENT, "fields": {"budget": Budget(per_day=1.0)}},
    "daily_runs": {"known": {"runs_today": 1}, "fields": {"max_runs_per_day": 1}},
    "quiet_hours": {"fields": {"quiet": (11 * 60, 13 * 60)}},
    "waiting_for_limit": {"state": State(accounts={"fleet": AccountState(limited_until=LATER)})},
    "auth_blocked": {"state": State(accounts={"fleet": AccountState(blocked="no login")})},
    "breaker_open": {"known": {"breaker": "5 in a row"}},
    "low_disk": {"state": State(low_disk="3 MiB")},
    "stopping": {"state": State(stopping=True)},
    "not_here": {"agents": {}},
}
"""What brings each reason about, for one agent with one slot."""


def table(first: str) -> dict[str, list[str]]:
    """The rows of the page's table whose first column is called so, by their word."""
    text = PAGE.read_text(encoding="utf-8")
    (rows,) = re.findall(rf"^\| {first} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()]
    return {word.strip("`"): rest for word, *rest in cells}


def test_every_outcome_stands_there_as_it_is() -> None:
    """Word for word the table of the code: consumed, whose fault, retried, exit code."""
    rows = table("outcome")

    assert list(rows) == list(OUTCOMES)
    for word, (_, consumed, fault, retried, code) in rows.items():
        row = OUTCOMES[word]
        assert (consumed, int(code)) == ("yes" if row.advances else "no", row.exit_code), word
        assert FAULTS[fault] == row.fault, word
        assert (retried == "as `retries` says") == row.retried, word


def test_every_reason_not_to_start_stands_there_with_its_exit_code() -> None:
    """No word is left out, none is made up."""
    rows = table("reason")

    assert {word: int(row[3]) for word, row in rows.items()} == NOT_STARTED
    assert set(HELD) == set(NOT_STARTED) - {"coalesced", "config_invalid"}


@pytest.mark.parametrize("word", HELD)
def test_what_waits_and_what_is_closed_is_as_the_page_says(word: str) -> None:
    """A slot of a schedule and a wake that meet the reason: held open, or closed with it."""
    _, by_schedule, by_wake, _ = table("reason")[word]

    assert by_schedule.partition(" ")[0].strip(";:") == becomes(word, "2026-11-30T12:00:00+00:00")
    if by_wake:
        assert by_wake.partition(" ")[0].strip(";:") == becomes(word, "wake:7")


def becomes(word: str, name: str) -> str:
    """`waits` or `closed`: what becomes of a slot of that name when the reason holds it."""
    how = HELD[word]
    slot = Slot(name, how.get("due", NOON), NOON)
    agent = Agent("a", "agents/a.yaml", "", "p.j2", Path("/x"), **how.get("fields", {}))
    config = HomeConfig(Path("/home"), "1", agents=how.get("agents", {"a": agent}))
    state = replace(
        how.get("state", State()), agents={"a": AgentState(slots=(slot,), **how.get("known", {}))}
    )
    (decision,) = decide(config, state, NOON)
    assert decision.result in {word, WAIT}
    return "waits" if decision.defers or decision.result == WAIT else "closed"


def test_the_page_is_found() -> None:
    """The README, the page for operators and the format of agents name it."""
    assert "(docs/outcomes.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(outcomes.md)" in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert "docs/outcomes.md" in (ROOT / "agents" / "README.md").read_text(encoding="utf-8")


def test_fields_without_effect_say_so() -> None:
    """What `check` notes as not acted on stands so in the format of agents, and nothing else."""
    text = (ROOT / "agents" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*not act on", text, re.MULTILINE)

    assert set(rows) == set(AGENT_FIELDS)
