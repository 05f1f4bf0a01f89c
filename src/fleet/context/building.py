"""Builds the context of one run: sections within their budgets, the template, what it showed."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from fleet import __version__
from fleet.blobs import name_of
from fleet.bus import lane_of
from fleet.config.model import Agent, HomeConfig
from fleet.context import (
    awareness,
    channels,
    corrections,
    events,
    how_to,
    inbox,
    memory,
    metrics,
    team,
    you,
)
from fleet.context.data import CHANNEL, EVENT, REF, Fields, View, found
from fleet.context.examples import Examples
from fleet.context.section import BOUNDS, Built, Scene, Section, allot
from fleet.context.sources import Facts, Sources, Take, gather
from fleet.context.templates import render
from fleet.cursors import ADDRESSED, BROADCAST, RETRACTIONS, channel_lane
from fleet.folds import Ahead
from fleet.masking import mask
from fleet.records import Body, Place, Record, rfc3339
from fleet.runs import places_body

ORDER = (
    *("you", "awareness", "corrections", "events", "channels", "inbox", "memory", "metrics"),
    *("team", "how_to"),
)
LANES = (ADDRESSED, BROADCAST)
TRIES = 2  # times that the logs are pinned before a value that is ahead is computed again
AWARENESS = BOUNDS["awareness"].most or 0
LATER = ("knowledge", "matches")  # names that print nothing yet


@dataclass(frozen=True, slots=True)
class Context:
    """What a waking agent is told.

    Attributes:
        sections: in their order, with what each costs.
        context_md: the template's block `context`.
        prompt_md: a fixed first line and the template's block `task`.
        shown: references of every record that either of them really shows.
        lanes: where each lane stood.
        advance: where they go if the run succeeds.
        hops: the most wakes behind any event that is shown.
        manifest: what the same bytes can be built from again; JSON values only. `facts` is what
            the run's record takes, `heads` and `crcs` the newest record of each log that was read.
        templates: by name the text of each template that took part; the manifest has its hash.
    """

    sections: tuple[Section, ...]
    context_md: str
    prompt_md: str
    shown: tuple[str, ...]
    lanes: Mapping[str, Place]
    advance: Mapping[str, Place]
    hops: int
    manifest: Body
    templates: Mapping[str, str]


def build(
    take: Take,
    agent: Agent,
    *,
    run: str,
    now: float | None = None,
    nonce: str | None = None,
    durable: bool = False,
) -> Context:
    """The context of `agent`'s run `run`, of one moment. Reads, and writes nothing.

    Args:
        take: takes what it is made of.
        agent: who wakes.
        run: the run's id.
        now: epoch seconds; None asks the store's clock.
        nonce: closes the fences, letters and digits; None makes one. The same inputs, moment
            and nonce give the same bytes.
        durable: a run will act on it, so everything that was read is synced.

    Raises:
        RenderFailed: the template has a fault or reaches a limit.
    """
    for _ in range(TRIES):
        with suppress(Ahead):
            return build_from(take(agent, now, nonce, strict=True), agent, run, durable=durable)
    return build_from(take(agent, now, nonce, strict=False), agent, run, durable=durable)


def build_from(sources: Sources, agent: Agent, run: str, *, durable: bool = False) -> Context:
    """As `build`: a pure function of the logs up to their pins, what is given, and the config."""
    given, config = sources.given, sources.config
    facts = gather(sources, agent)
    moment = datetime.fromtimestamp(given.now, ZoneInfo(config.timezone))
    scene = Scene(agent, run, moment, given.nonce)
    built = _sections(config, scene, facts, given.examples)
    rendered = render(sources.templates, agent.prompt, _variables(config, scene, built))
    context_md, in_context = found(rendered.context)
    task, in_task = found(rendered.task)
    context_md, task = mask(context_md), mask(task)  # the operator's own words may hold secrets
    if durable:
        sources.store.sync_all()
    seen = _Seen.of(in_context, in_task)
    advance = _advance(sources, agent, facts, seen)
    sections = tuple(built[name].section() for name in ORDER)
    pins = sources.store.pins
    manifest: Body = {
        "run": run,
        "agent": agent.id,
        "now": rfc3339(given.now),
        "fleet": __version__,
        "root": str(config.root),
        "config": config.version,
        "templates": {name: name_of(text) for name, text in rendered.templates.items()},
        "heads": {stream: place.seq for stream, place in pins.items()},
        "crcs": {stream: place.crc for stream, place in pins.items()},
        "given": given.as_json(),
        "sections": [_costs(section) for section in sections],
        "facts": _record(facts, seen, advance),
    }
    first = f"Task for {agent.id}, run {run}:"
    return Context(
        sections=sections,
        context_md=context_md,
        prompt_md=f"{first}\n{task.lstrip()}",
        shown=seen.refs,
        lanes=facts.lanes,
        advance=advance,
        hops=max((_hops(record) for record in _shown(facts, seen)), default=0),
        manifest=manifest,
        templates=rendered.templates,
    )


# Sections --------------------------------------------------------------------------------------


def _sections(config: HomeConfig, scene: Scene, facts: Facts, taught: Examples) -> dict[str, Built]:
    """Every section within its share of the agent's tokens."""
    agent = scene.agent
    makers: dict[str, Callable[[int], Built]] = {
        "you": lambda budget: you.build(scene, facts.past, budget),
        "corrections": lambda budget: corrections.build(scene, facts.corrections, budget),
        "events": lambda budget: events.build(scene, facts.waiting, budget),
        "channels": channels.maker(scene, facts.told),
        "inbox": lambda budget: inbox.build(scene, facts.unread, budget),
        "memory": lambda budget: memory.build(scene, facts.kept, budget),
        "metrics": lambda budget: metrics.build(scene, facts.outcomes, budget),
        "team": lambda budget: team.build(scene, facts.others, budget),
        "how_to": lambda budget: how_to.build(
            agent.id, agent.interests, config.types, budget, taught
        ),
    }
    total = agent.context.max_tokens
    full = {name: make(min(total, BOUNDS[name].most or total)) for name, make in makers.items()}
    needs = {name: built.cost for name, built in full.items()}
    # which events it may show is known last: room for another line than the ones counted here
    needs["awareness"] = min(AWARENESS, _aware(scene, facts, AWARENESS, ()).cost + 40)
    limits = {name: bounds.max_tokens for name, bounds in agent.context.sections.items()}
    limits[memory.NAME] = limits.get(memory.NAME) or memory.TOKENS
    grants = allot(needs, total, limits)
    made = {
        name: full[name] if needs[name] <= grants[name] else _within(name, make, grants[name])
        for name, make in makers.items()
    }
    aware = _aware(scene, facts, grants["awareness"], made["events"].items)
    return made | {"awareness": aware}


