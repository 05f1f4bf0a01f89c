"""What the command writes, as its keeper sees it: results, signs of life, size, the final cut."""

import json
import time
from pathlib import Path

from fleet.masking.run_files import transcripts

TRANSCRIPT_EVERY = 5.0  # seconds between two looks at the transcript
MARK = 100  # bytes kept free in a cut file for the line that says so


class Results:
    """Finds the lines of type `result` in stream-json while the file grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._upto = 0
        self.last: int | None = None  # the offset at which the newest of them begins

    def look(self) -> bool:
        """Whether a whole line of type `result` came since the last look."""
        found = False
        with self._path.open("rb") as file:
            file.seek(self._upto)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                if _is_result(line):
                    found, self.last = True, self._upto
                self._upto += len(line)
        return found


def _is_result(line: bytes) -> bool:
    if b'"result"' not in line:
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") == "result"


class Transcript:
    """The size of the CLI's own record of a run: a second sign of life beside stdout."""

    def __init__(self, folder: str | None, run: str) -> None:
        self._folder = Path(folder) if folder else None
        self._run = run
        self._looked = time.monotonic()
        self._size = 0

    def grew(self) -> bool:
        """Whether it grew since the last look; looks every `TRANSCRIPT_EVERY` seconds at most."""
        now = time.monotonic()
        if self._folder is None or now - self._looked < TRANSCRIPT_EVERY:
            return False
        self._looked = now
        before, self._size = self._size, sum(map(size, transcripts(self._folder, self._run)))
        return self._size > before


def size(path: Path) -> int:
    """Bytes in the file, 0 when there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def shorten(path: Path, cap: int, *, last: int | None = None, json_mark: bool = False) -> bool:
    """Cut a file of more than `cap` bytes to its head, a line that says so, and its tail.

    Cuts at line ends where there are any, and works in place, since the disk may be full.

    Args:
        path: the file.
        cap: bytes it may have.
        last: the offset of a line that must stay whole, with all that follows, where that fits.
        json_mark: whether the line that says so is a JSON object.

    Returns:
        Whether it had to cut.

    Raises:
        OSError: there is no such file, or it cannot be read or written.
    """
    before = path.stat().st_size
    if before <= cap:
        return False
    begin = before - cap // 2
    kept = last if last is not None and last < begin and before - last <= cap - MARK else None
    begin = begin if kept is None else kept
    with path.open("r+b") as file:
        head = file.read(max(0, cap - (before - begin) - MARK))
        head = head[: head.rfind(b"\n") + 1 or len(head)]
        file.seek(begin)
        tail = file.read()
        if kept is None:
            tail = tail[tail.find(b"\n") + 1 :]
        file.seek(len(head))
        file.write(_mark(before - len(head) - len(tail), head, json_mark=json_mark) + tail)
        file.truncate()
    return True


def _mark(gone: int, head: bytes, *, json_mark: bool) -> bytes:
    said = {"type": "fleet", "left_out_bytes": gone}
    line = json.dumps(said) if json_mark else f"[fleet: {gone} bytes are left out here]"
    return (b"" if head.endswith(b"\n") or not head else b"\n") + line.encode() + b"\n"
