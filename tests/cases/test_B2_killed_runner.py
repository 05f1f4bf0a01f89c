"""A runner, or a terminal, that was killed while its agent lives."""

import json
import re
import signal

from fleets import Scripted, Up, running, until

WAITS = "cat > /dev/null; touch started; while [ ! -e go ]; do sleep 0.05; done; echo done"


def test_the_next_runner_starts_and_blames_no_dead_process(scripted: Scripted) -> None:
    """B2: after kill -9 of the runner the next one leads at once, though its agent lives on.

    Before, beside and after it a `fleet run` names the living run, and a third `up` the living
    runner; no command names the dead one.
    """
    scripted.agent("worker", WAITS, schedule="{every: 1s}")
    mark = scripted.root / "work" / "worker" / "started"
    first = Up(scripted)
    assert until(mark.exists), first.said()
    first.kill()

    status, before = (
        json.loads(scripted.call("status", "--json").stdout),
        scripted.call("run", "worker"),
    )
    nobody = [scripted.call("stop"), scripted.call("status", "--check")]
    with running(scripted) as second:
        leader = json.loads(scripted.call("status", "--json").stdout)["runner"]
        refused, beside = scripted.call("up"), scripted.call("run", "worker")
        (mark.parent / "go").touch()
        second.stop()

    assert status["runner"]["alive"] is False
    assert [one.returncode for one in nobody] == [9, 9]
    assert (leader["alive"], leader["pid"]) == (True, second.process.pid)
    assert [one.returncode for one in (before, refused, beside)] == [6, 6, 6]
    assert f"pid {second.process.pid}" in refused.stderr
    assert all(scripted.runs()[-1].id in one.stderr for one in (before, beside))
    dead = rf"(?<![0-9]){first.process.pid}(?![0-9])"
    said = [one.stdout + one.stderr for one in (before, refused, beside, *nobody)]
    assert [text for text in said if re.search(dead, text)] == []


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
