"""How much a run may post, and how long agents may answer each other, as one small fold.

It counts; whether a post is refused because of it is decided in `brakes`.
"""

from typing import NamedTuple, TypedDict

from fleet.folds import fold
from fleet.ports import Cache, Store, read_kept
from fleet.records import Record, Sieve, ref_of
from fleet.talk.direct import other_of, pair_of
from fleet.talk.messages import stream_of

RUNS = 64  # runs counted in a channel, those that posted last
RECENT = 20_000  # records that are counted when the counts were lost
THREADS = 200  # threads counted in a channel, those that were answered last
TOLD = 200  # agents that were spoken to in a channel, the last ones

_FROM_OUTSIDE = Sieve({"op": frozenset({"event"}), "run": frozenset({None})})


class _Turns(TypedDict):
    """A thread since a person last wrote in it.

    `last` is the agent that spoke last, `heard` what had been said to it by then; `heads` says,
    for each turn, how far the event log had come when it was taken (as many as the limit), and
    `seq` is the number of the newest one.
    """

    last: str
    seq: int
    heard: int
    heads: list[int]


class _Told(TypedDict):
    """The number of the last post by a run that spoke to an agent.

    `thread` is that post's, None once the agent has posted or a person spoke to it.
    """

    seq: int
    thread: str | None


class _State(TypedDict):
    """Posts by run, turns by thread, and who was spoken to, newest at the end of each."""

    runs: dict[str, int]
    threads: dict[str, _Turns]
    told: dict[str, _Told]


class Limits(NamedTuple):
    """What the fold of one channel says."""

    state: _State

    def posted_by(self, run: str) -> int:
        """How many posts of `run` are in the channel."""
        return self.state["runs"].get(run, 0)

    def heard_by(self, agent: str) -> int:
        """The number of the last post here by which another agent's run spoke to `agent`."""
        told = self.state["told"].get(agent)
        return told["seq"] if told else 0

    def passed_to(self, agent: str) -> str | None:
        """The thread in which `agent` was spoken to since it last posted here."""
        told = self.state["told"].get(agent)
        return told["thread"] if told else None

    def last_in(self, thread: str) -> str:
        """The agent that spoke last in `thread`; "" since a person did, or when it is new."""
        said = self.state["threads"].get(thread)
        return said["last"] if said else ""

    def told_since(self, store: Store, thread: str, agent: str, heard: int) -> bool:
        """Whether an agent spoke to `agent` since the newest turn of `thread`, elsewhere.

        `heard` grows with each message to it; an event that was sent to it counts as well.
        """
        said = self.state["threads"][thread]
        if heard > said["heard"]:
            return True
        to_it = Sieve({"op": frozenset({"event"}), "to_agent": frozenset({agent})})
        return bool(read_kept(store, "events", said["heads"][-1], 1, sieve=to_it).records)

    def used_up(self, store: Store, thread: str, turns: int) -> bool:
        """Whether `thread` has had `turns` turns with nothing new.

        An event that no run emitted is news from outside: it counts from the first of the last
        `turns` turns on.
        """
        said = self.state["threads"].get(thread)
        if said is None or len(said["heads"]) < turns:
            return False
        since = said["heads"][-turns]
        return not read_kept(store, "events", since, 1, sieve=_FROM_OUTSIDE).records

    def newest_turn(self, thread: str) -> int:
        """The number of the newest turn of a thread that is counted."""
        return self.state["threads"][thread]["seq"]


def limits(store: Store, cache: Cache, channel: str, turns: int) -> Limits:
    """The counts of a channel in which `turns` turns of a thread are remembered."""

    def step(state: _State, record: Record) -> None:
        if record.body.get("op") == "post":
            _count_run(state, record)
            _count_turn(state, record, turns)
            _pass_on(state, record, channel)

    stream = stream_of(channel)
    folded = fold(
        store,
        cache,
        stream,
        "limits",
        f"2/{turns}",
        _empty,
        step,
        since=lambda: store.head(stream) - RECENT,
    )
    return Limits(folded.state)


def _empty() -> _State:
    return {"runs": {}, "threads": {}, "told": {}}


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
    said = said or {"last": "", "seq": 0, "heard": 0, "heads": []}
    heard = record.body.get("heard")
    if said["last"] != agent or record.body.get("told") is True:
        said["heads"] = [*said["heads"], head][-turns:]
        said["seq"] = record.seq
    said["last"], said["heard"] = agent, heard if isinstance(heard, int) else 0
    threads[thread] = said
    while len(threads) > THREADS:
        del threads[next(iter(threads))]


def _pass_on(state: _State, record: Record, channel: str) -> None:
    """Note to whom a post speaks: their next post that speaks to somebody answers it."""
    told, author = state["told"], str(record.body.get("from_agent"))
    if author in told:
        told[author]["thread"] = None
    thread = record.body.get("thread")
    own = thread if isinstance(thread, str) else ref_of(record.stream, record.seq)
    by_a_run = record.body.get("run") is not None
    for name in _spoken_to(record, channel, author):
        earlier = told.pop(name, None)
        if by_a_run:
            told[name] = {"seq": record.seq, "thread": own}
        elif earlier:
            told[name] = {"seq": earlier["seq"], "thread": None}
    while len(told) > TOLD:
        del told[next(iter(told))]


def _spoken_to(record: Record, channel: str, author: str) -> list[str]:
    pair = pair_of(channel)
    if pair:
        return [other_of(channel, author)] if author in pair else []
    names = record.body.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []
