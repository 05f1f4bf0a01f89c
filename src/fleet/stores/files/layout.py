"""Where things lie in the state folder, and whether that folder is one of ours.

It opens no log and no document. `state/README.md` is the description of this tree for everyone.
"""

import os
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from fleet.errors import BadHome
from fleet.places import FORMAT, FORMAT_FILE, NEWER, NO_FORMAT, age_of, damaged_format
from fleet.stores import names
from fleet.stores.files import disk

KINDS = ("claims", "control", "cursors", "ledger", "memory", "schedule", "tokens")
"""Kinds of documents whose folders are made, and synced, before FORMAT says that all is there."""

STRIPES = 64  # lock files for claims, and as many for all other documents
LOG_LOCK = "log."
"""What the name of a log's lock file begins with."""

_CLAIMS = "claims/"
MOST_LOGS = 512  # whose places are held; a process that runs for months asks for more
_MAX_FORMAT = 100  # bytes


class LogPlaces(NamedTuple):
    """Where one log lies.

    Attributes:
        stream: its name.
        folder: of its segments.
        archive: folder of the segments that were trimmed, and of the hashes of their keys.
        lock: its lock file.
        chain: the folders from the state folder down to `folder`: their sync makes a new segment
            findable.
    """

    stream: str
    folder: str
    archive: str
    lock: str
    chain: tuple[str, ...]


class Layout:
    """The paths below the state folder `root`; `home` is what findings name files relative to."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.home = os.path.dirname(root)
        self.locks = f"{root}/locks"
        self.quarantine = f"{root}/quarantine"
        self.archive = f"{root}/archive"
        self._made = False
        self._logs: dict[str, LogPlaces] = {}

    # The folder as a whole ---------------------------------------------------------------------

    def check(self) -> None:
        """Refuse a state folder of another format; one that is not there yet is fine.

        Raises:
            BadHome: another format, or records without the file that says which.
            NotAllowed: a symlink stands in its place.
        """
        text = self._format()
        if text is None and disk.check_folder(self.root) and self._holds_records():
            # FORMAT comes before any record: another process may have made both as we looked.
            text = self._format()
            if text is None:
                raise BadHome(
                    f"{self.root} holds records, but no file {FORMAT_FILE}",
                    f"restore it from a backup; it holds the line: {FORMAT}",
                )
        if text is None:
            return
        disk.check_folder(self.root)
        if text != FORMAT:
            raise self._other(text)
        self._made = disk.check_folder(self.locks)

    def _other(self, text: str) -> BadHome:
        age = age_of(text)
        if age == NO_FORMAT:
            return damaged_format(Path(self.root), text)
        return BadHome(
            f"{self.root} has the format {text[:40]!r}, this fleet knows {FORMAT!r}",
            "use the newer fleet that wrote it"
            if age == NEWER
            else "fleet migrate changes an older one, else use the fleet that wrote it",
        )

    def _format(self) -> str | None:
        """What the file FORMAT says, None when there is none."""
        try:
            found = disk.read_all(f"{self.root}/{FORMAT_FILE}", _MAX_FORMAT)
        except FileNotFoundError:
            return None
        return found.decode(errors="replace").strip()

    def _holds_records(self) -> bool:
        return any(
            name not in names.NOT_STORED and _holds_any(f"{self.root}/{name}")
            for name in os.listdir(self.root)
        )

    def make(self) -> None:
        """Make the folder with FORMAT last, before the first write; cheap when it is there."""
        if self._made:
            return
        os.makedirs(self.home, exist_ok=True)
        if not disk.make_folder(self.root):
            os.chmod(self.root, 0o700)
        for name in (*KINDS, "locks"):
            disk.make_folder(f"{self.root}/{name}")
        # Folders that a cache, or a process that was killed, has made were never synced.
        disk.sync_folder(self.home)
        disk.sync_folder(self.root)
        path = f"{self.root}/{FORMAT_FILE}"
        disk.replace(path, f"{FORMAT}\n".encode(), temporary=disk.own_temporary(path))
        disk.sync_folder(self.root)
        self._made = True

    def relative(self, path: str) -> str:
        """`path` as findings show it: relative to the home."""
        return os.path.relpath(path, self.home)

    # Logs --------------------------------------------------------------------------------------

    def log(self, stream: str) -> LogPlaces:
        """Where `stream` lies; checked and computed once, while it is among the newest.

        Raises:
            Rejected: no log can have that name.
        """
        found = self._logs.get(stream)
        if found is None:
            names.check_stream(stream)
            inner = _log_path(stream)
            parts = inner.split("/")
            found = LogPlaces(
                stream,
                f"{self.root}/{inner}",
                f"{self.archive}/{inner}",
                f"{self.locks}/{LOG_LOCK}{names.encode(stream)}",
                tuple("/".join((self.root, *parts[:depth])) for depth in range(len(parts) + 1)),
            )
            if len(self._logs) >= MOST_LOGS:  # each run may have one of its own
                self._logs.clear()
            self._logs[stream] = found
        return found

    def make_log_folder(self, places: LogPlaces) -> None:
        """Make a log's folder where it is missing."""
        self.make()
        for folder in places.chain[1:]:
            disk.make_folder(folder)

    def make_archive_folder(self, places: LogPlaces) -> None:
        """Make the folder of a log's trimmed segments where it is missing."""
        folder = self.root
        for part in places.archive.removeprefix(f"{self.root}/").split("/"):
            folder = f"{folder}/{part}"
            disk.make_folder(folder)

    # Documents ---------------------------------------------------------------------------------

    def document(self, key: str) -> str:
        """The file of document `key`."""
        kind, slash, rest = key.partition("/")
        inner = f"{names.encode(kind)}{slash}{names.shorten(names.encode(rest))}"
        return f"{self.root}/{inner}.json"

    def make_document_folder(self, key: str) -> bool:
        """Make the folder of `key`'s kind; whether its name may not be durable yet."""
        self.make()
        kind, slash, _ = key.partition("/")
        if slash:
            disk.make_folder(os.path.dirname(self.document(key)))
        return bool(slash) and kind not in KINDS

    def document_lock(self, key: str) -> str:
        """The lock file of document `key`: one of the claims' or of the other documents'."""
        kind = "claim" if key.startswith(_CLAIMS) else "document"
        return f"{self.locks}/{kind}.{crc32(key.encode()) % STRIPES:02d}"

    # Finding what is there ---------------------------------------------------------------------

    def kinds(self, prefix: str) -> list[tuple[str, str]]:
        """(kind, folder) of every folder that may hold logs or documents that match `prefix`."""
        wanted, slash, _ = prefix.partition("/")
        found = []
        for entry in subfolders(self.root):
            kind = names.decode(entry)
            if kind is None or kind in names.NOT_STORED:
                continue
            if kind == wanted if slash else kind.startswith(wanted):
                found.append((kind, f"{self.root}/{entry}"))
        return found


def subfolders(folder: str) -> list[str]:
    """Names of the folders in `folder`, symlinks left out; none when it is not there."""
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _holds_any(path: str) -> bool:
    """Whether a log's or document's file stands in `path`, or one level below."""
    for _, folders, files in os.walk(path):
        if any(name.endswith((".json", ".jsonl")) for name in files):
            return True
        folders.sort()
    return False


def _log_path(stream: str) -> str:
    kind, slash, rest = stream.partition("/")
    return f"{names.encode(kind, dots=False)}{slash}{names.encode(rest, dots=False)}"
