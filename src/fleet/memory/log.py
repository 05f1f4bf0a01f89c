"""The log of one memory and what it amounts to: its value, its archive, what was reverted.

Reading only; whoever changes a memory appends a record (`Memory`), and every value follows.
"""

from typing import NamedTuple, TypedDict

from fleet.folds import Folded, fold, own
from fleet.logs import between
from fleet.memory.items import Item, State, empty
from fleet.memory.rules import VERSION, Left, step
from fleet.ports import Cache, Store
from fleet.records import Body, Place, Record, Sieve

ARCHIVED = 1000  # newest items that left and are at hand; the log keeps all


class Reverted(TypedDict):
    """By run the number of its newest revert, and the newest of all: 0 for none."""

    runs: dict[str, int]
    newest: int


class Gone(TypedDict):
    """The archive's fold: the memory itself, the newest items that left it, how many ever did."""

    state: State
    left: list[Item]
    total: int


class Archive(NamedTuple):
    """What left a memory.

    Attributes:
        items: newest first, each with its `section`, `left_at` and `why` (`full`, `dropped`).
        total: how many ever left; more than there are `items` when the log is long.
    """

    items: list[Item]
    total: int


def stream_of(agent: str) -> str:
    """The log of the memory of an agent that never had another name."""
    return f"memory-log/{agent}"


class MemoryLog:
    """The log `stream` of one memory."""

    def __init__(self, store: Store, cache: Cache, stream: str) -> None:
        self.stream = stream
        self._store = store
        self._cache = cache

    def value(self) -> Folded[State]:
        """The memory as it stands: every record but those of runs that were reverted later."""
        out = self.reverted()

        def take(state: State, record: Record) -> None:
            if counts(out, record):
                step(state, record)

        # Another revert makes another value of old records: then all of them are read again.
        version = f"{VERSION}/{out['newest']}"
        return fold(self._store, self._cache, self.stream, "value", version, empty, take)

    def after(self, before: Folded[State], record: Record) -> tuple[Folded[State], list[Left]]:
        """The memory up to `record`, which came after `before`, and what left by it."""
        out, state, place = self.reverted(), own(before.state), before.place
        left: list[Left] = []
        for one in between(self._store, self.stream, before.seq, record.seq):
            if one.body.get("op") == "revert":  # of records that are in `before`
                return self.value(), []
            left = step(state, one) if counts(out, one) else []
            place = Place(one.seq, one.crc)
        return Folded(state, place.seq, place.crc), left

    def written_by(self, run: str) -> bool:
        """Whether any record that is in force is of `run`; looks through the bytes of the log."""
        sieve, out = Sieve({"run": frozenset({run})}), self.reverted()
        found = between(self._store, self.stream, 0, self._store.head(self.stream), sieve=sieve)
        return any(counts(out, one) for one in found)

    def archive(self) -> Archive:
        """What left the memory, by caps and by word, with the same records left out."""
        out = self.reverted()

        def take(gone: Gone, record: Record) -> None:
            left = step(gone["state"], record) if counts(out, record) else []
            gone["total"] += len(left)
            gone["left"] += [_archived(one, record) for one in left]
            del gone["left"][:-ARCHIVED]

        version = f"{VERSION}/{out['newest']}"
        store, cache, stream = self._store, self._cache, self.stream
        found = fold(store, cache, stream, "archive", version, _nothing_gone, take).state
        return Archive(found["left"][::-1], found["total"])

    def reverted(self) -> Reverted:
        """Which runs were reverted."""
        store, cache, stream = self._store, self._cache, self.stream
        return fold(store, cache, stream, "reverts", "1", _none_reverted, _revert).state


def counts(out: Reverted, record: Record) -> bool:
    """Whether `record` is in force: not of a run that a later record reverts."""
    return out["runs"].get(str(record.body.get("run")), 0) <= record.seq


def _none_reverted() -> Reverted:
    return {"runs": {}, "newest": 0}


def _revert(state: Reverted, record: Record) -> None:
    if record.body.get("op") == "revert":
        state["runs"][str(record.body.get("target"))] = state["newest"] = record.seq


def _nothing_gone() -> Gone:
    return {"state": empty(), "left": [], "total": 0}


def _archived(left: Left, record: Record) -> Item:
    said: Body = {"section": left.section, "left_at": record.at, "why": left.why}
    return {**left.item, **said}
