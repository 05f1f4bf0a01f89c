"""Runs are records: found by any reference, counted once, and cheap to look at."""

from pathlib import Path
from typing import Any

import pytest

from fleet.errors import Rejected, Unknown, Usage
from fleet.identity import SYSTEM, Author
from fleet.places import Places
from fleet.records import Place
from fleet.runs import Runs, Verdict, places_body
from fleet.stores.ram import RamCache, RamStore

ENDED = "2026-11-30T12:00:00.000+00:00"
ADDRESSED, BROADCAST = "events/addressed", "events/broadcast"


def someone(name: str, run: str | None = None, **by: Any) -> Author:
    """An author: an agent in a run, or a person."""
    return Author(name, run, "", agent=run is not None, by=by or None)


@pytest.fixture
def store() -> RamStore:
    """An empty store."""
    return RamStore()


@pytest.fixture
def runs(store: RamStore, tmp_path: Path) -> Runs:
    """The runs in that store."""
    return Runs(store, RamCache(), Places(tmp_path))


def facts(broadcast: int = 0, events: list[int] | None = None, **more: Any) -> dict[str, object]:
    """What a context says about itself: where the lane stood, which events it showed."""
    seqs = events or []
    return {
        "lanes": places_body({BROADCAST: Place(broadcast), ADDRESSED: Place(0)}),
        "events": {BROADCAST: seqs, ADDRESSED: []},
        "shown": [f"events#{seq}" for seq in seqs],
        "events_shown": len(seqs),
        "advance": places_body({BROADCAST: Place(max(seqs, default=broadcast), "cafe")}),
    } | more


def once(
    runs: Runs, run: str, outcome: str = "ok", agent: str = "outreach", **context: Any
) -> None:
    """One whole run."""
    runs.start(SYSTEM, agent, run, slot="2026-11-30T10:00:00Z", context=facts(**context))
    runs.finish(agent, run, Verdict(outcome), ended=ENDED)


def test_a_run_is_what_its_records_say(runs: Runs) -> None:
    """Start, report and end are merged into the shape that `--json` prints."""
    person = someone("operator", uid=7)
    runs.start(person, "outreach", "0193-a", slot="hand:1", attempt=2, context=facts(0, [4, 5]))
    runs.report(someone("outreach", "0193-a"), "mailed 4", next="ask mike")
    verdict = Verdict("ok", cost_usd=0.5, tokens_in=10, tokens_out=2, turns=3)
    runs.finish("outreach", "0193-a", verdict, ended=ENDED)

    run = runs.last("outreach")

    assert run is not None
    said = run.as_json()
    assert said["slot"] == "hand:1"
    assert (said["outcome"], said["ended"], said["cost_usd"]) == ("ok", ENDED, 0.5)
    assert (said["report"], said["next"], said["idle"]) == ("mailed 4", "ask mike", False)
    assert (said["shown"], said["events_shown"]) == (["events#4", "events#5"], 2)
    assert (said["attempt"], said["by"]) == (2, {"uid": 7})
    assert run.advance == {BROADCAST: Place(5, "cafe")}


def test_a_run_without_an_end_is_open(runs: Runs) -> None:
    """What started and did not end is found, of one agent or of all, with what it was shown."""
    once(runs, "r1")
    runs.start(SYSTEM, "outreach", "r2", slot="hand:2", context=facts(0, [9]))
    runs.start(SYSTEM, "reply-handler", "r3", slot="hand:3")

    assert [run.id for run in runs.open()] == ["r2", "r3"]
    assert [run.shown for run in runs.open("outreach")] == [("events#9",)]
    last = runs.last_ended("outreach")
    assert last is not None
    assert last.id == "r1"


def test_starting_and_ending_twice_is_once(runs: Runs, store: RamStore) -> None:
    """A repeated start or end adds no record, and the first end stands."""
    once(runs, "r1")
    runs.start(SYSTEM, "outreach", "r1", slot="another")
    runs.finish("outreach", "r1", Verdict("crashed"), ended="2027-01-01T00:00:00+00:00")

    assert store.head("runs/outreach") == 2
    assert [run.outcome for run in runs.list("outreach", 9)] == ["ok"]


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("last", "b2222222"),
        ("outreach", "a2222222"),
        ("outreach~1", "a1111111"),
        ("a1111111", "a1111111"),
        ("b2", "b2222222"),
        ("a1", "a1111111"),
    ],
)
def test_every_reference_finds_its_run(runs: Runs, ref: str, found: str) -> None:
    """An id, a unique prefix, an agent, one of its earlier runs, and `last`."""
    once(runs, "a1111111")
    once(runs, "a2222222")
    once(runs, "b2222222", agent="reply-handler")

    assert runs.find(ref).id == found


