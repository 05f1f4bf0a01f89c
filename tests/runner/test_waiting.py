from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleet.config.model import Agent, HomeConfig
from fleet.runner.situation import Memo
from fleet.runner.state import START, WAIT, Decision, Slot
from fleet.runner.waiting import AT_HAND, RECHECK, Waiting

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NAMES = [f"a{number:03}" for number in range(100)]


def slot(minutes: float) -> Slot:
    """A slot that is due so long after noon."""
    due = NOON + timedelta(minutes=minutes)
    return Slot(due.isoformat(), due, due)


def config(**priorities: str) -> HomeConfig:
    """A hundred agents, some of them with a priority."""
    agents = {
        name: Agent(
            name, "", "", "p.j2", Path("/x"), priority=priorities.get(name, "normal")
        )
        for name in NAMES
    }  # fmt: skip
    return HomeConfig(Path("/home"), "1", agents=agents)


@pytest.fixture
def waiting() -> Waiting:
    """One slot of one agent."""
    waiting = Waiting()
    waiting.keep("a000", [slot(0)])
    return waiting


def at_hand(waiting: Waiting, now: datetime = NOON, free: int = 1, *, everybody: bool = False) -> (
    list[str]
):  # fmt: skip
    """Who is looked at, in the order of names."""
    return sorted(waiting.at_hand(config(), now, free, all_of_them=everybody))


def test_who_waits_for_a_known_time_is_looked_at_then_and_now_and_again(waiting: Waiting) -> None:
    """Not at each look, but a person's `resume` is noticed within seconds."""
    until = NOON + timedelta(hours=3)
    held = Decision("a000", slot(0), "waiting_for_limit", defers=True, until=until)

    waiting.settle_down([held], NOON)

    assert at_hand(waiting) == []
    assert at_hand(waiting, NOON + RECHECK) == ["a000"]
    assert at_hand(waiting, everybody=True) == ["a000"]
    assert waiting.next_moment() == until


def test_a_new_slot_ends_the_rest(waiting: Waiting) -> None:
    """What came due is coalesced at once; reading the same slots again changes nothing."""
    until = NOON + timedelta(hours=3)
    waiting.settle_down([Decision("a000", slot(0), WAIT, until=until)], NOON)

    waiting.keep("a000", [slot(0)])
    assert at_hand(waiting) == []

    waiting.keep("a000", [slot(0), slot(1)])
    assert at_hand(waiting) == ["a000"]


def test_who_may_start_does_not_rest(waiting: Waiting) -> None:
    """A place may be free at the next look."""
    for result in (WAIT, START):
        waiting.settle_down([Decision("a000", slot(0), result)], NOON)
        assert at_hand(waiting) == ["a000"]


def test_of_many_those_whose_turn_it_is_are_looked_at() -> None:
    """While places are scarce a look costs the same, however many wait; the oldest is seen."""
    waiting = Waiting()
    for place, name in enumerate(NAMES):
        waiting.keep(name, [slot(place)])
    home = config(**dict.fromkeys(NAMES[50:], "high"))
    waiting.memos["a090"] = Memo(passed_over=1)

    found = sorted(waiting.at_hand(home, NOON, 2, all_of_them=False))

    most = 2 + AT_HAND
    assert found == sorted({*NAMES[:most], *NAMES[50 : 50 + most - 1], "a090"})
    assert len(waiting.at_hand(home, NOON, 2, all_of_them=True)) == len(NAMES)


def test_what_is_due_later_is_known_whatever_else_waits(waiting: Waiting) -> None:
    """An agent with a slot for no known time beside one for a known one: that moment is known.

    When it has passed and nothing waits for a time any more, none is.
    """
    retry = NOON + timedelta(minutes=5)
    running = Decision("a000", slot(0), WAIT, "run r was still going")
    later = Decision("a000", slot(5), WAIT, "not due yet", until=retry)

    waiting.settle_down([running, later], NOON)
    assert at_hand(waiting) == ["a000"]
    assert waiting.next_moment() == retry

    waiting.settle_down([running], retry)
    assert waiting.next_moment() is None
