"""Replaced logs and events that no run survives."""

from fleet.cursors import ADDRESSED, BROADCAST, Cursors
from fleet.records import Draft, Place
from fleet.stores.ram import RamStore
from rigs import Rig


def _restored(rig: Rig, upto: int) -> None:
    """Put an earlier copy of the event log, its first `upto` records, into the rig's store."""
    copy = rig.store._logs["events"]
    del copy.lines[upto:], copy.seqs[upto:], copy.records[upto:]
    copy.head = upto


def test_a_restored_log_rewinds_to_the_newest_place_that_matches(rig: Rig) -> None:
    """An older copy of the log is found, the lane goes back, and numbers go on above the old."""
    for number in range(60):
        rig.price(number)
        if number in {19, 39, 59}:
            rig.succeed("outreach")
    assert rig.places("outreach") == (60, 60)
    _restored(rig, 45)

    assert len(rig.bus.lane_check("outreach")) == 2
    findings = rig.bus.repair_lanes("outreach")

    assert [finding.severity for finding in findings] == ["error", "error"]
    assert rig.places("outreach") == (40, 40)
    assert rig.bus.lane_check("outreach") == []
    assert rig.price(99).seq == 62
    assert rig.shown("outreach") == [41, 42, 43, 44, 45, 62]
    assert {alert.body["kind"] for alert in rig.store.read("alerts", 0, 9).records} == {
        "replaced-log"
    }


def test_repairing_again_changes_nothing(rig: Rig) -> None:
    """The repair is idempotent: no second gap, no second alert, no move."""
    for number in range(10):
        rig.price(number)
    rig.succeed("outreach")
    _restored(rig, 4)
    rig.bus.repair_lanes("outreach")
    head, places = rig.store.head("events"), rig.places("outreach")

    assert rig.bus.repair_lanes("outreach") == []
    assert (rig.store.head("events"), rig.places("outreach")) == (head, places)
    assert len(rig.store.read("alerts", 0, 9).records) == 2


def test_a_replaced_log_of_the_same_length_is_found(rig: Rig) -> None:
    """A log with other records under the same numbers rewinds to what both have: nothing."""
    for number in range(10):
        rig.price(number)
    rig.succeed("outreach")
    other = RamStore(rig.clock)
    body = dict(rig.bus.get(1).body)
    other.append("events", [Draft(dict(body)) for _ in range(20)])
    rig.store._logs["events"] = other._logs["events"]

    rig.bus.repair_lanes("outreach")

    assert rig.places("outreach") == (0, 0)
    assert rig.shown("outreach", limit=99) == list(range(1, 21))


def test_another_agents_place_is_no_help(rig: Rig) -> None:
    """Where another agent read on in the restored log, this one still gets what is new there."""
    for number in range(10):
        rig.price(number)
        if number == 4:
            rig.succeed("outreach")
    rig.succeed("outreach")
    rig.succeed("competitor-watch")
    _restored(rig, 7)
    new = rig.price(10).seq
    rig.bus.repair_lanes("competitor-watch")
    rig.succeed("competitor-watch")

    rig.bus.repair_lanes("outreach")

    assert new == 8
    assert rig.shown("outreach") == [6, 7, 8]


def test_a_repair_never_moves_a_lane_forward(rig: Rig) -> None:
    """A lane whose record was rewritten goes back, even where the other lane stands well above."""
    for number in range(9):
        rig.price(number)
    rig.cursors.advance("outreach", {BROADCAST: Place(5, "00000000")})
    rig.cursors.advance("outreach", {ADDRESSED: Place(9, rig.bus.get(9).crc)})

    rig.bus.repair_lanes("outreach")

    assert rig.places("outreach") == (9, 0)


def test_channel_lanes_are_repaired_too(rig: Rig) -> None:
    """A replaced channel log sets back the lane of its digest."""
    rig.store.append("channels/strategy", [Draft({"op": "post"}) for _ in range(3)])
    Cursors(rig.store).advance("outreach", {"channels/strategy": Place(9, "00000000")})

    [finding] = rig.bus.repair_lanes("outreach")

    assert "channels/strategy#9" in finding.what
    assert rig.cursors.get("outreach")["channels/strategy"] == Place(0)
    assert rig.store.head("channels/strategy") == 10


def test_a_dead_letter_is_written_once_and_passed(rig: Rig) -> None:
    """An event that runs fail on goes to the dead letters with an alert; the lane goes on."""
    for number in range(3):
        rig.price(number)
    poison = rig.bus.get(1)

    for _ in range(2):
        rig.bus.set_aside("outreach", poison, 5, ["r1", "r2"])

    [dead] = rig.store.read("deadletters", 0, 9).records
    assert dead.body == {
        "op": "dead",
        "agent": "outreach",
        "event": "events#1",
        "attempts": 5,
        "runs": ["r1", "r2"],
    }
    assert [alert.body["kind"] for alert in rig.store.read("alerts", 0, 9).records] == [
        "dead-letter"
    ]
    assert rig.shown("outreach") == [2, 3]


def test_setting_aside_skips_nothing(rig: Rig) -> None:
    """Only the oldest waiting event of a lane can be set aside, and only its lane moves."""
    rig.price(0)
    second = rig.price(1)
    mine = rig.price(2, to="outreach")

    assert rig.bus.set_aside("outreach", second, 5, []) is None
    assert rig.store.head("deadletters") == 0
    rig.bus.set_aside("outreach", mine, 5, [])

    assert rig.shown("outreach") == [1, 2]
    assert set(rig.cursors.get("outreach")) == {ADDRESSED}
    assert BROADCAST not in rig.cursors.get("outreach")
