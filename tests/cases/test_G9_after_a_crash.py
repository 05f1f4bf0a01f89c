"""Runs that were going on when their runner, their keeper or the machine went down."""

import json
import os
import signal
from pathlib import Path

from fleets import Scripted, Up, running, until

WAITS = "cat > /dev/null; touch started; while [ ! -e go ]; do sleep 0.05; done; echo done"
NAMES = ("adopted", "keeperless", "rebooted", "reused")


def test_no_agent_is_blocked_by_what_a_crash_left(scripted: Scripted) -> None:
    """G9: after kill -9 of the runner each run has an outcome, and each agent runs again.

    One whose keeper lives is adopted and ends by its own outcome; the others, whose keeper died,
    whose machine was restarted, or whose keeper's pid names another process now, are `killed`.
    """
    ids = _crashed(scripted)
    _pretend(scripted, ids["rebooted"], boot="00000000-0000-0000-0000-000000000000")
    _pretend(scripted, ids["reused"], pid=os.getpid())
    for name in NAMES[1:]:
        (scripted.root / "work" / name / "go").touch()

    by_hand = [scripted.call("run", name) for name in ("rebooted", "reused")]
    with running(scripted) as up:
        (scripted.root / "work" / "adopted" / "go").touch()
        assert until(lambda: set(ids.values()) <= {run.id for run in scripted.ended()}), up.said()
        assert scripted.call("run", "keeperless").returncode == 0
        assert scripted.call("run", "adopted").returncode == 0
        up.stop()

    assert [done.returncode for done in by_hand] == [0, 0], by_hand
    outcomes = {run.id: run.outcome for run in scripted.runs()}
    assert outcomes[ids["adopted"]] == "ok"
    assert {outcomes[ids[name]] for name in NAMES[1:]} == {"killed"}
    reasons = {run.id: run.reason for run in scripted.runs()}
    assert "restarted" in reasons[ids["rebooted"]]
    assert scripted.fleet.claims.live() == []
    assert all(scripted.alive(run) == set() for run in ids.values())


def _crashed(home: Scripted) -> dict[str, str]:
    """Let all agents start, then kill the runner and all keepers but the first's."""
    for name in NAMES:
        home.agent(name, WAITS, schedule="{every: 1s}")
    up = Up(home)
    marks = [home.root / "work" / name / "started" for name in NAMES]
    assert until(lambda: all(mark.exists() for mark in marks)), up.said()
    up.kill()
    ids = {run.agent: run.id for run in home.runs() if run.open}
    for name in NAMES[1:]:
        os.kill(json.loads(_alive(home, ids[name]).read_text())["pid"], signal.SIGKILL)
        assert until(lambda name=name: not home.alive(ids[name]))
        home.agent(name, WAITS, schedule="{every: 1h}")
    home.agent(NAMES[0], WAITS, schedule="{every: 1h}")
    return ids


def _pretend(home: Scripted, run: str, **said: object) -> None:
    """Change what the run's keeper said about itself."""
    path = _alive(home, run)
    path.write_text(json.dumps(json.loads(path.read_text()) | said))


def _alive(home: Scripted, run: str) -> Path:
    return home.root / "state" / "run" / run / "alive.json"
