"""How records get into the index: every log merged by time, in batches that are kept whole.

Rows are numbered in the order of time, so that the newest come first without sorting.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import islice

from fleet.audit.index.file import Damaged, writing
from fleet.audit.said import Said, millis, said, streams
from fleet.logs import between, holds
from fleet.ports import Store
from fleet.records import Body, Place, Record

BATCH = 20_000  # records in one transaction
MARK = "\ue000"  # begins the words that no text can hold: whose, where, of which type

OF_LOGS = {
    "events": "awareness",
    "metrics": "metrics",
    "retractions": "corrections",
    "questions": "you",
}  # the section that shows records of such a log
READ = "read"  # how a run came to see what it asked for itself
VERSION = 2
TOKENS = "unicode61 remove_diacritics 2 categories ''L* N* M* Co''"
SCHEMA = f"""
CREATE TABLE places (stream TEXT PRIMARY KEY, seq INTEGER, crc TEXT) WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE records (id INTEGER PRIMARY KEY, stream INTEGER, seq INTEGER, at INTEGER);
CREATE VIRTUAL TABLE words
  USING fts5(text, content='', detail=none, columnsize=0, tokenize='{TOKENS}');
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
CREATE TABLE runs
  (id INTEGER PRIMARY KEY, run TEXT UNIQUE, agent TEXT, first INTEGER, last INTEGER);
CREATE TABLE wrote
  (run INTEGER, stream INTEGER, seq INTEGER, word INTEGER, PRIMARY KEY (run, stream, seq))
  WITHOUT ROWID;
CREATE TABLE shown
  (ref TEXT, run INTEGER, how TEXT, PRIMARY KEY (ref, run, how))
  WITHOUT ROWID
"""  # noqa: S608 - constants only

Progress = Callable[[int, int], None]


def nothing(_done: int, _all: int) -> None:
    """For who does not watch."""


def places(connection: sqlite3.Connection) -> dict[str, Place]:
    """How far each log is in the index."""
    rows = connection.execute("SELECT stream, seq, crc FROM places")
    return {stream: Place(seq, crc) for stream, seq, crc in rows}


def bring_up(connection: sqlite3.Connection, store: Store, progress: Progress = nothing) -> None:
    """Take in what every log has beyond its place.

    Several processes may do so at once: each batch goes on from what the last one left.

    Raises:
        Damaged: a log was replaced or restored, or the index says what cannot be.
    """
    heads = {name: store.head(name) for name in streams(store)}
    known = places(connection)
    if not all(holds(store, name, place) for name, place in known.items()):
        raise Damaged
    missing = _missing(heads, known)
    done, total = 0, sum(heads[name] - known.get(name, Place(0)).seq for name in missing)
    fresh = _fresh(store, heads, known)
    while missing:
        with writing(connection):
            if (now := places(connection)) != known:  # another process was here
                known, fresh = now, _fresh(store, heads, now)
            batch = list(islice(fresh, BATCH))
            if not batch:
                return
            for name in {record.stream for record in batch}:
                store.sync(name)
            known |= _Filler(connection).take(batch)
        done += len(batch)
        progress(done, total)


def missing(connection: sqlite3.Connection, store: Store) -> int:
    """How many records the logs have beyond the index."""
    known = places(connection)
    heads = {name: store.head(name) for name in streams(store)}
    return sum(max(0, heads[name] - known.get(name, Place(0)).seq) for name in heads)


def _missing(heads: dict[str, int], known: dict[str, Place]) -> list[str]:
    return [name for name, head in heads.items() if head > known.get(name, Place(0)).seq]


def _fresh(store: Store, heads: dict[str, int], known: dict[str, Place]) -> Iterator[Record]:
    """Every record beyond its log's place, the oldest first; in a log by number, always."""
    logs = [
        between(store, name, known.get(name, Place(0)).seq, heads[name])
        for name in _missing(heads, known)
    ]
    return merge(*logs, key=lambda record: record.at)


