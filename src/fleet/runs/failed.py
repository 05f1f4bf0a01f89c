"""Which runs of an agent were no success: a fold of its log, for whoever keeps these longer."""

from collections.abc import Collection
from typing import TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Record
from fleet.runs.outcome import OUTCOMES

NAME, VERSION = "failed", "1"
MOST = 2000  # newest ones that are known


class _State(TypedDict):
    """Ids, the newest last."""

    runs: list[str]


def failed(store: Store, cache: Cache, agent: str) -> Collection[str]:
    """The ids of the newest runs that are recorded under this name and were no success."""
    return frozenset(
        fold(store, cache, f"runs/{agent}", NAME, VERSION, _nothing, _step).state["runs"]
    )


def _nothing() -> _State:
    return {"runs": []}


def _step(state: _State, record: Record) -> None:
    body = record.body
    row = OUTCOMES.get(str(body.get("outcome")))
    if body.get("op") != "ended" or row is None or row.advances or body.get("counts_as_ok"):
        return
    state["runs"].append(str(body.get("run")))
    del state["runs"][:-MOST]
