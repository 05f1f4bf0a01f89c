"""Events as people list them, and the folds over the log."""

from typing import Any

import pytest

from fleet.errors import Unknown
from fleet.records import Draft
from people import OPERATOR
from rigs import Rig


def _seqs(rig: Rig, **wanted: Any) -> list[int]:
    return [record.seq for record in rig.bus.events(**wanted)]


def test_without_a_start_the_newest_are_listed(rig: Rig) -> None:
    """The newest 50 in the log's order; after a number the oldest from there."""
    for number in range(120):
        rig.price(number)

    assert _seqs(rig) == list(range(71, 121))
    assert _seqs(rig, after=10, limit=3) == [11, 12, 13]
    assert _seqs(rig, after=120) == []


def test_filters_find_rare_events_far_back(rig: Rig) -> None:
    """Type and content narrow the list, and the newest match is found behind 2,000 others."""
    rare = rig.contact(7)
    body = dict(rig.price(0).body)
    rig.store.append("events", [Draft(dict(body)) for _ in range(2000)])

    assert _seqs(rig, type="contact-made") == [rare.seq]
    assert _seqs(rig, where={"email": "lead7@example.org"}) == [rare.seq]
    assert _seqs(rig, where={"email": "nobody"}) == []


def test_content_is_compared_as_text(rig: Rig) -> None:
    """A number and a truth value are found by what one would type."""
    payload: dict[str, object] = {"competitor": "c", "newPrice": "20", "score": 7, "new": True}
    rig.bus.emit(OPERATOR, "pricing-change", payload)

    assert _seqs(rig, where={"score": "7", "new": "true", "newPrice": "20"}) == [1]
    assert _seqs(rig, where={"score": "8"}) == []


def test_a_time_range_is_listed(rig: Rig) -> None:
    """`since` and `until` cut by the stamps, both ends included."""
    stamps = []
    for number in range(6):
        stamps.append(rig.clock.wall)
        rig.price(number)
        rig.clock.advance(3600)

    assert _seqs(rig, since=stamps[2]) == [3, 4, 5, 6]
    assert _seqs(rig, until=stamps[2]) == [1, 2, 3]
    assert _seqs(rig, since=stamps[1], until=stamps[3], limit=2) == [2, 3]
    assert _seqs(rig, since=stamps[5] + 10) == []


def test_what_waits_for_an_agent_is_listed(rig: Rig) -> None:
    """`for_agent` shows what its next prompt would, in the log's order, and consumes nothing."""
    for number in range(4):
        rig.price(number)
    rig.price(4, to="outreach")
    rig.contact(5)
    rig.succeed("outreach", limit=2)

    assert _seqs(rig, for_agent="outreach") == [2, 3, 4]
    assert _seqs(rig, for_agent="outreach", limit=2, where={"competitor": "c3"}) == [4]
    assert _seqs(rig, for_agent="outreach", after=3) == [4]


def test_marks_of_fleet_are_no_events(rig: Rig) -> None:
    """Gap records and operations of a newer version are skipped by lists, folds and lanes."""
    rig.price(0)
    rig.store.append_gap("events", 10)
    rig.store.append("events", [Draft({"op": "later", "type": "pricing-change"})])

    assert _seqs(rig) == [1]
    assert rig.shown("outreach") == [1]
    assert len(rig.bus.latest(["pricing-change"])) == 1
    with pytest.raises(Unknown):
        rig.bus.get(11)


def test_latest_holds_eight_of_each_type(rig: Rig) -> None:
    """The newest 8 of each asked type in the log's order, long payloads included."""
    for number in range(12):
        rig.price(number)
        rig.contact(number)
    long: dict[str, object] = {"competitor": "c", "newPrice": "1", "note": "x" * 9000}
    rig.bus.emit(OPERATOR, "pricing-change", long)

    prices = rig.bus.latest(["pricing-change"])
    both = rig.bus.latest(["pricing-change", "contact-made", "pricing-change", "nothing"])

    assert [record.seq for record in prices] == [11, 13, 15, 17, 19, 21, 23, 25]
    assert prices[-1].body["payload"] == long
    assert prices[0] == rig.bus.get(11)
    assert len(both) == 16
    assert [record.seq for record in both] == sorted(record.seq for record in both)


def test_counts_are_by_the_hour(rig: Rig) -> None:
    """`count_since` counts the hour that the moment falls into and everything after it."""
    begun = rig.clock.wall
    for hour in range(5):
        rig.price(hour)
        rig.contact(hour)
        rig.clock.advance(3600)

    assert rig.bus.count_since("pricing-change", begun) == 5
    assert rig.bus.count_since("pricing-change", begun + 3 * 3600) == 2
    assert rig.bus.count_since("nothing", begun) == 0


def test_lost_folds_come_back_equal(rig: Rig) -> None:
    """Deleting every cache changes neither the newest events nor the counts."""
    for number in range(200):
        rig.price(number)
        rig.clock.advance(7200)
    before = rig.bus.latest(["pricing-change"]), rig.bus.count_since("pricing-change", 0)
    rig.cache._saved.clear()

    assert (rig.bus.latest(["pricing-change"]), rig.bus.count_since("pricing-change", 0)) == before
    assert before[1] == 96, "eight days of an event every two hours"
