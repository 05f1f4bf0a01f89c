"""Files that say who runs, who holds and who is paused, when they are empty, cut or a folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fleets import Scripted


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if path.exists() else b'{"v')


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """A home in which an agent ran, was paused and resumed: each marker file is there."""
    home = Scripted(tmp_path_factory.mktemp("used") / "home")
    home.agent("worker", "cat > /dev/null; echo done", schedule="{every: 1h}")
    home.call("pause", "worker")
    home.call("resume", "worker")
    assert home.call("run", "worker").returncode == 0
    return home


@pytest.mark.parametrize("damage", [_empty, _half, _folder])
@pytest.mark.parametrize("name", ["control/worker", "cursors/worker", "claims/agent%3Aworker"])
def test_a_document_is_never_a_deadlock(
    used: Scripted, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    """B4: with a marker that says nothing a run goes on, or one line says which file is at fault.

    Then `doctor` names the file too, and moving it away, as it says, is enough.
    """
    home = _copy(used, tmp_path)
    path = home.root / "state" / f"{name}.json"
    assert path.exists()
    damage(path)

    done = home.call("run", "worker")

    assert done.returncode in {0, 5, 75}, done.stderr
    if done.returncode:
        assert path.name in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert path.name in home.call("doctor").stdout
        path.rmdir() if path.is_dir() else path.unlink()
        assert home.call("run", "worker").returncode == 0


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("alive.json", _empty),
        ("alive.json", _folder),
        ("exit.json", _half),
        ("exit.json", _folder),
        ("keeper.json", _half),
        ("manifest.json", _empty),
    ],
)
def test_a_run_folder_is_never_a_deadlock(
    used: Scripted, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    """B4: an open run whose folder says nothing sensible is settled, and its agent runs again."""
    home = _copy(used, tmp_path)
    _reopen(home)
    (run,) = home.runs()
    assert run.open
    damage(home.root / "state" / "run" / run.id / name)

    assert home.call("run", "worker").returncode == 0

    assert [bool(one.outcome) for one in home.runs()] == [True, True]


@pytest.mark.parametrize("content", [b"", b"4194304\n"], ids=["empty", "a-pid"])
def test_a_lock_file_is_no_marker(used: Scripted, tmp_path: Path, content: bytes) -> None:
    """B4: whatever stands in a lock file, or beside it, nobody holds it who does not."""
    home = _copy(used, tmp_path)
    locks = home.root / "state" / "locks"
    for name in [*locks.iterdir(), locks / "runner.lock", locks / "runner.lock.holder"]:
        (locks / name).write_bytes(content)

    assert home.call("emit", "note", "n=1").returncode == 0
    assert home.call("run", "worker").returncode == 0


def _copy(used: Scripted, tmp_path: Path) -> Scripted:
    return used.copied_to(tmp_path / "home")


def _reopen(home: Scripted) -> None:
    """Make the home's only run one without an end, as after a crash of everything."""
    (log,) = (home.root / "state" / "runs" / "worker").glob("*.jsonl")
    lines = [
        line for line in log.read_bytes().splitlines(True) if json.loads(line)["op"] != "ended"
    ]
    log.write_bytes(b"".join(lines))
    shutil.rmtree(home.root / "state" / "cache")
