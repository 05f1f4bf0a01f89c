"""What will come due, and what would hold it back as things stand; nothing is noticed by it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from heapq import merge
from typing import NamedTuple
from zoneinfo import ZoneInfo

from fleet.config.model import Agent, HomeConfig
from fleet.records import Body
from fleet.runner.decide import decide
from fleet.runner.situation import Asked, gather
from fleet.runner.slots import slot_name
from fleet.runner.state import GATE, START, Decision, Slot, State
from fleet.status import due_slots
from fleet.wiring import Fleet


class Ahead(NamedTuple):
    """A slot to come.

    Attributes:
        due: when, jitter included.
        agent: whose.
        nominal: its instant without jitter.
        decision: what `decide` says of it, a free place given.
    """

    due: datetime
    agent: str
    nominal: datetime
    decision: Decision

    @property
    def held(self) -> str:
        """The word of the outcome table for what would hold it back; "" when nothing would."""
        return "" if self.decision.result in {START, GATE} else self.decision.result


def upcoming(fleet: Fleet, now: datetime, start: datetime, days: float) -> Iterator[Body]:
    """The slots due within `days` after `start`, in order: {agent, slot, due, reason}.

    `slot` is nominal, `due` with jitter, both RFC 3339 in the home's zone; `reason` is "schedule",
    or what would hold the slot back: pauses, limits and breakers as they are now, the budgets of
    today for slots of today.
    """
    zone = ZoneInfo(fleet.config.timezone)
    enabled = [agent for agent in fleet.config.agents.values() if agent.enabled]
    stands, _ = gather(fleet, Asked({agent.id: () for agent in enabled}), now)
    today = now.astimezone(zone).date()
    for one in slots_ahead(fleet.config, stands, start, days, today=today):
        yield {
            "agent": one.agent,
            "slot": one.nominal.astimezone(zone).isoformat(timespec="seconds"),
            "due": one.due.astimezone(zone).isoformat(timespec="seconds"),
            "reason": f"{one.held} {one.decision.detail}" if one.held else "schedule",
        }


def slots_ahead(
    config: HomeConfig, stands: State, start: datetime, days: float, *, today: date | None = None
) -> Iterator[Ahead]:
    """The slots of the agents in `stands` that come due within `days` after `start`, in order.

    What was spent and started counts for slots of the local day `today` only, else for none.
    """
    zone = ZoneInfo(config.timezone)
    end = start + timedelta(days=days)
    agents = [agent for agent in config.agents.values() if agent.id in stands.agents]
    for due, name, nominal in merge(*(_slots_until(agent, zone, start, end) for agent in agents)):
        slot = Slot(slot_name(nominal), due, due)
        state = _at(stands, name, slot, is_today=due.astimezone(zone).date() == today)
        (decision,) = decide(config, state, due)
        yield Ahead(due, name, nominal, decision)


def _at(stands: State, name: str, slot: Slot, *, is_today: bool) -> State:
    """The state as it stands for one slot later on: a free place, nobody running."""
    known = replace(stands.agents[name], slots=(slot,))
    if is_today:
        return replace(stands, agents={name: known}, free=1)
    known = replace(known, runs_today=0, cost_today=0.0, tokens_today=0)
    return replace(stands, agents={name: known}, free=1, cost_today=0.0, tokens_today=0)


def _slots_until(
    agent: Agent, zone: ZoneInfo, start: datetime, end: datetime
) -> Iterator[tuple[datetime, str, datetime]]:
    for due, nominal in due_slots(agent, zone, start):
        if due > end:
            return
        yield due, agent.id, nominal
