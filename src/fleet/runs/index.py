"""The fold over one agent's run log: what is asked at every launch, without reading old runs."""

from typing import Any, TypedDict

from fleet.records import Body, Place, Record
from fleet.runs.outcome import OUTCOMES
from fleet.runs.run import take

NAME, VERSION = "index", "1"
NEWEST = 200  # runs whose place in the log is known; older ones are found by reading
WHOLE = 3  # newest ended runs that are kept whole
FAILURES = 20  # five set an event aside, more are never counted


class Entry(TypedDict):
    """Where one run stands in the log, and when its first record was accepted."""

    id: str
    first: int
    last: int
    at: str


class Index(TypedDict):
    """The fold's state: JSON values only.

    `whole` holds open runs and the newest ended ones by id; `failures` the newest runs that
    failed by the agent's own fault, as `{lane: [its place then, [events it showed]]}`.
    """

    runs: list[Entry]
    whole: dict[str, Body]
    failures: list[dict[str, Any]]
    advance: dict[str, Any]


def empty() -> Index:
    """The state of an empty log."""
    return {"runs": [], "whole": {}, "failures": [], "advance": {}}


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
