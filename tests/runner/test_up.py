import json
import os
import signal
import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from fleets import Scripted, Up, running, until

WAITS = "cat > /dev/null; touch started; while [ ! -e go ]; do sleep 0.05; done; echo done"
OFTEN = "{every: 1s}"


def test_what_is_due_runs_and_every_slot_has_a_record(tmp_path: Path) -> None:
    """Five agents every second under a cap of two: never more alive, no slot without a result."""
    home = Scripted(tmp_path / "home", concurrency=2)
    for number in range(5):
        home.agent(f"worker{number}", "cat > /dev/null; sleep 0.3; echo done", schedule=OFTEN)

    with running(home) as up:
        assert until(lambda: len(home.ended()) >= 10, 40), up.said()
        assert up.stop() == 0

    assert {run.outcome for run in home.runs()} <= {"ok", "killed"}
    assert _most_at_once(home) <= 2
    for number in range(5):
        _assert_no_gap(home, f"worker{number}")


def test_a_long_run_never_meets_a_second_copy_and_hinders_nobody(scripted: Scripted) -> None:
    """While an agent hangs its slots are `skipped_overlap`, and another one runs on time."""
    scripted.agent("hangs", "sleep 60", "timeout: 3s", "idle_timeout: 30s", schedule=OFTEN)
    scripted.agent("works", "cat > /dev/null; echo done", schedule=OFTEN)

    with running(scripted) as up:
        assert until(lambda: len(scripted.ended("hangs")) >= 2, 30), up.said()
        up.stop()

    hung = [run for run in scripted.ended("hangs") if run.outcome != "killed"]
    assert {run.outcome for run in hung} == {"timeout"}
    results = [f.body["result"] for f in scripted.fires() if f.body["agent"] == "hangs"]
    assert "skipped_overlap" in results
    assert len([run for run in scripted.ended("works") if run.outcome == "ok"]) >= 3


def test_a_second_runner_is_refused_and_names_the_first(scripted: Scripted) -> None:
    """Two runners never lead one home: the second exits 6 and says who does."""
    scripted.agent("worker", "echo done")

    with running(scripted) as up:
        second = scripted.call("up")

        assert second.returncode == 6, second.stderr
        assert str(up.process.pid) in second.stderr


def test_runs_of_a_killed_runner_are_adopted(scripted: Scripted) -> None:
    """They end with their own outcome under the next runner, and each slot started one run."""
    names = ("one", "two", "three")
    for name in names:
        scripted.agent(name, WAITS, schedule=OFTEN)
    started = [scripted.root / "work" / name / "started" for name in names]
    first = Up(scripted)
    assert until(lambda: all(path.exists() for path in started)), first.said()
    before = {run.agent: run.id for run in scripted.runs()}
    first.kill()

    with running(scripted) as second:
        second.wait_for("adopted run")
        for name in names:
            (scripted.root / "work" / name / "go").touch()
        adopted = set(before.values())
        assert until(lambda: adopted <= {run.id for run in scripted.ended()}, 20), second.said()
        second.stop()

    outcomes = {run.id: run.outcome for run in scripted.runs()}
    assert {outcomes[run] for run in adopted} == {"ok"}
    slots = [(run.agent, run.slot) for run in scripted.runs()]
    assert len(slots) == len(set(slots))


def test_nothing_of_a_run_outlives_its_killed_keeper(scripted: Scripted) -> None:
    """Kill -9 of a keeper: the command goes with it, the runner sweeps the rest, outcome killed."""
    escapes = "setsid sh -c 'trap \"\" TERM INT HUP; touch started; sleep 60' & sleep 60"
    scripted.agent("worker", escapes, schedule=OFTEN)
    started = scripted.root / "work" / "worker" / "started"

    with running(scripted) as up:
        assert until(started.exists), up.said()
        (run,) = [run for run in scripted.runs() if run.open]
        os.kill(_keeper(scripted, run.id), signal.SIGKILL)

        assert until(lambda: run.id in {one.id for one in scripted.ended()}, 10), up.said()
        assert until(lambda: not scripted.alive(run.id), 5), scripted.alive(run.id)
        up.stop()

    assert {one.id: one.outcome for one in scripted.runs()}[run.id] == "killed"


