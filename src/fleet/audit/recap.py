"""What results have cost: the runs that led to the events of one type, along their causes.

It reads the window's end of the logs and single older records that a cause names, never the rest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fleet.errors import Unknown
from fleet.logs import between, place_before, record_at
from fleet.records import Body, Record, Sieve, rfc3339
from fleet.retractions import Retractions
from fleet.runs import Run
from fleet.text import one_of

if TYPE_CHECKING:
    from fleet.wiring import Fleet

EVENTS = "events"
LINKS = 100  # causes that are followed from one event
EACH = 50  # newest results that are told one by one
ALL = 10_000_000
_Key: TypeAlias = tuple[str, str]  # a run: the name it is recorded under, and its id


class Cost(NamedTuple):
    """What some runs cost: dollars of those that say it, how many they are, how many do not."""

    cost: float = 0.0
    runs: int = 0
    unknown: int = 0

    def plus(self, run: Run) -> "Cost":
        """With one run more."""
        known = run.cost_usd is not None
        return Cost(self.cost + (run.cost_usd or 0.0), self.runs + 1, self.unknown + (not known))

    def as_json(self) -> Body:
        """What `--json` prints."""
        return {"cost": round(self.cost, 6), "runs": self.runs, "unknown": self.unknown}


class Result(NamedTuple):
    """One event of the type, and its share of the runs that led to it, in dollars."""

    ref: str
    at: str
    share: float
    runs: tuple[str, ...]


class Recap(NamedTuple):
    """The cost of the results of one type.

    Attributes:
        type: of which events.
        since: epoch seconds; results, and the runs that led to none, are not older.
        results: the events, the newest last.
        led: all runs that led to any, however old.
        agents: the same by agent, the dearest first.
        idle: runs of the window that led to none.
    """

    type: str
    since: float
    results: tuple[Result, ...]
    led: Cost
    agents: Mapping[str, Cost]
    idle: Cost

    @property
    def each(self) -> float | None:
        """Dollars a result; None without any."""
        return self.led.cost / len(self.results) if self.results else None

    def as_json(self) -> Body:
        """What `--json` prints."""
        return {
            "type": self.type,
            "since": rfc3339(self.since),
            "results": len(self.results),
            **self.led.as_json(),
            "per_result": None if self.each is None else round(self.each, 6),
            "agents": [{"agent": name, **cost.as_json()} for name, cost in self.agents.items()],
            "led_to_none": self.idle.as_json(),
            "newest": [
                {"ref": one.ref, "at": one.at, "cost": round(one.share, 6), "runs": list(one.runs)}
                for one in self.results[-EACH:]
            ],
        }


def recap(fleet: "Fleet", kind: str, since: float) -> Recap:
    """What the events of type `kind` since then (epoch seconds) have cost.

    Their runs are those that emitted them, or any event in the chain of their causes, each once. A
    run that led to several is shared among them in equal parts. Retracted events are no results.

    Raises:
        Unknown: there is no such type.
    """
    if kind not in fleet.config.types:
        raise Unknown(f"there is no type '{kind}'", one_of(kind, fleet.config.types))
    causes = _Causes(fleet)
    events = list(_events(fleet, kind, since))
    keys = [causes.of(event) for event in events]
    parts = Counter(key for some in keys for key in some)
    runs = {key: run for key in parts if (run := fleet.runs.of(*key))}
    ids = {run.id for run in runs.values()}
    begun = fleet.runs.list(None, ALL, since=since)
    return Recap(
        kind,
        since,
        tuple(_result(one, runs, parts, some) for one, some in zip(events, keys, strict=True)),
        _sum(runs.values()),
        _by_agent(fleet, runs.values()),
        _sum(run for run in begun if run.id not in ids),
    )


def _events(fleet: "Fleet", kind: str, since: float) -> Iterator[Record]:
    store = fleet.store
    gone = Retractions(store, fleet.cache).of(EVENTS)
    after = place_before(store, EVENTS, since).seq
    of_type = Sieve({"type": frozenset({kind})})
    found = between(store, EVENTS, after, store.head(EVENTS), sieve=of_type)
    return (record for record in found if record.seq not in gone)


class _Causes:
    """The runs behind events: each event is looked at once, however many chains it is in."""

    def __init__(self, fleet: "Fleet") -> None:
        self._store = fleet.store
        self._known: dict[int, frozenset[_Key]] = {}

    def of(self, event: Record) -> frozenset[_Key]:
        """The run that emitted it, and those of its cause, of the cause of that, and so on."""
        chain = [event]
        while len(chain) < LINKS and (cause := self._cause(chain[-1])):
            chain.append(cause)
        runs: frozenset[_Key] = frozenset()
        for one in reversed(chain):
            runs = self._known.setdefault(one.seq, runs | _emitter(one))
        return runs

    def _cause(self, event: Record) -> Record | None:
        """The event that it names, which is older; None when it names none, or that is gone."""
        if event.seq in self._known:
            return None
        stream, _, number = str(event.body.get("cause") or "").partition("#")
        if stream != EVENTS or not number.isdecimal() or int(number) >= event.seq:
            return None
        return record_at(self._store, EVENTS, int(number))


def _emitter(event: Record) -> frozenset[_Key]:
    agent, run = event.body.get("from_agent"), event.body.get("run")
    return frozenset({(str(agent), str(run))}) if run else frozenset()


def _result(
    event: Record, runs: Mapping[_Key, Run], parts: Mapping[_Key, int], keys: Iterable[_Key]
) -> Result:
    led = sorted((key for key in keys if key in runs), key=lambda key: runs[key].id)
    share = sum((runs[key].cost_usd or 0.0) / parts[key] for key in led)
    return Result(event.ref, event.at, share, tuple(runs[key].ref for key in led))


def _sum(runs: Iterable[Run]) -> Cost:
    total = Cost()
    for run in runs:
        total = total.plus(run)
    return total


def _by_agent(fleet: "Fleet", runs: Iterable[Run]) -> Mapping[str, Cost]:
    """By the name that each agent has now, the dearest first."""
    costs: dict[str, Cost] = {}
    for run in runs:
        name = fleet.config.called_now(run.agent) or run.agent
        costs[name] = costs.get(name, Cost()).plus(run)
    return dict(sorted(costs.items(), key=lambda one: (-one[1].cost, one[0])))
