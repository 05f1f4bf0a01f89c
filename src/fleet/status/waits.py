"""For what the open slots of an agent wait, by its schedule document and the log of fires.

It says what is so now: a reason on record of which the end is known to have come is none.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from fleet.controls import local
from fleet.ports import Store, read_kept
from fleet.records import Body, Record, wall_of

FIRES = "fires"  # the log in which the runner says what became of each slot
FIRES_SEEN = 500  # newest records of it among which an agent's last one is looked for


class Said(NamedTuple):
    """What the newest records say: of each agent's last settled slot, and why open ones wait.

    Attributes:
        settled: by agent.
        deferred: by agent, slot and attempt.
    """

    settled: Mapping[str, Body]
    deferred: Mapping[tuple[str, str, int], Record]


class Around(NamedTuple):
    """What an agent's slots wait in: the moment, the leading runner, the agent's live run or ""."""

    now: datetime
    leader: Body
    run: str
    timezone: str


def said_of(store: Store) -> Said:
    """The newest `FIRES_SEEN` records, sorted out."""
    after = max(0, store.head(FIRES) - FIRES_SEEN)
    settled: dict[str, Body] = {}
    deferred: dict[tuple[str, str, int], Record] = {}
    for record in read_kept(store, FIRES, after, FIRES_SEEN).records:
        body = record.body
        if body.get("op") == "deferred":
            deferred[_key(str(body.get("agent")), body)] = record
        elif body.get("result") != "coalesced":  # the slot that it became a part of says more
            settled[str(body.get("agent"))] = body
    return Said(settled, deferred)


def open_slots(store: Store, agent: str) -> list[Body]:
    """The agent's open slots that no run has taken, oldest first, as its document has them."""
    body = store.get(f"schedule/{agent}")[0] or {}
    return [entry for entry in cast("list[Body]", body.get("open") or []) if not entry["run"]]


def moments_ahead(slots: Iterable[Body], now: datetime) -> Iterator[datetime]:
    """When those come due that are not yet: retries, and wakes that have to cool down."""
    return (due for slot in slots if (due := _due(slot)) > now)


def not_started(agent: str, slots: list[Body], said: Said, around: Around) -> Body | None:
    """`not_started` of an agent: for what its newest open slot waits, else why its last did not."""
    due = [slot for slot in slots if _due(slot) <= around.now]
    if due:
        why = _why(agent, due[-1], said, around)
        return {"slot": due[-1]["slot"]} | why | {"waits": True}
    if slots:
        return _ahead(min(slots, key=_due), around)
    fire = said.settled.get(agent)
    if fire is None or fire.get("run"):
        return None
    known = {name: fire.get(name) for name in ("slot", "result", "detail")}
    return known | {"until": None, "waits": False}


def _why(agent: str, slot: Body, said: Said, around: Around) -> Body:
    """Why a slot that is due has not started: {result, detail, until}."""
    if not around.leader["alive"]:
        return {"result": "no_runner", "detail": "fleet up goes on with it", "until": None}
    record = said.deferred.get(_key(agent, slot))
    if record is not None and not _is_over(record, slot, around):
        body = record.body
        until = slot.get("held") or body.get("until")
        return {"result": body.get("result"), "detail": body.get("detail"), "until": until}
    detail = f"for the end of run {around.run}" if around.run else "for a free place"
    return {"result": "wait", "detail": detail, "until": None}


def _is_over(record: Record, slot: Body, around: Around) -> bool:
    """Whether what deferred the slot has come to its end: its time, or the runner that stopped."""
    if record.body.get("result") == "stopping":
        return wall_of(record.at) < wall_of(str(around.leader["since"]))
    until = slot.get("held") or record.body.get("until")
    return isinstance(until, str) and datetime.fromisoformat(until) <= around.now


def _ahead(slot: Body, around: Around) -> Body:
    result = "retry" if cast("int", slot["attempt"]) > 1 else "cooldown"
    until = str(slot["due"])
    detail = f"attempt {slot['attempt']} at {local(until, around.timezone)}"
    return {"slot": slot["slot"], "result": result, "detail": detail, "until": until, "waits": True}


def _key(agent: str, slot: Body) -> tuple[str, str, int]:
    return agent, str(slot.get("slot")), cast("int", slot.get("attempt"))


def _due(slot: Body) -> datetime:
    return datetime.fromisoformat(str(slot["due"]))