def test_a_killed_keeper_of_a_killed_runner_is_swept_at_the_next_start(scripted: Scripted) -> None:
    """Both gone: within 5 s of the next start nothing is left, and the agent may run again."""
    escapes = "setsid sh -c 'trap \"\" TERM INT HUP; touch started; sleep 60' & sleep 60"
    scripted.agent("worker", escapes, schedule=OFTEN)
    first = Up(scripted)
    assert until((scripted.root / "work" / "worker" / "started").exists), first.said()
    (run,) = [run for run in scripted.runs() if run.open]
    first.kill()
    os.kill(_keeper(scripted, run.id), signal.SIGKILL)

    with running(scripted) as second:
        assert until(lambda: not scripted.alive(run.id), 5), second.said()
        assert until(lambda: len(scripted.runs()) > 1, 10), second.said()
        second.stop()

    assert {one.id: one.outcome for one in scripted.runs()}[run.id] == "killed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_means_stopped(scripted: Scripted, number: signal.Signals) -> None:
    """Within the grace plus 2 s runner, command and escaped grandchild are gone, all recorded."""
    escapes = "setsid sh -c 'trap \"\" TERM INT HUP; touch started; sleep 60' & sleep 60"
    scripted.agent("worker", escapes, "grace: 3s", schedule=OFTEN)

    with running(scripted) as up:
        assert until((scripted.root / "work" / "worker" / "started").exists), up.said()
        (run,) = [run for run in scripted.runs() if run.open]
        up.process.send_signal(number)

        assert up.process.wait(3 + 2) == 0, up.said()
        assert scripted.alive(run.id) == set()

    assert {one.id: one.outcome for one in scripted.runs()}[run.id] == "killed"
    assert scripted.fleet.claims.live() == []
    _assert_no_gap(scripted, "worker")


def test_drain_waits_for_what_runs(scripted: Scripted) -> None:
    """`fleet stop --drain` starts nothing more and lets the run end by itself."""
    scripted.agent("worker", WAITS, schedule=OFTEN)

    with running(scripted) as up:
        assert until((scripted.root / "work" / "worker" / "started").exists), up.said()
        assert scripted.call("stop", "--drain").returncode == 0
        assert until(lambda: "stopping" in {f.body["result"] for f in scripted.fires()}, 10)
        assert up.process.poll() is None
        (scripted.root / "work" / "worker" / "go").touch()
        assert up.process.wait(20) == 0

    assert [run.outcome for run in scripted.runs()] == ["ok"]


def test_halt_stops_runs_without_a_runner(scripted: Scripted) -> None:
    """A run that goes on after its runner died is stopped by `fleet halt`, and recorded."""
    scripted.agent("worker", WAITS, schedule=OFTEN)
    first = Up(scripted)
    assert until((scripted.root / "work" / "worker" / "started").exists), first.said()
    first.kill()

    done = scripted.call("halt", "worker", "--reason", "wrong list")

    (run,) = scripted.runs()
    assert done.returncode == 0, done.stderr
    assert (run.outcome, scripted.alive(run.id)) == ("killed", set())
    refused = scripted.call("run", "worker")
    assert refused.returncode == 75
    assert "wrong list" in refused.stderr


def test_paused_agents_have_a_record_for_every_slot(scripted: Scripted) -> None:
    """A pause keeps each slot from starting and says so; resume lets the next one start."""
    scripted.agent("worker", "cat > /dev/null; echo done", schedule=OFTEN)
    scripted.call("pause", "worker", "--reason", "new provider")

    with running(scripted) as up:
        assert until(lambda: len(scripted.fires()) >= 2, 10), up.said()
        assert scripted.runs() == []
        assert {f.body["result"] for f in scripted.fires()} == {"paused"}
        assert "new provider" in str(scripted.fires()[0].body["detail"])
        scripted.call("resume", "worker")
        assert until(scripted.ended, 10), up.said()
        up.stop()

    _assert_no_gap(scripted, "worker")


