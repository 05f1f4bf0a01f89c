"""The only way this store touches the disk: safe opening, whole writes, syncs, errors in words.

It knows no names and no formats. Everything that must be durable goes through `sync_file` and
`sync_folder`, which is where a test cuts the power.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fleet.errors import NotAllowed, Unavailable
from fleet.stores.files.locks import FULL_SYNC

# O_NONBLOCK: opening a FIFO that somebody put here must not wait for its other end.
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_COPY = 1 << 20

_WORDS = {
    errno.ENOSPC: ("the disk is full", "free some space and repeat"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and repeat"),
    errno.EFBIG: ("a file size limit is reached", "raise it (ulimit -f) and repeat"),
    errno.EROFS: ("the file system is read-only", "make the state folder writable and repeat"),
    errno.EACCES: ("permission denied", "run as the owner of the state folder"),
    errno.EPERM: ("permission denied", "run as the owner of the state folder"),
    errno.EMFILE: ("no file descriptors are left", "raise the limit (ulimit -n) and repeat"),
    errno.ENFILE: ("the system has no file descriptors left", "close programs and repeat"),
    errno.EIO: ("the disk reports an input/output error", "check the disk, then `fleet verify`"),
    errno.EISDIR: ("a folder stands in its place", "move the folder away"),
    errno.ENOTDIR: ("a file stands in place of its folder", "move the file away"),
}


def unavailable(error: OSError, doing: str) -> Unavailable:
    """`error` as one line: what could not be done, why, and what to do."""
    words = _WORDS.get(error.errno or 0, (error.strerror or str(error), "see `fleet doctor`"))
    where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
    return Unavailable(f"{doing}: {words[0]}{where}", words[1])


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn the system's errors inside into `Unavailable`; `doing` names the act and its object."""
    try:
        yield
    except OSError as error:
        raise unavailable(error, doing) from error


def open_file(path: str, flags: int, *, create: bool = False) -> int:
    """A descriptor of the regular file at `path`, 0600 whatever the umask when it is new.

    Raises:
        NotAllowed: a symlink, a device, a FIFO, or a file with a second name.
        OSError: as `os.open`.
    """
    # Emptied only once it is known to be ours: O_TRUNC would empty what a hard link shares.
    empty, flags = flags & os.O_TRUNC, flags & ~os.O_TRUNC
    try:
        fd = os.open(path, flags | _FLAGS)
    except FileNotFoundError:
        if not create:
            raise
        fd = _create(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):
            raise _refusal(path, "a symlink or device") from None
        raise
    try:
        _check_regular(path, os.fstat(fd))
        if empty:
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _create(path: str, flags: int) -> int:
    try:
        fd = os.open(path, flags | _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return open_file(path, flags)
    os.fchmod(fd, 0o600)
    return fd


def _check_regular(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(path, "not a regular file")
    if found.st_nlink > 1:
        raise _refusal(path, "a hard link: the file has a second name")


def _refusal(path: str, what: str) -> NotAllowed:
    return NotAllowed(f"{path} is {what}", "move it away; fleet writes only files of its own")


def check_folder(path: str) -> bool:
    """Whether a folder stands at `path`; a symlink or a file in its place is refused.

    Raises:
        NotAllowed: something else stands there.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise _refusal(path, "a symlink" if stat.S_ISLNK(mode) else "not a folder")
    return True


def make_folder(path: str) -> bool:
    """Make the folder `path`, 0700 whatever the umask; whether it was new. Its parent is synced."""
    if check_folder(path):
        return False
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    os.chmod(path, 0o700)
    sync_folder(os.path.dirname(path))
    return True


def write(fd: int, data: bytes) -> int:
    """Write once; the count may be short."""
    return os.write(fd, data)


def write_at(fd: int, data: bytes, offset: int) -> int:
    """Write the same bytes once more where they stand."""
    return os.pwrite(fd, data, offset)


def sync_file(fd: int) -> None:
    """What was written to `fd` is on the disk when this returns."""
    if FULL_SYNC is not None:
        FULL_SYNC(fd)
    else:
        os.fdatasync(fd)


def sync_folder(path: str) -> None:
    """The names in folder `path` are on the disk when this returns."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def rename(old: str, new: str) -> None:
    """Rename; not durable before `sync_folder`."""
    os.rename(old, new)


def discard(path: str) -> None:
    """Remove a file of ours that was never finished, or whose bytes stand elsewhere, durable."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def read_all(path: str, limit: int) -> bytes:
    """The bytes of the file at `path`, at most `limit` + 1 of them: longer means too long."""
    fd = open_file(path, os.O_RDONLY)
    try:
        parts: list[bytes] = []
        left = limit + 1
        while left and (part := os.read(fd, min(left, _COPY))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def own_temporary(path: str) -> str:
    """A temporary name beside `path` that no other thread or process uses: where no lock helps."""
    return f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"


@contextmanager
def staged(temporary: str, data: bytes, *, durable: bool = True) -> Iterator[None]:
    """Hold `data` ready in the file `temporary`, for a rename inside; gone again if that fails.

    The caller holds what keeps others from the same `temporary`.
    """
    try:
        fd = open_file(temporary, os.O_WRONLY | os.O_TRUNC, create=True)
        try:
            _write_all(fd, data)
            if durable:
                sync_file(fd)
        finally:
            os.close(fd)
        yield
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def replace(path: str, data: bytes, *, durable: bool = True, temporary: str = "") -> None:
    """Put `data` at `path` by a temporary file (default: `path` + ".tmp") and rename.

    With `durable` it is synced before the rename; the caller syncs the folder.
    """
    temporary = temporary or f"{path}.tmp"
    with staged(temporary, data, durable=durable):
        rename(temporary, path)


def append_whole(path: str, lines: list[bytes]) -> None:
    """Append `lines` to the file at `path`, durable; what a killed writer left ends its own line.

    For files that tolerate a line twice; the caller holds what keeps other writers away.
    """
    fd = open_file(path, os.O_RDWR | os.O_APPEND, create=True)
    try:
        size = os.fstat(fd).st_size
        cut = size and os.pread(fd, 1, size - 1) != b"\n"
        _write_all(fd, (b"\n" if cut else b"") + b"".join(lines))
        sync_file(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[write(fd, data) :]


def copy_range(source: int, start: int, stop: int, target: str) -> None:
    """Copy bytes `start` to `stop` of descriptor `source` into the file `target`, durable."""
    fd = open_file(target, os.O_WRONLY | os.O_TRUNC, create=True)
    try:
        while start < stop:
            part = os.pread(source, min(_COPY, stop - start), start)
            if not part:
                break
            start += len(part)
            _write_all(fd, part)
        sync_file(fd)
    finally:
        os.close(fd)