def _within(name: str, make: Callable[[int], Built], budget: int) -> Built:
    return make(budget) if budget else Built(name, "")


def _aware(scene: Scene, facts: Facts, budget: int, shown: Iterable[Fields]) -> Built:
    elsewhere = {f"events#{item['seq']}" for item in shown}
    if facts.waiting.pending.alone:  # a suspect must not come in by the back door
        elsewhere |= {one.ref for one in facts.world.recent if _waits(one, facts.lanes)}
    make = partial(awareness.build, scene, facts.world, elsewhere=frozenset(elsewhere))
    return _within("awareness", make, budget)


def _waits(event: Record, lanes: Mapping[str, Place]) -> bool:
    return event.seq > lanes[lane_of(event)].seq


def _costs(section: Section) -> Body:
    return {
        "name": section.name,
        "items": section.items,
        "left_out": section.left_out,
        "tokens": section.tokens,
    }


# What templates see ----------------------------------------------------------------------------


def _variables(config: HomeConfig, scene: Scene, built: Mapping[str, Built]) -> dict[str, object]:
    agent = scene.agent
    told = {
        "id": agent.id,
        "description": scene.line(agent.description),
        "cwd": str(agent.cwd),
        "channels": agent.channels,
        "interests": agent.interests,
        "collaborators": agent.collaborators,
    }
    return {
        "agent": Fields("agent", told),
        "fleet": Fields("fleet", {"name": config.name, "timezone": config.timezone}),
        "run": Fields("run", {"id": scene.run}),
        "now": scene.clock,
        **{name: View() for name in LATER},
        **{name: section.view() for name, section in built.items()},
    }


# What it showed --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stands in the rendered bytes."""

    events: frozenset[str]
    channels: frozenset[str]
    refs: tuple[str, ...]

    @classmethod
    def of(cls, *marked: Mapping[str, list[str]]) -> "_Seen":
        by_kind = {
            kind: [name for marks in marked for name in marks.get(kind, [])]
            for kind in (EVENT, REF, CHANNEL)
        }
        refs = tuple(dict.fromkeys([*by_kind[EVENT], *by_kind[REF]]))
        return cls(frozenset(by_kind[EVENT]), frozenset(by_kind[CHANNEL]), refs)


def _shown(facts: Facts, seen: _Seen) -> list[Record]:
    return [record for record in facts.waiting.pending.shown if record.ref in seen.events]


def _advance(sources: Sources, agent: Agent, facts: Facts, seen: _Seen) -> dict[str, Place]:
    places = sources.bus.advance_for(agent.id, facts.waiting.pending, seen.events)
    for digest in (*(one.digest for one in facts.told), *facts.unread.digests):
        new = {message.ref for message in digest.messages if message.seq in digest.new}
        listed = bool(new) and not digest.not_shown and new <= set(seen.refs)
        if digest.channel in seen.channels or listed:
            places[channel_lane(digest.channel)] = digest.upto
    corrected = corrections.place_after(sources.store, facts.corrections, set(seen.refs))
    if corrected and corrected.seq > facts.lanes[RETRACTIONS].seq:
        places[RETRACTIONS] = corrected
    return places


def _record(facts: Facts, seen: _Seen, advance: Mapping[str, Place]) -> Body:
    shown = _shown(facts, seen)
    by_lane = {lane: [record.seq for record in shown if lane_of(record) == lane] for lane in LANES}
    return {
        "lanes": places_body(facts.lanes),
        "events": by_lane,
        "events_shown": len(shown),
        "shown": list(seen.refs),
        "advance": places_body(advance),
    }


def _hops(record: Record) -> int:
    hops = record.body.get("hops")
    return hops if isinstance(hops, int) else 0
