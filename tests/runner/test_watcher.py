"""The bell that writes to the event log ring."""

import threading
from pathlib import Path

import pytest
import watchfiles

from fleet.runner.watcher import Watcher
from fleets import until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log's folder."""
    path = tmp_path / "events"
    path.mkdir()
    (path / "1.jsonl").write_text("{}\n")
    return path


def test_a_line_that_is_appended_rings_at_once(folder: Path) -> None:
    """Within a second, also in a segment that is new; nothing rings before, or after the stop."""
    rung = threading.Event()
    watcher = Watcher(folder, rung.set)
    watcher.look()
    try:
        assert until(lambda: _touched(folder / "1.jsonl", rung))
        for name in ("1.jsonl", "2.jsonl"):
            rung.clear()
            with (folder / name).open("a") as file:
                file.write("{}\n")
            assert rung.wait(1.0), name
    finally:
        watcher.stop()
    rung.clear()
    (folder / "3.jsonl").write_text("{}\n")

    assert not rung.wait(0.3)
    assert not watcher.watches


def test_a_folder_that_comes_later_is_watched_then(tmp_path: Path) -> None:
    """A home without events has no folder for them; looking again and again costs one thread."""
    before = threading.active_count()
    watcher = Watcher(tmp_path / "events", lambda: None)
    for _ in range(3):
        watcher.look()
    assert not watcher.watches
    (tmp_path / "events").mkdir()
    try:
        for _ in range(3):
            watcher.look()
        assert watcher.watches
        assert threading.active_count() == before + 1
    finally:
        watcher.stop()
    assert threading.active_count() == before


def test_where_the_system_cannot_watch_nobody_is_hurt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No inotify watch is left: the thread ends by itself, and is tried again much later."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watchfiles, "watch", refused)
    watcher = Watcher(folder, lambda: None)
    watcher.look()

    assert until(lambda: not watcher.watches)
    watcher.look()
    assert not watcher.watches
    watcher.stop()


def _touched(path: Path, rung: threading.Event) -> bool:
    """Write until the thread watches: when it begins is its own affair."""
    with path.open("a") as file:
        file.write("{}\n")
    return rung.wait(0.2)
