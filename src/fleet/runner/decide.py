"""What becomes of the open slots of all agents: a pure function, no clock, no store, no process.

The runner, `fleet next`, `fleet forecast` and the simulator ask this one function.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.accounts import account_of
from fleet.config.model import Agent, Budget, HomeConfig
from fleet.ledger import Sum, too_much
from fleet.runner.state import (
    GATE,
    START,
    WAIT,
    AccountState,
    AgentState,
    Decision,
    Slot,
    State,
)

LATE = timedelta(seconds=60)  # noticed later than this, nobody was watching: catch-up
GRACE = timedelta(seconds=10)  # who watches is a little late too: less is no lateness
GATE_AGAIN = 60.0  # seconds after which, at the soonest, a gate that refused a wake is asked again
RANK = {"high": 0, "normal": 1, "low": 2}
BY_HAND, PASSED_OVER = -2, -1  # before them; of those who were passed over the oldest is first


def decide(config: HomeConfig, state: State, now: datetime) -> list[Decision]:
    """One decision for each open slot in `state`; the `START`s in launch order, first.

    At most one slot of an agent starts: older ones are coalesced into its newest, so after any
    stall an agent runs once. At most `state.free` start; who was passed over once comes before
    everybody who was not, so nobody is passed over twice running.
    """
    settled: list[Decision] = []
    ready: list[Decision] = []
    for name, one in state.agents.items():
        for decision in _Agent(config, state, name, one, now).decisions():
            (ready if decision.result == START else settled).append(decision)
    return [*_placed(config, state, ready), *settled]


def summed(refused: Sequence[Decision]) -> Iterator[str]:
    """One line for each agent and reason, however many slots share it."""
    for agent, result in dict.fromkeys((one.agent, one.result) for one in refused):
        some = [one for one in refused if (one.agent, one.result) == (agent, result)]
        count = f" {len(some)} slots" if len(some) > 1 else ""
        yield f"{agent} not started{count} ({result}): {some[-1].detail}"


# Who goes first ------------------------------------------------------------------------------


def _placed(config: HomeConfig, state: State, ready: Iterable[Decision]) -> list[Decision]:
    """The ready ones in launch order, as far as places, budget and canary go; the rest waits."""
    first = {name: oldest(one.slots, one.since) for name, one in state.agents.items()}

    def turn(one: Decision) -> tuple[int, datetime, str]:
        rank = RANK[config.agents[one.agent].priority]
        if one.slot.by_hand:
            rank = BY_HAND
        elif state.agents[one.agent].passed_over:
            rank = PASSED_OVER
        return (rank, first[one.agent], one.agent)

    starts: list[Decision] = []
    others: list[Decision] = []
    used = Sum(0, state.cost_today, state.tokens_today)
    reserved = Sum(0, state.reserved, state.reserved_tokens)
    canary = not state.canary_free
    for one in sorted(ready, key=turn):
        known = state.agents[one.agent]
        held = _held_by_canary(config, state, one, canary=canary)
        if held:
            others.append(held)
        elif over := _over("the fleet", config.budget, known, used):
            spent = Sum(0, used.cost - reserved.cost, used.tokens - reserved.tokens)
            waits = not _over("the fleet", config.budget, known, spent)
            others.append(_over_budget(one, over, waits=waits))
        elif len(starts) >= state.free:
            others.append(_waiting(one, "no place is free"))
        else:
            starts.append(one)
            need = Sum(1, known.reserve, known.reserve_tokens)
            used, reserved = used.plus(need), reserved.plus(need)
            canary = canary or _is_claude(config, one.agent)
    latest = max((first[one.agent] for one in starts), default=None)
    return [
        *starts,
        *(
            _passed_over(one)
            if latest and one.result == WAIT and first[one.agent] < latest
            else one
            for one in others
        ),
    ]


def oldest(slots: Iterable[Slot], since: datetime | None) -> datetime:
    """Since when an agent with these open slots waits for a place."""
    return min([*(slot.due for slot in slots), *([since] if since else [])])


def _is_claude(config: HomeConfig, name: str) -> bool:
    agent = config.agents.get(name)
    return agent is not None and agent.launch == "claude"


def _held_by_canary(
    config: HomeConfig, state: State, one: Decision, *, canary: bool
) -> Decision | None:
    """While a new version of the CLI is tried out, one run of it is enough."""
    if not state.canary or not canary or one.slot.by_hand or not _is_claude(config, one.agent):
        return None
    return _waiting(one, state.canary)


def _over(whose: str, budget: Budget, known: AgentState, used: Sum) -> str:
    """Why one more run of the agent passes the day's budget; "" when it fits."""
    need = Sum(1, known.reserve, known.reserve_tokens)
    return too_much(whose, budget.per_day, budget.tokens_per_day, used, need)


