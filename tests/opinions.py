"""A second opinion on decisions: the rules as one would tell them, without `decide`'s code."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fleet import schedules
from fleet.config.model import Agent, HomeConfig
from fleet.runner import engine
from fleet.runner.decide import decide
from fleet.runner.state import GATE, START, AccountState, AgentState, Decision, Slot, State

HAIR = 1e-6  # dollars
URGENCY = ("high", "normal", "low")


def listen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What there is to object to in every decision that an engine makes from now on."""
    found: list[str] = []

    def watched(config: HomeConfig, state: State, now: datetime) -> list[Decision]:
        decisions = decide(config, state, now)
        found.extend(objections(config, state, now, decisions))
        return decisions

    monkeypatch.setattr(engine, "decide", watched)
    return found


def objections(
    config: HomeConfig, state: State, now: datetime, decisions: Sequence[Decision]
) -> Iterator[str]:
    """A line for each rule that the decisions break."""
    starts = [one for one in decisions if one.result == START]
    asked = Counter((name, slot) for name, one in state.agents.items() for slot in one.slots)
    if asked != Counter((one.agent, one.slot) for one in decisions):
        yield "not one decision for each slot"
    if len(starts) > state.free:
        yield f"{len(starts)} starts for {state.free} places"
    spent = state.cost_today
    for one in starts:
        for why in held(config, state, one.agent, one.slot, now):
            yield f"{one.agent} starts: {why}"
        spent += state.agents[one.agent].reserve
        if config.budget.per_day is not None and spent > config.budget.per_day + HAIR:
            yield f"{one.agent} starts: the fleet's budget is used up"
    for name, known in state.agents.items():
        mine = [one for one in decisions if one.agent == name and one.slot.due <= now]
        yield from _one_at_a_time(name, mine)
        yield from _newest_of(config, name, known, mine, now)
    yield from _in_order(config, state, now, decisions, starts)


def _one_at_a_time(name: str, mine: Sequence[Decision]) -> Iterator[str]:
    """Of the due slots one may start; the others go into it."""
    if any(one.result in {START, GATE} for one in mine):
        others = [one.result for one in mine if one.result not in {START, GATE}]
        if len(mine) - len(others) > 1 or set(others) - {"coalesced"}:
            yield f"{name}: {len(mine)} due slots, beside a start {others}"


def _newest_of(
    config: HomeConfig, name: str, known: AgentState, mine: Sequence[Decision], now: datetime
) -> Iterator[str]:
    """The newest slot of the schedule that is not too late is the one that starts."""
    agent = config.agents[name]
    timely = [
        slot
        for slot in known.slots
        if slot.due <= now and not slot.is_wake and not late(agent, slot)
    ]
    started = [one.slot for one in mine if one.result == START]
    if started and timely and started != timely[-1:]:
        yield f"{name}: {started[0].name} starts, and {timely[-1].name} is newer"


def _in_order(
    config: HomeConfig,
    state: State,
    now: datetime,
    decisions: Sequence[Decision],
    starts: Sequence[Decision],
) -> Iterator[str]:
    """Whoever could start waits only for those who come before it."""

    def turn(name: str) -> tuple[int, int, datetime]:
        known = state.agents[name]
        since = min([*(slot.due for slot in known.slots), *([known.since] if known.since else [])])
        rank = URGENCY.index(config.agents[name].priority)
        return (0, 0, since) if known.passed_over else (1, rank, since)

    left = {one.agent for one in decisions if one.result == "wait"} - {one.agent for one in starts}
    for name in left:
        slots = [one.slot for one in decisions if one.agent == name and one.result == "wait"]
        if any(True for slot in slots for _ in held(config, state, name, slot, now)):
            continue
        if len(starts) < state.free:
            yield f"{name} waits, and a place is free"
        for one in starts:
            if turn(one.agent) > turn(name):
                yield f"{one.agent} starts before {name}"


def held(config: HomeConfig, state: State, name: str, slot: Slot, now: datetime) -> Iterator[str]:
    """Everything that forbids the slot of a schedule, or a wake, to start."""
    agent, known = config.agents[name], state.agents[name]
    account = state.accounts.get(agent.account or "fleet", AccountState())
    budget, most = agent.budget.per_day, agent.max_runs_per_day
    closed = known.breaker_until is None or known.breaker_until > now
    rules: dict[str, Callable[[], Any]] = {
        "it is not due": lambda: slot.due > now,
        "it runs": lambda: known.running,
        "the runner stops": lambda: state.stopping,
        "it is halted": lambda: known.halted,
        "it is paused": lambda: known.paused or state.paused or not agent.enabled,
        "the disk is full": lambda: state.low_disk,
        "its account is held": lambda: account.blocked or account.paused,
        "its account waits": lambda: account.limited_until and account.limited_until > now,
        "it failed too often": lambda: known.breaker and closed,
        "it ran often enough": lambda: most is not None and known.runs_today >= most,
        "its budget is used up": lambda: (
            budget is not None and known.cost_today + known.reserve > budget + HAIR
        ),
        "it is quiet": lambda: is_quiet(config, agent, slot, now),
        "its gate was not asked": lambda: agent.gate and known.gate != "",
        "it comes too late": lambda: not slot.is_wake and late(agent, slot),
    }
    return (why for why, holds in rules.items() if holds())


def late(agent: Agent, slot: Slot) -> bool:
    """Whether nobody watched for longer than the agent catches up."""
    return slot.noticed - slot.came_due > timedelta(seconds=max(agent.catch_up, 10.0))


def is_quiet(config: HomeConfig, agent: Agent, slot: Slot, now: datetime) -> bool:
    """Whether it is one of the agent's quiet hours, which its jitter shifts for its schedule."""
    if agent.quiet is None:
        return False
    shift = timedelta() if slot.is_wake else schedules.jitter(agent.id, agent.jitter)
    clock = (now - shift).astimezone(ZoneInfo(config.timezone)).time()
    begin, end = (time(minute // 60 % 24, minute % 60) for minute in agent.quiet)
    return begin <= clock < end if begin <= end else clock >= begin or clock < end
