"""For what open slots wait, as `status` tells it: what is so now, over the memory store."""

from datetime import timedelta
from pathlib import Path

import pytest

from ends import Ends
from fleet.records import Body
from fleet.runner import lead
from fleet.runner.slots import Slots, slot_name
from fleet.runner.state import Decision
from fleet.status import status
from fleets import Scripted


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    """A home with one agent, which this process leads."""
    home = Scripted(tmp_path / "home")
    home.agent("a", "echo done", "retries: {max: 2}", schedule='"@daily"')
    ends = Ends(home)
    lead.settle_in(ends.fleet, take_over=False)
    lead.announce(ends.fleet.store)
    return ends


def seen(ends: Ends) -> Body:
    """What `status` says of the agent."""
    (agent,) = status(ends.fleet.seen)["agents"]  # type: ignore[misc]
    return agent  # type: ignore[return-value]


def waits(ends: Ends) -> tuple[object, object]:
    """For what it says that the agent waits."""
    said = seen(ends)["not_started"]
    return (said["result"], said["waits"]) if isinstance(said, dict) else (None, None)


def opened(ends: Ends) -> None:
    """A slot that is due now."""
    Slots(ends.fleet.store).open_retry("a", slot_name(ends.now), 2, ends.now)


def deferred(ends: Ends, result: str, seconds: float | None) -> None:
    """Put on record why the open slot waits, and until when."""
    slots = Slots(ends.fleet.store)
    (slot,) = slots.open("a")
    until = None if seconds is None else ends.now + timedelta(seconds=seconds)
    slots.deferred(Decision("a", slot, result, "why", defers=True, until=until))


def test_a_retry_that_is_due_later_is_next(ends: Ends) -> None:
    """Its moment is what comes next, not tomorrow's slot."""
    ends.ran("a", "overloaded")

    (retry,) = ends.open("a")
    agent = seen(ends)
    assert waits(ends) == ("retry", True)
    assert agent["not_started"]["until"] == retry.due.isoformat()  # type: ignore[index]
    assert agent["next_due"] == retry.due.isoformat(timespec="seconds")


def test_who_waits_for_a_place_is_shown(ends: Ends) -> None:
    """A slot that is due and open waits, also when nothing is on record about it."""
    opened(ends)

    assert waits(ends) == ("wait", True)
    ends.begin("a")
    assert "for the end of run" in str(seen(ends)["not_started"])


def test_what_a_former_runner_said_when_it_stopped_is_over(ends: Ends) -> None:
    """Its word holds while it stops; without a runner nothing goes on, with one all does."""
    opened(ends)
    ends.clock.advance(5)
    deferred(ends, "stopping", None)
    during = waits(ends)
    lead.retire(ends.fleet.store)
    between = waits(ends)
    ends.clock.advance(5)
    lead.announce(ends.fleet.store)

    assert during == ("stopping", True)
    assert between == ("no_runner", True)
    assert waits(ends) == ("wait", True)


def test_a_reason_holds_until_its_time(ends: Ends) -> None:
    """Quiet hours that ended are no reason any more, nor is one whose slot is closed."""
    opened(ends)
    deferred(ends, "quiet_hours", 60)
    during = waits(ends)
    ends.clock.advance(61)
    later = waits(ends)
    (slot,) = ends.open("a")
    Slots(ends.fleet.store).settle("a", [Decision("a", slot, "coalesced", "into another")])

    assert (during, later) == (("quiet_hours", True), ("wait", True))
    assert waits(ends) == (None, None)
