"""Texts that a caller hands in: an argument, `-` for standard input, `--file`, `@file`.

Bytes are kept as they are or refused, never mended.
"""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from fleet.cli.session import Session
from fleet.errors import NotAllowed, Rejected, Usage
from fleet.records import MAX_RECORD

MOST = 4 * MAX_RECORD  # more than any text may have: the store names its own limit


def text_of(session: Session, text: str | None, file: str | None, example: str) -> str:
    """The one text that was given: `text`, `-` for standard input, or the contents of `file`.

    Raises:
        Usage: none or two; `example` is the corrected line.
        Rejected: not UTF-8, or far too long.
        NotAllowed: in a run, a file outside the agent's folders.
    """
    if (text is None) == (file is None):
        what = "there is no text" if text is None else "a text and --file are two texts"
        raise Usage(what, f"say {example}")
    if file is not None:
        return decoded(file_bytes(session, file), f"--file {file}")
    return decoded(stdin_bytes(), "standard input") if text == "-" else argument(str(text))


def argument(text: str) -> str:
    """An argument of the command line as the UTF-8 it must be.

    Raises:
        Rejected: its bytes are no UTF-8.
    """
    return text if text.isascii() else decoded(os.fsencode(text), "the text")


def decoded(data: bytes, source: str) -> str:
    """The text that `data` is.

    Raises:
        Rejected: not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        byte = data[fault.start]
        raise Rejected(
            f"{source} is not UTF-8: byte {fault.start} is 0x{byte:02x}",
            "convert it, nothing was written",
        ) from None


def stdin_bytes() -> bytes:
    """All of standard input.

    Raises:
        Rejected: far longer than any record.
    """
    data = sys.stdin.buffer.read(MOST + 1) if sys.stdin else b""
    return _bounded(data, "standard input")


def file_bytes(session: Session, name: str) -> bytes:
    """The contents of a file that a caller named; in a run only one of the agent's own.

    Raises:
        NotAllowed: in a run, not a regular file in the agent's folders.
        Usage: it cannot be read.
        Rejected: far longer than any record.
    """
    path = Path(name)
    if session.in_run:
        return _bounded(_own_file(path, _folders(session)), name)
    try:
        with path.open("rb") as file:
            return _bounded(file.read(MOST + 1), name)
    except OSError as fault:
        raise Usage(f"{name} cannot be read", str(fault.strerror)) from None


def _folders(session: Session) -> list[Path]:
    """Where the calling run may read: its agent's working folder and its own run folder."""
    fleet = session.fleet
    author = fleet.author
    agent = fleet.config.agents.get(author.name)
    folders = [agent.cwd] if agent else []
    return [*folders, fleet.places.run_folder(author.run)] if author.run else folders


def _own_file(path: Path, folders: Sequence[Path]) -> bytes:
    """The bytes of a regular file below one of `folders`, with no way out of them by a link."""
    refusal = NotAllowed(
        f"a run may not read {path}",
        f"only regular files in {' or '.join(map(str, folders))}, and no links: copy it there",
    )
    try:
        real = path.resolve(strict=True)
        if not any(real.is_relative_to(folder.resolve()) for folder in folders):
            raise refusal
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError):
        raise refusal from None
    try:
        opened = os.fstat(handle)
        # A second name may lie anywhere, and what it names is not the agent's own.
        own = stat.S_ISREG(opened.st_mode) and opened.st_nlink == 1
        # A folder on the way may have become a link between the two looks: compare what was opened.
        if not own or not _is_at(opened, real):
            raise refusal
        return os.read(handle, MOST + 1)
    finally:
        os.close(handle)


def _is_at(opened: os.stat_result, path: Path) -> bool:
    """Whether `path`, still free of links, is what was opened."""
    found = path.stat(follow_symlinks=False)
    return path.resolve() == path and (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def _bounded(data: bytes, source: str) -> bytes:
    if len(data) > MOST:
        raise Rejected(f"{source} is longer than {MOST >> 10} KiB", "no record holds that much")
    return data
