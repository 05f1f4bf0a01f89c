"""What became of all runs of an agent, as one small fold: counts, sums, and the newest figures.

It counts; what is unusual is decided elsewhere. Runs that were retracted count: they were paid.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Body, Record
from fleet.runs.outcome import OUTCOMES

NEWEST = 40  # ended runs whose figures are kept


class Figures(NamedTuple):
    """One ended run.

    Attributes:
        run: its id.
        ended: RFC 3339.
        ok: whether its lanes advanced.
        cost: dollars, None when unknown.
        turns: as the CLI counts them, None when unknown.
    """

    run: str
    ended: str
    ok: bool
    cost: float | None
    turns: int | None


class Tally(NamedTuple):
    """All ended runs of an agent.

    Attributes:
        outcomes: how many ended so, by the outcome's word.
        cost: dollars of all whose cost is known.
        tokens_in: input tokens of all that are known.
        tokens_out: output tokens.
        last_ok: when the last success ended, RFC 3339; "" without one.
        newest: the last `NEWEST` of them, the newest at the end.
    """

    outcomes: dict[str, int]
    cost: float
    tokens_in: int
    tokens_out: int
    last_ok: str
    newest: tuple[Figures, ...]


class _State(TypedDict):
    outcomes: dict[str, int]
    cost: float
    tokens: list[int]
    last_ok: str
    newest: list[list[Any]]


def tally(store: Store, cache: Cache, names: Sequence[str]) -> Tally:
    """The tally of an agent that is called, and was called before, by these names, newest first."""
    states = [_of(store, cache, name) for name in reversed(names)]
    outcomes: dict[str, int] = {}
    for state in states:
        for word, count in state["outcomes"].items():
            outcomes[word] = outcomes.get(word, 0) + count
    newest = [Figures(*one) for state in states for one in state["newest"]]
    return Tally(
        outcomes,
        sum(state["cost"] for state in states),
        sum(state["tokens"][0] for state in states),
        sum(state["tokens"][1] for state in states),
        max(state["last_ok"] for state in states),
        tuple(newest[-NEWEST:]),
    )


def _of(store: Store, cache: Cache, name: str) -> _State:
    return fold(store, cache, f"runs/{name}", "tally", "1", _nothing, _step).state


def _nothing() -> _State:
    return {"outcomes": {}, "cost": 0.0, "tokens": [0, 0], "last_ok": "", "newest": []}


def _step(state: _State, record: Record) -> None:
    body = record.body
    if body.get("op") != "ended":
        return
    outcome, ended = str(body.get("outcome")), str(body.get("ended") or record.at)
    cost, turns = _number(body, "cost_usd"), _number(body, "turns")
    ok = _advances(outcome, body)
    state["outcomes"][outcome] = state["outcomes"].get(outcome, 0) + 1
    state["cost"] += cost or 0.0
    state["tokens"][0] += int(_number(body, "tokens_in") or 0)
    state["tokens"][1] += int(_number(body, "tokens_out") or 0)
    state["last_ok"] = ended if ok else state["last_ok"]
    state["newest"].append([str(body.get("run")), ended, ok, cost, turns])
    del state["newest"][:-NEWEST]


def _advances(outcome: str, body: Body) -> bool:
    row = OUTCOMES.get(outcome)
    return row is not None and (row.advances or body.get("counts_as_ok") is True)


def _number(body: Body, name: str) -> float | None:
    value = body.get(name)
    return value if isinstance(value, int | float) else None
