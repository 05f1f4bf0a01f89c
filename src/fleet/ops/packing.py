"""The file that a backup is: a zip of a home beside a manifest, and the checks it must pass.

A zip, because its directory stands at its end and names every size: a file that was cut off is
known at once, and nothing has to be unpacked to be judged. It knows nothing of records.
"""

import hashlib
import json
import struct
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from fleet.errors import BadHome, EndedBadly, Rejected
from fleet.places import FORMAT as STATE
from fleet.units import format_size

FORMAT = "fleet-backup 1"
MANIFEST = "manifest.json"
PREFIX = "home/"  # of every file's name in the zip
MAX_MANIFEST = 256 << 20  # bytes: over a million files
NEVER = ("state/cache", "state/locks", "state/spool")
"""Folders that belong to one place and one moment: in no backup, whoever made it."""

CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
_NAME = 255  # bytes of one part of a path
_UNREADABLE = (
    *(BadZipFile, zlib.error, struct.error, EOFError, UnicodeError, NotImplementedError),
    *(RuntimeError, ValueError, OverflowError, KeyError, TypeError),
)  # what zipfile and a manifest raise that somebody damaged or made up

Moved = Callable[[int], None]
"""Told how many bytes more are done."""


class Entry(NamedTuple):
    """One file of a backup.

    Attributes:
        path: relative to the home, parts joined by `/`.
        size: its bytes.
        sha256: of them, 64 hex digits.
        program: whether its owner may execute it.
        changed: when it was changed, epoch seconds.
    """

    path: str
    size: int
    sha256: str
    program: bool
    changed: float


class Manifest(NamedTuple):
    """What a backup says of itself.

    Attributes:
        fleet: version of the program that made it.
        state: format of the home's state, "" without any.
        made: RFC 3339.
        host: where.
        home: the home's folder there.
        work: whether the agents' working folders are in it.
        folders: every folder, so that empty ones come back; relative to the home.
        files: every file.
        left_out: (path, why) of what a backup does not hold, such as symbolic links.
    """

    fleet: str
    state: str
    made: str
    host: str
    home: str
    work: bool
    folders: tuple[str, ...]
    files: tuple[Entry, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.files)


# Writing ----------------------------------------------------------------------------------------


def put(
    archive: ZipFile, path: str, source: IO[bytes], size: int, *, program: bool, changed: float
) -> Entry:
    """Add at most `size` bytes of `source` to the zip as `path`; what it is in the manifest."""
    info = _info(PREFIX + path, program=program, changed=changed)
    digest, left = hashlib.sha256(), size
    with archive.open(info, "w", force_zip64=size >= 1 << 31) as target:
        while left and (part := source.read(min(CHUNK, left))):
            digest.update(part)
            target.write(part)
            left -= len(part)
    return Entry(path, size - left, digest.hexdigest(), program, changed)


def put_manifest(archive: ZipFile, manifest: Manifest) -> None:
    """Add the manifest, the last of all."""
    said = {"format": FORMAT, **manifest._asdict()}
    info = _info(MANIFEST, program=False, changed=time.time())
    archive.writestr(info, json.dumps(said, indent=0).encode())


def _info(name: str, *, program: bool, changed: float) -> ZipInfo:
    when = time.localtime(changed)[:6]
    info = ZipInfo(name, when if 1980 <= when[0] < 2100 else _EPOCH)  # noqa: PLR2004 - zip's years
    info.compress_type = ZIP_STORED if name.endswith((".gz", ".zip", ".png")) else ZIP_DEFLATED
    info.external_attr = (0o100700 if program else 0o100600) << 16
    return info


# Reading ----------------------------------------------------------------------------------------


def opened(path: Path) -> ZipFile:
    """The backup at `path`; the caller closes it.

    Raises:
        Rejected: it is none, or it was cut off at either end.
        OSError: it cannot be read.
    """
    try:
        archive = ZipFile(path)
    except _UNREADABLE as fault:
        why = f" ({fault})" if isinstance(fault, BadZipFile) else ""
        raise Rejected(f"{path} is no backup, or was cut off{why}", "use another") from None
    if any(info.header_offset < 0 for info in archive.infolist()):
        archive.close()
        raise Rejected(f"{path} is damaged: its first bytes are missing", "use another backup")
    return archive