class _Filler:
    """Puts one batch in, within the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._names: dict[str, int] = dict(connection.execute("SELECT name, id FROM names"))
        self._runs: dict[str, int] = {}

    def take(self, batch: Sequence[Record]) -> dict[str, Place]:
        """Put `batch` in; how far each of its logs has come."""
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()
        rows, words, wrote = [], [], []
        passed: dict[str, Place] = {}
        for number, record in enumerate(batch, last + 1):
            says = said(record)
            stream = self._name(record.stream)
            rows.append((number, stream, record.seq, millis(record)))
            words.append((number, self._words(record.stream, says)))
            if says.run:
                wrote.append((self._run(says.run), stream, record.seq, self._name(says.word)))
            if record.stream.startswith("runs/"):
                self._of_a_run(record)
            passed[record.stream] = Place(record.seq, record.crc)
        many = self._connection.executemany
        many("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
        many("INSERT INTO words (rowid, text) VALUES (?, ?)", words)
        many("INSERT OR IGNORE INTO wrote VALUES (?, ?, ?, ?)", wrote)
        many(
            "INSERT OR REPLACE INTO places VALUES (?, ?, ?)",
            [(stream, *place) for stream, place in passed.items()],
        )
        return passed

    def _words(self, stream: str, says: Said) -> str:
        marks = (("s", stream), ("a", says.author), ("t", says.word))
        marked = " ".join(f"{MARK}{kind}{self._name(name)}" for kind, name in marks)
        return f"{marked} {says.word} {plain(says.text)}"

    def _name(self, name: str) -> int:
        if name not in self._names:
            cursor = self._connection.execute("INSERT INTO names (name) VALUES (?)", (name,))
            self._names[name] = int(cursor.lastrowid or 0)
        return self._names[name]

    def _run(self, run: str) -> int:
        if run not in self._runs:
            self._connection.execute("INSERT OR IGNORE INTO runs (run) VALUES (?)", (run,))
            found = self._connection.execute("SELECT id FROM runs WHERE run = ?", (run,))
            self._runs[run] = int(found.fetchone()[0])
        return self._runs[run]

    def _of_a_run(self, record: Record) -> None:
        """Where the run stands in its log, and what it was shown and read."""
        body, run = record.body, record.body.get("run")
        if not isinstance(run, str):
            return
        number = self._run(run)
        self._connection.execute(
            "UPDATE runs SET agent = ?, first = coalesce(first, ?), last = ? WHERE id = ?",
            (record.stream.removeprefix("runs/"), record.seq, record.seq, number),
        )
        context = body.get("context")
        facts = context if isinstance(context, dict) else {}
        rows = [(ref, number, how) for ref, how in (*_shown(facts), *_shown(body))]
        rows += [(ref, number, READ) for ref in _texts(body.get("read"))]
        self._connection.executemany("INSERT OR IGNORE INTO shown VALUES (?, ?, ?)", rows)


def _shown(facts: Body) -> Iterator[tuple[str, str]]:
    """Each reference that a prompt showed, and the section that its form tells of."""
    many = facts.get("events_shown")
    delivered = many if isinstance(many, int) else 0
    for place, ref in enumerate(_texts(facts.get("shown"))):
        yield ref, "events" if place < delivered else section_of(ref)


def section_of(ref: str) -> str:
    """The section that shows records like `ref`, when the events section does not."""
    name, found, _ = ref.partition("#")
    if not found:
        return "memory" if "/" in ref else "awareness"
    if "+" in name:
        return "inbox"
    return OF_LOGS.get(name, "channels")


def _texts(value: object) -> Iterator[str]:
    return (one for one in value if isinstance(one, str)) if isinstance(value, list) else iter(())


def plain(text: str) -> str:
    """`text` as it is indexed: no marks, and signs of scripts without spaces one by one."""
    if text.isascii():
        return text
    return "".join(f" {one} " if _is_a_word(one) else one for one in text.replace(MARK, " "))


def _is_a_word(sign: str) -> bool:
    """Thai to Khmer, kana, CJK ideographs: written without spaces between words."""
    return any(low <= sign <= high for low, high in _UNSPACED)


_UNSPACED = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u3040", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)
