"""How long the files of runs stay: which of them go when, and doing it; no log counts on them.

Whoever asks for the files of a run that are gone is told so. Records, blobs and everything else of
the state stay; so does what the CLI keeps in a folder of the user's own.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fleet.ops import runfiles
from fleet.ops.leftovers import is_kept
from fleet.ports import last_record
from fleet.records import Body, made_at
from fleet.runs.failed import failed
from fleet.shadow import STAGED
from fleet.units import counted, format_size

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig
    from fleet.wiring import Fleet

NAME = "run folders"  # what `trim` calls them
FAILED_COUNTS = 2.0  # a run that was no success counts as so many times younger
PAUSE_EVERY = 25  # runs between two pauses of whoever looks beside something else


class Limits(NamedTuple):
    """How old (seconds), how many, and how large (bytes) all together."""

    age: float
    most: int
    size: int

    def __str__(self) -> str:
        """For people, as fleet.yaml has it."""
        days = f"{self.age / 86_400:g}d"
        return f"retention: {days}, {counted(self.most, 'run')}, {format_size(self.size)}"


class Files(NamedTuple):
    """The files of one run.

    Attributes:
        run: its id; of a session of the CLI that was no run's, the session's.
        began: when, seconds since the epoch.
        size: bytes.
        failed: whether it was no success.
        stays: whether it goes on, or is the last of its agent: then nothing deletes it.
    """

    run: str
    began: float
    size: int
    failed: bool = False
    stays: bool = False

    def age(self, now: float) -> float:
        """Seconds; half of them for one that failed."""
        return (now - self.began) / (FAILED_COUNTS if self.failed else 1.0)


class Swept(NamedTuple):
    """What was deleted: of how many runs, how many bytes, and how many runs' are still to go."""

    runs: int
    freed: int
    left: int = 0

    def as_json(self) -> Body:
        """The object that `trim --json` prints."""
        said: Body = {"what": NAME, "segments": 0, "runs": self.runs, "freed": self.freed}
        return said | {"unseen": []}

    def __str__(self) -> str:
        """A line for people."""
        left = f", {counted(self.left, 'run')} still to go" if self.left else ""
        files = f"the files of {counted(self.runs, 'run')} deleted"
        return f"{NAME}: {files}, {format_size(self.freed)} freed{left}"


def limits_of(config: "HomeConfig") -> Limits:
    """What `retention` in fleet.yaml says."""
    return Limits(config.retention_age, config.retention_count, config.retention_bytes)


def going(
    every: Iterable[Files], limits: Limits, now: float, is_needed: Callable[[str], bool]
) -> Iterator[Files]:
    """Those that have to go, the oldest first, until the rest is within all three limits.

    `is_needed` is asked about each that would go: one that is needed stays, and counts.
    """
    all_ = list(every)
    count, size = len(all_), sum(one.size for one in all_)
    free = [one for one in all_ if not one.stays]
    for one in sorted(free, key=lambda one: one.age(now), reverse=True):
        if one.age(now) <= limits.age and count <= limits.most and size <= limits.size:
            return
        if not is_needed(one.run):
            yield one
            count, size = count - 1, size - one.size


class Sweep:
    """One look at the files of all runs, and the deletion of those that have to go.

    Args:
        fleet: the home.
        known: by run what an earlier look found it to take; this one adds what it finds. Runs that
            have ended do not grow.
        rest: called now and then, by whoever has something else to do beside it.
    """

    def __init__(
        self,
        fleet: "Fleet",
        known: dict[str, int] | None = None,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._fleet = fleet
        self._state = fleet.places.state
        self._rest = rest
        self._transcripts = runfiles.transcripts(self._state)
        self.files = list(self._look({} if known is None else known))

    @property
    def due(self) -> list[Files]:
        """Those that have to go now, the oldest first."""
        now = self._fleet.store.now().wall
        return list(going(self.files, limits_of(self._fleet.config), now, self._is_needed))

    def as_json(self) -> Body:
        """The object that `trim --json` prints of what there is."""
        live, can_go = (sum(one.size for one in files) for files in (self.files, self.due))
        held = str(limits_of(self._fleet.config))
        return {"what": NAME, "live": live, "archive": 0, "can_go": can_go, "held_by": held}

    def delete(self, within: float = math.inf) -> Swept:
        """Delete what is due, and finish what was begun earlier; at most for `within` seconds.

        The caller holds the maintenance lock, alone.
        """
        until = time.monotonic() + within
        for run in runfiles.remainders(self._state):
            self._gone(run)
        runs, freed, due = 0, 0, self.due
        for number, one in enumerate(due, 1):
            if time.monotonic() > until:
                break
            if self._gone(one.run):
                runs, freed = runs + 1, freed + one.size
            if number % PAUSE_EVERY == 0:
                self._rest()
        return Swept(runs, freed, len(due) - runs)

    def _gone(self, run: str) -> bool:
        """Delete the files of `run`; False when something of them cannot be."""
        try:
            runfiles.delete(self._state, run, self._transcripts.get(run, []))
        except OSError:
            return False
        return True

    # What is there -----------------------------------------------------------------------------

    def _look(self, known: dict[str, int]) -> Iterator[Files]:
        goes_on, last, bad = self._on_record()
        begun = {run: made_at(run) or 0.0 for run in runfiles.folders(self._state)}
        for session, files in self._transcripts.items():
            begun.setdefault(session, max(one.changed for one in files))
        for run in known.keys() - begun.keys():
            del known[run]
        for number, (run, began) in enumerate(begun.items(), 1):
            size = None if run in goes_on else known.get(run)
            if size is None:
                size = runfiles.size(self._state, run, self._transcripts.get(run, []))
            if run not in goes_on:
                known[run] = size
            yield Files(run, began, size, run in bad, run in goes_on or run in last)
            if number % PAUSE_EVERY == 0:
                self._rest()

    def _on_record(self) -> tuple[set[str], set[str], set[str]]:
        """Runs without an end, each agent's last ones, and those that were no success."""
        runs = self._fleet.runs
        names = runs.agents()
        last = (run for name in names for run in (runs.last(name), runs.last_ended(name)))
        bad = (failed(self._fleet.store, self._fleet.cache, name) for name in names)
        goes_on = {run.id for run in runs.open()}
        return goes_on, {run.id for run in last if run}, {run for some in bad for run in some}

    def _is_needed(self, run: str) -> bool:
        """Whether something lives in its folder, or a person has yet to judge what it staged."""
        if is_kept(self._state / runfiles.FOLDERS / run / "alive.json"):
            return True
        newest = last_record(self._fleet.store, f"shadow/{run}")
        return newest is not None and newest.body.get("op") == STAGED
