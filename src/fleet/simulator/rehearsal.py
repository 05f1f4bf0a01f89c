"""The schedules of a home played by the real engine, and what came of it; the home is only read."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from fleet.config.model import HomeConfig
from fleet.identity import SYSTEM
from fleet.records import Body, wall_of
from fleet.runs import Run, Verdict
from fleet.simulator.clock import Clock
from fleet.simulator.forecast import Forecast
from fleet.simulator.launcher import Started
from fleet.simulator.oracle import fires
from fleet.simulator.past import Remembered
from fleet.simulator.play import Play
from fleet.wiring import Fleet

TYPICAL = 20  # newest runs of known cost by which the next one's reservation is reckoned
WAITED = 2.0  # seconds from which on a slot was kept waiting


@dataclass(frozen=True, slots=True)
class Wait:
    """A slot that was due at `due` and started `seconds` later."""

    agent: str
    due: str
    seconds: float


class Rehearsal:
    """What a play of the home did.

    Attributes:
        seed: what was drawn from; the same seed over the same history plays the same.
        waits: the slots that waited for a free place, the longest first.
        busiest: the most runs that were alive at once.
    """

    def __init__(self, fleet: Fleet, known: Forecast, seed: int) -> None:
        self.seed = seed
        self._zone = ZoneInfo(fleet.config.timezone)
        config = _unheld(fleet.config)
        courses = Remembered(fleet, known.past)
        earlier = [run for one in known.past.values() for run in one.runs[:TYPICAL]]

        def before(home: Fleet, clock: Clock) -> None:
            del clock
            _remember(home, earlier)

        self._play = Play(config, known.begin, courses, seed=seed, before=before)
        self._play.run(known.days * 86400)
        self._fires = fires(self._play)
        self._started = self._play.launcher.started
        self.waits = sorted(self._waits(), key=lambda one: (-one.seconds, one.due))
        self.busiest = max((one.alive for one in self._started), default=0)

    def as_json(self) -> Body:
        """The object `simulated` that `--json` prints."""
        refused, deferred = self.not_started(), self.deferred()
        return {
            "seed": self.seed,
            "started": len(self._started),
            "wakes": sum(one.slot.startswith("wake:") for one in self._started),
            "not_started": dict(sum(refused.values(), Counter[str]())),
            "deferred": dict(sum(deferred.values(), Counter[str]())),
            "waited": len(self.waits),
            "longest_wait": None if not self.waits else _wait_body(self.waits[0]),
            "busiest": self.busiest,
            "days": [
                {"date": day, "runs": count, "cost": round(cost, 2)}
                for day, (count, cost) in sorted(self.days().items())
            ],
            "agents": self._agents(refused, deferred),
        }

    def _agents(
        self, refused: dict[str, Counter[str]], deferred: dict[str, Counter[str]]
    ) -> list[Body]:
        started, costs = Counter(one.agent for one in self._started), self._costs()
        return [
            {
                "id": name,
                "started": started[name],
                "not_started": dict(refused.get(name, {})),
                "deferred": dict(deferred.get(name, {})),
                "cost": round(sum(costs[one.run] for one in self._started if one.agent == name), 2),
            }
            for name in self._play.fleet.config.agents
        ]

    def not_started(self) -> dict[str, Counter[str]]:
        """By agent how many slots were closed without a run, by reason."""
        return self._count("fire", but="started")

    def deferred(self) -> dict[str, Counter[str]]:
        """By agent how many slots had to wait for something, by reason."""
        return self._count("deferred")

    def days(self) -> dict[str, tuple[int, float]]:
        """By local day how many runs started, and what they cost."""
        costs = self._costs()
        found: dict[str, tuple[int, float]] = {}
        for one in self._started:
            day = datetime.fromtimestamp(one.wall, self._zone).date().isoformat()
            count, cost = found.get(day, (0, 0.0))
            found[day] = (count + 1, cost + costs[one.run])
        return found

    def _count(self, op: str, *, but: str = "") -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for body in self._fires:
            if body["op"] == op and body["result"] != but:
                found[str(body["agent"])][str(body["result"])] += 1
        return found

    def _waits(self) -> list[Wait]:
        due = {
            (body["agent"], body["slot"], body["attempt"]): str(body["due"])
            for body in self._fires
            if body["op"] == "fire" and body["result"] == "started"
        }
        other = {
            (body["agent"], body["slot"], body["attempt"])
            for body in self._fires
            if body["op"] == "deferred"
        }
        found = (
            Wait(one.agent, due[slot], round(one.wall - wall_of(due[slot]), 1))
            for one in self._started
            if (slot := _slot(one)) in due and slot not in other
        )
        return [one for one in found if one.seconds >= WAITED]

    def _costs(self) -> dict[str, float]:
        """Dollars of each run: what it said, else what it was reserved."""
        fleet, reserved = self._play.person, {one.run: one.reserved for one in self._started}
        for agent in fleet.config.agents:
            for run in fleet.runs.list(agent, 1_000_000):
                if run.id in reserved and run.cost_usd is not None:
                    reserved[run.id] = run.cost_usd
        return reserved


def _unheld(config: HomeConfig) -> HomeConfig:
    """The home without what holds it back only now: its pause, and a disk that is full."""
    return config._replace(paused=False, limits=config.limits._replace(min_free=0))


def _remember(home: Fleet, runs: "list[Run]") -> None:
    """Put earlier runs on record, so that what the next ones are reserved is what it would be."""
    for run in sorted(runs, key=lambda run: str(run.ended)):
        if run.cost_usd is None or run.ended is None:
            continue
        home.runs.start(SYSTEM, run.agent, run.id, slot=run.slot)
        verdict = Verdict(
            "ok", cost_usd=run.cost_usd, tokens_in=run.tokens_in, tokens_out=run.tokens_out
        )
        home.runs.finish(run.agent, run.id, verdict, ended=run.ended)


def _slot(one: Started) -> tuple[object, object, object]:
    return one.agent, one.slot, one.attempt


def _wait_body(one: Wait) -> Body:
    return {"agent": one.agent, "due": one.due, "seconds": one.seconds}
