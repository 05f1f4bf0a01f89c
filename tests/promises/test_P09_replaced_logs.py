"""P9: logs that were shortened, replaced or restored are detected; no number is given twice."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fleets import Scripted


def shortened(log: Path, _backup: Path, _other: Path) -> None:
    """The last four lines are gone."""
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-4]))


def restored(log: Path, backup: Path, _other: Path) -> None:
    """A backup was put back."""
    shutil.copy(backup, log)


def removed(log: Path, _backup: Path, _other: Path) -> None:
    """The folder is gone."""
    shutil.rmtree(log.parent)


def replaced(log: Path, _backup: Path, other: Path) -> None:
    """Another home's log stands there, as long as it was."""
    shutil.copy(other, log)


@pytest.mark.parametrize(
    "how", [shortened, removed, replaced, pytest.param(restored, marks=pytest.mark.prove)]
)
def test_a_log_that_is_not_the_old_one_is_detected_and_gone_on_with(
    tmp_path: Path, how: Callable[[Path, Path, Path], None]
) -> None:
    """An alert says so, what is emitted then has a number nobody had, and is shown, once."""
    homes = [Scripted(tmp_path / name) for name in ("home", "other")]
    for home in homes:
        home.agent("worker", "cat > prompt-$FLEET_RUN_ID; echo done")
        fleet = home.fleet
        for n in range(4):
            fleet.bus.emit(fleet.author, "note", {"n": f"{home.root.name} {n}"})
    home, other = homes
    log = next((home.root / "state" / "events").glob("*.jsonl"))
    assert home.call("run", "worker").returncode == 0
    shutil.copy(log, tmp_path / "backup")
    for one in homes:
        fleet = one.fleet
        for n in range(4, 8):
            fleet.bus.emit(fleet.author, "note", {"n": f"{one.root.name} {n}"})
    assert home.call("run", "worker").returncode == 0

    how(log, tmp_path / "backup", next((other.root / "state" / "events").glob("*.jsonl")))
    after = json.loads(home.call("emit", "note", "n=after", "--json").stdout)
    codes = [home.call("run", "worker").returncode for _ in range(2)]
    new = json.loads(home.call("emit", "note", "n=new", "--json").stdout)
    codes += [home.call("run", "worker").returncode for _ in range(2)]

    assert codes == [0] * 4
    alerts = home.fleet.store.read("alerts", 0, 99).records
    assert "replaced-log" in {alert.body["kind"] for alert in alerts}
    assert new["seq"] > 8
    delivered = [ref for run in home.runs() for ref in run.delivered]
    assert delivered.count(new["ref"]) == 1
    assert any('n="after"' in _events(home, run.id) for run in home.runs())
    seqs = [record.seq for record in home.fleet.store.read("events", 0, 99).records]
    assert seqs == sorted(set(seqs))
    assert after["id"] != new["id"]


def _events(home: Scripted, run: str) -> str:
    """The section of events that a run was told."""
    told = (home.root / "work" / "worker" / f"prompt-{run}").read_text()
    return told.split("## Events for you")[1].split("## Channels")[0]


def test_a_restored_channel_shows_what_is_new(scripted: Scripted) -> None:
    """After a backup of a channel is put back its readers are told of what comes then."""
    scripted.agent("worker", "cat > prompt; echo done")
    fleet = scripted.fleet
    fleet.talk.post(fleet.author, "strategy", "first")
    log = next((scripted.root / "state" / "channels" / "strategy").glob("*.jsonl"))
    backup = log.read_bytes()
    for n in range(5):
        fleet.talk.post(fleet.author, "strategy", f"more {n}")
    assert scripted.call("run", "worker").returncode == 0
    log.write_bytes(backup)

    assert scripted.call("run", "worker").returncode == 0
    ref = scripted.call("post", "strategy", "new one").stdout.strip()
    assert scripted.call("run", "worker").returncode == 0

    assert int(ref.partition("#")[2]) > 6
    assert "new one" in (scripted.root / "work" / "worker" / "prompt").read_text()
