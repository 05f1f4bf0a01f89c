"""Which names logs and documents may have, and how a name becomes one safe file name.

It knows no folder: `../x` is a name like any other here, and its file is `..%2Fx` spelled safely.
"""

from fleet.errors import Rejected

MAX_NAME = 1024  # bytes of a name as callers write it
MAX_PART = 200  # bytes of an encoded file name, its suffixes not counted

NOT_STORED = frozenset(
    {"archive", "cache", "claude", "export", "locks", "outbox", "quarantine", "run", "spool"}
)
"""Folders beside the logs and documents that hold something else."""

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.@+=,")
_PREFIX = 150  # bytes of a long name that stay readable before its hash


def check_stream(name: str) -> None:
    """Refuse what cannot be a log's name.

    Raises:
        Rejected: empty, too long, a folder of another kind, or an empty part.
    """
    _check(name)
    if len(encode(name, dots=False)) > MAX_PART:
        raise Rejected(f"the log's name {name[:40]!r}… is too long", "shorten it")


def check_document(key: str) -> None:
    """Refuse what cannot be a document's name; the errors of `check_stream`."""
    _check(key)


def _check(name: str) -> None:
    kind, slash, rest = name.partition("/")
    if not kind or (slash and not rest):
        raise Rejected(f"{name!r} is no name of a log or document", "give it a kind and a name")
    if kind in NOT_STORED:
        raise Rejected(f"{name!r} names a folder that holds no logs or documents", "rename it")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise Rejected(f"the name {name[:40]!r} is no valid text", "send valid UTF-8") from None
    if size > MAX_NAME or len(encode(kind)) > MAX_PART:
        raise Rejected(f"the name {name[:40]!r}… is too long", "shorten it")


def encode(text: str, *, dots: bool = True) -> str:
    """`text` percent-encoded, upper case and a leading dot too; a slash becomes `%2F`.

    Two names never share a file, not even where the file system ignores case. With `dots` false
    no dot stays, so that the result cannot end like a file of ours.
    """
    if "." not in text and _SAFE.issuperset(text):
        return text
    return "".join(
        char if char in _SAFE and (char != "." or (dots and at)) else _escape(char)
        for at, char in enumerate(text)
    )


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


def shorten(encoded: str) -> str:
    """`encoded` itself, or its beginning, a tilde and a hash where it is over `MAX_PART` bytes."""
    if len(encoded) <= MAX_PART:
        return encoded
    from _blake2 import blake2b  # hashlib costs the hot path ten times as much

    digest = blake2b(encoded.encode(), digest_size=16).hexdigest()
    return f"{encoded[:_PREFIX].rstrip('%')}~{digest}"


def decode(encoded: str) -> str | None:
    """The name behind `encode`; None when it was shortened, or is none of ours."""
    if "~" in encoded:
        return None
    head, *parts = encoded.split("%")
    try:
        raw = head.encode() + b"".join(bytes.fromhex(p[:2]) + p[2:].encode() for p in parts)
        return raw.decode()
    except ValueError:
        return None
