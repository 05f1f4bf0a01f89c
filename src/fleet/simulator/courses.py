"""How imagined runs go: how long one lasts, how it ends, what it costs and whom it tells."""

from random import Random
from typing import NamedTuple, Protocol

from fleet.config.model import Agent, HomeConfig
from fleet.runs import Verdict

FINE = Verdict("ok")


class Emitted(NamedTuple):
    """An event that a run emits: its type, and whom it is addressed to, None for everybody."""

    type: str
    to_agent: str | None = None


class Course(NamedTuple):
    """How one run goes.

    Attributes:
        seconds: from its launch to its end.
        verdict: how it ends.
        emits: the events that it emits at its end.
    """

    seconds: float
    verdict: Verdict = FINE
    emits: tuple[Emitted, ...] = ()


class Courses(Protocol):
    """Where the runs of a play come from."""

    def course(self, agent: Agent, rng: Random) -> Course:
        """How the agent's next run goes."""

    def gated(self, agent: Agent, rng: Random) -> str:
        """What the agent's gate says: "" when a run is worth it, else why not."""


class Invented:
    """Runs of agents without a history, for tests of the runner.

    Most end well after some minutes; some find nothing, some fail, some do not say what they cost.
    """

    OUTCOMES = ("ok",) * 34 + ("incomplete", "empty", "crashed", "max_turns", "ok_with_denials")

    def __init__(self, config: HomeConfig) -> None:
        self._config = config

    def course(self, agent: Agent, rng: Random) -> Course:
        """See `Courses`."""
        seconds = min(rng.lognormvariate(5.0, 0.7), 0.8 * agent.timeout)
        outcome = rng.choice(self.OUTCOMES)
        per_run = agent.budget.per_run or 0.5
        cost = round(rng.uniform(0.1, 1.0) * per_run, 4) if rng.random() < 0.9 else None  # noqa: PLR2004
        idle = outcome == "ok" and rng.random() < 0.2  # noqa: PLR2004
        verdict = Verdict(outcome, cost_usd=cost, tokens_in=40_000, tokens_out=2000, idle=idle)
        return Course(seconds, verdict, () if idle else tuple(self._emits(agent, rng)))

    def _emits(self, agent: Agent, rng: Random) -> "list[Emitted]":
        wanted = (*agent.expects.any_of, *agent.expects.all_of)
        types = [one.event for one in wanted if one.event]
        others = [name for name in agent.collaborators if name in self._config.agents]
        found = [Emitted(name) for name in types if rng.random() < 0.5]  # noqa: PLR2004
        if types and others and rng.random() < 0.1:  # noqa: PLR2004
            found.append(Emitted(rng.choice(types), rng.choice(others)))
        return found

    def gated(self, agent: Agent, rng: Random) -> str:
        """See `Courses`: every third time there is nothing to do."""
        del agent
        return "exit 1" if rng.random() < 1 / 3 else ""
