"""A runner, or a terminal, that was killed while its agent lives."""

import json
import signal

from fleets import Scripted, Up, running, until

WAITS = "cat > /dev/null; touch started; while [ ! -e go ]; do sleep 0.05; done; echo done"


def test_the_next_runner_starts_and_blames_no_dead_process(scripted: Scripted) -> None:
    """B2: after kill -9 of the runner the next one leads at once, though its agent lives on."""
    scripted.agent("worker", WAITS, schedule="{every: 1s}")
    mark = scripted.root / "work" / "worker" / "started"
    first = Up(scripted)
    assert until(mark.exists), first.said()
    first.kill()

    status = json.loads(scripted.call("status", "--json").stdout)
    with running(scripted) as second:
        leader = json.loads(scripted.call("status", "--json").stdout)["runner"]
        refused = scripted.call("up")
        (mark.parent / "go").touch()
        second.stop()

    assert status["runner"]["alive"] is False
    assert (leader["alive"], leader["pid"]) == (True, second.process.pid)
    assert refused.returncode == 6
    assert f"pid {second.process.pid}" in refused.stderr
    assert str(first.process.pid) not in refused.stderr


def test_a_run_by_hand_names_the_living_run(scripted: Scripted) -> None:
    """B2: after kill -9 of a terminal its agent's run holds on, is named, and then is free."""
    scripted.agent("worker", WAITS)
    mark = scripted.root / "work" / "worker" / "started"
    terminal = scripted.start("run", "worker")
    assert until(mark.exists)
    terminal.send_signal(signal.SIGKILL)
    terminal.wait()

    refused = scripted.call("run", "worker")
    (mark.parent / "go").touch()
    (run,) = scripted.runs()
    assert until(lambda: not scripted.alive(run.id))

    assert refused.returncode == 6
    assert run.id in refused.stderr
    assert str(terminal.pid) not in refused.stderr
    assert scripted.call("run", "worker").returncode == 0
    assert [one.outcome for one in scripted.runs()] == ["ok", "ok"]
