"""Locks between processes, each with a deadline and a holder that can be named.

This is the only module that knows fcntl and filelock. A lock file is never removed: whoever waits
on it would hold a file that a newcomer no longer finds.
"""

import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

from fleet.errors import Held, LockTimeout, NotAllowed
from fleet.records import rfc3339

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_SHORTEST, _LONGEST = 0.0005, 0.01  # seconds between two tries where blocking is no option
_NOTE_AT = 16  # offset in a lock file, behind the pid of its holder
_AGAIN = 0.05  # seconds between two alarms: one that rings just before the call is not enough


def _full_sync(fd: int) -> None:
    fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]


FULL_SYNC: Callable[[int], None] | None = _full_sync if hasattr(fcntl, "F_FULLFSYNC") else None
"""macOS: the call that passes the drive's own cache too. It lives beside the only import."""


class Lock:
    """One flock(2) on a lock file of its own, taken by `with`; threads exclude each other too.

    Args:
        path: the lock file; it is made when missing.
        what: what it protects, for the error.
        timeout: seconds to wait at most.
        shared: with others that only read.

    Raises:
        LockTimeout: not free before the deadline; the message names the holder and its age.
        NotAllowed: a symlink or device stands at `path`.
    """

    __slots__ = ("_fd", "_path", "_shared", "_timeout", "_what")

    def __init__(self, path: str, what: str, *, timeout: float, shared: bool = False) -> None:
        self._path = path
        self._what = what
        self._timeout = timeout
        self._shared = shared
        self._fd = -1

    def __enter__(self) -> Self:
        fd = _open(self._path)
        operation = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
        try:
            free = _try(fd, operation) or _wait(fd, operation, self._timeout)
        except BaseException:
            os.close(fd)
            raise
        if not free:
            os.close(fd)
            from fleet.stores.files.holders import describe_holder

            raise LockTimeout(
                f"the lock on {self._what} was not free within {self._timeout:g} s",
                f"held by {describe_holder(self._path)}; repeat later",
            )
        if sys.platform != "linux":
            os.pwrite(fd, b"%-10d\n" % os.getpid(), 0)
        self._fd = fd
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        fd, self._fd = self._fd, -1
        # Unlocked by word, not only by closing: a child forked meanwhile may share the description.
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def noted(self, size: int) -> bytes:
        """At most `size` bytes that an earlier holder left in the lock file; only while held."""
        return os.pread(self._fd, size, _NOTE_AT)

    def note(self, data: bytes) -> None:
        """Leave `data` to later holders, in place of what stands there; only while held alone."""
        os.pwrite(self._fd, data, _NOTE_AT)


def _open(path: str) -> int:
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        os.fchmod(fd, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):
            raise NotAllowed(f"{path} is a symlink or device", "move it away") from None
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(fd)
        raise NotAllowed(f"{path} is no file of its own", "move it away")
    return fd


def _try(fd: int, operation: int) -> bool:
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(fd: int, operation: int, timeout: float) -> bool:
    if timeout <= 0:
        return False
    return (_block if _may_ring() else _poll)(fd, operation, timeout)


def _may_ring() -> bool:
    """Whether the process's one alarm is free and rings where we wait: a single-threaded command.

    A blocked flock stands in the kernel's queue, so that it is woken at once and in turn.
    """
    import signal
    import threading

    return (
        threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )


class _Rang(BaseException):
    """The alarm of `_block`."""


def _block(fd: int, operation: int, timeout: float) -> bool:
    import signal

    armed = [True]

    def ring(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise _Rang

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, timeout, _AGAIN)
        try:
            fcntl.flock(fd, operation)
        finally:
            armed.clear()
    except _Rang:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return True


def _poll(fd: int, operation: int, timeout: float) -> bool:
    until = time.monotonic() + timeout
    pause = _SHORTEST
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        if _try(fd, operation):
            return True
        pause = min(pause * 2, _LONGEST)


class Singleton:
    """A lock that one process holds for long and that says who: the runner's, or maintenance.

    Unlike `Lock` it belongs to the whole process, works from any thread, and keeps pid, host and
    time in a file beside it, which no contender touches.

    Args:
        path: the lock file; `path` + ".holder" says who holds it.
        what: what it is for, in the error: "the runner of this home".
    """

    def __init__(self, path: str, what: str) -> None:
        from filelock import FileLock  # 86 ms of CPU: only who runs for long pays them

        self._path = path
        self._what = what
        self._lock = FileLock(path, mode=0o600, thread_local=False)

    def acquire(self, timeout: float = 0.5) -> None:
        """Take it, waiting `timeout` seconds: long enough for somebody's look at the holder.

        Raises:
            Held: another process holds it; the message says who, where and since when.
            NotAllowed: a symlink or device stands at its path.
        """
        import filelock

        from fleet.stores.files.holders import describe_noted

        os.close(_open(self._path))
        try:
            self._lock.acquire(timeout=timeout, poll_interval=0.02)
        except filelock.Timeout:
            holder = describe_noted(self._path)
            raise Held(
                f"{self._what} is held by {holder}",
                "stop it, or wait for its end",
                key=self._what,
                holder=holder,
            ) from None
        _write_note(f"{self._path}.holder")

    def release(self) -> None:
        """Give it back; nothing happens when it is not held."""
        self._lock.release()

    def holder(self) -> str | None:
        """Who holds it now, in words; None when it is free. It never names a dead process."""
        fd = _open(self._path)
        try:
            if _try(fd, fcntl.LOCK_SH):
                return None
        finally:
            os.close(fd)
        from fleet.stores.files.holders import describe_noted

        return describe_noted(self._path)


def _write_note(path: str) -> None:
    """Say who holds it; only the holder calls this, so one temporary name is enough."""
    import json

    note = {"pid": os.getpid(), "host": os.uname().nodename, "since": rfc3339(time.time())}
    fd = _open(f"{path}.tmp")
    try:
        os.ftruncate(fd, 0)
        os.write(fd, json.dumps(note).encode())
    finally:
        os.close(fd)
    os.replace(f"{path}.tmp", path)
