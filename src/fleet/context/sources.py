"""Reads what a waking agent is told; it writes nothing, and moves no lane."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.config.model import Agent, HomeConfig
from fleet.context.awareness import World
from fleet.context.channels import Told
from fleet.context.events import Waiting
from fleet.context.section import MAX_EVENTS, MAX_MESSAGES
from fleet.context.you import Past
from fleet.cursors import ADDRESSED, BROADCAST, channel_lane, stream_of
from fleet.logs import place_at, place_before
from fleet.ports import Store
from fleet.records import Place, Record
from fleet.runs import Run, Runs

if TYPE_CHECKING:
    from fleet.bus import Bus
    from fleet.claims import Claim, Claims
    from fleet.cursors import Cursors
    from fleet.schemas import Registry
    from fleet.talk import Talk

FLEETS_OWN = ("agent:", "run:", "cap:")  # claims that no agent took
EVENTS = 50  # shown at most unless the agent's file says otherwise
MESSAGES = 40  # of one channel, pinned ones besides


@dataclass(frozen=True, slots=True)
class Sources:
    """What a context is made of; `health` is the word for the system's state."""

    config: HomeConfig
    store: Store
    bus: "Bus"
    talk: "Talk"
    runs: Runs
    cursors: "Cursors"
    claims: "Claims"
    schemas: "Registry"
    health: str = "ok"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that one context is made of, read once.

    Attributes:
        lanes: where each of the agent's lanes stands.
        heads: the number up to which each log was there before it was read.
    """

    lanes: Mapping[str, Place]
    heads: Mapping[str, Place]
    past: Past
    world: World
    waiting: Waiting
    told: tuple[Told, ...]


def gather(sources: Sources, agent: Agent, wall: float) -> Facts:
    """Read everything; `wall` is the moment in epoch seconds."""
    heads = {name: _head(sources.store, name) for name in _streams(agent)}
    lanes = _lanes(sources, agent, wall)
    attempts = sources.runs.attempts(agent.id, lanes)
    limit = min(_items(agent, "events", EVENTS), MAX_EVENTS)
    pending = sources.bus.pending(agent.id, floor=lanes, limit=limit, attempts=attempts)
    return Facts(
        lanes=lanes,
        heads=heads,
        past=Past(sources.runs.last_ended(agent.id), _claims(sources.claims, agent.id)),
        world=_world(sources, agent, wall),
        waiting=Waiting(pending, attempts),
        told=_told(sources, agent, lanes),
    )


def make_durable(store: Store, facts: Facts) -> None:
    """Sync every log that was read: a run must not act on what a power cut can take away."""
    for name in facts.heads:
        store.sync(name)


def _streams(agent: Agent) -> list[str]:
    others = (f"runs/{other}" for other in agent.collaborators)
    channels = (channel_lane(channel) for channel in agent.channels)
    return list(dict.fromkeys(["events", *channels, f"runs/{agent.id}", *others]))


def _head(store: Store, stream: str) -> Place:
    return place_at(store, stream, store.head(stream))


def _lanes(sources: Sources, agent: Agent, wall: float) -> dict[str, Place]:
    """Where the lanes stand; one that has not begun stands where it will."""
    wanted = [ADDRESSED, BROADCAST, *map(channel_lane, agent.channels)]
    brought = sources.runs.last_ok_advance(agent.id)
    lanes = sources.bus.lanes(agent.id, brought)
    begun = sources.cursors.get(agent.id).keys() | brought.keys()
    return {
        lane: lanes[lane]
        if lane in begun and lane in lanes
        else start_of(sources.store, agent, stream_of(lane), wall)
        for lane in wanted
    }


def start_of(store: Store, agent: Agent, stream: str, wall: float) -> Place:
    """Where a lane that has not begun will begin, by the agent's `start`; `wall` is now."""
    if agent.start == "all":
        return Place(0)
    if isinstance(agent.start, str):
        return _head(store, stream)
    return place_before(store, stream, wall - agent.start)


def _items(agent: Agent, section: str, default: int) -> int:
    bounds = agent.context.sections.get(section)
    return bounds.max_items if bounds and bounds.max_items is not None else default


def _claims(claims: "Claims", agent: str) -> "tuple[Claim, ...]":
    held = [claim for claim in claims.live() if claim.holder == agent]
    own = [claim for claim in held if not claim.key.startswith(FLEETS_OWN)]
    return tuple(sorted(own, key=lambda claim: claim.key))


def _world(sources: Sources, agent: Agent, wall: float) -> World:
    counted = tuple(
        (vital.label, sources.bus.count_since(vital.count, wall - vital.window))
        for vital in sources.config.vitals
    )
    return World(
        health=sources.health,
        vitals=counted,
        collaborators={other: _newest(sources.runs, other) for other in agent.collaborators},
        recent=_recent(sources.bus, agent),
    )


def _recent(bus: "Bus", agent: Agent) -> tuple[Record, ...]:
    """The newest events of interest, but those that this agent failed on too often."""
    latest = bus.latest(agent.interests) if agent.interests else ()
    dead = bus.set_aside_for(agent.id) if latest else frozenset()
    return tuple(event for event in latest if event.ref not in dead)


def _newest(runs: Runs, agent: str) -> Run | None:
    """Its newest run: what it reported while it runs counts, else how the last one ended."""
    last = runs.last(agent)
    return last if last is None or not last.open or last.report else runs.last_ended(agent) or last


def _told(sources: Sources, agent: Agent, lanes: Mapping[str, Place]) -> tuple[Told, ...]:
    limit = min(_items(agent, "channels", MESSAGES), MAX_MESSAGES // max(1, len(agent.channels)))
    return tuple(
        Told(
            sources.config.channels[channel],
            sources.talk.digest(agent.id, channel, lanes[channel_lane(channel)].seq, limit),
        )
        for channel in agent.channels
    )
