"""What merges, crashes, dead keepers and older boots left behind, for the doctor."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import processes
from fleet.errors import Finding
from fleet.places import safe_name
from fleet.whereabouts import identity

if TYPE_CHECKING:
    from fleet.wiring import Fleet

MARKS = (b"<<<<<<< ", b">>>>>>> ", b"||||||| ")
CHUNK = 1 << 20  # bytes of one line held in memory
DERIVED = {"cache", "locks", "run", "claude", "archive", "quarantine", "spool", "outbox", "export"}
"""Folders of `state` that hold no records and no documents."""


def find(fleet: "Fleet") -> Iterator[Finding]:
    """Conflict markers, documents that are empty or garbage, runs that nobody keeps any more."""
    for path in (*_operators(fleet.root), *_stored(fleet.places.state)):
        if line := _conflict(path):
            what = "a merge left its conflict markers here"
            fix = "keep one side; good records are still read"
            yield Finding("error", _name(fleet, path), line, what, fix)
    for path in _stored(fleet.places.state):
        if path.suffix == ".json" and (what := _fault(path)):
            fix = f"the copy before it is {path.name}.prev: fleet verify says more"
            yield Finding("error", _name(fleet, path), 0, what, fix)
    yield from _left_behind(fleet)


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


def _left_behind(fleet: "Fleet") -> Iterator[Finding]:
    """Runs whose keeper is gone, in an older boot or this one, and what lives on of any run."""
    marked = processes.of_home(str(fleet.config.root))
    open_runs = {run.id: run for run in fleet.runs.open()}
    for run in sorted(filter(safe_name, {*open_runs, *marked.values()})):
        note = fleet.places.run_folder(run) / "alive.json"
        told = _told(note)
        if is_kept(note):
            continue
        left = {pid for pid, one in marked.items() if one == run and processes.find(pid)}
        left |= escaped(note.parent)
        if run in open_runs and (told or left):
            whose = f"run {run} of {open_runs[run].agent}"
            older = told.get("boot") not in {None, processes.boot_id()}
            what = f"{whose} was alive before this machine was started"
            what = what if older else f"{whose} lost its keeper{_living(left)}"
            fix = "the next fleet up ends and settles it"
            yield Finding("warning", _name(fleet, note), 0, what, fix)
        elif left:
            what = f"run {run} is over{_living(left)}"
            fix = f"kill -9 {' '.join(map(str, sorted(left)))}"
            yield Finding("warning", _name(fleet, note), 0, what, fix)


def _told(note: Path) -> dict[str, object]:
    """What a run's `alive.json` says; nothing where there is none, or no whole one."""
    try:
        told = json.loads(note.read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def is_kept(note: Path) -> bool:
    """Whether the keeper that a run's `alive.json` names, or who is launching it, lives."""
    told = _told(note)
    said = told.get("launcher", told)
    if not isinstance(said, dict):
        return False
    pid, start, boot = (said.get(name) for name in ("pid", "start", "boot"))
    if not isinstance(pid, int) or not isinstance(start, int):
        return False
    return processes.is_alive(pid, start, str(boot))


def escaped(folder: Path) -> set[int]:
    """What its keeper noted of a run's processes without its mark, if it is these still.

    In a copy of the run's folder they are another home's, so there it is none.
    """
    home = _told(folder / "alive.json").get("folder")
    if home is None or home != identity(folder):
        return set()
    return processes.still(_told(folder / "escaped.json"))


def _living(pids: set[int]) -> str:
    return f", and {len(pids)} of its processes live on" if pids else ""


def _name(fleet: "Fleet", path: Path) -> str:
    return str(path.relative_to(fleet.root))
