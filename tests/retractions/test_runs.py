"""What is told of a retracted run: that it was, and not what it reported."""

from pathlib import Path

import pytest

from fleet.identity import SYSTEM
from fleet.places import Places
from fleet.retractions import Retractions, Target
from fleet.runs import Runs, Verdict
from fleet.stores.ram import RamCache, RamStore
from people import in_run

ENDED = "2026-11-30T12:00:00.000+00:00"
GOOD, BAD = "019b2e00-0001-7000-8000-000000000001", "019b2e00-0002-7000-8000-000000000001"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Two runs of outreach; the newer one is retracted."""
    store, cache = RamStore(), RamCache()
    runs = Runs(store, cache, Places(tmp_path))
    for run in (GOOD, BAD):
        runs.start(SYSTEM, "outreach", run, slot=f"hand:{run}")
        runs.report(in_run("outreach", run), f"did {run}", next="more of it")
        runs.finish("outreach", run, Verdict("ok"), ended=ENDED)
    bad = Target(BAD, "runs/outreach", 4, BAD, "run", "outreach", ENDED, {})
    Retractions(store, cache).retract([bad], by="operator", reason="wrong page")
    return runs


@pytest.mark.parametrize("ask", ["last", "last_ended"])
def test_agents_are_not_told_what_a_retracted_run_reported(runs: Runs, ask: str) -> None:
    """The newest run as awareness and its agent see it has an outcome, and no report or plan."""
    run = getattr(runs, ask)("outreach")

    assert (run.id, run.outcome, run.retracted) == (BAD, "ok", "wrong page")
    assert (run.report, run.next) == ("", "")


def test_an_older_run_that_stands_keeps_its_report(runs: Runs) -> None:
    """The run before a retracted one is told of as ever."""
    run = runs.last("outreach", 1)

    assert run
    assert (run.id, run.retracted, run.report) == (GOOD, None, f"did {GOOD}")


@pytest.mark.parametrize("ref", ["last", "outreach", BAD, BAD[:13]])
def test_history_keeps_a_retracted_run_and_marks_it(runs: Runs, ref: str) -> None:
    """For people the run stays in the history, whole, with the reason, by any reference."""
    run = runs.find(ref)

    assert (run.id, run.report, run.retracted) == (BAD, f"did {BAD}", "wrong page")
    assert [one.retracted for one in runs.list("outreach", 10)] == ["wrong page", None]
    assert run.as_json()["retracted"] == "wrong page"
