"""Gathers what `decide` has to know from the home, at one moment; it decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fleet.accounts import account_of
from fleet.errors import TryAgain
from fleet.ledger import Day, Sum
from fleet.runner import money
from fleet.runner.breaker import breaker_of
from fleet.runner.cliwatch import canary_of
from fleet.runner.state import AccountState, AgentState, Slot, State
from fleet.status import low_disk
from fleet.wiring import Fleet


@dataclass(frozen=True, slots=True)
class Memo:
    """What only the running process knows of an agent with open slots.

    Attributes:
        passed_over: how often in a row a later slot was started before its own.
        since: when the oldest slot was due that was coalesced into those which wait.
        gate: what its gate said of the slot that may start; None while it was not asked.
    """

    passed_over: int = 0
    since: datetime | None = None
    gate: str | None = None


NO_MEMO = Memo()


@dataclass(frozen=True, slots=True)
class Asked:
    """The slots to decide about, and what the asking process knows.

    Attributes:
        slots: open slots by agent, those that a run took left out.
        running: the id of each agent's live run.
        memos: by agent, where there is something to know.
        stopping: nothing starts any more.
    """

    slots: Mapping[str, Sequence[Slot]]
    running: Mapping[str, str] = field(default_factory=dict)
    memos: Mapping[str, Memo] = field(default_factory=dict)
    stopping: bool = False


def gather(fleet: Fleet, asked: Asked, now: datetime) -> tuple[State, dict[str, str]]:
    """The state of the home for the agents in `asked`.

    An agent whose own documents or records cannot be read is left out and named in the second
    value, with what the store said.

    Raises:
        TryAgain: what all of them share cannot be read.
    """
    config, canary = fleet.config, canary_of(fleet)
    day = money.day_of(fleet, now)
    agents: dict[str, AgentState] = {}
    accounts: dict[str, AccountState] = {}
    faults: dict[str, str] = {}
    for name in asked.slots:
        try:
            accounts |= _account(fleet, name, accounts)
            agents[name] = _agent(fleet, name, asked, day, now)
        except TryAgain as fault:
            faults[name] = str(fault)
    state = State(
        agents=agents,
        free=max(0, config.concurrency - len(asked.running)),
        running=frozenset(asked.running),
        stopping=asked.stopping,
        paused="by fleet.yaml (paused: true)" if config.paused else "",
        low_disk=low_disk(config),
        accounts=accounts,
        cost_today=day.total.cost,
        reserved=day.reserved.cost,
        tokens_today=day.total.tokens,
        reserved_tokens=day.reserved.tokens,
        canary=canary.why,
        canary_free=canary.free,
    )
    return state, faults


def _account(fleet: Fleet, name: str, known: Mapping[str, AccountState]) -> dict[str, AccountState]:
    """What holds the account of the agent `name`, unless it is `known`."""
    agent = fleet.config.agents.get(name)
    account = account_of(agent) if agent else None
    if account is None or account in known:
        return {}
    return {account: AccountState(*fleet.accounts.of(account))}


def _agent(fleet: Fleet, name: str, asked: Asked, day: Day, now: datetime) -> AgentState:
    control = fleet.controls.of(name)
    memo = asked.memos.get(name, NO_MEMO)
    agent = fleet.config.agents.get(name)
    counts = agent and (agent.budget.of_a_day or agent.max_runs_per_day is not None)
    spent = fleet.spending.of(name, day).total if counts else Sum()
    need = money.need(fleet, agent) if agent and money.is_bound(fleet.config, agent) else Sum()
    why, until = breaker_of(fleet, name, now)
    return AgentState(
        slots=tuple(asked.slots[name]),
        running=asked.running.get(name, ""),
        runs_today=spent.runs,
        cost_today=spent.cost,
        tokens_today=spent.tokens,
        reserve=need.cost,
        reserve_tokens=need.tokens,
        paused=control.paused,
        halted=control.halted,
        breaker=why,
        breaker_until=until,
        passed_over=memo.passed_over,
        since=memo.since,
        gate=memo.gate,
    )


def moment(fleet: Fleet) -> datetime:
    """The store's clock."""
    return datetime.fromtimestamp(fleet.store.now().wall, UTC)
