"""Backups while writers, a runner and a trim are at work."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet import processes
from fleet.errors import LockTimeout
from fleet.ops.verify import verify
from fleet.wiring import locking
from fleets import Scripted, running, until

WRITER = """
import sys
from pathlib import Path
from fleet.wiring import open_fleet
fleet = open_fleet(Path(sys.argv[1]), env={})
number = 0
while True:
    record = fleet.bus.emit(fleet.author, "note", {"n": f"{sys.argv[2]} {number}"})
    fleet.talk.post(fleet.author, "strategy", f"{sys.argv[2]} {number}")
    fleet.claims.take(fleet.author, f"lead:{sys.argv[2]}", keep=60)
    fleet.claims.release(fleet.author, f"lead:{sys.argv[2]}")
    print(record.seq, record.id, flush=True)
    number += 1
"""


@pytest.fixture
def loaded(scripted: Scripted) -> Iterator[list["subprocess.Popen[str]"]]:
    """Four writers that never rest."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(scripted.root), str(n)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    yield writers
    for writer in writers:
        writer.kill()
        writer.communicate()


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_backups_under_load(
    scripted: Scripted, tmp_path: Path, loaded: list["subprocess.Popen[str]"]
) -> None:
    """Four writers, a runner and its agents: each of ten backups restores to a sound home.

    Every record that was acknowledged before a backup began is in it, no lane is beyond its log,
    and numbers and ids go on where they stood.
    """
    for n in range(4):
        script = "cat > /dev/null; fleet emit note n=$FLEET_RUN_ID; fleet report done; echo done"
        scripted.agent(f"worker-{n}", script, schedule="{every: 2s}")
    with running(scripted) as up:
        assert until(lambda: len(scripted.ended()) > 6, 60), up.said()
        for number in range(10):
            said = [writer.stdout.readline().split() for writer in loaded]  # type: ignore[union-attr]
            target = tmp_path / f"{number}.zip"
            done = scripted.call("backup", str(target))
            assert done.returncode == 0, done.stderr
            back = scripted.call("restore", str(target), str(tmp_path / f"home-{number}"))
            assert back.returncode == 0, (back.stdout, back.stderr)
            check_restored(Scripted.at(tmp_path / f"home-{number}"), said)
        assert up.stop(30) == 0
    assert verify(scripted.fleet) == []


def check_restored(copy: Scripted, said: list[list[str]]) -> None:
    """All that was said is there, nothing points beyond it, and the next number is the next."""
    fleet = copy.fleet
    for seq, ident in said:
        assert fleet.bus.get(int(seq)).id == ident
    assert [finding for finding in verify(fleet) if finding.severity != "note"] == []
    for agent in fleet.config.agents:
        assert fleet.bus.lane_check(agent) == []
        for run in fleet.runs.list(agent, 100):
            assert fleet.config.run_folder(run.id).is_dir()
            assert all(int(ref.partition("#")[2]) <= fleet.store.head("events") for ref in run.shown
                       if ref.startswith("events#"))  # fmt: skip
    head = fleet.store.head("events")
    assert fleet.bus.emit(fleet.author, "note", {"n": "next"}).seq == head + 1
    alive = [run for run in fleet.runs.open() if processes.with_run_id(run.id, str(copy.root))]
    assert alive == []


def test_a_backup_and_a_trim_wait_for_each_other(scripted: Scripted, monkeypatch) -> None:
    """While the files are copied nothing is moved: the other is told who is at work."""
    monkeypatch.setattr(locking, "MAINTENANCE", 0.05)
    scripted.agent("worker", "true")
    fleet = scripted.fleet
    fleet.bus.emit(fleet.author, "note", {"n": "1"})

    with fleet.maintained(shared=True):
        with fleet.maintained(shared=True):
            pass  # two backups
        with pytest.raises(LockTimeout, match="pid"), fleet.maintained(shared=False):
            pass
