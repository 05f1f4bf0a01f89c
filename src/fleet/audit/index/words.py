"""Looking for words in the index: the newest records that fit, by row; no text is kept in it."""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import NamedTuple

from fleet.audit.index.filling import MARK, TOKENS, plain
from fleet.audit.said import REPORT, millis
from fleet.records import Record

_STREAM, _AUTHOR, _WORD = "s", "a", "t"


class Wanted(NamedTuple):
    """Which records are looked for: all of what is given must hold.

    Attributes:
        text: words that must all occur, "" for any text.
        word: an event's type, else an operation.
        authors: whose records: every name of theirs; None for everybody's.
        streams: only these logs; None for all.
        seen_as: who looks: he sees the logs in `open_to` and everybody's reports; "" for
            who may see everything.
        open_to: see `seen_as`.
        since: not before (epoch seconds).
        until: not after (epoch seconds).
    """

    text: str = ""
    word: str | None = None
    authors: Sequence[str] | None = None
    streams: Sequence[str] | None = None
    seen_as: str = ""
    open_to: Sequence[str] = ()
    since: float | None = None
    until: float | None = None


def candidates(
    connection: Connection, wanted: Wanted, limit: int, before: int | None, after: int | None
) -> list[tuple[int, str, int]]:
    """See `Index.candidates`."""
    match = _match(connection, wanted)
    low = 0 if wanted.since is None else _row_at(connection, int(wanted.since * 1000))
    high = _row_at(connection, int(wanted.until * 1000) + 1) if wanted.until is not None else None
    low = low if after is None else max(low, after + 1)
    top = min(bound for bound in (before, high, 1 << 62) if bound is not None)
    if not match or top <= low:
        return []
    order = " ORDER BY words.rowid DESC" if after is None else " ORDER BY words.rowid"
    ask = (
        "SELECT records.id, names.name, records.seq FROM words"
        " JOIN records ON records.id = words.rowid JOIN names ON names.id = records.stream"
        " WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ?"
    )
    return connection.execute(ask + order + " LIMIT ?", (match, low, top, limit)).fetchall()


def row_of(connection: Connection, record: Record) -> int | None:
    """See `Index.row_of`."""
    at = millis(record)
    first, last = _row_at(connection, at), _row_at(connection, at + 1)
    ask = (
        "SELECT records.id FROM records JOIN names ON names.id = records.stream"
        " WHERE records.id >= ? AND records.id < ? AND names.name = ? AND records.seq = ?"
    )
    found = connection.execute(ask, (first, last, record.stream, record.seq)).fetchone()
    return int(found[0]) if found else None


def _row_at(connection: Connection, millis: int) -> int:
    """The first row that is not stamped before `millis`: rows are numbered in that order."""
    (low,) = connection.execute("SELECT coalesce(min(id), 1) FROM records").fetchone()
    (high,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM records").fetchone()
    while low < high:
        middle = (low + high) // 2
        found = connection.execute("SELECT at FROM records WHERE id = ?", (middle,)).fetchone()
        if found and found[0] < millis:
            low = middle + 1
        else:
            high = middle
    return int(low)


def _match(connection: Connection, wanted: Wanted) -> str:
    """The question in the words of FTS5; "" when nothing can fit it."""
    marks = _Marks(connection)
    parts = [f'"{term}"' for term in _terms(connection, wanted.text)]
    if wanted.text and not parts:
        return ""
    if wanted.word is not None:
        parts.append(marks.of(_WORD, wanted.word))
    if wanted.authors is not None:
        parts.append(marks.any_of(_AUTHOR, wanted.authors))
    if wanted.streams is not None:
        parts.append(marks.any_of(_STREAM, wanted.streams))
    if wanted.seen_as:
        reports = marks.of(_WORD, REPORT)
        parts.append(f"({marks.any_of(_STREAM, wanted.open_to)} OR {reports})")
    return " AND ".join(parts) or marks.of(_WORD, "")


class _Marks:
    """The words that stand for a log, an author, a type; one that nothing bears for an unknown."""

    def __init__(self, connection: Connection) -> None:
        self._names = dict(connection.execute("SELECT name, id FROM names").fetchall())

    def of(self, kind: str, name: str) -> str:
        return f'"{MARK}{kind}{self._names.get(name, 0)}"'

    def any_of(self, kind: str, names: Sequence[str]) -> str:
        return "(" + " OR ".join(self.of(kind, name) for name in (*names, "\0")) + ")"


def _terms(connection: Connection, text: str) -> list[str]:
    """`text` cut into words as the index cuts texts, by the same tokenizer."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.asked USING fts5(text, tokenize='{TOKENS}')")
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.cut USING fts5vocab(temp, asked, instance)")
        connection.execute("INSERT INTO temp.asked VALUES (?)", (plain(text),))
        rows = connection.execute("SELECT DISTINCT term FROM temp.cut").fetchall()
        connection.execute("DROP TABLE temp.cut")
    finally:
        connection.execute("DROP TABLE temp.asked")
    return [term for (term,) in rows]
