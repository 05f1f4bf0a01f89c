"""Sizes of what is stored, and moving old segments to the archive, packed; no record is deleted.

What may go, and what holds it back, is decided in `holding`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fleet.identity import require_operator
from fleet.logs import place_before, record_at
from fleet.ops.holding import CHANNELS, FOR_EVER, Hold, holds, lost, stays
from fleet.ops.reindex import compute
from fleet.ops.retention import Sweep
from fleet.ports import Segment
from fleet.records import Body, wall_of
from fleet.units import counted, format_size
from fleet.unseen import mark

if TYPE_CHECKING:
    from fleet.wiring import Fleet

PAGE = 500
NEWEST = "the newest segment stays"


class Log(NamedTuple):
    """A log and what of it may go.

    Attributes:
        stream: its name.
        archived: its trimmed segments, oldest first.
        going: (segment, the number that the next one begins with) of those that may go now.
        live: bytes of all live segments.
        held: why the first one that stays does stay.
    """

    stream: str
    archived: tuple[Segment, ...]
    going: tuple[tuple[Segment, int], ...]
    live: int
    held: str

    def as_json(self) -> Body:
        """The object that `trim --json` prints."""
        return {
            "what": self.stream,
            "live": self.live,
            "archive": sum(segment.size for segment in self.archived),
            "can_go": sum(segment.size for segment, _ in self.going),
            "held_by": self.held,
        }


class Moved(NamedTuple):
    """What was done to one log.

    Attributes:
        stream: its name.
        segments: how many were moved to the archive.
        freed: bytes that packing made free, also of segments that were there already.
        unseen: (agent, how many records it will never be shown), where it was forced.
    """

    stream: str
    segments: int
    freed: int
    unseen: tuple[tuple[str, int], ...] = ()

    def as_json(self) -> Body:
        """The object that `trim --json` prints."""
        missing = [{"agent": agent, "records": count} for agent, count in self.unseen]
        said: Body = {"what": self.stream, "segments": self.segments, "freed": self.freed}
        return said | {"unseen": missing}


def logs(fleet: "Fleet", *, force: bool = False) -> list[Log]:
    """Every log with its sizes, and what could go; with `force` no agent's lane holds it back."""
    return [_log(fleet, stream, force=force) for stream in _streams(fleet)]


def beside(fleet: "Fleet") -> Body:
    """Bytes of what is no log and no run's: {caches, quarantine, work}; nothing trims these."""
    places = fleet.places
    folders = {
        "caches": places.cache,
        "quarantine": places.quarantine,
        "work": fleet.root / "work",
    }
    return {name: _bytes(folder) for name, folder in folders.items()}


def trim(
    fleet: "Fleet",
    *,
    free: int | None = None,
    keep: float | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Moved]:
    """Move whole segments to the archive, oldest first, and pack what is there; what was done.

    The caller holds the maintenance lock, alone.

    Args:
        fleet: the home.
        free: stop when so many bytes are free; None: go on to the end.
        keep: seconds; records younger than that stay. None: none stays for its age.
        force: pass agents' lanes; what they lose is marked in the log, for their digests.
        progress: told how many bytes are free, and of how many that may come.

    Raises:
        NotAllowed: said in a run.
        Unavailable: a segment could not be packed; what was moved stays moved, nothing is lost.
    """
    require_operator(fleet.author, "trim")
    found = logs(fleet, force=force)
    done = {log.stream: Moved(log.stream, 0, 0) for log in found}
    for log, step in _steps(fleet, found, keep):
        freed = sum(moved.freed for moved in done.values())
        if free is not None and freed >= free:
            break
        progress(freed, free or sum(one.live for one in found))
        done[log.stream] = _do(fleet, log, step, done[log.stream], force=force)
    return [moved for moved in done.values() if moved.segments or moved.freed]


# What may go ------------------------------------------------------------------------------------


def _streams(fleet: "Fleet") -> Iterator[str]:
    after = ""
    while page := fleet.store.streams("", after, PAGE):
        yield from page
        after = page[-1]


def _log(fleet: "Fleet", stream: str, *, force: bool) -> Log:
    segments = fleet.shelf.segments(stream)
    live = [segment for segment in segments if not segment.archived]
    archived = tuple(segment for segment in segments if segment.archived)
    size = sum(segment.size for segment in live)
    if why := stays(fleet, stream):
        return Log(stream, archived, (), size, why)
    if len(live) == 1:  # nearly every log: no need to look at anybody's lane
        return Log(stream, archived, (), size, NEWEST)
    strictest = _strictest(fleet, stream, force=force)
    going = [
        (segment, following.first)
        for segment, following in pairwise(live)
        if following.first <= strictest.seq
    ]
    held = NEWEST if len(going) == len(live) - 1 else strictest.why
    return Log(stream, archived, tuple(going), size, held)


