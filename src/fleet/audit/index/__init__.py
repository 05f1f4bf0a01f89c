"""The index of the audit: which record holds which words, who was shown it, what a run wrote.

Never a source of truth: it is made from the logs, costs what is new in them, and may be deleted at
any time. This package is the only door of sqlite3.
"""

from sqlite3 import Connection
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from fleet.audit.index.file import File
from fleet.audit.index.filling import READ, SCHEMA, VERSION, Progress, bring_up, missing, nothing
from fleet.audit.index.words import Wanted, candidates, row_of
from fleet.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.wiring import Fleet

__all__ = ["READ", "Index", "Span", "Wanted"]

T = TypeVar("T")


class Span(NamedTuple):
    """Where a run stands in the log `runs/<agent>`: its id, and its first and last number."""

    agent: str
    run: str
    first: int
    last: int


class Index:
    """The index of one home, up to date as of the first question that an `Index` is asked.

    Use it in a `with`, or call `close`. Every method may raise `TryAgain` (another process fills
    it for long) and what the store's `read` raises.

    Args:
        fleet: the home.
        progress: told how many records are in and how many there are, after each batch.
    """

    def __init__(self, fleet: "Fleet", progress: Progress = nothing) -> None:
        self._store = fleet.store
        self._progress = progress
        self._file = File(fleet.places, SCHEMA, VERSION)
        self._filled: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _fault: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def refresh(self) -> None:
        """Take in what the logs have beyond it, now."""
        self._filled = None
        self._ask(lambda _: None)

    def candidates(
        self, wanted: Wanted, limit: int, *, before: int | None = None, after: int | None = None
    ) -> list[tuple[int, str, int]]:
        """(row, stream, number) of `limit` records that fit, the newest first.

        Args:
            wanted: which.
            limit: how many.
            before: only rows below that one, to go on with the last row of an earlier answer.
            after: only rows above that one, and the oldest first.
        """
        return self._ask(lambda connection: candidates(connection, wanted, limit, before, after))

    def behind(self) -> int:
        """How many records the logs have that are not in it yet: what a question costs now.

        A log that was replaced is for the next question to find.
        """
        return self._file.use(lambda connection: missing(connection, self._store))

    def row_of(self, record: Record) -> int | None:
        """The row of `record`, for `candidates` to go on before it; None when it is not found."""
        return self._ask(lambda connection: row_of(connection, record))

    def runs_that_saw(self, ref: str) -> list[tuple[str, str, str]]:
        """(agent, run, how) of each run that was shown `ref` or read it, oldest run first.

        `how` is the section of the prompt that showed it, or `READ`. Of a run it is asked by its
        short reference.
        """
        ask = (
            "SELECT runs.agent, runs.run, shown.how FROM shown JOIN runs ON runs.id = shown.run"
            " WHERE shown.ref = ? ORDER BY runs.run, shown.how"
        )
        return self._rows(ask, ref)

    def written_by(self, run: str) -> list[tuple[str, int, str]]:
        """(stream, number, operation or type) of each record that `run` wrote, by log and number.

        Its report is among them, what fleet recorded of its beginning and end is not.
        """
        ask = (
            "SELECT names.name, wrote.seq, words.name FROM wrote JOIN runs ON runs.id = wrote.run"
            " JOIN names ON names.id = wrote.stream JOIN names AS words ON words.id = wrote.word"
            " WHERE runs.run = ? ORDER BY names.name, wrote.seq"
        )
        return self._rows(ask, run)

    def runs(self, prefix: str, limit: int) -> list[Span]:
        """At most `limit` runs whose id begins with `prefix`, oldest first."""
        ask = (
            "SELECT agent, run, first, last FROM runs WHERE run >= ? AND run < ? AND first > 0"
            " ORDER BY run LIMIT ?"
        )
        return [Span(*row) for row in self._rows(ask, prefix, prefix + "\U0010ffff", limit)]

    def _rows(self, ask: str, *values: object) -> list[Any]:
        return self._ask(lambda connection: connection.execute(ask, values).fetchall())

    def _ask(self, ask: "Callable[[Connection], T]") -> T:
        def filled(connection: Connection) -> T:
            if self._filled is not connection:
                bring_up(connection, self._store, self._progress)
                self._filled = connection
            return ask(connection)

        return self._file.use(filled)