def test_a_reference_that_finds_none_or_several_says_what_to_do(runs: Runs) -> None:
    """Unknown names get a suggestion, an ambiguous prefix the list."""
    with pytest.raises(Unknown, match="nothing has run"):
        runs.find("last")
    once(runs, "a1111111")
    once(runs, "a1222222", agent="reply-handler")

    with pytest.raises(Usage, match=r"a1111111 \(outreach\), a1222222 \(reply-handler\)"):
        runs.find("a1")
    with pytest.raises(Unknown, match="did you mean 'outreach'"):
        runs.find("outreech")
    with pytest.raises(Unknown, match="has not run so often"):
        runs.find("outreach~3")


def test_old_runs_are_found_beyond_the_index(runs: Runs) -> None:
    """Run 1 of 250 is found by id, by `~` and by listing, though the index keeps 200."""
    for number in range(250):
        once(runs, f"run{number:04d}")

    assert runs.find("run0000").id == "run0000"
    assert runs.find("outreach~249").id == "run0000"
    assert [run.id for run in runs.list("outreach", 2)] == ["run0249", "run0248"]
    assert len(runs.list(None, 1000)) == 250


def test_runs_of_a_day_are_counted(runs: Runs, store: RamStore) -> None:
    """What began since an instant counts, open or ended; another agent's does not."""
    once(runs, "r1")
    middle = store.now().wall
    runs.start(SYSTEM, "outreach", "r2", slot="hand:2")

    assert runs.count_since("outreach", 0) == 2
    assert runs.count_since("outreach", middle + 60) == 0
    assert runs.count_since("reply-handler", 0) == 0
    assert runs.exists("outreach", "r2")
    assert not runs.exists("outreach", "r3")


def test_looking_at_the_last_run_reads_no_old_one(
    runs: Runs, store: RamStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 300 runs behind, the last one and the attempts cost at most 64 records."""
    for number in range(300):
        once(runs, f"run{number:04d}")
    runs.last("outreach")
    looked = []
    read = store.read

    def counting(stream: str, after: int, limit: int, **kw: Any) -> Any:
        batch = read(stream, after, limit, **kw)
        looked.append(len(batch.records))
        return batch

    monkeypatch.setattr(store, "read", counting)
    runs.last("outreach")
    runs.attempts("outreach")

    assert sum(looked) <= 2 * (64 + 2)


def test_a_report_belongs_to_a_run_and_has_a_limit(runs: Runs) -> None:
    """An operator has no run to report on; text is bounded in bytes and cleaned."""
    with pytest.raises(Usage, match="belongs to a run"):
        runs.report(someone("operator", None), "x")
    with pytest.raises(Usage, match="needs a text"):
        runs.report(someone("outreach", "r1"), " ")
    with pytest.raises(Rejected, match="4098 bytes"):
        runs.report(someone("outreach", "r1"), "ü" * 2049)

    runs.start(SYSTEM, "outreach", "r1", slot="hand:1")
    runs.report(someone("outreach", "r1"), "first")
    runs.report(someone("outreach", "r1"), "nothing \udcff", idle=True)

    report = runs.report_of("outreach", "r1")
    assert report is not None
    assert (report.text, report.idle) == ("nothing \ufffd", True)


def test_only_failures_of_the_agents_own_count_as_attempts(runs: Runs) -> None:
    """A crash counts for each event it was shown; limits, kills and overload do not."""
    once(runs, "r1", "crashed", broadcast=10, events=[11, 12])
    once(runs, "r2", "rate_limited", broadcast=10, events=[11, 12])
    once(runs, "r3", "killed", broadcast=10, events=[11, 12])
    once(runs, "r4", "timeout", broadcast=10, events=[11])

    assert runs.attempts("outreach") == {11: 2, 12: 1}


def test_a_lane_that_moved_counts_from_nothing(runs: Runs) -> None:
    """A success, or an operator's skip, begins anew; an unmoved other lane keeps its counts."""
    once(runs, "r1", "crashed", broadcast=10, events=[11])
    at_10, moved = {BROADCAST: Place(10), ADDRESSED: Place(0)}, {BROADCAST: Place(11)}
    assert runs.attempts("outreach", at_10) == {11: 1}
    assert runs.attempts("outreach", moved) == {}

    once(runs, "r2", "crashed", broadcast=11, events=[12])
    assert runs.attempts("outreach", moved) == {12: 1}
    assert runs.attempts("outreach") == {12: 1}


def test_only_success_advances(runs: Runs) -> None:
    """A failed run records no advance; what the newest success said stands for each lane."""
    once(runs, "r1", broadcast=0, events=[3])
    once(runs, "r2", "crashed", broadcast=3, events=[4])

    assert runs.last_ok_advance("outreach") == {BROADCAST: Place(3, "cafe")}
    denied = Verdict("ok_with_denials", counts_as_ok=True)
    runs.start(SYSTEM, "outreach", "r5", slot="hand:5", context=facts(3, [5]))
    runs.finish("outreach", "r5", denied, ended=ENDED)

    last = runs.last("outreach")
    assert last is not None
    assert last.row is not None
    assert last.row.advances
    assert runs.last_ok_advance("outreach") == {BROADCAST: Place(5, "cafe")}
    assert runs.attempts("outreach") == {4: 1}
