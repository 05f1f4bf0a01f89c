"""An agent that fails again and again, and what it may cost until somebody looks."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.identity import SYSTEM
from fleet.records import new_id, rfc3339
from fleet.runner.breaker import breaker_of
from fleet.runs import Verdict
from fleets import Scripted, running, until

SCRIPT = "test -e ../well && echo done && exit 0; echo x; exit 3"


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """`worker` and `capped` wake each second and fail; `capped` may run twice a day."""
    home = Scripted(tmp_path / "home")
    home.agent("worker", SCRIPT, schedule="{every: 1s}")
    home.agent("capped", SCRIPT, "max_runs_per_day: 2", schedule="{every: 1s}")
    return home


def failed(home: Scripted, times: int) -> None:
    """That many runs of `worker` ended by its own fault, a while ago."""
    fleet = home.fleet
    for _ in range(times):
        run = new_id(time.time())
        fleet.runs.start(SYSTEM, "worker", run, slot=f"at {run}")
        verdict = Verdict("crashed", "exit 3", cost_usd=1.0)
        fleet.runs.finish("worker", run, verdict, ended=rfc3339(time.time()))


def said(home: Scripted, agent: str) -> list[object]:
    """What became of the agent's slots."""
    return [one.body["result"] for one in home.fires() if one.body["agent"] == agent]


def kinds(home: Scripted) -> list[object]:
    """The kinds of all alerts."""
    return [record.body["kind"] for record in home.fleet.store.read("alerts", 0, 100).records]


def test_an_agent_that_fails_in_a_row_burns_no_day(home: Scripted) -> None:
    """G15: from the fifth failure its slots are refused for a while, the eighth pauses it, once.

    `max_runs_per_day` is obeyed meanwhile. A person may still run it; a success ends the streak,
    `resume` ends pause and streak.
    """
    failed(home, 4)
    with running(home) as up:
        assert until(lambda: "breaker_open" in said(home, "worker")), up.said()
        assert until(lambda: "daily_runs" in said(home, "capped")), up.said()
        more = len(said(home, "worker")) + 2
        assert until(lambda: len(said(home, "worker")) >= more), up.said()
        up.stop()
    assert said(home, "worker").count("started") == 1
    assert said(home, "capped").count("started") == 2
    refused = next(one for one in home.fires() if one.body["result"] == "breaker_open")
    assert "failed 5 times in a row: crashed, exit 3" in str(refused.body["detail"])

    failed(home, 2)
    for _ in range(2):
        assert home.call("run", "worker").returncode == 8
    assert "failed 8 times in a row" in home.fleet.controls.of("worker").paused
    assert kinds(home) == ["failing", "breaker"]

    resumed = home.call("resume", "worker")
    assert (resumed.returncode, home.fleet.controls.of("worker").paused) == (0, "")
    failed(home, 4)
    (home.root / "work" / "well").touch()
    assert home.call("run", "worker").returncode == 0
    failed(home, 4)
    assert breaker_of(home.fleet, "worker", datetime.now(UTC)) == ("", None)


def test_a_resume_says_what_it_ended(home: Scripted) -> None:
    """G15: an agent that is only held for a while is freed by `resume` too, which says so."""
    failed(home, 6)

    done = home.call("resume", "worker")

    assert "resumed worker, which failed 6 times in a row: crashed, exit 3" in done.stdout
    assert "nothing was paused here" in home.call("resume", "worker").stdout
