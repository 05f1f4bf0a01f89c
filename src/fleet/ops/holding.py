"""What holds the trimming of a log back: readers that are behind, and what is read from its end.

Of most logs nothing may go: what they say counts for ever (memories, retractions, metrics, runs,
alerts, dead letters, questions, what waits for its time, what shadow runs staged). Of the four
kinds here the values that fleet computes are kept when records go, so that nobody's digest, claim,
pin or count changes.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from fleet.bus.trimming import needed, unseen
from fleet.context import start_of
from fleet.cursors import ADDRESSED, BROADCAST
from fleet.identity import OPERATOR
from fleet.logs import place_before
from fleet.records import Body, Place, ref_of, wall_of
from fleet.status import FIRES
from fleet.talk.direct import pair_of
from fleet.talk.reading import unseen as unread
from fleet.unseen import dropped

if TYPE_CHECKING:
    from fleet.config.model import Agent
    from fleet.wiring import Fleet

EVENTS, CLAIMS, CHANNELS = "events", "claims-log", "channels/"
FOR_EVER = "it counts for ever"
RECENT = 500  # newest records of a log that stay: repeated keys, lists and screens look there


class Hold(NamedTuple):
    """Why records from number `seq` on stay.

    Attributes:
        seq: the lowest number that stays.
        why: for people, "outreach has read up to events#12".
        agent: whose lane it is, "" when it is none's: then no force passes it.
        lanes: where that agent's lanes in this log stand.
    """

    seq: int
    why: str
    agent: str = ""
    lanes: Mapping[str, Place] = {}


def stays(fleet: "Fleet", stream: str) -> str:
    """Why no record of the log may go, "" when some may."""
    if not stream.startswith(CHANNELS):
        return "" if stream in {EVENTS, CLAIMS, FIRES} else FOR_EVER
    channel = stream.removeprefix(CHANNELS)
    known = channel in fleet.config.channels or pair_of(channel)
    return "" if known else "it is history: the channel has no file"


def holds(fleet: "Fleet", stream: str) -> list[Hold]:
    """Everything that holds the log back, the strictest first."""
    newest = fleet.store.head(stream) - RECENT + 1
    found = [Hold(newest, f"the newest {RECENT} records stay")]
    if stream == EVENTS:
        seq = needed(fleet.store, fleet.cache)
        if seq is not None:
            why = f"{ref_of(EVENTS, seq)} is among the newest of its type, and long"
            found.append(Hold(seq, why))
    if stream == FIRES:
        found += _clock(fleet)
    for run in fleet.runs.open():
        began = place_before(fleet.store, stream, wall_of(run.started)).seq
        found.append(Hold(began + 1, f"run {run.ref} of {run.agent} has not ended"))
    found += _readers(fleet, stream)
    return sorted(found, key=lambda hold: hold.seq)


def lost(fleet: "Fleet", stream: str, hold: Hold, below: int) -> int:
    """How many records its agent would never see if those below number `below` went.

    What it never saw of an earlier time and was not told yet is among them.
    """
    untold = dropped(fleet.store, stream, hold.agent, hold.seq - 1, below - 1)
    if stream == EVENTS:
        agent = fleet.config.agents[hold.agent]
        return untold + unseen(
            fleet.store,
            fleet.cache,
            agent,
            places=hold.lanes,
            below=below,
        )
    channel, names = stream.removeprefix(CHANNELS), fleet.config.names_of(hold.agent)
    return untold + unread(fleet.store, channel, names, hold.seq - 1, below)


def _readers(fleet: "Fleet", stream: str) -> Iterator[Hold]:
    for agent in fleet.config.agents.values():
        if agent.enabled and (lanes := _lanes(fleet, stream, agent)):
            place = min(lanes.values(), key=lambda lane: lane.seq)
            why = f"{agent.id} has read up to {ref_of(stream, place.seq)}"
            why = why if place.seq else f"{agent.id} has read nothing of it yet"
            yield Hold(place.seq + 1, why, agent.id, lanes)
    if yours := fleet.cursors.get(OPERATOR).get(stream):
        yield Hold(yours.seq + 1, f"you have read up to {ref_of(stream, yours.seq)}")


def _lanes(fleet: "Fleet", stream: str, agent: "Agent") -> dict[str, Place]:
    """Where the agent's lanes in this log stand, or will begin; none when it does not read it."""
    wanted: tuple[str, ...] = ()
    if stream == EVENTS:
        wanted = (ADDRESSED, BROADCAST)
    elif stream.startswith(CHANNELS) and _reads(agent, stream.removeprefix(CHANNELS)):
        wanted = (stream,)
    stand = fleet.bus.lanes(agent.id, fleet.runs.last_ok_advance(agent.id)) if wanted else {}
    begun = fleet.cursors.get(agent.id).keys() | fleet.runs.last_ok_advance(agent.id).keys()
    return {lane: stand[lane] if lane in begun else _begin(fleet, agent, stream) for lane in wanted}


def _begin(fleet: "Fleet", agent: "Agent", stream: str) -> Place:
    if pair_of(stream.removeprefix(CHANNELS)):
        return Place(0)  # a channel of two is unread from its first message
    return start_of(fleet.store, agent, stream, fleet.store.now().wall)


def _reads(agent: "Agent", channel: str) -> bool:
    pair = pair_of(channel)
    if pair is None:
        return channel in agent.channels
    return not {agent.id, *agent.formerly}.isdisjoint(pair)


def _clock(fleet: "Fleet") -> Iterator[Hold]:
    """Slots that come again, after a clock was set back, are looked for behind a number."""
    now = fleet.store.now().wall
    for agent in fleet.config.agents:
        again = cast("Body", (fleet.store.get(f"schedule/{agent}")[0] or {}).get("again") or {})
        until = again.get("until")
        if isinstance(until, str) and datetime.fromisoformat(until).timestamp() > now:
            seq = cast("int", again["after"]) + 1
            yield Hold(seq, f"the clock was set back: slots of {agent} are looked for in it")