def manifest_of(archive: ZipFile, states: Collection[str] = (STATE,)) -> Manifest:
    """What the backup says it holds; names and sizes are checked, contents are not.

    A backup whose state has a format that is not among `states` is refused.

    Raises:
        Rejected: it is no backup of a home.
        BadHome: a newer program made it, or its state has a format that this one does not know.
        EndedBadly: it is damaged, or somebody made it up: a path that leaves the folder, sizes
            that are not those of its files, files that nobody names.
    """
    try:
        info = archive.getinfo(MANIFEST)
        said = json.loads(_read(archive, info)) if info.file_size <= MAX_MANIFEST else {}
        form = said["format"]
    except _UNREADABLE:
        what = f"{archive.filename} is no backup of a home, or is damaged"
        raise Rejected(f"{what}: no {MANIFEST} in it can be read", "use another backup") from None
    if form != FORMAT:
        raise BadHome(
            f"{archive.filename} has the format {str(form)[:40]!r}, this fleet knows {FORMAT!r}",
            "use the newer fleet that wrote it",
        )
    try:
        manifest = _manifest(said)
        wrong = _fault(archive, manifest)
    except _UNREADABLE:
        wrong = "its manifest is not whole"
    if wrong:
        raise EndedBadly(f"{archive.filename} is damaged: {wrong}", "nothing was unpacked")
    if manifest.state not in {"", *states}:
        raise BadHome(
            f"the state in {archive.filename} has the format {manifest.state[:40]!r},"
            f" this fleet knows {STATE!r}",
            "use the fleet that wrote it",
        )
    return manifest


def _manifest(said: Mapping[str, Any]) -> Manifest:
    return Manifest(
        fleet=str(said["fleet"]),
        state=str(said["state"]),
        made=str(said["made"]),
        host=str(said["host"]),
        home=str(said["home"]),
        work=said["work"] is True,
        folders=tuple(str(name) for name in said["folders"]),
        files=tuple(_entry(*entry) for entry in said["files"]),
        left_out=tuple((str(path), str(why)) for path, why in said["left_out"]),
    )


def _entry(path: Any, size: Any, sha256: Any, program: Any, changed: Any) -> Entry:
    return Entry(str(path), int(size), str(sha256), bool(program), float(changed))


def _fault(archive: ZipFile, manifest: Manifest) -> str:
    """Why names and sizes cannot be right, "" when they are."""
    paths = [entry.path for entry in manifest.files]
    names = [PREFIX + path for path in paths]
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) != len(archive.infolist()) or len(set(paths)) != len(paths):
        return "a file is there twice"
    if set(infos) != {MANIFEST, *names}:
        strange = min(set(infos) ^ {MANIFEST, *names})
        return f"{strange[:200]} stands in the archive or in its manifest only"
    bad = next((p for p in (*paths, *manifest.folders) if not _is_inside(p)), None)
    if bad is not None:
        return f"the path {bad[:200]!r} leads out of the home, or to a place that is not its own"
    above = {parent for path in (*paths, *manifest.folders) for parent in _above(path)}
    if wrong := (above | set(manifest.folders)) & set(paths):
        return f"{min(wrong)[:200]} is a file and a folder"
    for entry, name in zip(manifest.files, names, strict=True):
        if infos[name].file_size != entry.size or not entry.size >= 0:
            return f"{entry.path[:200]} has another size than its manifest says"
    return ""


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    whole = all(part not in {"", ".", ".."} and len(part.encode()) <= _NAME for part in parts)
    return whole and "\0" not in path and "/".join(parts[:2]) not in NEVER


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _read(archive: ZipFile, info: ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(info.file_size)


def parts(archive: ZipFile, entry: Entry) -> Iterator[bytes]:
    """The bytes of a file, in pieces; the last one only if all were what the manifest says.

    Raises:
        EndedBadly: they are not.
    """
    digest, left = hashlib.sha256(), entry.size
    try:
        with archive.open(PREFIX + entry.path) as file:
            while part := file.read(min(CHUNK, left + 1)):
                digest.update(part)
                left -= len(part)
                if left < 0:
                    break
                yield part
    except _UNREADABLE as fault:
        raise _damaged(archive, entry, str(fault)) from None
    if left or digest.hexdigest() != entry.sha256:
        raise _damaged(archive, entry, f"its bytes are not the {format_size(entry.size)} it held")


def _damaged(archive: ZipFile, entry: Entry, why: str) -> EndedBadly:
    what = f"{archive.filename} is damaged at {entry.path[:200]}: {why}"
    return EndedBadly(what, "use another backup")


def check(archive: ZipFile, moved: Moved, states: Collection[str] = (STATE,)) -> Manifest:
    """Read the whole backup and compare every byte's hash.

    Raises:
        EndedBadly: a file in it is damaged; and what `manifest_of` raises.
    """
    manifest = manifest_of(archive, states)
    for entry in manifest.files:
        for part in parts(archive, entry):
            moved(len(part))
    return manifest
