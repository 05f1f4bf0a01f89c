"""The file of the index: opened, made, dropped when it is no good. What is in it is not known here.

It is a cache and is treated as one: a file that is damaged, foreign or of another version is made
anew, and where no file can be had the index is built in memory.
"""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from fleet.errors import TryAgain
from fleet.wiring.locking import file_lock

if TYPE_CHECKING:
    from fleet.places import Places

T = TypeVar("T")

NAME: Final = "audit.sqlite"
WAIT = 20.0  # seconds for another process that writes a batch
MEMORY = -65536  # KiB of pages that a connection may hold, as SQLite writes it
SIDES = ("", "-wal", "-shm", "-journal")
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Damaged(Exception):
    """The file does not fit what it was made of, and has to be made anew."""


class File:
    """One connection to the index of a home, replaced by another one when it turns out bad.

    Args:
        places: of the home.
        schema: the statements that make an empty index, a semicolon between two.
        version: of `schema` and of what is put in; another one is made anew.
    """

    def __init__(self, places: "Places", schema: str, version: int) -> None:
        self._path = places.cache / NAME
        self._lock = places.locks / "audit"
        self._there = places.format_file
        self._schema = schema
        self._version = version
        self._connection: sqlite3.Connection | None = None

    def use(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """What `ask` answers; asked again of a new file, then of memory, where the file is bad.

        Raises:
            TryAgain: another process has written for longer than `WAIT`.
        """
        for again in (self._anew, self._in_memory):
            try:
                return ask(self._open())
            except (Damaged, sqlite3.DatabaseError, OSError) as fault:
                if getattr(fault, "sqlite_errorcode", 0) & 0xFF in _BUSY:
                    raise TryAgain(
                        "another process is filling the index of the audit", "repeat it"
                    ) from fault
                again()
        return ask(self._open())

    def close(self) -> None:
        """Give the file back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._own_place():
                with file_lock(self._lock, WAIT):
                    self._connection = self._opened()
            else:
                self._in_memory()
        assert self._connection is not None  # noqa: S101 - made above
        return self._connection

    def _own_place(self) -> bool:
        """Whether there is a state to keep a cache in, and no link that leads out of it."""
        folders = (self._path.parent.parent, self._path.parent)
        return self._there.exists() and not any(map(os.path.islink, folders))

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(self._path):
            self._remove()
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        connection = _connect(self._path)
        with _or_closed(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if _version(connection) == 0:
                self._make(connection)
            if _version(connection) != self._version:
                raise Damaged
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        for statement in ("BEGIN IMMEDIATE", *self._schema.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._version}")
        connection.execute("COMMIT")

    def _anew(self) -> None:
        """Drop the file; who has it open goes on with what has no name any more."""
        self.close()
        with suppress(OSError, TryAgain), file_lock(self._lock, WAIT):
            self._remove()

    def _remove(self) -> None:
        for side in SIDES:
            self._path.with_name(NAME + side).unlink(missing_ok=True)

    def _in_memory(self) -> None:
        self.close()
        self._connection = _connect(":memory:")
        self._make(self._connection)


def _connect(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA cache_size = {MEMORY}")
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_own(path: Path) -> bool:
    """Whether nothing stands at `path`, or a file of this user's alone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    own = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.geteuid()
    return own and not stat.S_IMODE(found.st_mode) & 0o077


@contextmanager
def _or_closed(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of the block is kept, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
