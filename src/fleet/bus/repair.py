"""Lanes whose log is not the one they were noted in, or was trimmed under them.

It finds them, sets them back and says so; it never invents what is gone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleet.alerts import raise_alert
from fleet.cursors import Cursors, stream_of
from fleet.errors import Finding
from fleet.logs import holds
from fleet.ports import Store, first_kept
from fleet.records import Place


@dataclass(frozen=True, slots=True)
class BrokenLane:
    """One lane whose log was replaced, or, with `first`, trimmed up to that number."""

    agent: str
    lane: str
    place: Place
    first: int | None = None

    @property
    def finding(self) -> Finding:
        """What `doctor` and `status` say about it."""
        stream = stream_of(self.lane)
        at = f"{self.agent} stands at {stream}#{self.place.seq} in lane {self.lane}"
        if self.first is not None:
            what = f"{at}, and what follows was trimmed unread up to {stream}#{self.first - 1}"
            return Finding("warning", "", 0, what, "look into the archive")
        what = f"{at}, and the log holds another record there: it was replaced or restored"
        return Finding("error", "", 0, what, "the runner sets the lane back at its next start")


def broken_lanes(store: Store, cursors: Cursors, agent: str) -> Iterator[BrokenLane]:
    """The lanes of `agent`, channels included, that do not fit the logs that are there."""
    for lane, place in cursors.get(agent).items():
        stream = stream_of(lane)
        if not holds(store, stream, place):
            yield BrokenLane(agent, lane, place)
        elif (first := first_kept(store, stream)) > place.seq + 1:
            yield BrokenLane(agent, lane, place, first)


def repair(store: Store, cursors: Cursors, broken: BrokenLane) -> None:
    """Set the lane to where it can go on, and raise an alert (once for each such place).

    A replaced log is continued above every known cursor first, so that no number that a lane has
    passed is given again; then the lane goes back to the newest place that the log still holds.
    """
    if broken.first is not None:
        cursors.advance(broken.agent, {broken.lane: Place(broken.first - 1)})
        _alert(store, broken, "trimmed-unread", f"it goes on at number {broken.first}")
        return
    stream = stream_of(broken.lane)
    store.append_gap(stream, max(place.seq for place in _places(cursors, cursors.agents(), stream)))
    # Another agent may have read on in the log that is there now; its places say nothing.
    own = _places(cursors, [broken.agent], stream)
    good = [
        place
        for place in own
        if place.seq < broken.place.seq and place.crc and holds(store, stream, place)
    ]
    back = max(good, key=lambda place: place.seq, default=Place(0))
    cursors.rewind(broken.agent, broken.lane, back)
    _alert(store, broken, "replaced-log", f"its lane went back to number {back.seq}")


def _places(cursors: Cursors, agents: Iterable[str], stream: str) -> Iterator[Place]:
    """Every place in `stream` at which a lane of one of `agents` stands or stood."""
    for agent in agents:
        for lane in cursors.get(agent):
            if stream_of(lane) == stream:
                yield from cursors.trail(agent, lane)


def _alert(store: Store, broken: BrokenLane, kind: str, done: str) -> None:
    finding = broken.finding
    raise_alert(
        store,
        kind=kind,
        subject=broken.agent,
        what=finding.what,
        done=done,
        fix="fleet verify tells what can be read; if nobody restored or trimmed it, look into a "
        "backup",
        key=f"{kind}/{broken.agent}/{broken.lane}/{broken.place.seq}/{broken.place.crc}",
    )


def is_held(store: Store, lane: str, place: Place) -> bool:
    """Whether the lane's log still is the one in which `place` was noted."""
    return holds(store, stream_of(lane), place)
