"""The operator's files as bytes: which there are, what each is called, and which cannot be read.

Nothing here understands YAML. A symlink, a device or a name that cannot be an id is refused; what
would be ignored in silence is named.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fleet.config import fingerprint
from fleet.errors import Finding
from fleet.places import HOME_FILE, safe_name
from fleet.records import MAX_DOCUMENT

MAX_FILE = MAX_DOCUMENT  # bytes
RESERVED = frozenset({"operator", "human", "system", "all", "fleet"})
LOGS = frozenset(
    {
        *("alerts", "channels", "claims-log", "deadletters", "events", "fires", "knowledge"),
        *("later", "memory", "memory-log", "metrics", "narrations", "questions", "retractions"),
        *("runs", "shadow"),
    }
)
"""Fleet's own logs and documents: `metrics#1` can be a record of one thing only."""
TAKEN = {
    "agents": RESERVED | {"last"},
    "channels": RESERVED | LOGS | {"last"},
    "schemas": RESERVED | {"question-answered", "reminder-due"},
}
"""By folder the names that no file there may have; `last` is a reference to a run."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its path relative to the home, the id its name gives, its bytes."""

    file: str
    id: str
    data: bytes


@dataclass(slots=True)
class Sources:
    """All files of one home, as they were at one moment.

    Attributes:
        fleet: fleet.yaml, None when it cannot be read.
        agents, channels: the files that can be read, by name.
        agent_ids, channel_ids: the ids that have a file, readable or not.
        types: names of the event types.
        templates: file names in `prompts/`.
        stamps: what tells later whether anything has changed.
        findings: every fault met here.
        instead: bytes that count in place of a file's own, None where it shall be gone.
    """

    root: Path
    instead: Mapping[str, bytes | None] = field(default_factory=dict)
    fleet: Source | None = None
    agents: list[Source] = field(default_factory=list)
    channels: list[Source] = field(default_factory=list)
    agent_ids: tuple[str, ...] = ()
    channel_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    stamps: list[fingerprint.Stamp] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def version(self) -> str:
        """A hash of everything a config is made from."""
        digest = hashlib.sha256()
        read = [self.fleet, *self.agents, *self.channels]
        for source in read:
            if source:
                digest.update(f"{source.file}\0{len(source.data)}\0".encode() + source.data)
        names = "\0".join((*self.types, "", *self.templates))
        digest.update(names.encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]


def read(root: Path, instead: Mapping[str, bytes | None] | None = None) -> Sources:
    """Everything the operator wrote in the home at `root`, or would have with `instead`."""
    found = Sources(root, instead or {})
    found.fleet = _read(found, HOME_FILE, HOME_FILE)
    found.agent_ids, found.agents = _read_all(found, "agents")
    found.channel_ids, found.channels = _read_all(found, "channels")
    found.types = tuple(_ids(found, "schemas", ".json"))
    found.templates = tuple(name for name in _names(found, "prompts") if name.endswith(".j2"))
    if not found.agent_ids:
        fix = "write one agents/<agent>.yaml, or restore the folder"
        found.findings.append(Finding("error", "agents", 0, "the home has no agent", fix))
    return found


def _read_all(found: Sources, folder: str) -> tuple[tuple[str, ...], list[Source]]:
    ids = tuple(_ids(found, folder, ".yaml"))
    read = [_read(found, f"{folder}/{name}.yaml", name) for name in ids]
    return ids, [source for source in read if source]


def _names(found: Sources, folder: str) -> list[str]:
    """Names in one folder, sorted; [] when it is absent or cannot be listed."""
    path = found.root / folder
    seen = fingerprint.facts(str(path))
    listed: list[str] = []
    if path.is_symlink():
        _folder_fault(found, folder, "is a symlink", "put the folder itself there")
    elif seen is not None:
        try:
            listed = sorted(os.listdir(path))  # noqa: PTH208 - names are all it takes
        except OSError as fault:
            _folder_fault(found, folder, "cannot be listed", os.strerror(fault.errno or 0))
    found.stamps.append(fingerprint.stamp(folder, seen, fingerprint.names(listed)))
    for file, data in found.instead.items():
        parent, _, name = file.rpartition("/")
        if parent == folder:
            listed = [one for one in listed if one != name] + ([name] if data is not None else [])
    return sorted(listed)


def _ids(found: Sources, folder: str, suffix: str) -> list[str]:
    """The ids that files in one folder give; every other name there is judged."""
    names = [name for name in _names(found, folder) if not _is_nobodys(name)]
    stems = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
    for name in names:
        if not name.endswith(suffix):
            _judge_other(found, folder, name, suffix)
    for stem in stems:
        if fault := _name_fault(stem, stems, TAKEN[folder]):
            what, fix = fault
            _fault(found, f"{folder}/{stem}{suffix}", what, fix)
    return [stem for stem in stems if not _name_fault(stem, stems, TAKEN[folder])]


def _is_nobodys(name: str) -> bool:
    """Whether a name is a README, or an editor's own."""
    return name == "README.md" or name.startswith((".", "#")) or name.endswith(("~", ".swp"))


def _judge_other(found: Sources, folder: str, name: str, suffix: str) -> None:
    file = f"{folder}/{name}"
    stem, other = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    if other.lower() in {".yaml", ".yml", ".json"}:
        fix = f"call it {stem}{suffix}"
        _fault(found, file, f"is not read: its name does not end in {suffix}", fix)
    else:
        what = "the file is not read"
        found.findings.append(Finding("warning", file, 0, what, f"only *{suffix} files are"))


def _name_fault(stem: str, stems: Iterable[str], taken: frozenset[str]) -> tuple[str, str] | None:
    """What is wrong with `stem` as an id, and what to do; None when nothing is."""
    twins = [other for other in stems if other != stem and other.lower() == stem.lower()]
    if not safe_name(stem):
        fix = "use a-z, 0-9, _ and -, at most 64 characters, a letter or digit first"
        twin = f", and differs from {twins[0]!r} by case alone" if twins else ""
        return f"has a name that cannot be an id{twin}", fix
    if stem in taken:
        return f"takes the name '{stem}', which is fleet's own", "choose another"
    return None


def _read(found: Sources, file: str, name: str) -> Source | None:
    path = found.root / file
    seen = fingerprint.facts(str(path))
    planned = found.instead.get(file)
    data, fault, fix = _bytes(path) if planned is None else (planned, "", "")
    found.stamps.append(fingerprint.stamp(file, seen, data))
    if fault:
        _fault(found, file, fault, fix)
        return None
    return Source(file, name, data)


def _bytes(path: Path) -> tuple[bytes, str, str]:
    """The bytes of a regular file, or b"" with what is wrong and what to do."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b"", "is not there", "restore it"
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            return b"", "is a symlink", "put the file itself there"
        return b"", f"cannot be read: {os.strerror(fault.errno or 0)}", ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b"", "is no regular file", "put a file there"
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MAX_FILE + 1)
    except OSError as fault:
        return b"", f"cannot be read: {os.strerror(fault.errno or 0)}", ""
    finally:
        os.close(handle)
    if len(data) > MAX_FILE:
        return data, f"has more than {MAX_FILE >> 10} KiB", "shorten it"
    return data, "", ""


def _fault(found: Sources, file: str, what: str, fix: str = "") -> None:
    found.findings.append(Finding("error", file, 0, f"the file {what}", fix))


def _folder_fault(found: Sources, folder: str, what: str, fix: str) -> None:
    found.findings.append(Finding("error", folder, 0, f"the folder {what}", fix))