def _over_budget(one: Decision, over: str, *, waits: bool) -> Decision:
    """Refused; what is only reserved may come back, so then the slot of a schedule waits."""
    if not waits or one.slot.by_hand:
        return _refused(one.agent, one.slot, "over_budget", over)
    detail = f"{over}; what runs may leave some of it"
    return Decision(one.agent, one.slot, "over_budget", detail, defers=True)


def _refused(
    agent: str, slot: Slot, result: str, detail: str, until: datetime | None = None
) -> Decision:
    """The slot does not start; a wake waits instead, since no other slot would bring its event.

    So does any slot when the runner stops: the next one goes on.
    """
    waits = slot.is_wake or result == "stopping"
    return Decision(agent, slot, result, detail, defers=waits, until=until)


def _waiting(one: Decision, detail: str) -> Decision:
    return Decision(one.agent, one.slot, WAIT, detail, caught_up=one.caught_up)


def _passed_over(one: Decision) -> Decision:
    return Decision(
        one.agent, one.slot, WAIT, one.detail, caught_up=one.caught_up, passed_over=True
    )


def _late(slot: Slot) -> timedelta:
    """How long after it could start a runner saw it."""
    return slot.noticed - slot.came_due


# One agent -----------------------------------------------------------------------------------


class _Agent:
    """The slots of one agent, and what stands in their way."""

    def __init__(
        self, config: HomeConfig, state: State, name: str, known: AgentState, now: datetime
    ) -> None:
        self._config = config
        self._state = state
        self._name = name
        self._known = known
        self._now = now
        self._agent = config.agents.get(name)

    def decisions(self) -> list[Decision]:
        """One for each slot: what is not due waits, of the rest the newest may start."""
        due = [slot for slot in self._known.slots if slot.due <= self._now]
        ahead = [slot for slot in self._known.slots if slot.due > self._now]
        waits = [self._say(slot, WAIT, "not due yet", until=slot.due) for slot in ahead]
        if not due:
            return waits
        if self._agent is None:
            return [self._say(slot, "not_here", "no agent has this name") for slot in due + ahead]
        if refusal := self._refusal():
            result, detail = refusal
            return [*(self._refuse(slot, result, detail) for slot in due), *waits]
        newest = self._newest(due)
        older = [slot for slot in due if slot is not newest]
        return [
            *(self._say(slot, "coalesced", f"into {newest.name}") for slot in older),
            self._judge(self._agent, newest, older),
            *waits,
        ]

    def _newest(self, due: Sequence[Slot]) -> Slot:
        """A person's slot, else the newest of the schedule, which shows what wakes were for."""
        wanted = [slot for slot in due if slot.by_hand]
        wanted = wanted or [slot for slot in due if not slot.is_wake and not self._is_missed(slot)]
        return (wanted or list(due))[-1]

    def _refusal(self) -> tuple[str, str] | None:
        """What holds every slot of the agent, a person's aside."""
        state, known = self._state, self._known
        if all(slot.by_hand for slot in known.slots):
            return None
        if state.stopping:
            return "stopping", "the runner was told to stop"
        if known.halted:
            return "halted", known.halted
        if self._agent is not None and not self._agent.enabled:
            return "paused", "its file says enabled: false"
        if known.paused or state.paused:
            return "paused", known.paused or state.paused
        if state.low_disk:
            return "low_disk", state.low_disk
        return None

    def _is_missed(self, slot: Slot) -> bool:
        most = timedelta(seconds=self._agent.catch_up if self._agent else 0.0)
        return _late(slot) > max(most, GRACE)

    def _judge(self, agent: Agent, slot: Slot, older: Sequence[Slot]) -> Decision:
        if not slot.is_wake and not slot.by_hand and self._is_missed(slot):
            late = timedelta(seconds=round(_late(slot).total_seconds()))
            return self._say(slot, "missed", f"nobody was watching; noticed {late} late")
        if slot.is_wake and not self._known.news:
            return self._say(slot, "coalesced", "nothing waits any more of what it was opened for")
        if self._known.running:
            return self._overlap(slot)
        if held := self._held(agent, slot) or self._later(agent, slot):
            return held
        if agent.gate and not slot.by_hand:
            gate = self._known.gate
            if gate or (gate is None and slot.is_wake and slot.came_due > self._now):
                return self._gated(agent, slot, gate or "")
            if gate is None:
                return self._say(slot, GATE)
        caught_up = any(_late(one) > LATE for one in (*older, slot))
        return Decision(self._name, slot, START, caught_up=caught_up)

    def _gated(self, agent: Agent, slot: Slot, why: str) -> Decision:
        """It is not worth a run now; a wake's event still waits, so its gate is asked again."""
        if not slot.is_wake:
            return self._say(slot, "gated", why)
        if not why:
            return self._say(slot, WAIT, "its gate is asked again", until=slot.came_due)
        cooldown = max(agent.wake_on.cooldown if agent.wake_on else 0.0, GATE_AGAIN)
        until = self._now + timedelta(seconds=cooldown)
        return Decision(self._name, slot, "gated", why, defers=True, until=until)

    def _overlap(self, slot: Slot) -> Decision:
        detail = f"run {self._known.running} was still going"
        if slot.is_wake:  # that run was told before the event came
            return self._say(slot, WAIT, detail)
        return self._say(slot, "skipped_overlap", detail)

    def _held(self, agent: Agent, slot: Slot) -> Decision | None:
        """What refuses the slot."""
        known = self._known
        account = self._state.accounts.get(account_of(agent), AccountState())
        if slot.by_hand and known.halted:
            return self._refuse(slot, "halted", known.halted)
        if slot.by_hand and self._state.low_disk:
            return self._refuse(slot, "low_disk", self._state.low_disk)
        if account.blocked:
            return self._refuse(slot, "auth_blocked", account.blocked)
        if account.paused and not slot.by_hand:
            detail = f"account {account_of(agent)} is paused {account.paused}"
            return self._refuse(slot, "paused", detail)
        if known.breaker and not slot.by_hand:
            free = known.breaker_until is not None and known.breaker_until <= self._now
            if not free:
                return self._refuse(slot, "breaker_open", known.breaker, known.breaker_until)
        cap = agent.max_runs_per_day
        if cap is not None and known.runs_today >= cap:
            return self._refuse(slot, "daily_runs", f"{known.runs_today} of {cap} runs today")
        spent = Sum(0, known.cost_today, known.tokens_today)
        if over := _over(self._name, agent.budget, known, spent):
            return self._refuse(slot, "over_budget", over)
        return None

    def _later(self, agent: Agent, slot: Slot) -> Decision | None:
        """What makes the slot wait until a known time."""
        account = self._state.accounts.get(account_of(agent), AccountState())
        if account.limited_until is not None and account.limited_until > self._now:
            return self._defer(slot, "waiting_for_limit", account.why, account.limited_until)
        end = None if slot.by_hand else self._quiet_until(agent, slot)
        if end is not None:
            local = end.astimezone(ZoneInfo(self._config.timezone))
            return self._defer(slot, "quiet_hours", f"until {local:%H:%M}", end)
        return None

    def _quiet_until(self, agent: Agent, slot: Slot) -> datetime | None:
        """The end of the agent's quiet hours if they are now, else None.

        A slot of the schedule sees them as late as its jitter makes it, so that what waited for
        their end meets the slot at their end.
        """
        if agent.quiet is None:
            return None
        late = timedelta() if slot.is_wake else schedules.jitter(agent.id, agent.jitter)
        zone = ZoneInfo(self._config.timezone)
        local = (self._now - late).astimezone(zone)
        begin, end = agent.quiet
        minute = local.hour * 60 + local.minute
        inside = begin <= minute < end if begin <= end else minute >= begin or minute < end
        if not inside:
            return None
        day = local.date() + timedelta(days=1 if minute >= end else 0)
        over = datetime(day.year, day.month, day.day, end // 60 % 24, end % 60, tzinfo=zone)
        return over.astimezone(self._now.tzinfo) + late

    def _refuse(
        self, slot: Slot, result: str, detail: str, until: datetime | None = None
    ) -> Decision:
        return _refused(self._name, slot, result, detail, until)

    def _defer(self, slot: Slot, result: str, detail: str, until: datetime) -> Decision:
        """The slot waits until a known time; a person does not."""
        defers = not slot.by_hand
        return Decision(self._name, slot, result, detail, defers=defers, until=until)

    def _say(
        self, slot: Slot, result: str, detail: str = "", until: datetime | None = None
    ) -> Decision:
        return Decision(self._name, slot, result, detail, until=until)
