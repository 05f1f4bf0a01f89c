"""More than one that would start agents on one home."""

import os
import subprocess
import sys

from fleets import Scripted, running, until

MARKS = "cat > /dev/null; echo x >> starts; while [ ! -e go ]; do sleep 0.05; done; echo done"


def test_two_runners_started_at_once_are_one(scripted: Scripted) -> None:
    """A15: of two `fleet up` one leads, the other exits 6 and names the leader's pid and host."""
    scripted.agent("worker", "cat > /dev/null; echo x >> starts; echo ok", schedule="{every: 1s}")
    with running(scripted) as first:
        others = [_start(scripted, "up") for _ in range(2)]
        said = [(other.communicate(timeout=20)[1], other.returncode) for other in others]
        assert until(lambda: len(scripted.ended()) >= 2), first.said()
        first.stop()

    for text, code in said:
        assert code == 6, text
        assert f"pid {first.process.pid}" in text
        assert os.uname().nodename in text
    slots = [run.slot for run in scripted.runs()]
    assert len(slots) == len(set(slots))
    starts = (scripted.root / "work" / "worker" / "starts").read_text().split()
    assert len(starts) == len([run for run in scripted.runs() if run.outcome == "ok"])


def test_a_runner_and_cron_start_one_copy(scripted: Scripted) -> None:
    """A15: three `fleet run` at once beside `fleet up` make one child, the others exit 6."""
    scripted.agent("worker", MARKS, schedule="{every: 1h}")
    cwd = scripted.root / "work" / "worker"

    with running(scripted) as up:
        calls = [_start(scripted, "run", "worker") for _ in range(3)]
        assert until(lambda: sum(call.poll() is not None for call in calls) == 2), up.said()
        assert until((cwd / "starts").exists)
        (cwd / "go").touch()
        codes = sorted(call.wait(20) for call in calls)
        texts = [call.communicate()[1] for call in calls]
        up.stop()

    assert codes == [0, 6, 6], texts
    (run,) = scripted.runs()
    assert (cwd / "starts").read_text().split() == ["x"]
    assert [run.id in text for text in texts if text].count(True) == 2


def _start(home: Scripted, *argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "fleet", "--home", str(home.root), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
