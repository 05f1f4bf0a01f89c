"""Reads what a waking agent is told; it writes nothing, and moves no lane."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fleet.config.model import Agent, HomeConfig
from fleet.context import corrections
from fleet.context.awareness import World
from fleet.context.channels import Told
from fleet.context.events import Waiting
from fleet.context.given import Given
from fleet.context.inbox import MESSAGES as LETTERS
from fleet.context.inbox import Unread
from fleet.context.section import MAX_EVENTS, MAX_MESSAGES
from fleet.context.team import Others
from fleet.context.you import Past
from fleet.cursors import (
    ADDRESSED,
    BROADCAST,
    RETRACTIONS,
    channel_lane,
    read_of_channels,
    stream_of,
)
from fleet.logs import place_at, place_before
from fleet.ports import Store
from fleet.records import Body, Place, Record
from fleet.runs import Runs
from fleet.snapshots import Snapshot
from fleet.team import look, newest, ranked

if TYPE_CHECKING:
    from fleet.bus import Bus
    from fleet.memory import Memory
    from fleet.metrics import Digest, Metrics
    from fleet.questions import Questions
    from fleet.talk import Talk

EVENTS = 50  # shown at most unless the agent's file says otherwise
MATES = 200  # other agents that are looked at, collaborators first
WORDS = 1000  # characters of what waits, by whose words they are ranked
MESSAGES = 40  # of one channel, pinned ones besides
RECENT = 4  # newest runs that may have been prepared while something was retracted


@dataclass(frozen=True, slots=True)
class Sources:
    """What one context is made of: parts that all read one snapshot, and what no log tells.

    Attributes:
        config: the home's configuration.
        store: the snapshot.
        given: what no log tells.
        templates: the folder with the operator's templates, or their texts by name.
    """

    config: HomeConfig
    store: Snapshot
    bus: "Bus"
    talk: "Talk"
    runs: Runs
    memory: "Memory"
    metrics: "Metrics"
    questions: "Questions"
    given: Given
    templates: Path | Mapping[str, str]


class Take(Protocol):
    """Takes the sources of one context: the logs as they stand when they are looked at."""

    def __call__(
        self, agent: Agent, now: float | None, nonce: str | None, *, strict: bool
    ) -> Sources:
        """The sources of `agent`'s context; `now` and `nonce` None are made.

        With `strict`, reading them may raise `Ahead`: take them again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that one context is made of, read once.

    Attributes:
        lanes: where each lane stands; of the channels of two those with something unread.
        kept: the agent's memory.
        outcomes: None for an agent without the section `metrics`.
    """

    lanes: Mapping[str, Place]
    past: Past
    world: World
    waiting: Waiting
    told: tuple[Told, ...]
    kept: Body
    outcomes: "Digest | None"
    corrections: corrections.Waiting
    unread: Unread
    others: Others


def gather(sources: Sources, agent: Agent) -> Facts:
    """Read everything."""
    given = sources.given
    brought = sources.runs.last_ok_advance(agent.id)
    stand = sources.bus.lanes(agent.id, brought)
    unread = _unread(sources, agent, stand)
    lanes = _lanes(sources, agent, stand, brought.keys())
    of_two = (channel_lane(one.channel) for one in unread.digests)
    lanes |= {lane: stand.get(lane, Place(0)) for lane in of_two}
    attempts = sources.runs.attempts(agent.id, lanes)
    limit = min(_items(agent, "events", EVENTS), MAX_EVENTS)
    pending = sources.bus.pending(agent.id, floor=lanes, limit=limit, attempts=attempts)
    return Facts(
        lanes=lanes,
        past=Past(
            sources.runs.last_ended(agent.id),
            given.claims,
            given.more_claims,
            tuple(sources.questions.open(sources.config.names_of(agent.id))),
        ),
        world=_world(sources, agent),
        waiting=Waiting(pending, attempts),
        told=_told(sources, agent, lanes),
        kept=sources.memory.state(agent.id),
        outcomes=sources.metrics.digest(
            sources.config.names_of(agent.id), given.now, agent.metrics_after
        )
        if agent.metrics
        else None,
        corrections=_corrections(sources, agent, lanes[RETRACTIONS]),
        unread=unread,
        others=_others(sources, agent, pending.shown, unread) if agent.team else Others(),
    )


def _lanes(
    sources: Sources, agent: Agent, stand: Mapping[str, Place], brought: AbstractSet[str]
) -> dict[str, Place]:
    """Where the lanes stand; one that has not begun stands where it will."""
    wanted = [ADDRESSED, BROADCAST, RETRACTIONS, *map(channel_lane, agent.channels)]
    begun = sources.given.lanes.keys() | brought
    return {
        lane: stand[lane]
        if lane in begun and lane in stand
        else start_of(sources.store, agent, stream_of(lane), sources.given.now)
        for lane in wanted
    }


def start_of(store: Store, agent: Agent, stream: str, wall: float) -> Place:
    """Where a lane that has not begun will begin, by the agent's `start`; `wall` is now.

    That of corrections at the head: who never ran was shown nothing.
    """
    if stream == RETRACTIONS:
        return place_at(store, stream, store.head(stream))
    if agent.start == "all":
        return Place(0)
    if isinstance(agent.start, str):
        return place_at(store, stream, store.head(stream))
    return place_before(store, stream, wall - agent.start)


def _items(agent: Agent, section: str, default: int) -> int:
    bounds = agent.context.sections.get(section)
    return bounds.max_items if bounds and bounds.max_items is not None else default


def _world(sources: Sources, agent: Agent) -> World:
    now = sources.given.now
    counted = tuple(
        (vital.label, sources.bus.count_since(vital.count, now - vital.window))
        for vital in sources.config.vitals
    )
    return World(
        health=sources.given.health,
        vitals=counted,
        collaborators={other: newest(sources.runs, other) for other in agent.collaborators},
        recent=_recent(sources.bus, agent),
    )


def _recent(bus: "Bus", agent: Agent) -> tuple[Record, ...]:
    """The newest events of interest, but those that this agent failed on too often."""
    latest = bus.latest(agent.interests) if agent.interests else ()
    dead = bus.set_aside_for(agent.id) if latest else frozenset()
    return tuple(event for event in latest if event.ref not in dead)


def _corrections(sources: Sources, agent: Agent, place: Place) -> corrections.Waiting:
    names = sources.config.names_of(agent.id)
    new = sources.store.head(RETRACTIONS) > place.seq
    recent = sources.runs.list(agent.id, RECENT) if new else ()
    return corrections.waiting(sources.store, names, place, recent)


def _told(sources: Sources, agent: Agent, lanes: Mapping[str, Place]) -> tuple[Told, ...]:
    share = max(1, MAX_MESSAGES // max(1, len(agent.channels)))
    limit = min(_items(agent, "channels", MESSAGES), share)
    return tuple(
        Told(
            sources.config.channels[channel],
            sources.talk.digest(agent.id, channel, lanes[channel_lane(channel)].seq, limit),
        )
        for channel in agent.channels
    )


def _unread(sources: Sources, agent: Agent, stand: Mapping[str, Place]) -> Unread:
    """Direct messages since the lanes' places; a new channel of two is unread from its first."""
    most = min(_items(agent, "inbox", LETTERS), LETTERS)
    places = read_of_channels(stand)
    found = sources.talk.inbox(agent.id, sources.given.directs, places, most)
    return Unread(tuple(found), most)


def _others(sources: Sources, agent: Agent, events: Iterable[Record], unread: Unread) -> Others:
    """The other agents, those first whose words fit what waits; then the collaborators."""
    config = sources.config
    names = [*agent.collaborators, *sorted(config.agents.keys() - agent.collaborators)]
    others = [name for name in names if name != agent.id and config.agents[name].enabled]
    mates = [look(config, sources.runs, sources.memory, name) for name in others[:MATES]]
    said = [str(event.body.get("payload"))[:WORDS] for event in events]
    said += [one.text[:WORDS] for digest in unread.digests for one in digest.messages]
    last = sources.runs.last_ended(agent.id)
    matches = ranked(mates, " ".join([*said, last.next if last else ""]))
    return Others(tuple(matches), len(others) - len(mates))
