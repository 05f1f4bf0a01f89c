"""The fold over one agent's run log: what is asked at every launch, without reading old runs."""

from typing import Any, TypedDict

from fleet.folds import fold
from fleet.ledger import Sum, counted
from fleet.ports import Cache, Store
from fleet.records import Body, Place, Record, made_at, wall_of
from fleet.runs.outcome import OUTCOMES
from fleet.runs.run import take

NAME, VERSION = "index", "3"
NEWEST = 200  # runs whose place in the log is known; older ones are found by reading
WHOLE = 3  # newest ended runs that are kept whole
FAILURES = 20  # five set an event aside, more are never counted
QUARTER = 900  # seconds: every zone's day begins with a quarter of an hour, so they sum up to days
QUARTERS = 400  # newest quarters with runs that are kept: four days of the busiest agent
TYPICAL = 20  # newest known costs, and token counts, whose mean the next run is reserved


class Entry(TypedDict):
    """Where one run stands in the log, and when its first record was accepted."""

    id: str
    first: int
    last: int
    at: str


class Index(TypedDict):
    """The fold's state: JSON values only.

    `whole` holds open runs and the newest ended ones by id; `failures` the newest runs that
    failed by the agent's own fault, as `{lane: [its place then, [events it showed]]}`; `spent`
    what ended runs amount to, a `Sum` for each quarter of an hour in which runs were reserved;
    `costs` and `tokens` what the newest runs used that used anything and said so.
    """

    runs: list[Entry]
    whole: dict[str, Body]
    failures: list[dict[str, Any]]
    advance: dict[str, Any]
    spent: dict[str, Any]
    costs: list[float]
    tokens: list[int]


def of(store: Store, cache: Cache, agent: str) -> Index:
    """The state of the log `runs/<agent>` as it is now."""
    return fold(store, cache, f"runs/{agent}", NAME, VERSION, empty, step).state


def empty() -> Index:
    """The state of an empty log."""
    return {
        "runs": [],
        "whole": {},
        "failures": [],
        "advance": {},
        "spent": {},
        "costs": [],
        "tokens": [],
    }


def step(index: Index, record: Record) -> None:
    """Take one record in; operations that it does not know change nothing."""
    run, op = record.body.get("run"), record.body.get("op")
    if not isinstance(run, str) or op not in {"started", "report", "ended"}:
        return
    _place(index, run, record)
    known = index["whole"].setdefault(run, {"first": record.seq})
    take(known, record)
    if op == "ended":
        _count(index, record.body)
        _spend(index, run, record)
        index["advance"].update(record.body.get("advance") or {})  # type: ignore[call-overload]
        _forget(index)


def _place(index: Index, run: str, record: Record) -> None:
    for entry in reversed(index["runs"]):
        if entry["id"] == run:
            entry["last"] = record.seq
            return
    entry = Entry(id=run, first=record.seq, last=record.seq, at=record.at)
    index["runs"].append(entry)
    del index["runs"][:-NEWEST]


def _count(index: Index, body: Body) -> None:
    row = OUTCOMES.get(str(body.get("outcome")))
    if row is None or not row.fault or body.get("counts_as_ok"):
        return
    lanes, events = body.get("lanes"), body.get("events")
    if isinstance(lanes, dict) and isinstance(events, dict):
        failure = {lane: [lanes[lane]["seq"], seqs] for lane, seqs in events.items()}
        index["failures"].append(failure)
        del index["failures"][:-FAILURES]


def _spend(index: Index, run: str, record: Record) -> None:
    """Add what the run cost to the quarter in which it was reserved."""
    body: dict[str, Any] = record.body
    held = body.get("reserved") or {}
    reserved = Sum(1, held.get("cost", 0.0), held.get("tokens", 0))
    used = counted(body.get("cost_usd"), body.get("tokens_in"), body.get("tokens_out"), reserved)
    began = made_at(run) or wall_of(str(index["whole"][run].get("started") or record.at))
    quarter = str(int(began) // QUARTER)
    index["spent"][quarter] = list(Sum(*index["spent"].get(quarter, ())).plus(used))
    if len(index["spent"]) > QUARTERS:
        del index["spent"][min(index["spent"], key=int)]
    if used.cost and not used.unknown:
        index["costs"] = [*index["costs"], used.cost][-TYPICAL:]
    if used.tokens and body.get("tokens_in") is not None:
        index["tokens"] = [*index["tokens"], used.tokens][-TYPICAL:]


def spent(index: Index, since: float, until: float) -> Sum:
    """What ended runs that were reserved from `since` until before `until` amount to."""
    total = Sum()
    for quarter, one in index["spent"].items():
        if since <= int(quarter) * QUARTER < until:
            total = total.plus(Sum(*one))
    return total


def has_ended(index: Index, run: str) -> bool:
    """Whether the end of `run`, one of the newest, is on record."""
    return index["whole"].get(run, {}).get("outcome") is not None


def _forget(index: Index) -> None:
    ended = [run for run, known in index["whole"].items() if known.get("outcome")]
    for run in sorted(ended, key=lambda run: int(index["whole"][run]["first"]))[:-WHOLE]:  # type: ignore[call-overload]
        del index["whole"][run]


def attempts(index: Index, lanes: dict[str, Place] | None) -> dict[int, int]:
    """How many counted failures each event has, by its number.

    A failure counts while its lane stands where that run found it. `lanes` None: where the
    newest counted failure found them.
    """
    if not index["failures"]:
        return {}
    newest = {lane: place for lane, (place, _) in index["failures"][-1].items()}
    stand = newest if lanes is None else {lane: place.seq for lane, place in lanes.items()}
    counts: dict[int, int] = {}
    for failure in index["failures"]:
        for lane, (place, events) in failure.items():
            for seq in events if stand.get(lane) == place else ():
                counts[seq] = counts.get(seq, 0) + 1
    return counts
