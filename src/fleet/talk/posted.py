"""How much each run posted, as one small fold of a channel; limits on it are kept in `limits`."""

from collections.abc import Collection, Iterable
from typing import TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Record
from fleet.talk.messages import stream_of

RUNS = 1000  # runs counted in a channel, those that posted last
RECENT = 100_000  # records that are counted when the counts were lost


class _State(TypedDict):
    """Posts by run, the one that posted last at the end; `full`: earlier ones fell out."""

    runs: dict[str, int]
    full: bool


def posted(
    store: Store, cache: Cache, channels: Iterable[str], runs: Collection[str]
) -> dict[str, int]:
    """How many messages each of `runs` posted in `channels`; who is too old to be known is missing.

    Args:
        store: where the logs are.
        cache: where their folds are.
        channels: ids of channels.
        runs: ids of runs, which are ordered by time.
    """
    counts = dict.fromkeys(runs, 0)
    for channel in channels:
        state = by_run(store, cache, channel)
        oldest = min(state["runs"], default="") if state["full"] else ""
        for run in list(counts):
            if run < oldest:
                del counts[run]
            else:
                counts[run] += state["runs"].get(run, 0)
    return counts


def by_run(store: Store, cache: Cache, channel: str) -> _State:
    """The fold of one channel."""
    stream = stream_of(channel)

    def since() -> int:
        return store.head(stream) - RECENT

    return fold(store, cache, stream, "by-run", "1", _nothing, _step, since=since).state


def _nothing() -> _State:
    return {"runs": {}, "full": False}


def _step(state: _State, record: Record) -> None:
    run = record.body.get("run")
    if record.body.get("op") != "post" or not isinstance(run, str):
        return
    runs = state["runs"]
    runs[run] = runs.pop(run, 0) + 1
    if len(runs) > RUNS:
        del runs[next(iter(runs))]
        state["full"] = True
