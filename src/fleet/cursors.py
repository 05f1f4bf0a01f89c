"""Where each agent stands in each log it reads: the documents `cursors/<agent>`.

A lane's place only grows; it goes back in one case, by `rewind`, when the log below it was
replaced. What makes a place move (a run that succeeded) is decided elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping

from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, Place

ADDRESSED = "events/addressed"
BROADCAST = "events/broadcast"
RETRACTIONS = "retractions"  # the lane of corrections, in the log of that name
TRAIL = 16  # earlier places kept for a log that is replaced later
MANY, FEW = 200, 2  # more lanes than that keep only so many earlier places
_TRIES = 100  # compare-and-set rounds; each lost one means that another writer won it


def stream_of(lane: str) -> str:
    """The log in which `lane` runs: both event lanes run in `events`."""
    return "events" if lane in {ADDRESSED, BROADCAST} else lane


def channel_lane(channel: str) -> str:
    """The lane of a channel's digest."""
    return f"channels/{channel}"


def document_of(agent: str, places: Mapping[str, Place]) -> tuple[str, Body]:
    """Key and body of the document in which `agent` stands at `places`, without a trail."""
    return _document(agent), _encoded(None, {lane: [place] for lane, place in places.items()})


def read_of_channels(lanes: Mapping[str, Place]) -> dict[str, int]:
    """By channel, the number that its lane has passed."""
    prefix = channel_lane("")
    return {
        lane.removeprefix(prefix): place.seq
        for lane, place in lanes.items()
        if lane.startswith(prefix)
    }


class Cursors:
    """The places of all agents' lanes.

    Every writing method may raise `Conflict` when 100 other writers won in a row.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, agent: str) -> dict[str, Place]:
        """The place of each lane that `agent` has begun; empty for a new agent."""
        lanes = _lanes(self._store.get(_document(agent))[0])
        return {lane: trail[0] for lane, trail in lanes.items()}

    def trail(self, agent: str, lane: str) -> list[Place]:
        """Where the lane stands and stood before, newest first, at most `TRAIL` + 1 places."""
        return _lanes(self._store.get(_document(agent))[0]).get(lane, [])

    def agents(self) -> list[str]:
        """Every agent that has a cursor."""
        names: list[str] = []
        after = ""
        while page := self._store.keys("cursors/", after, 500):
            names += [key.removeprefix("cursors/") for key in page]
            after = page[-1]
        return names

    def advance(self, agent: str, places: Mapping[str, Place]) -> None:
        """Move each lane of `places` forward to its place; a lane that is further stays there."""

        def move(lanes: dict[str, list[Place]]) -> bool:
            ahead = {
                lane: place
                for lane, place in places.items()
                if lane not in lanes or lanes[lane][0].seq < place.seq
            }
            for lane, place in ahead.items():
                lanes[lane] = [place, *lanes.get(lane, [])[:TRAIL]]
            return bool(ahead)

        self._change(agent, move)

    def rewind(self, agent: str, lane: str, place: Place) -> None:
        """Set a lane back to `place`, whatever it said: its log is not the one it was."""

        def move(lanes: dict[str, list[Place]]) -> bool:
            earlier = [old for old in lanes.get(lane, []) if old.seq < place.seq]
            lanes[lane] = [place, *earlier]
            return True

        self._change(agent, move)

    def ensure_started(
        self, agent: str, lanes_wanted: Iterable[str], start_of: Callable[[str], Place]
    ) -> None:
        """Record where each lane that has no place yet begins, once.

        `start_of` is asked with the lane's stream; a lane that has begun is left alone.
        """
        missing = [lane for lane in lanes_wanted if lane not in self.get(agent)]
        if missing:
            self.advance(agent, {lane: start_of(stream_of(lane)) for lane in missing})

    def _change(self, agent: str, move: Callable[[dict[str, list[Place]]], bool]) -> None:
        """Apply `move` to the lanes by compare-and-set; it answers whether anything changed."""
        for attempt in range(_TRIES):
            body, version = self._store.get(_document(agent))
            lanes = _lanes(body)
            if not move(lanes):
                return
            try:
                self._store.put(_document(agent), _encoded(body, lanes), expect=version)
            except Conflict:
                if attempt == _TRIES - 1:
                    raise
            else:
                return


def _document(agent: str) -> str:
    return f"cursors/{agent}"


def _lanes(body: Body | None) -> dict[str, list[Place]]:
    """Each lane's places, newest first."""
    lanes = (body or {}).get("lanes")
    found: dict[str, list[Place]] = {}
    for lane, said in lanes.items() if isinstance(lanes, dict) else ():
        earlier = [Place(int(seq), str(crc)) for seq, crc in said.get("trail", [])]
        found[lane] = [Place(int(said["seq"]), str(said["crc"])), *earlier]
    return found


def _encoded(body: Body | None, lanes: Mapping[str, list[Place]]) -> Body:
    """The document: keys that this version does not know are kept.

    Who talks with hundreds has as many lanes, each with fewer earlier places, so that all fit.
    """
    most = TRAIL if len(lanes) <= MANY else FEW
    said = {
        lane: {
            "seq": now.seq,
            "crc": now.crc,
            "trail": [[old.seq, old.crc] for old in earlier[:most]],
        }
        for lane, (now, *earlier) in lanes.items()
    }
    return (body or {}) | {"lanes": said}
