from datetime import UTC, datetime, timedelta

import pytest

from fleet.runner.decide import Situation, Slot, decide

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def slot(minutes: float, noticed: float | None = None) -> Slot:
    """A slot that is due so long after noon."""
    due = NOON + timedelta(minutes=minutes)
    seen = NOON + timedelta(minutes=minutes if noticed is None else noticed)
    return Slot(due.isoformat(), due, seen)


def test_one_due_slot_of_a_free_agent_starts() -> None:
    """The ordinary case: due, nothing in the way, start, and it is no catch-up."""
    (decision,) = decide([slot(0)], Situation())

    assert (decision.result, decision.caught_up) == ("start", False)


@pytest.mark.parametrize(
    ("situation", "result"),
    [
        (Situation(stopping=True, halted="x", paused="x", running="r"), "stopping"),
        (Situation(halted="by operator", paused="x", running="r"), "halted"),
        (Situation(paused="by operator", running="r"), "paused"),
        (Situation(low_disk="3 MiB", running="r"), "low_disk"),
        (Situation(running="r"), "skipped_overlap"),
        (Situation(runs_today=3, max_runs_per_day=3), "daily_runs"),
        (Situation(runs_today=2, max_runs_per_day=3), "start"),
    ],
)
def test_what_stands_in_the_way_is_the_reason(situation: Situation, result: str) -> None:
    """Each thing that keeps an agent from starting is named, the strongest one first."""
    (decision,) = decide([slot(0)], situation)

    assert decision.result == result


def test_after_any_stall_an_agent_starts_at_most_once_and_every_slot_has_a_result() -> None:
    """Of many missed slots the newest runs, flagged as catch-up; the others name it."""
    slots = [slot(minutes, noticed=100) for minutes in range(0, 100, 10)]

    decisions = decide(slots, Situation(catch_up=timedelta(minutes=30)))

    assert [d.result for d in decisions] == ["coalesced"] * 9 + ["start"]
    assert decisions[-1].caught_up
    assert all(slots[-1].name in d.detail for d in decisions[:-1])


def test_a_slot_older_than_catch_up_is_missed() -> None:
    """What nobody noticed for longer than `catch_up` does not run any more, and says so."""
    (decision,) = decide([slot(0, noticed=31)], Situation(catch_up=timedelta(minutes=30)))

    assert decision.result == "missed"


def test_a_slot_that_waited_long_for_a_place_still_starts() -> None:
    """Waiting under the cap is no downtime: lateness counts to the notice, not to the start."""
    waited = slot(-120, noticed=-120)

    (decision,) = decide([waited], Situation(catch_up=timedelta(minutes=30)))

    assert (decision.result, decision.caught_up) == ("start", False)


def test_a_blanket_refusal_gives_every_slot_its_own_record() -> None:
    """Paused for an hour: each slot says `paused`, none is coalesced into one that did not run."""
    decisions = decide([slot(0), slot(10), slot(20)], Situation(paused="by operator"))

    assert [d.result for d in decisions] == ["paused"] * 3
