"""Records that hold a text, the newest first: asked of the index, proved by the logs."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from fleet.audit.index import Index, Wanted
from fleet.audit.lines import Line, line
from fleet.audit.rights import Rights
from fleet.errors import Unknown
from fleet.logs import record_at
from fleet.memory.items import BY_NOUN
from fleet.records import Record
from fleet.text import clip, suggest

if TYPE_CHECKING:
    from fleet.wiring import Fleet

PAGE = 100  # rows asked for at once
MOST = 5000  # rows looked at for one question: beyond them its words are too common to be exact
WORDS = (
    *("post", "react", "metric", "report", "taken", "released", "retract"),
    *("asked", "answered", "later"),
)
"""Operations that people look for."""
_PART = re.compile(r'"([^"]+)"|(\S+)')


def find(
    fleet: "Fleet",
    index: Index,
    text: str,
    *,
    word: str | None = None,
    author: str | None = None,
    stream: str | None = None,
    since: float | None = None,
    until: float | None = None,
    before: Record | None = None,
    limit: int = 20,
) -> list[Line]:
    """At most `limit` records with every word of `text`, the newest first.

    What the author of `fleet` may not see is no candidate; what was taken back is shown to people
    only. A part in double quotes, or a word with signs in it, must stand there as it is typed but
    for case and accents.

    Args:
        fleet: the home, and who asks.
        index: of the home.
        text: words; in any case.
        word: an event's type or an operation (`post`, `report`, `taken`).
        author: whose records; an agent's former names count.
        stream: only this log.
        since: not before (epoch seconds).
        until: not after (epoch seconds).
        before: only records older than this one.
        limit: how many.

    Raises:
        NotAllowed: `stream` is not the author's to see.
        Unknown: no record is of such a `word` or `author`, and no file names it.
    """
    rights = Rights(fleet)
    if stream is not None:
        rights.require(stream)
    wanted = Wanted(
        text=text,
        word=word,
        authors=None if author is None else fleet.config.names_of(author),
        streams=None if stream is None else (stream,),
        seen_as="" if rights.everything else rights.name,
        open_to=rights.open_to,
        since=since,
        until=until,
    )
    row = index.row_of(before) if before else None
    found = list(islice(_fitting(fleet, index, wanted, row, rights), limit))
    if not found:
        _require_known(fleet, index, word, author)
    return found


def _require_known(fleet: "Fleet", index: Index, word: str | None, author: str | None) -> None:
    """Tell a name that is nowhere from one of which nothing was found."""
    words, agents = {*fleet.config.types, *BY_NOUN, *WORDS}, fleet.config.agents
    if word is not None and word not in words and not index.candidates(Wanted(word=word), 1):
        near = suggest(word, words) or "fleet schema list names the types of events"
        raise Unknown(f"no record is of the type '{clip(word, 80)}'", near)
    if author is None or author in agents:
        return
    if not index.candidates(Wanted(authors=(author,)), 1):
        near = suggest(author, agents) or "fleet agents lists them"
        raise Unknown(f"there is no agent '{clip(author, 80)}', and no record of one", near)


def _fitting(
    fleet: "Fleet", index: Index, wanted: Wanted, row: int | None, rights: Rights
) -> Iterator[Line]:
    literal = [_folded(part) for part in _literal(wanted.text)]
    for stream, seq in islice(_rows(index, wanted, row), MOST):
        record = record_at(fleet.store, stream, seq)
        if record is None or not rights.sees(record):
            continue
        found = line(fleet, record)
        if found.retracted is not None and not rights.everything:
            continue
        if all(part in _folded(found.says.text) for part in literal):
            yield found


def _rows(index: Index, wanted: Wanted, row: int | None) -> Iterator[tuple[str, int]]:
    while page := index.candidates(wanted, PAGE, before=row):
        yield from ((stream, seq) for _, stream, seq in page)
        row = page[-1][0]


def _literal(text: str) -> list[str]:
    """The parts of `text` that must stand in a record as they are: words alone need not."""
    parts = [quoted or word for quoted, word in _PART.findall(text)]
    return [part for part in parts if not (part.isascii() and part.isalnum())]


def _folded(text: str) -> str:
    """`text` without case and accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in apart if not unicodedata.combining(sign)).casefold()
