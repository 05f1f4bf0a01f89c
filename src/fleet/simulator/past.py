"""What the agents of a home did lately, as far as it says what they will do; it writes nothing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from random import Random
from statistics import fmean
from typing import NamedTuple

from fleet.config.model import Agent
from fleet.logs import between, place_before
from fleet.records import Body
from fleet.runner import money
from fleet.runs import Run, Verdict
from fleet.runs.outcome import OUTCOMES
from fleet.simulator.courses import Course, Emitted
from fleet.wiring import Fleet

LATELY = timedelta(days=28)
RUNS = 200  # newest ended runs of an agent that are looked at
ENOUGH = 10  # slots on record from which on they say how many start
USUAL = 180.0  # seconds that a run takes where nobody knows
PASSING = frozenset({"auth", "config", "killed", "launch_failed", "rate_limited", "render_failed"})
"""Outcomes that say nothing of runs to come."""
LASTING = frozenset(
    {"started", "coalesced", "daily_runs", "gated", "over_budget", "skipped_overlap"}
)
"""What became of slots by the home's files, and not by what passes."""


class Past(NamedTuple):
    """One agent's last weeks.

    Attributes:
        days: how far its records reach back, at least one where there is any.
        runs: its newest ended runs, those with outcomes of `PASSING` left out.
        slots: of its schedule's slots on record how many met each result.
        wakes: runs that events brought about, a day.
        emitted: by run what it emitted.
    """

    days: float = 0.0
    runs: tuple[Run, ...] = ()
    slots: Mapping[str, int] = {}
    wakes: float = 0.0
    emitted: Mapping[str, tuple[Emitted, ...]] = {}

    @property
    def seconds(self) -> float:
        """How long its runs take on average."""
        taken = [_seconds(run) for run in self.runs]
        return fmean(taken) if taken else USUAL

    @property
    def cost(self) -> float | None:
        """Mean dollars of the runs that said so; None when none did."""
        known = [run.cost_usd for run in self.runs if run.cost_usd is not None]
        return fmean(known) if known else None

    @property
    def tokens(self) -> float | None:
        """Mean tokens in and out, likewise."""
        known = [
            run.tokens_in + run.tokens_out
            for run in self.runs
            if run.tokens_in is not None and run.tokens_out is not None
        ]
        return fmean(known) if known else None

    @property
    def idle(self) -> int:
        """How many of its runs found nothing to do."""
        return sum(run.idle for run in self.runs)

    @property
    def starts(self) -> float | None:
        """The share of its slots for which a run started; None when too few are on record."""
        count = sum(number for word, number in self.slots.items() if word in LASTING)
        return self.slots.get("started", 0) / count if count >= ENOUGH else None


def look_back(fleet: Fleet, now: datetime) -> dict[str, Past]:
    """What each agent of the home did lately."""
    since = (now - LATELY).timestamp()
    slots = _slots(fleet, since)
    emitted = _emitted(fleet, since)
    return {
        name: _past(fleet, name, now, slots.get(name, Counter()), emitted)
        for name in fleet.config.agents
    }


def _past(
    fleet: Fleet,
    name: str,
    now: datetime,
    slots: Counter[str],
    emitted: Mapping[str, tuple[Emitted, ...]],
) -> Past:
    since = (now - LATELY).timestamp()
    ended = [run for run in fleet.runs.list(name, RUNS, since=since) if run.ended and run.started]
    if not ended:
        return Past(slots=slots)
    span = now - datetime.fromisoformat(ended[-1].started)
    days = max(1.0, span / timedelta(days=1))
    woken = sum(run.slot.startswith("wake:") for run in ended)
    told = tuple(run for run in ended if run.outcome in OUTCOMES and run.outcome not in PASSING)
    mine = {run.id: emitted[run.id] for run in told if run.id in emitted}
    return Past(days, told, slots, woken / days, mine)


def _slots(fleet: Fleet, since: float) -> dict[str, Counter[str]]:
    """By agent, the results of its schedule's slots that are on record."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for body in _bodies(fleet, "fires", since):
        if body.get("op") == "fire" and str(body["slot"])[:1].isdigit() and body["attempt"] == 1:
            agent = str(body["agent"])
            found[fleet.config.called_now(agent) or agent][str(body["result"])] += 1
    return found


def _emitted(fleet: Fleet, since: float) -> dict[str, tuple[Emitted, ...]]:
    """By run, the events that it emitted."""
    found: dict[str, tuple[Emitted, ...]] = {}
    for body in _bodies(fleet, "events", since):
        if body.get("op") == "event" and body.get("run"):
            to = body.get("to_agent")
            one = Emitted(str(body["type"]), None if to is None else str(to))
            found[str(body["run"])] = (*found.get(str(body["run"]), ()), one)
    return found


def _bodies(fleet: Fleet, stream: str, since: float) -> Iterable[Body]:
    store = fleet.store
    after = place_before(store, stream, since).seq
    return (record.body for record in between(store, stream, after, store.head(stream)))


def _seconds(run: Run) -> float:
    span = datetime.fromisoformat(str(run.ended)) - datetime.fromisoformat(run.started)
    return max(1.0, span / timedelta(seconds=1))


class Remembered:
    """Runs of a play that go as earlier ones did; one without a past is ok and takes `USUAL`."""

    def __init__(self, fleet: Fleet, past: Mapping[str, Past]) -> None:
        self._past = past
        self._need = {name: money.need(fleet, one) for name, one in fleet.config.agents.items()}

    def course(self, agent: Agent, rng: Random) -> Course:
        """See `Courses`."""
        past = self._past.get(agent.id, Past())
        if not past.runs:
            need = self._need[agent.id]
            verdict = Verdict("ok", cost_usd=need.cost, tokens_in=need.tokens, tokens_out=0)
            return Course(min(USUAL, agent.timeout / 2), verdict)
        run = rng.choice(past.runs)
        verdict = Verdict(
            str(run.outcome),
            run.reason,
            cost_usd=run.cost_usd,
            tokens_in=run.tokens_in,
            tokens_out=run.tokens_out,
            idle=run.idle,
            counts_as_ok=run.counts_as_ok,
        )
        return Course(_seconds(run), verdict, past.emitted.get(run.id, ()))

    def gated(self, agent: Agent, rng: Random) -> str:
        """See `Courses`: the gate says no as often as it did."""
        slots = self._past.get(agent.id, Past()).slots
        no, yes = slots.get("gated", 0), slots.get("started", 0)
        return "as it did before" if rng.random() * (no + yes) < no else ""