def test_after_downtime_an_agent_runs_once_to_catch_up(scripted: Scripted) -> None:
    """Slots of the downtime are coalesced into one catch-up run; each has its record."""
    scripted.agent("worker", "cat > /dev/null; echo done", "catch_up: 30m", schedule=OFTEN)
    with running(scripted) as up:
        assert until(scripted.ended), up.said()
        up.stop()
    _pretend_downtime(scripted, "worker", minutes=10)

    with running(scripted) as up:
        assert until(lambda: any(run.caught_up for run in scripted.runs()), 20), up.said()
        up.stop()

    assert len([run for run in scripted.runs() if run.caught_up]) == 1
    assert "coalesced" in {f.body["result"] for f in scripted.fires()}


def test_slots_older_than_catch_up_are_missed(scripted: Scripted) -> None:
    """With `catch_up: 5m` the slot of twenty minutes ago does not run; `missed` says so."""
    offset = int(time.time() - 20 * 60) % 3600
    schedule = f"{{every: 1h, offset: {offset}s}}"
    scripted.agent("worker", "cat > /dev/null; echo done", "catch_up: 5m", schedule=schedule)
    with running(scripted) as up:
        up.stop()
    _pretend_downtime(scripted, "worker", minutes=50)

    with running(scripted) as up:
        assert until(scripted.fires, 10), up.said()
        up.stop()

    assert [f.body["result"] for f in scripted.fires()] == ["missed"]
    assert scripted.runs() == []


def test_a_broken_edit_keeps_the_last_good_config_running(scripted: Scripted) -> None:
    """A half-written file while running: agents go on, the fault is said, the mend is taken up."""
    scripted.agent("worker", "cat > /dev/null; echo done", schedule=OFTEN)
    path = scripted.root / "agents" / "worker.yaml"
    good = path.read_text()

    with running(scripted) as up:
        assert until(scripted.ended), up.said()
        path.write_text(good + "shedule: oops\n")
        up.wait_for("last good config")
        count = len(scripted.ended())
        assert until(lambda: len(scripted.ended()) > count + 1), up.said()
        path.write_text(good.replace("description: worker", "description: mended"))
        up.wait_for("in force")
        up.stop()


def _keeper(home: Scripted, run: str) -> int:
    alive = home.root / "state" / "run" / run / "alive.json"
    return int(json.loads(alive.read_text())["pid"])


def _most_at_once(home: Scripted) -> int:
    moments = [(datetime.fromisoformat(run.started), 1) for run in home.runs()]
    moments += [(datetime.fromisoformat(str(run.ended)), -1) for run in home.ended()]
    alive = most = 0
    for _, change in sorted(moments):
        alive += change
        most = max(most, alive)
    return most


def _assert_no_gap(home: Scripted, agent: str) -> None:
    """Every second between the first and the last record of `agent` has exactly one record."""
    slots = sorted(
        datetime.fromisoformat(str(f.body["slot"]))
        for f in home.fires()
        if f.body["agent"] == agent
    )
    assert slots
    assert {(b - a).total_seconds() for a, b in pairwise(slots)} <= {1.0}


def _pretend_downtime(home: Scripted, agent: str, *, minutes: int) -> None:
    """Move the agent's watermark into the past, as if nobody had watched since."""
    store = home.fleet.store
    body, version = store.get(f"schedule/{agent}")
    assert body is not None
    mark = datetime.fromisoformat(str(body["watermark"])) - timedelta(minutes=minutes)
    store.put(f"schedule/{agent}", body | {"watermark": mark.isoformat()}, expect=version)
