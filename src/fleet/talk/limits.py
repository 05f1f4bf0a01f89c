"""How much a run may post, and how long agents may answer each other, as one small fold.

It counts; whether a post is refused because of it is decided where the post is made.
"""

from typing import NamedTuple, TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store, read_kept
from fleet.records import Record, Sieve
from fleet.talk.messages import stream_of

RUNS = 64  # runs counted in a channel, those that posted last
RECENT = 20_000  # records that are counted when the counts were lost
THREADS = 200  # threads counted in a channel, those that were answered last

_FROM_OUTSIDE = Sieve({"op": frozenset({"event"}), "run": frozenset({None})})


class _Turns(TypedDict):
    """A thread since a person last wrote in it.

    `last` is the agent that spoke last; `heads` says, for each turn, how far the event log had
    come when it was taken (as many turns as the limit).
    """

    last: str
    heads: list[int]


class _State(TypedDict):
    """Posts by run and turns by the thread's first message, newest at the end of each."""

    runs: dict[str, int]
    threads: dict[str, _Turns]


class Limits(NamedTuple):
    """What the fold of one channel says."""

    state: _State

    def posted_by(self, run: str) -> int:
        """How many posts of `run` are in the channel."""
        return self.state["runs"].get(run, 0)

    def used_up(self, store: Store, thread: str, agent: str, turns: int) -> bool:
        """Whether `agent` would take one turn more than `turns` in `thread` with nothing new.

        Going on oneself is no turn. An event that no run emitted is news from outside: it counts
        from the first of the last `turns` turns on.
        """
        said = self.state["threads"].get(thread)
        if said is None or said["last"] == agent or len(said["heads"]) < turns:
            return False
        since = said["heads"][-turns]
        return not read_kept(store, "events", since, 1, sieve=_FROM_OUTSIDE).records


def limits(store: Store, cache: Cache, channel: str, turns: int) -> Limits:
    """The counts of a channel in which `turns` turns of a thread are remembered."""

    def step(state: _State, record: Record) -> None:
        if record.body.get("op") == "post":
            _count_run(state, record)
            _count_turn(state, record, turns)

    stream = stream_of(channel)
    folded = fold(
        store,
        cache,
        stream,
        "limits",
        f"1/{turns}",
        _empty,
        step,
        since=lambda: store.head(stream) - RECENT,
    )
    return Limits(folded.state)


def _empty() -> _State:
    return {"runs": {}, "threads": {}}


def _count_run(state: _State, record: Record) -> None:
    run = record.body.get("run")
    if isinstance(run, str):
        runs = state["runs"]
        runs[run] = runs.pop(run, 0) + 1
        while len(runs) > RUNS:
            del runs[next(iter(runs))]


def _count_turn(state: _State, record: Record, turns: int) -> None:
    thread, head = record.body.get("thread"), record.body.get("events")
    agent, threads = str(record.body.get("from_agent")), state["threads"]
    if not isinstance(thread, str) or not isinstance(head, int):
        return
    said = threads.pop(thread, None)
    if record.body.get("run") is None:
        return  # a person spoke: the agents have something to answer
    said = said or {"last": "", "heads": []}
    if said["last"] != agent:
        said["last"] = agent
        said["heads"] = [*said["heads"], head][-turns:]
    threads[thread] = said
    while len(threads) > THREADS:
        del threads[next(iter(threads))]
