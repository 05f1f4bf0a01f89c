"""What trimming took out of an agent's sight before it was shown: said in the log, summed for it.

Who trims beyond an agent's lane leaves a mark behind; a digest that passes the mark says how much
is missing. This module decides about no trimming.
"""

from fleet.logs import between
from fleet.ports import Store, first_kept
from fleet.records import Body, Draft, Record, Sieve

TRIMMED = "trimmed"
"""The operation of such a mark."""


def mark(store: Store, stream: str, agent: str, *, by: str, below: int, count: int) -> Record:
    """Leave the mark that `count` records below number `below` went before `agent` saw them.

    The same twice is one mark.
    """
    body: Body = {
        "op": TRIMMED,
        "from_agent": by,
        "to_agent": agent,
        "below": below,
        "unseen": count,
        "run": None,
    }
    same = ("op", "to_agent", "below")
    return store.append(stream, [Draft(body, key=f"{TRIMMED}/{agent}/{below}", same=same)])[0]


def dropped(store: Store, stream: str, agent: str, after: int, upto: int) -> int:
    """How many records `agent` was never shown, by the marks above `after` and up to `upto`."""
    if first_kept(store, stream) == 1:
        return 0
    mine = Sieve({"op": frozenset({TRIMMED}), "to_agent": frozenset({agent})})
    found = between(store, stream, after, upto, sieve=mine)
    return sum(count for one in found if isinstance(count := one.body.get("unseen"), int))