def _strictest(fleet: "Fleet", stream: str, *, force: bool) -> Hold:
    return next(hold for hold in holds(fleet, stream) if not (force and hold.agent))


class _Step(NamedTuple):
    """A segment to be moved (to below number `below`) and packed; 0: it is archived already."""

    first: int
    below: int


def _steps(fleet: "Fleet", found: Sequence[Log], keep: float | None) -> Iterator[tuple[Log, _Step]]:
    """What may be done, what lies in the archive unpacked first, then the oldest segments."""
    for log in found:
        yield from ((log, _Step(one.first, 0)) for one in log.archived if not one.packed)
    coming: list[tuple[float, str, _Step, Log]] = []
    for log in found:
        limit = _kept_from(fleet, log.stream, keep) if log.going else 0
        age = 0.0
        for segment, below in log.going:
            newest = record_at(fleet.store, log.stream, below - 1)
            age = max(age, wall_of(newest.at) if newest else 0.0)
            if below <= limit:
                coming.append((age, log.stream, _Step(segment.first, below), log))
    yield from ((log, step) for _, _, step, log in sorted(coming, key=lambda one: one[:3]))


def _kept_from(fleet: "Fleet", stream: str, keep: float | None) -> int:
    """The lowest number that stays for its age."""
    if keep is None:
        return fleet.store.head(stream) + 1
    return place_before(fleet.store, stream, fleet.store.now().wall - keep).seq + 1


# Doing it ---------------------------------------------------------------------------------------


def _do(fleet: "Fleet", log: Log, step: _Step, before: Moved, *, force: bool) -> Moved:
    unseen = dict(before.unseen)
    if step.below:
        for agent, count in _prepare(fleet, log.stream, step.below, force=force):
            unseen[agent] = unseen.get(agent, 0) + count
        fleet.store.trim(log.stream, step.below)
    freed = fleet.shelf.pack(log.stream, step.first)
    return before._replace(
        segments=before.segments + bool(step.below),
        freed=before.freed + freed,
        unseen=tuple(unseen.items()),
    )


def _prepare(fleet: "Fleet", stream: str, below: int, *, force: bool) -> Iterator[tuple[str, int]]:
    """Before records go: say who loses them, keep pins in sight and values as they are."""
    for hold in holds(fleet, stream) if force else ():
        count = lost(fleet, stream, hold, below) if hold.agent and hold.seq < below else 0
        if count:
            by = fleet.author.name
            mark(fleet.store, stream, hold.agent, by=by, below=below, count=count)
            yield hold.agent, count
    if stream.startswith(CHANNELS):
        fleet.talk.carry_pins(fleet.author, stream.removeprefix(CHANNELS), below)
    fleet.store.sync(stream)
    compute(fleet.remembering(), stream)
    fleet.values.make_last(fleet.store, stream)


# Sizes ------------------------------------------------------------------------------------------


def _bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; links are not followed."""
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(here, name).lstat().st_size
    return total


def else_needed(fleet: "Fleet", found: Sequence[Log]) -> Iterator[str]:
    """What else could make room, a line each, for whoever needs more than trimming gave."""
    for log in found:
        if log.held not in {FOR_EVER, NEWEST} and log.live:
            yield f"{log.stream} keeps {format_size(log.live)}: {log.held}"
    packed = sum(one.size for log in found for one in log.archived)
    if packed:
        what = "move its packed segments elsewhere, but for keys.jsonl and *.value"
        yield f"state/archive has {format_size(packed)}: {what}"
    kept = Sweep(fleet).as_json()
    yield f"{kept['what']} keep {format_size(int(str(kept['live'])))}: {kept['held_by']}"
    for name, size in beside(fleet).items():
        if size:
            yield f"{name}: {format_size(int(str(size)))}"


def told(moved: Moved) -> str:
    """What was done, as a line for people."""
    what = f"{counted(moved.segments, 'segment')} moved, {format_size(moved.freed)} freed"
    return f"{moved.stream}: {what}"


def losses(moved: Moved) -> Iterator[str]:
    """Who loses sight of what, a line each, loudly."""
    for agent, count in moved.unseen:
        yield f"{moved.stream}: {agent} WILL NEVER BE SHOWN {counted(count, 'record')} of it"
