"""What the bus says of retracted events: nothing to agents, everything to people who ask."""

import pytest

from fleet.records import Record
from retracting import take_back
from rigs import Rig


def retract(rig: Rig, *records: Record) -> None:
    """Take events back."""
    take_back(rig.store, rig.cache, *records)


def seqs(records: list[Record]) -> list[int]:
    """Their numbers."""
    return [record.seq for record in records]


def test_a_retracted_event_waits_for_nobody(rig: Rig) -> None:
    """No lane shows a retracted event, no lag counts it, no list of what waits has it."""
    broadcast, addressed, good = rig.price(1), rig.price(2, to="outreach"), rig.price(3)
    retract(rig, broadcast, addressed)

    assert rig.shown("outreach") == [good.seq]
    assert rig.bus.lag("outreach", {}) == 1
    assert seqs(rig.bus.events(for_agent="outreach")) == [good.seq]
    assert seqs(rig.bus.events(for_agent="outreach", retracted=True)) == [good.seq]


def test_a_lane_of_retracted_events_moves_on(rig: Rig) -> None:
    """Where all that waits was retracted, the next success moves the lane past it."""
    bad = [rig.price(number, to="outreach") for number in range(3)]
    retract(rig, *bad)

    assert rig.succeed("outreach") == []
    assert rig.places("outreach") == (bad[-1].seq, bad[-1].seq)


def test_a_success_passes_what_was_retracted_between(rig: Rig) -> None:
    """A retracted event between two that are shown holds nothing up, and is never shown later."""
    first, bad, last = rig.price(1), rig.price(2), rig.price(3)
    retract(rig, bad)

    assert rig.succeed("outreach", limit=1) == [first.seq]
    assert rig.succeed("outreach", limit=1) == [last.seq]
    assert rig.places("outreach")[1] == last.seq


def test_a_poisonous_event_that_was_retracted_is_no_dead_letter(rig: Rig) -> None:
    """An event that failed five times and was retracted is not set aside: it waits no longer."""
    bad = rig.price(1)
    retract(rig, bad)

    assert rig.bus.set_aside("outreach", bad, 5, ["r1"]) is None
    assert rig.store.head("deadletters") == rig.store.head("alerts") == 0


def test_older_events_come_up_where_new_ones_were_retracted(rig: Rig) -> None:
    """The 8 newest of a type are 8 that stand, however many of the newest were retracted."""
    records = [rig.price(number) for number in range(40)]
    rig.bus.latest(["pricing-change"])
    retract(rig, *records[10:])

    assert seqs(rig.bus.latest(["pricing-change"])) == seqs(records[2:10])


def test_the_newest_are_whole_records(rig: Rig) -> None:
    """What comes up from behind is the record itself, with its fields and its crc."""
    records = [rig.price(number) for number in range(10)]
    rig.bus.latest(["pricing-change"])
    retract(rig, records[9])

    assert rig.bus.latest(["pricing-change"]) == records[1:9]


def test_the_count_leaves_out_what_was_retracted(rig: Rig) -> None:
    """Counts by hour go down by the retracted events of that type and hour, and by no others."""
    old = rig.price(1)
    rig.clock.advance(3600)
    records = [rig.price(number) for number in range(5)]
    other = rig.contact()
    since = rig.clock.wall
    before = rig.bus.count_since("pricing-change", since)
    retract(rig, old, other, *records[:2])

    assert before == 5
    assert rig.bus.count_since("pricing-change", since) == 3
    assert rig.bus.count_since("pricing-change", since - 3600) == 3
    assert rig.bus.count_since("contact-made", since) == 0


def test_what_left_the_count_is_not_subtracted(rig: Rig) -> None:
    """A retracted event that is too old to be counted takes nothing off the count."""
    old = rig.price(0)
    rig.clock.advance(9 * 86400)
    rig.price(1)
    retract(rig, old)

    assert rig.bus.count_since("pricing-change", 0.0) == 1


@pytest.mark.parametrize("more", [{}, {"after": 0}, {"type": "pricing-change"}])
def test_only_who_asks_for_them_gets_retracted_events(rig: Rig, more: dict[str, object]) -> None:
    """A list of events leaves retracted ones out unless the caller, a person, asks for them."""
    bad, good = rig.price(1), rig.price(2)
    retract(rig, bad)

    assert seqs(rig.bus.events(**more)) == [good.seq]  # type: ignore[arg-type]
    assert seqs(rig.bus.events(**more, retracted=True)) == [bad.seq, good.seq]  # type: ignore[arg-type]
