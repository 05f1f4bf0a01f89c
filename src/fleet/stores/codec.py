"""The bytes of a record line and of a document, and nothing about where they are kept.

A line is `{"v":1,"seq":…,"id":…,"at":…,["key":…,]…body…,"crc":"xxxxxxxx"}` and LF; a document is
the same idea over several lines, so that a person can read it. In both, `crc` stands last and is
the CRC-32 of every byte before its comma.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from zlib import crc32

from fleet import strictjson
from fleet.errors import BadHome, Rejected
from fleet.masking import mask_body
from fleet.records import (
    MAX_DOCUMENT,
    MAX_KEY,
    MAX_RECORD,
    RECORD_VERSION,
    RESERVED,
    Body,
    Draft,
    Record,
    Sieve,
)

DOCUMENT_VERSION = 1

_DECODER = json.JSONDecoder()
_CRC_AT = -18  # len(b',"crc":"xxxxxxxx"}')
_PAGE_CRC_AT = -24  # len(b',\n  "crc": "xxxxxxxx"\n}\n')


def _length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Rejected("half a surrogate pair is no character") from None


def to_json(value: object) -> bytes:
    """`value` as compact UTF-8 JSON.

    Raises:
        Rejected: NaN, Infinity, a lone surrogate, too deep, or no JSON at all.
    """
    return strictjson.dumps(value).encode()


# Record lines ---------------------------------------------------------------------------------


def encode_body(draft: Draft) -> bytes:
    """The body's members without braces, checked: what a line holds between `at` and `crc`.

    Raises:
        Rejected: a reserved name, an unencodable value, or a key that is empty or too long.
    """
    for name in draft.body:
        if name in RESERVED:
            raise Rejected(f"a record's body must not use the name {name!r}", "rename it")
    if draft.key is not None and not 0 < _length(draft.key) <= MAX_KEY:
        raise Rejected(
            f"the id {draft.key[:20]!r} is not 1 to {MAX_KEY} bytes long", "give another one"
        )
    return to_json(draft.body)[1:-1]


def encode_record(
    stream: str, seq: int, body: bytes, *, record_id: str, at: str, key: str | None
) -> tuple[bytes, Record]:
    """The whole line, LF included, and the record that stands in it.

    Raises:
        Rejected: it is over `MAX_RECORD` bytes.
    """
    head = b'{"v":%d,"seq":%d,"id":%b,"at":"%b"' % (
        RECORD_VERSION,
        seq,
        to_json(record_id),
        at.encode(),
    )
    if key is not None:
        head += b',"key":' + to_json(key)
    if body:
        head += b"," + body
    crc = b"%08x" % crc32(head)
    line = b'%b,"crc":"%b"}\n' % (head, crc)
    if len(line) > MAX_RECORD:
        raise Rejected(
            f"the record has {len(line)} bytes, the limit is {MAX_RECORD}",
            "shorten it, or put the bulk into a file and name it",
        )
    stored: Body = json.loads(f"{{{body.decode()}}}")
    return line, Record(stream, seq, record_id, at, stored, key, crc.decode())


def check_line(line: bytes) -> str:
    """Why `line` (without LF) is damaged, "" when its bytes are what was written."""
    if len(line) >= MAX_RECORD:
        return f"a line over the limit of {MAX_RECORD} bytes"
    if line[_CRC_AT : _CRC_AT + 8] != b',"crc":"' or line[-2:] != b'"}':
        return "not a record: no checksum at its end"
    if line[_CRC_AT + 8 : -2] != b"%08x" % crc32(line[:_CRC_AT]):
        return "the checksum does not match its bytes"
    return ""


def decode_line(stream: str, line: bytes) -> Record:
    """The record in `line` (without LF).

    Raises:
        ValueError: the line is damaged; the message says how.
        BadHome: it was written by a newer fleet.
    """
    fault = check_line(line)
    if fault:
        raise ValueError(fault)
    try:
        body = _parse(line.decode())
        pop = body.pop
        version, seq, record_id, at, crc = pop("v"), pop("seq"), pop("id"), pop("at"), pop("crc")
    except (KeyError, ValueError) as error:
        raise ValueError(f"not a record ({error})") from None
    if version > RECORD_VERSION:
        raise BadHome(
            f"record {seq} of {stream} has version {version}, this fleet reads {RECORD_VERSION}",
            "upgrade fleet",
        )
    return Record(stream, seq, record_id, at, body, pop("key", None), crc, version)


def _parse(text: str) -> Any:
    """The JSON value that is all of `text`; `json.loads` takes half as long again."""
    value, end = _DECODER.raw_decode(text)
    if end != len(text):
        raise ValueError("something follows its end")
    return value


def seq_of(line: bytes) -> int | None:
    """The number of `line` (without LF), None when it is damaged: no full parse."""
    if check_line(line):
        return None
    digits = line.partition(b'"seq":')[2].partition(b",")[0]
    return int(digits) if digits.isdigit() else None


def crc_in(line: bytes) -> str:
    """The checksum at the end of a good `line` (without LF)."""
    return line[_CRC_AT + 8 : -2].decode()


def same_record(first: Record, draft: Draft) -> bool:
    """Whether `draft` repeats `first`: equal bodies, or equal in the names of `draft.same`.

    Both are compared masked: what a fleet before this one kept may not be.
    """
    again: Body = json.loads(to_json(draft.body))
    before = mask_body(first.body)
    if draft.same is None:
        return again == before
    return all(again.get(name) == before.get(name) for name in draft.same)


def refuse_reuse(first: Record, draft: Draft) -> Rejected:
    """The error for an id that stands for another record already."""
    name = draft.key if draft.key is not None else draft.id
    return Rejected(
        f"the id {name!r} was used for another record ({first.ref})", "give this one another id"
    )


class Needles:
    """The byte test of a `Sieve`: what it refuses cannot pass, what it lets through may."""

    def __init__(self, sieve: Sieve) -> None:
        self._tests = [
            (
                b"%b:" % to_json(name) if None in values else b"",
                [b"%b:%b" % (to_json(name), to_json(value)) for value in values],
            )
            for name, values in sieve.any_of.items()
        ]
        # A line without any of these cannot pass: the member they look for must not be absent.
        self._needed = next((needles for name, needles in self._tests if not name), None)

    def spans(self, chunk: bytes) -> Iterator[tuple[int, int]]:
        """(start, place of its LF) of each line that may pass, in order; `chunk` is whole lines."""
        starts = _starts(chunk) if self._needed is None else _starts_with(chunk, self._needed)
        for start in starts:
            stop = chunk.find(b"\n", start)
            if self.may_pass(chunk[start:stop]):
                yield start, stop

    def may_pass(self, line: bytes) -> bool:
        """An absent member counts as null."""
        return all(
            any(needle in line for needle in needles) or (name != b"" and name not in line)
            for name, needles in self._tests
        )


def _starts(chunk: bytes) -> Iterator[int]:
    at = 0
    while at < len(chunk):
        yield at
        at = chunk.find(b"\n", at) + 1


def _starts_with(chunk: bytes, needles: Iterable[bytes]) -> list[int]:
    """Where each line begins that holds one of `needles`."""
    starts: set[int] = set()
    for needle in needles:
        at = chunk.find(needle)
        while at >= 0:
            starts.add(chunk.rfind(b"\n", 0, at) + 1)
            at = chunk.find(needle, chunk.find(b"\n", at))
    return sorted(starts)


# Documents ------------------------------------------------------------------------------------


def encode_document(key: str, version: int, at: str, body: Body) -> bytes:
    """The file of a document: one line per member of the body, one per item of a list in it.

    Raises:
        Rejected: over `MAX_DOCUMENT` bytes, or not encodable.
    """
    members = [f"    {_name(name)}: {_spread(value)}" for name, value in body.items()]
    inner = "{\n" + ",\n".join(members) + "\n  }" if members else "{}"
    head = (
        f'{{\n  "v": {DOCUMENT_VERSION},\n  "key": {to_json(key).decode()},\n'
        f'  "version": {version},\n  "at": "{at}",\n  "body": {inner}'
    ).encode()
    page = b'%b,\n  "crc": "%08x"\n}\n' % (head, crc32(head))
    if len(page) > MAX_DOCUMENT:
        raise Rejected(
            f"{key} has {len(page)} bytes, the limit is {MAX_DOCUMENT}", "keep less in it"
        )
    return page


@lru_cache(maxsize=1024)
def _name(name: str) -> str:
    return to_json(name).decode()


def _spread(value: object) -> str:
    if not isinstance(value, list) or not value:
        return to_json(value).decode()
    items = ",\n      ".join(to_json(item).decode() for item in value)
    return f"[\n      {items}\n    ]"


def decode_document(page: bytes) -> tuple[str, int, Body]:
    """Key, version and body.

    Raises:
        ValueError: the bytes are damaged; the message says how.
        BadHome: it was written by a newer fleet.
    """
    mark = page[_PAGE_CRC_AT : _PAGE_CRC_AT + 12]
    if mark != b',\n  "crc": "' or page[-4:] != b'"\n}\n':
        raise ValueError("empty" if not page else "not a document: no checksum at its end")
    if page[_PAGE_CRC_AT + 12 : -4] != b"%08x" % crc32(page[:_PAGE_CRC_AT]):
        raise ValueError("the checksum does not match its bytes")
    try:
        found = json.loads(page.decode())
        key, version, body = found["key"], found["version"], found["body"]
    except (KeyError, ValueError) as error:
        raise ValueError(f"not a document ({error})") from None
    if found.get("v", 0) > DOCUMENT_VERSION:
        raise BadHome(
            f"{key} has format {found['v']}, this fleet reads {DOCUMENT_VERSION}", "upgrade fleet"
        )
    return key, version, body
