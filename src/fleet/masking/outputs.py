"""Masks the files that a program wrote, whatever is in them and however large they are.

JSON lines stay JSON lines: each is masked as the value that it is. Anything else is masked as text,
in pieces that cut no secret in two. It knows files, not runs; who calls it decides which and when.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fleet.masking import mask, mask_body
from fleet.masking.kinds import whole_upto

LINE = 1 << 20  # bytes of a line that is read as a whole
TEXT = 1 << 19  # characters of text that are masked at once
KEPT = 1 << 14  # characters at the end of those that wait for what follows: no secret is longer


def mask_file(path: Path, secrets: tuple[str, ...] = ()) -> bool:
    """Replace the file at `path` by itself with every secret masked; whether there was one.

    Bytes that are no UTF-8 stay as they are. A file without a secret is not touched.

    Args:
        path: a regular file that nobody writes to any more; 0600 when it was replaced.
        secrets: values that are secret whatever they look like, see `masking.secret_values`.

    Raises:
        OSError: there is no such file, or it cannot be read or replaced; it stands as it was.
    """
    new_path = path.with_name(f"{path.name}.masked")
    try:
        changed = _copy(path, new_path, secrets)
    except OSError:
        with suppress(OSError):
            new_path.unlink()
        raise
    if changed:
        new_path.replace(path)
    else:
        new_path.unlink()
    return changed


def _copy(path: Path, target: Path, secrets: tuple[str, ...]) -> bool:
    """Write `path` masked to `target`, durable if anything was; whether anything was."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    changed = False
    with _opened(path) as file, open(os.open(target, flags, 0o600), "wb") as copy:  # noqa: PTH123 - the mode is ours
        os.fchmod(copy.fileno(), 0o600)
        for old, new in _pieces(file, secrets):
            changed = changed or old != new
            copy.write(new.encode("utf-8", "surrogateescape"))
        if changed:
            copy.flush()
            os.fsync(copy.fileno())
    return changed


def _opened(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")  # noqa: PTH123 - no link, no FIFO


def _pieces(file: BinaryIO, secrets: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """All of `file` in order, piece by piece: as it is, and masked."""
    text, at_start = "", True
    while line := file.readline(LINE):
        value = _value(line) if at_start else None
        at_start = line.endswith(b"\n")
        if value is not None:
            yield text, mask(text, secrets)
            yield _line(line.decode(), value, secrets)
            text = ""
            continue
        text += line.decode("utf-8", "surrogateescape")
        if len(text) > TEXT:
            cut = _cut(text, secrets)
            yield text[:cut], mask(text[:cut], secrets)
            text = text[cut:]
    yield text, mask(text, secrets)


def _cut(text: str, secrets: tuple[str, ...]) -> int:
    """Where `text` can be cut, so that what waits is long enough to hold any secret's rest."""
    begin = len(text) - 2 * KEPT
    last = text[begin:]
    at = max(last.rfind(" ", 0, KEPT), last.rfind("\n", 0, KEPT)) + 1 or KEPT
    return begin + whole_upto(last, at, secrets)


def _value(line: bytes) -> object:
    """The object or list that is all of `line`; None when it is none."""
    if not line.endswith((b"}\n", b"]\n", b"}", b"]")) or not line.startswith((b"{", b"[")):
        return None
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value


def _line(line: str, value: object, secrets: tuple[str, ...]) -> tuple[str, str]:
    try:
        masked = mask_body(value, secrets)
    except RecursionError:
        return line, mask(line, secrets)
    if masked is value:
        return line, line
    end = "\n" if line.endswith("\n") else ""
    return line, f"{json.dumps(masked, separators=(',', ':'))}{end}"
