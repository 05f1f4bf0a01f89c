"""What `status` says of each agent; a fact that is the whole fleet's is not here."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from fleet.config.model import Agent
from fleet.ledger import Day
from fleet.ports import Store, read_kept
from fleet.records import Body
from fleet.status.due import next_due
from fleet.status.health import failed
from fleet.status.money import of_agent
from fleet.status.sources import Sources

if TYPE_CHECKING:
    from fleet.runs import Run

FIRES = "fires"  # the log in which the runner says what became of each slot
FIRES_SEEN = 500  # newest records of it among which an agent's last one is looked for


def states(sources: Sources) -> dict[str, str]:
    """The `state` of every agent, as in `status`."""
    running = {run.agent: run for run in sources.runs.open()}
    return {
        name: _state(sources, agent, running.get(name), sources.runs.last_ended(name))
        for name, agent in sources.config.agents.items()
    }


def each(sources: Sources, open_runs: "Mapping[str, Run]", day: Day) -> Iterator[Body]:
    """The object of every agent, in the order of the config; `open_runs` by agent."""
    now = datetime.fromtimestamp(sources.store.now().wall, UTC)
    last_fires = _last_fires(sources.store)
    held: dict[str, list[str]] = {}
    for claim in sources.claims.live():
        if not claim.key.startswith(("agent:", "cap:")):
            held.setdefault(claim.holder, []).append(claim.key)
    for agent in sources.config.agents.values():
        yield _agent(sources, agent, open_runs.get(agent.id), day, now) | {
            "claims": held.get(agent.id, []),
            "not_started": _not_started(last_fires.get(agent.id)),
        }


def _agent(sources: Sources, agent: Agent, running: "Run | None", day: Day, now: datetime) -> Body:
    last = sources.runs.last_ended(agent.id)
    zone = ZoneInfo(sources.config.timezone)
    due = next_due(agent, zone, now) if agent.enabled else None
    return {
        "id": agent.id,
        "state": _state(sources, agent, running, last),
        "failing": last is not None and failed(last),
        "last_outcome": last.outcome if last else None,
        "last_ended": last.ended if last else None,
        "next_due": due.astimezone(zone).isoformat(timespec="seconds") if due else None,
        "lag": sources.bus.lag(agent.id, sources.runs.last_ok_advance(agent.id)),
        **of_agent(sources, agent, day),
    }


def _last_fires(store: Store) -> dict[str, Body]:
    """What the newest of `FIRES_SEEN` records says about each agent's last slot."""
    after = max(0, store.head(FIRES) - FIRES_SEEN)
    records = read_kept(store, FIRES, after, FIRES_SEEN).records
    said = (record.body for record in records)
    # What was coalesced is no answer: the slot that it became a part of is.
    return {str(body.get("agent")): body for body in said if body.get("result") != "coalesced"}


def _not_started(fire: Body | None) -> Body | None:
    if fire is None or fire.get("run"):
        return None
    said = {name: fire.get(name) for name in ("slot", "result", "detail", "until")}
    return said | {"waits": fire.get("op") == "deferred"}


def _state(sources: Sources, agent: Agent, running: "Run | None", last: "Run | None") -> str:
    control = sources.controls.of(agent.id)
    if running is not None:
        return "running"
    if not agent.enabled:
        return "disabled"
    if control.halted:
        return "halted"
    if control.paused or sources.config.paused:
        return "paused"
    return "failing" if last is not None and failed(last) else "waiting"
