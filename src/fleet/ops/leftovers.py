"""What merges, crashes and older boots left in the home's files, for the doctor."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import processes
from fleet.errors import Finding

if TYPE_CHECKING:
    from fleet.wiring import Fleet

MARKS = (b"<<<<<<< ", b">>>>>>> ", b"||||||| ")
CHUNK = 1 << 20  # bytes of one line held in memory
DERIVED = {"cache", "locks", "run", "claude", "archive", "quarantine", "spool", "outbox", "export"}
"""Folders of `state` that hold no records and no documents."""


def find(fleet: "Fleet") -> Iterator[Finding]:
    """Conflict markers, documents that are empty or garbage, runs that an older boot left open."""
    for path in (*_operators(fleet.root), *_stored(fleet.places.state)):
        if line := _conflict(path):
            what = "a merge left its conflict markers here"
            fix = "keep one side; good records are still read"
            yield Finding("error", _name(fleet, path), line, what, fix)
    for path in _stored(fleet.places.state):
        if path.suffix == ".json" and (what := _fault(path)):
            fix = f"the copy before it is {path.name}.prev: fleet verify says more"
            yield Finding("error", _name(fleet, path), 0, what, fix)
    yield from _older_boots(fleet)


def _operators(root: Path) -> Iterator[Path]:
    """The operator's files."""
    yield root / "fleet.yaml"
    for folder in ("agents", "channels", "schemas", "prompts"):
        yield from sorted((root / folder).glob("*"))


def _stored(state: Path) -> Iterator[Path]:
    """Everything under `state` that should be a log segment or a document."""
    for folder, folders, files in os.walk(state):
        if Path(folder) == state:
            folders[:] = sorted(set(folders) - DERIVED)
        for name in (*files, *folders):
            if name.endswith((".json", ".jsonl")):
                yield Path(folder, name)


def _conflict(path: Path) -> int:
    """The line of the first conflict marker, 0 without one."""
    if not path.is_file():
        return 0
    number, at_start = 1, True
    with path.open("rb") as file:
        while piece := file.readline(CHUNK):
            if at_start and piece.startswith(MARKS):
                return number
            at_start = piece.endswith(b"\n")
            number += at_start
    return 0


def _fault(path: Path) -> str:
    """Why this is no document, "" when it looks like one."""
    if not path.is_file():
        return "a folder or a device stands in place of a document"
    data = path.read_bytes()
    if not data.strip():
        return "the document is empty"
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as fault:
        return f"the document is no JSON: {fault}"
    return "" if isinstance(value, dict) else "the document is no JSON object"


def _older_boots(fleet: "Fleet") -> Iterator[Finding]:
    """Runs without an end whose keeper an older boot took along."""
    boot = processes.boot_id()
    for run in fleet.runs.open():
        note = fleet.places.run_folder(run.id) / "alive.json"
        try:
            told = json.loads(note.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(told, dict) and told.get("boot") not in {None, boot}:
            what = f"run {run.id} of {run.agent} was alive before this machine was started"
            yield Finding("warning", _name(fleet, note), 0, what, "the next fleet up settles it")


def _name(fleet: "Fleet", path: Path) -> str:
    return str(path.relative_to(fleet.root))
