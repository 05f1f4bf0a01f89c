"""The log of what was taken back, and the fold that readers ask."""

import pytest

from clocks import FakeClock
from fleet.errors import Rejected
from fleet.ports import read_kept
from fleet.records import Draft
from fleet.retractions import MAX_REASON, STREAM, Retractions, Target
from fleet.stores.ram import RamCache, RamStore

AT = "2026-11-30T19:30:39.123+00:00"


@pytest.fixture
def store() -> RamStore:
    """An empty store."""
    return RamStore(FakeClock())


@pytest.fixture
def retractions(store: RamStore) -> Retractions:
    """Nothing was taken back yet."""
    return Retractions(store, RamCache())


def an_event(seq: int, **tell: str) -> Target:
    """Event `seq` of a run of competitor-watch."""
    ref = f"events#{seq}"
    return Target(ref, "events", seq, "r1", "pricing-change", "competitor-watch", AT, tell)


def take_back(retractions: Retractions, *targets: Target, reason: str = "wrong page") -> list[str]:
    """The targets of what was written."""
    made = retractions.retract(targets, by="operator", reason=reason)
    return [str(record.body["target"]) for record in made]


def test_what_was_taken_back_is_known_by_number(retractions: Retractions) -> None:
    """A retracted number is known with its reason, in its own log only, and others are not."""
    take_back(retractions, an_event(97), an_event(99))

    assert retractions.of("events") == {97, 99}
    assert retractions.of("channels/strategy") == frozenset()
    assert retractions.reason_of("events", 97) == "wrong page"
    assert retractions.reason_of("events", 98) is None
    assert retractions.reason_of_run("r1") is None  # its events are, the run itself is not


def test_a_run_is_known_by_its_id(retractions: Retractions) -> None:
    """The record for a run hides the run, whatever number its log gave it."""
    run = Target("r1", "runs/outreach", 4, "r1", "run", "outreach", AT, {"outreach": ""})
    take_back(retractions, run)

    assert retractions.reason_of_run("r1") == "wrong page"
    assert retractions.reason_of_run("r2") is None


def test_taking_back_twice_writes_nothing_new(store: RamStore, retractions: Retractions) -> None:
    """The second retraction of a target writes nothing, and the first reason stands."""
    take_back(retractions, an_event(97))

    assert take_back(retractions, an_event(97), an_event(98), reason="again") == ["events#98"]
    assert store.head(STREAM) == 2
    assert retractions.reason_of("events", 97) == "wrong page"


def test_two_at_a_time_write_one_record(store: RamStore, retractions: Retractions) -> None:
    """Of two that retract the same at the same time one writes: the key of the target decides."""
    take_back(retractions, an_event(97))
    behind = Retractions(store, RamCache())
    behind.of = lambda _stream: frozenset()  # type: ignore[method-assign] - it looked too early

    assert take_back(behind, an_event(97), reason="again") == []
    assert store.head(STREAM) == 1


def test_the_record_says_what_it_was_and_whom_to_tell(
    store: RamStore, retractions: Retractions
) -> None:
    """A retraction keeps type, author, time, reader and run of its target, beside the reason."""
    take_back(retractions, an_event(97, outreach="r7", **{"competitor-watch": ""}), an_event(98))
    first, second = read_kept(store, STREAM, 0, 10).records

    assert first.body == {
        "op": "retract",
        "target": "events#97",
        "stream": "events",
        "number": 97,
        "run": "r1",
        "reason": "wrong page",
        "by": "operator",
        "tell": ["competitor-watch", "outreach"],
        "batch": first.id,
        "what": "pricing-change",
        "author": "competitor-watch",
        "written": AT,
        "shown_in": {"outreach": "r7"},
    }
    assert second.body["batch"] == first.id


@pytest.mark.parametrize("reason", ["", "  ", "x" * (MAX_REASON + 1)])
def test_a_retraction_needs_a_reason(retractions: Retractions, reason: str) -> None:
    """A blank or endless reason is refused: agents are told it."""
    with pytest.raises(Rejected, match="reason"):
        take_back(retractions, an_event(97), reason=reason)


def test_an_empty_log_costs_one_look(store: RamStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was ever taken back, a reader asks for the log's head and reads nothing."""
    monkeypatch.setattr(store, "read", None)

    assert Retractions(store, RamCache()).of("events") == frozenset()


def test_unknown_operations_are_skipped(store: RamStore, retractions: Retractions) -> None:
    """What a newer version writes into the log changes nothing here."""
    store.append(STREAM, [Draft({"op": "restore", "stream": "events", "number": 1})])

    assert retractions.of("events") == frozenset()
