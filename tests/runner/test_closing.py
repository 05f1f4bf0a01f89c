"""Alerts whose end fleet itself knows are closed by it; in one process over the memory store."""

from pathlib import Path

import pytest

from ends import Ends
from fleet import alerts
from fleet.runner import control
from fleet.runner.closing import close_over
from fleet.runner.slots import Slots, slot_name
from fleets import Scripted
from people import OPERATOR

HOUR = 3600.0


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    """A home whose agents `a` and `b` share the account `main`."""
    home = Scripted(tmp_path / "home", extra="accounts: {main: {agents: [a, b]}}\n")
    for name in "ab":
        home.agent(name, "echo done")
    return Ends(home)


def opened(ends: Ends) -> list[tuple[str, str]]:
    """Kind and subject of each open alert."""
    found = alerts.open_ones(ends.fleet.store, ends.fleet.cache)
    return [(one.kind, one.subject) for one in found]


def heard(ends: Ends, kind: str, subject: str) -> None:
    """One alert of this kind."""
    alerts.raise_alert(ends.fleet.store, kind=kind, subject=subject, what="x", done="x", fix="x")


def test_a_login_that_is_mended_closes_its_alert(ends: Ends) -> None:
    """`resume --account` is the person's word that it is; it stands under his name."""
    ends.ran("a", "auth")
    before = opened(ends)

    control.resume_account(ends.fleet, OPERATOR, "main")

    assert (before, opened(ends)) == ([("auth", "main")], [])
    (closed,) = [r.body for r in ends.fleet.store.read("alerts", 0, 9).records if r.seq == 2]
    assert (closed["op"], closed["by"]) == ("ack", "operator")


def test_a_limit_that_is_over_closes_its_alert(ends: Ends) -> None:
    """By its time, or by a run that got through; not before."""
    ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 2 * HOUR)
    close_over(ends.fleet)
    during = opened(ends)
    ends.clock.advance(2 * HOUR)
    close_over(ends.fleet)
    by_time = opened(ends)
    ends.ran("a", "rate_limited")
    ends.clock.advance(1)
    ends.ran("b", "ok")

    assert (during, by_time, opened(ends)) == ([("limit", "main")], [], [])


def test_a_streak_that_ended_closes_its_alert(ends: Ends) -> None:
    """A success ends `failing`, a resume the pause after the eighth failure; of others neither."""
    for _ in range(8):
        ends.ran("a", "crashed")
        ends.ran("b", "overloaded")
    during = opened(ends)
    control.resume(ends.fleet, OPERATOR, "a")
    resumed = opened(ends)
    ends.ran("a", "ok")

    assert during == [("failing", "a"), ("hindered", "b"), ("breaker", "a")]
    assert resumed == [("failing", "a"), ("hindered", "b")]
    assert opened(ends) == [("hindered", "b")]


def test_a_budget_is_told_of_until_midnight(ends: Ends) -> None:
    """Both alerts of a day are closed on the next."""
    heard(ends, "budget", "a")
    heard(ends, "budget-warning", "fleet")
    close_over(ends.fleet)
    during = opened(ends)
    ends.clock.advance(24 * HOUR)

    close_over(ends.fleet)

    assert (len(during), opened(ends)) == (2, [])


def test_who_is_looked_after_again_is_held_back_no_more(ends: Ends) -> None:
    """Once its state can be read and none of its slots is overdue; a disk, once it has room."""
    slots = Slots(ends.fleet.store)
    slots.open_retry("a", slot_name(ends.now), 2, ends.now)
    heard(ends, "held-back", "a")
    heard(ends, "low-disk", "fleet")
    close_over(ends.fleet)
    during = opened(ends)
    (slot,) = slots.open("a")
    slots.started("a", slot, "run")

    close_over(ends.fleet)

    assert (during, opened(ends)) == ([("held-back", "a")], [])


def test_what_only_a_person_can_know_stays_open(ends: Ends) -> None:
    """A dead letter or a loop is closed by nobody else."""
    heard(ends, "dead-letter", "a")
    heard(ends, "loop", "a")

    close_over(ends.fleet)

    assert len(opened(ends)) == 2
