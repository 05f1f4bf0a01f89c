"""Brings the state of an older version to the format of this one, after a backup that was read.

A step changes the state in place and may be repeated: whoever stops it half-way begins it again,
for the file FORMAT says the old format until the step is done.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from fleet.errors import BadHome, Usage
from fleet.ops import packing
from fleet.ops.backup import Progress, backup, format_of
from fleet.places import FORMAT, FORMAT_FILE, NO_FORMAT, Places, age_of, damaged_format
from fleet.records import rfc3339
from fleet.wiring.locking import file_lock

PATIENCE = 0.5  # seconds that a runner gets to be gone


class Step(NamedTuple):
    """How one format becomes the next.

    Attributes:
        to: the format that it makes.
        do: is given the state folder; doing it twice, or after half of it, is doing it once.
    """

    to: str
    do: Callable[[Path], None]


STEPS: Mapping[str, Step] = {}
"""From each older format to the step away from it. There was none before `fleet-state 1`."""


def migrate(
    places: Places,
    target: Path | None,
    *,
    wall: float,
    say: Callable[[str], None],
    steps: Mapping[str, Step] = STEPS,
    known: str = FORMAT,
    progress: Progress = lambda _done, _total: None,
) -> bool:
    """Bring the state to the format `known`; False when it is there already, or there is no state.

    Args:
        places: the home; nothing may run on it.
        target: where the backup goes; None: a new file beside the home.
        wall: now, in epoch seconds.
        say: takes a line for each thing that is done.
        steps: from each format to its step.
        known: the format to reach.
        progress: told how far the backup is.

    Raises:
        BadHome: no steps lead from its format to this one, or FORMAT is damaged.
        LockTimeout: a runner, a backup or a trim is at work; it is named.
        Usage, NotAllowed, Unavailable: the backup could not be written; nothing was changed.
        EndedBadly: it could not be read back.
    """
    found = format_of(places)
    if found == known or not places.format_file.exists():
        return False
    way = list(_way(places, found, known, steps))
    file = target or _beside(places, known, wall)
    with ExitStack() as held:
        for name in ("runner.lock", "maintenance.lock"):
            if places.locks.is_dir():
                held.enter_context(file_lock(places.locks / name, PATIENCE))
        backup(places, file, wall=wall, progress=progress)
        with packing.opened(file) as archive:
            packing.check(archive, lambda _count: None, states=(found,))
        say(f"backed up to {file}, and read back")
        for step in way:
            step.do(places.state)
            shutil.rmtree(places.cache, ignore_errors=True)  # made from what was there before
            _write_format(places, step.to)
            say(f"the state is {step.to} now")
    return True


def _way(places: Places, found: str, known: str, steps: Mapping[str, Step]) -> Iterator[Step]:
    """The steps from the format `found` to `known`."""
    at = found
    while at != known:
        if at not in steps:
            raise _no_way(places, found, at, known)
        yield steps[at]
        at = steps[at].to


def _no_way(places: Places, found: str, at: str, known: str) -> BadHome:
    """The refusal of a state of the format `found`, from which no steps lead beyond `at`."""
    age = age_of(at)
    if age == NO_FORMAT:
        return damaged_format(places.state, found)
    what = f"{places.state} has the format {found[:40]!r}, and nothing leads from {at[:40]!r}"
    return BadHome(f"{what} to {known!r}", f"use the {age} fleet that wrote it")


def _beside(places: Places, known: str, wall: float) -> Path:
    stamp = rfc3339(wall)[:19].replace(":", "").replace("-", "")
    name = f"{places.root.name}-before-{known.replace(' ', '-')}-{stamp}.zip"
    file = places.root.with_name(name)
    if not os.access(file.parent, os.W_OK):
        raise Usage(f"nothing may be written to {file.parent}", "say fleet migrate --backup FILE")
    return file


def _write_format(places: Places, text: str) -> None:
    """Replace FORMAT, after everything that the step has written is on the disk."""
    os.sync()
    file, new = places.state / FORMAT_FILE, places.state / f"{FORMAT_FILE}.tmp"
    new.write_text(f"{text}\n", encoding="utf-8")
    new.chmod(0o600)
    os.sync()
    new.rename(file)
    os.sync()
