"""What `status` knows as a text in the OpenMetrics format, version 1.0; where it goes is elsewhere.

It keeps to what readers of the older Prometheus text take as well: gauges, counters, one summary.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from fleet.records import Body
from fleet.runs.tally import Tally

END = "# EOF\n"

Sample = tuple[str, dict[str, str], float]
"""What follows the family's name, the labels, and the value."""


class Family(NamedTuple):
    """One metric: name, type, a sentence without its full stop, and its samples."""

    name: str
    kind: str
    said: str
    samples: list[Sample]


class Passes(NamedTuple):
    """How many passes the runner made, and the seconds that they took, waiting aside."""

    count: int  # type: ignore[assignment]  # a tuple's own count is not needed
    seconds: float


class Facts(NamedTuple):
    """What stands in the text besides `status`.

    Attributes:
        tallies: the runs of every agent.
        places: of the cap, how many are free.
        passes: the runner's.
        now: epoch seconds.
    """

    tallies: Mapping[str, Tally]
    places: int
    passes: Passes
    now: float


def down(now: float) -> str:
    """The whole text when no runner is alive; `now` in epoch seconds."""
    return _printed(_of_runner(now, up=False))


def text(state: Body, facts: Facts) -> str:
    """The whole text while the runner that writes it is alive.

    Args:
        state: what `status` says.
        facts: what it leaves out.
    """
    agents = cast("list[Body]", state["agents"])
    parts = (
        _of_runner(facts.now, up=True),
        _of_runs(agents, facts),
        _of_agents(agents, facts),
        _of_fleet(state, facts),
    )
    return _printed(family for part in parts for family in part)


def _of_runner(now: float, *, up: bool) -> Iterator[Family]:
    yield _gauge("fleet_up", "Whether a runner is alive", up)
    said = "When this was written: without a runner it grows old"
    yield _gauge("fleet_written_timestamp_seconds", said, now)


def _of_runs(agents: list[Body], facts: Facts) -> Iterator[Family]:
    runs: list[Sample] = [
        ("_total", {"agent": agent, "outcome": word}, count)
        for agent, tally in facts.tallies.items()
        for word, count in sorted(tally.outcomes.items())
    ]
    yield Family("fleet_runs", "counter", "Runs that ended, by outcome", runs)
    tokens: list[Sample] = [
        ("_total", {"agent": agent, "direction": direction}, count)
        for agent, tally in facts.tallies.items()
        for direction, count in (("in", tally.tokens_in), ("out", tally.tokens_out))
    ]
    yield Family("fleet_tokens", "counter", "Tokens of all runs, as far as known", tokens)
    costs = {str(one["id"]): _float(one["cost_today"]) for one in agents}
    yield _gauges("fleet_cost_today_dollars", "Cost of this local day", "agent", costs)


def _of_agents(agents: list[Body], facts: Facts) -> Iterator[Family]:
    failing = {str(one["id"]): one["failing"] is True for one in agents}
    yield _gauges("fleet_agent_failing", "Whether its last run was no success", "agent", failing)
    lag = {str(one["id"]): _float(one["lag"]) for one in agents}
    yield _gauges("fleet_lag_events", "Events that wait for the agent", "agent", lag)
    since = {
        agent: max(0.0, facts.now - _wall(tally.last_ok))
        for agent, tally in facts.tallies.items()
        if tally.last_ok
    }
    yield _gauges("fleet_last_success_age_seconds", "Time since its last success", "agent", since)
    due = {str(one["id"]): _wall(str(one["next_due"])) for one in agents if one["next_due"]}
    yield _gauges("fleet_next_due_timestamp_seconds", "When it is due next", "agent", due)


def _of_fleet(state: Body, facts: Facts) -> Iterator[Family]:
    running = cast("list[Body]", state["running"])
    yield _gauge("fleet_running_runs", "Runs that are alive", len(running))
    yield _gauge("fleet_free_places", "Runs that could start now", facts.places)
    yield _gauge("fleet_healthy", "Whether health is ok", state["health"] == "ok")
    accounts = cast("list[Body]", state["accounts"])
    held: list[Sample] = [
        ("", {"account": str(one["name"]), "state": str(one["state"])}, 1) for one in accounts
    ]
    yield Family("fleet_account_held", "gauge", "Accounts that nothing starts on now", held)
    kinds = Counter(str(one["kind"]) for one in cast("list[Body]", state["alerts"]))
    yield _gauges("fleet_open_alerts", "Alerts that nobody has acknowledged", "kind", kinds)
    odd = Counter(str(one["agent"]) for one in cast("list[Body]", state["anomalies"]))
    said = "What of an agent is far from its own history"
    yield _gauges("fleet_anomalies", said, "agent", odd)
    damaged = cast("dict[str, int]", state["damaged"])
    yield _gauges("fleet_damaged_lines", "Lines that cannot be read", "log", damaged)
    count, seconds = facts.passes
    yield Family("fleet_passes", "counter", "Passes of the runner", [("_total", {}, count)])
    taken: list[Sample] = [("_count", {}, count), ("_sum", {}, seconds)]
    yield Family("fleet_pass_duration_seconds", "summary", "Time that passes took", taken)


def _gauge(name: str, said: str, value: float) -> Family:
    return Family(name, "gauge", said, [("", {}, value)])


def _gauges(name: str, said: str, label: str, values: Mapping[str, float]) -> Family:
    return Family(name, "gauge", said, [("", {label: key}, values[key]) for key in sorted(values)])


def _printed(families: Iterable[Family]) -> str:
    return "".join([line for family in families for line in _lines(family)] + [END])


def _lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}\n"
    yield f"# HELP {family.name} {family.said}.\n"
    for suffix, labels, value in family.samples:
        pairs = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        yield f"{family.name}{suffix}{f'{{{pairs}}}' if pairs else ''} {float(value)!r}\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _float(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _wall(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
