"""What is known at the moment of a decision, and what a decision is: shapes only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

START, WAIT, GATE = "start", "wait", "gate"
WAKE = "wake:"  # how the name of a wake begins


@dataclass(frozen=True, slots=True)
class Slot:
    """One due instant, or wake, of one agent.

    Attributes:
        name: its instant in UTC, `wake:<seq>` or `hand:<id>`: what it is taken and recorded under.
        due: the instant with jitter; for a wake, when its cooldown is over.
        noticed: when a runner first saw that it was due.
        attempt: 1, or more for a retry.
        run: the id of the run that took it; "" while nobody has.
        cause: the event that woke the agent, as `events#97`; "" for other slots.
        held: until when it was deferred last, None when it never was.
    """

    name: str
    due: datetime
    noticed: datetime
    attempt: int = 1
    run: str = ""
    cause: str = ""
    held: datetime | None = None

    @property
    def came_due(self) -> datetime:
        """When it could start: when it was due, or when what deferred it came to an end."""
        return max(self.due, self.held) if self.held else self.due

    @property
    def is_wake(self) -> bool:
        """Whether an event opened it."""
        return self.name.startswith(WAKE)

    @property
    def by_hand(self) -> bool:
        """Whether a person asked for it."""
        return self.name.startswith("hand:")


@dataclass(frozen=True, slots=True)
class AgentState:
    """What is known about one agent at the moment of the decision; money in dollars.

    Attributes:
        slots: its open slots that no run has taken.
        running: the id of its live run, or "".
        runs_today: how many started on this local day.
        cost_today: dollars of this local day, reservations included.
        tokens_today: the same in tokens.
        reserve: dollars that its next run would be reserved.
        reserve_tokens: the same in tokens.
        paused: "" or the line that says who, when and why, as the next one.
        halted: what `fleet halt` said.
        breaker: "" or why it is held after failures.
        breaker_until: until when, None when a person has to free it.
        passed_over: how often in a row a later one was started before it.
        since: when the oldest slot was due that is a part of those which wait; None for their own.
        gate: what its gate said of the slot that may start: None while it was not asked, "" when
            the run is worth it, else why not.
        news: whether something still waits of what a wake was opened for.
    """

    slots: tuple[Slot, ...] = ()
    running: str = ""
    runs_today: int = 0
    cost_today: float = 0.0
    tokens_today: int = 0
    reserve: float = 0.0
    reserve_tokens: int = 0
    paused: str = ""
    halted: str = ""
    breaker: str = ""
    breaker_until: datetime | None = None
    passed_over: int = 0
    since: datetime | None = None
    gate: str | None = None
    news: bool = True


@dataclass(frozen=True, slots=True)
class AccountState:
    """What holds the agents of one account: each "" or one line; `limited_until` ends a limit."""

    paused: str = ""
    blocked: str = ""
    limited_until: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What is known about the fleet at the moment of the decision.

    Attributes:
        agents: those with open slots.
        free: places under the cap that are free.
        running: every agent with a live run.
        stopping: the runner was told to stop.
        paused: "" or why nobody starts by schedule.
        low_disk: "" or how low the disk is.
        cost_today: dollars of this local day of all agents, reservations included.
        reserved: the part of it that is reserved for runs that are alive.
        tokens_today: the same in tokens.
        reserved_tokens: likewise.
        accounts: those that are held, by name.
        canary: "" or why agents of the `claude` CLI start one at a time.
        canary_free: whether, then, one of them may start now.
    """

    agents: Mapping[str, AgentState] = field(default_factory=dict)
    free: int = 1
    running: frozenset[str] = frozenset()
    stopping: bool = False
    paused: str = ""
    low_disk: str = ""
    cost_today: float = 0.0
    reserved: float = 0.0
    tokens_today: int = 0
    reserved_tokens: int = 0
    accounts: Mapping[str, AccountState] = field(default_factory=dict)
    canary: str = ""
    canary_free: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one slot.

    Attributes:
        agent: whose slot it is.
        slot: the slot.
        result: `START`; `GATE` (its gate has to be asked first); `WAIT` (for a free place, its due
            time or the run that is alive); or a reason of the outcome table.
        detail: for people.
        defers: with a reason: the slot stays open, and the reason is put on record once.
        until: when what waits is looked at again, None when that is not known.
        caught_up: it stands for slots that came due while nobody was watching.
        passed_over: a later slot was started before it.
    """

    agent: str
    slot: Slot
    result: str
    detail: str = ""
    defers: bool = False
    until: datetime | None = None
    caught_up: bool = False
    passed_over: bool = False

    @property
    def closes(self) -> bool:
        """Whether the slot is settled by this, with a reason and without a run."""
        return not self.defers and self.result not in {START, WAIT, GATE}
