"""A disk in user space that loses at a power cut what was never synced.

The program `-m promises.forgetful BACKING MOUNT SEED` serves it. What is written stands in memory
and reaches the folder BACKING when its file is synced; names, lengths that shrink and modes reach
it at once. Making a file called `.cut` cuts the power: chance writes a part of what was waiting,
and the program is gone. A file `.fault` in BACKING says what fails from now on: `write` or `sync`.
"""

# ruff: noqa: D102, PTH101, PTH102, PTH104, PTH106, PTH108, PTH208 - the system's calls, one by one

import errno
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from fleets import until

if __name__ == "__main__":
    import mfusepy as fuse
else:
    fuse = None


class Disk(fuse.Operations if fuse else object):  # type: ignore[misc]
    """The file system: the library's own calls, every one by path and in any thread."""

    use_ns = True

    def __init__(self, backing: str, seed: int) -> None:
        self._backing = backing
        self._rng = random.Random(seed)
        self._held: dict[str, bytearray] = {}  # what each file that was written to holds now
        self._waiting: dict[str, list[tuple[int, bytes]]] = {}  # and the writes not synced yet
        self._lock = threading.RLock()

    def _at(self, path: str) -> str:
        return self._backing + path

    def _fail_if(self, what: str) -> None:
        fault = Path(self._backing, ".fault")
        if fault.exists() and what in fault.read_text():
            raise fuse.FuseOSError(errno.EIO)

    def _content(self, path: str) -> bytearray:
        if path not in self._held:
            self._held[path] = bytearray(Path(self._at(path)).read_bytes())
        return self._held[path]

    def _flush(self, path: str, writes: list[tuple[int, bytes]]) -> None:
        fd = os.open(self._at(path), os.O_WRONLY)
        for offset, data in writes:
            os.pwrite(fd, data, offset)
        os.close(fd)

    def _cut(self) -> None:
        with self._lock:
            for path, writes in self._waiting.items():
                some = writes[: self._rng.randrange(len(writes) + 1)]
                if some:
                    offset, data = some[-1]
                    some[-1] = offset, data[: self._rng.randrange(len(data) + 1)]
                    self._flush(path, some)
            os._exit(1)

    # Names: at once ---------------------------------------------------------------------------

    def getattr(self, path: str, fh: object = None) -> dict[str, int]:
        found = os.lstat(self._at(path))
        names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino")
        facts = {name: getattr(found, name) for name in names}
        facts |= {name: getattr(found, name + "_ns") for name in ("st_atime", "st_mtime")}
        facts["st_ctime"] = found.st_ctime_ns
        with self._lock:
            if path in self._held:
                facts["st_size"] = len(self._held[path])
        return facts

    def readdir(self, path: str, fh: object) -> list[str]:
        return [".", "..", *os.listdir(self._at(path))]

    def create(self, path: str, mode: int, fi: object = None) -> int:
        if path == "/.cut":
            self._cut()
        os.close(os.open(self._at(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        return 0

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(self._at(path), mode)

    def rmdir(self, path: str) -> None:
        os.rmdir(self._at(path))

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self._at(path), mode)

    def utimens(self, path: str, times: Any = None) -> None:
        os.utime(self._at(path), ns=times and tuple(map(int, times)))

    def unlink(self, path: str) -> None:
        with self._lock:
            os.unlink(self._at(path))
            self._held.pop(path, None)
            self._waiting.pop(path, None)

    def rename(self, old: str, new: str) -> None:
        with self._lock:
            os.rename(self._at(old), self._at(new))
            for kept in (self._held, self._waiting):
                kept.pop(new, None)
                if old in kept:
                    kept[new] = kept.pop(old)

    # Bytes: when they are synced --------------------------------------------------------------

    def open(self, path: str, flags: int) -> int:
        os.close(os.open(self._at(path), os.O_RDONLY | os.O_NOFOLLOW))
        return 0

    def read(self, path: str, size: int, offset: int, fh: object) -> bytes:
        with self._lock:
            if path in self._held:
                return bytes(self._held[path][offset : offset + size])
        with Path(self._at(path)).open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def write(self, path: str, data: bytes, offset: int, fh: object) -> int:
        self._fail_if("write")
        with self._lock:
            content = self._content(path)
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
            self._waiting.setdefault(path, []).append((offset, data))
        return len(data)

    def truncate(self, path: str, length: int, fh: object = None) -> None:
        with self._lock:
            content = self._content(path)
            del content[length:]
            content.extend(bytes(length - len(content)))
            kept = [(at, data[: length - at]) for at, data in self._waiting.get(path, [])]
            self._waiting[path] = [(at, data) for at, data in kept if at < length]
            if Path(self._at(path)).stat().st_size > length:
                os.truncate(self._at(path), length)

    def fsync(self, path: str, datasync: int, fh: object) -> None:
        self._fail_if("sync")
        with self._lock:
            self._flush(path, self._waiting.pop(path, []))

    def fsyncdir(self, path: str, datasync: int, fh: object) -> None:
        self._fail_if("sync")

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._backing)
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files")
        return {name: getattr(found, name) for name in (*names, "f_frsize", "f_namemax")}


class Mounted:
    """The disk of the folder `backing`, mounted at `at` until the block ends or the power goes.

    `why_not` is "" or why this machine cannot have one.
    """

    def __init__(self, backing: Path, at: Path, seed: int) -> None:
        self.backing, self.at = backing, at
        for folder in (backing, at):
            folder.mkdir(exist_ok=True)
        self._log = backing.with_name(f"{backing.name}.log")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "promises.forgetful", str(backing), str(at), str(seed)],
                cwd=Path(__file__).parent.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(lambda: at.is_mount() or self._process.poll() is not None)
        self.why_not = "" if at.is_mount() else self._log.read_text(errors="replace")[-200:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        subprocess.run(["umount", "-l", str(self.at)], capture_output=True, check=False)

    def cut(self) -> None:
        """The power goes."""
        try:
            (self.at / ".cut").touch()
        except OSError:  # the disk is gone before it can answer
            self._process.wait(10)


if __name__ == "__main__":
    fuse.FUSE(
        Disk(sys.argv[1], int(sys.argv[3])), sys.argv[2], foreground=True, default_permissions=True
    )
