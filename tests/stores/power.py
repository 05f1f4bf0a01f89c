"""A power cut: what survives is what was synced, and of the rest whatever chance leaves.

`Power` stands between the store and the disk. It keeps what a disk would really hold: bytes reach
it when their file is synced, names when their folder is; a failed sync forgets what it should have
written, as operating systems do.
"""

import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fleet.stores.files import disk


class Cut(BaseException):
    """The power is gone: nothing after this call happened."""


class Power:
    """The disk below `root`, and a switch.

    Attributes:
        calls: how many times the disk was asked for something.
        cut_at: the call at which the power goes; 0 means never.
        failing: whether syncs of files fail.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.calls = 0
        self.cut_at = 0
        self.failing = False
        self._bytes: dict[int, bytes] = {}  # inode -> what the disk holds of it
        self._waiting: dict[int, list[tuple[int, bytes]]] = {}  # inode -> writes not synced yet
        self._names: dict[int, dict[str, int]] = {}  # inode of a folder -> names it holds
        self._kept: dict[int, int] = {}  # inode -> a descriptor, so that no other file gets it
        self._real = {
            name: getattr(disk, name)
            for name in ("write", "write_at", "sync_file", "sync_folder", "rename")
        }
        self._names[root.stat().st_ino] = {}
        for name in self._real:
            monkeypatch.setattr(disk, name, getattr(self, f"_{name}"))

    def _spend(self) -> None:
        self.calls += 1
        if self.calls == self.cut_at:
            raise Cut

    def _write(self, fd: int, data: bytes) -> int:
        self._spend()
        found = os.fstat(fd)
        if found.st_ino not in self._kept:
            self._kept[found.st_ino] = os.dup(fd)
        self._waiting.setdefault(found.st_ino, []).append((found.st_size, data))
        return int(self._real["write"](fd, data))

    def _write_at(self, fd: int, data: bytes, offset: int) -> int:
        self._spend()
        self._waiting.setdefault(os.fstat(fd).st_ino, []).append((offset, data))
        return int(self._real["write_at"](fd, data, offset))

    def _sync_file(self, fd: int) -> None:
        self._spend()
        inode = os.fstat(fd).st_ino
        waiting = self._waiting.pop(inode, [])
        if self.failing:
            raise OSError(errno.EIO, "Input/output error")
        self._bytes[inode] = _applied(self._bytes.get(inode, b""), waiting)[: os.fstat(fd).st_size]

    def _sync_folder(self, path: str) -> None:
        self._spend()
        self._names[Path(path).stat().st_ino] = {
            entry.name: entry.inode() for entry in os.scandir(path)
        }

    def _rename(self, old: str, new: str) -> None:
        self._spend()
        self._real["rename"](old, new)

    def close(self) -> None:
        """Let the inodes go."""
        while self._kept:
            os.close(self._kept.popitem()[1])

    def survivors(self, target: Path, rng: random.Random | None = None) -> Path:
        """What is found at `target` after the cut; with `rng` some of the rest survived as well."""
        target.mkdir()
        self._rebuild(self.root, target, rng)
        return target

    def _rebuild(self, folder: Path, target: Path, rng: random.Random | None) -> None:
        now = {entry.name: entry.inode() for entry in os.scandir(folder)}
        names = dict(self._names.get(folder.stat().st_ino, {}))
        if rng:
            names.update({name: inode for name, inode in now.items() if rng.random() < 0.5})
        folders = {inode: folder / name for name, inode in now.items() if (folder / name).is_dir()}
        for name, inode in names.items():
            if inode in folders:
                (target / name).mkdir(mode=0o700)
                self._rebuild(folders[inode], target / name, rng)
            else:
                (target / name).write_bytes(self._content(inode, rng))
                (target / name).chmod(0o600)

    def _content(self, inode: int, rng: random.Random | None) -> bytes:
        held = self._bytes.get(inode, b"")
        waiting = self._waiting.get(inode, [])
        if not rng or not waiting:
            return held
        more = _applied(held, waiting[: rng.randrange(len(waiting) + 1)])
        return more[: rng.randrange(len(held), len(more) + 1)]


def _applied(held: bytes, writes: list[tuple[int, bytes]]) -> bytes:
    for offset, data in writes:
        held = held[:offset].ljust(offset, b"\0") + data + held[offset + len(data) :]
    return held


@contextmanager
def until_cut() -> Iterator[None]:
    """What is done inside may end with the power."""
    with suppress(Cut):
        yield
