"""P23: loop limits count per thread and per causal chain, whoever takes part."""

from itertools import cycle, islice
from pathlib import Path

import pytest

from fleet.bus import Bus
from fleet.cursors import Cursors
from fleet.errors import TryAgain
from fleet.identity import Author
from fleet.records import Record
from fleet.schemas import Registry
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Talk
from people import OPERATOR, in_run, limited

NAMES = ("outreach", "reply-handler", "competitor-watch")
PRICE: dict[str, object] = {"competitor": "c", "newPrice": "1"}


class Fleet:
    """The small fleet over the memory store; each thing an agent does is a run of its own."""

    def __init__(self, home: Path, **limits: int) -> None:
        self.store, self.cache = RamStore(), RamCache()
        config = limited(**limits)
        cursors = Cursors(self.store)
        self.talk = Talk(self.store, self.cache, config, cursors)
        registry = Registry(home, self.cache)
        self.bus = Bus(self.store, self.cache, config, registry, cursors)
        self.runs = 0

    def run(self, name: str, hops: int = 0, woken: str | None = None) -> Author:
        """A new run of `name`."""
        self.runs += 1
        return in_run(name, f"{name}-{self.runs}", hops=hops, cause=woken)

    def reply(self, name: str, ref: str, channel: str = "strategy") -> Record:
        """An answer of a new run of `name` to `ref`."""
        author = self.run(name)
        return self.talk.post(author, channel, "yes", reply_to=ref)

    def emit(
        self, name: str, *, cause: str | None = None, hops: int = 0, woken: str | None = None
    ) -> Record:
        """An event of a new run of `name`, woken over so many `hops` by `woken`."""
        author = self.run(name, hops, woken)
        return self.bus.emit(author, "pricing-change", PRICE, cause=cause)

    @property
    def alerts(self) -> int:
        """How many alerts about loops there are."""
        return sum(one.body["kind"] == "loop" for one in self.store.read("alerts", 0, 50).records)


@pytest.fixture
def fleet(home: Path) -> Fleet:
    """A fleet in which a chain may have three hops and a thread four turns."""
    return Fleet(home, hops=3, turns_per_thread=4)


@pytest.mark.parametrize("depth", ["to the first", "to the last"])
@pytest.mark.parametrize("count", [2, 3])
def test_a_thread_ends_whoever_answers_and_whatever(fleet: Fleet, count: int, depth: str) -> None:
    """P23: two or three agents, answering the first or newest message: one limit, one alert."""
    first = last = fleet.talk.post(OPERATOR, "strategy", "look at this").ref
    for name in islice(cycle(NAMES[:count]), 4):
        last = fleet.reply(name, first if depth == "to the first" else last).ref

    for name in NAMES:
        with pytest.raises(TryAgain, match="loop limit"):
            fleet.reply(name, last)
    assert fleet.alerts == 1


def test_reactions_are_no_turns_and_are_never_held(fleet: Fleet) -> None:
    """P23: agreeing is what agents are taught instead of thanking; it counts nowhere."""
    ref = fleet.talk.send(in_run("outreach"), "reply-handler", "done").ref
    for name in islice(cycle(NAMES[:2]), 20):
        fleet.talk.react(fleet.run(name), ref, "agree")
    for name in islice(cycle(("reply-handler", "outreach")), 3):
        fleet.reply(name, ref, "outreach+reply-handler")

    with pytest.raises(TryAgain):
        fleet.reply("reply-handler", ref, "outreach+reply-handler")
    fleet.talk.react(fleet.run("reply-handler"), ref, "important")


def test_a_person_in_a_direct_talk_is_never_held(fleet: Fleet) -> None:
    """P23: a person and an agent may go on for as long as the person does."""
    for _ in range(9):
        fleet.talk.send(OPERATOR, "outreach", "and?")
        fleet.talk.send(fleet.run("outreach"), "operator", "done")

    for _ in range(9):
        fleet.talk.send(fleet.run("outreach"), "operator", "still here")
    assert fleet.alerts == 0


def test_lost_caches_open_no_thread(fleet: Fleet) -> None:
    """P23: the counts are in the log; deleting every cache changes no decision."""
    for name in islice(cycle(NAMES[:2]), 4):
        other = next(one for one in NAMES[:2] if one != name)
        fleet.talk.send(fleet.run(name), other, "thanks")
    fleet.cache._saved.clear()

    with pytest.raises(TryAgain):
        fleet.talk.send(fleet.run("outreach"), "reply-handler", "thanks")


def test_a_chain_by_cause_ends_over_any_number_of_agents(fleet: Fleet) -> None:
    """P23: each event names the one before it; after `hops` the next is refused, with one alert."""
    ref = fleet.bus.emit(OPERATOR, "pricing-change", PRICE).ref
    for name in islice(cycle(NAMES), 3):
        ref = fleet.emit(name, cause=ref).ref

    for name in NAMES:
        with pytest.raises(TryAgain, match="loop limit"):
            fleet.emit(name, cause=ref)
    assert fleet.alerts == 1
    assert fleet.emit("outreach").body["hops"] == 1  # of no chain
    assert fleet.emit("outreach", cause="events#1").body["hops"] == 1  # another branch goes on


def test_a_chain_of_wakes_ends_though_nobody_names_a_cause(fleet: Fleet) -> None:
    """P23: what woke a run is the cause of all it emits, and naming an older one helps nothing."""
    ref, hops = fleet.bus.emit(OPERATOR, "pricing-change", PRICE).ref, 0
    for name in islice(cycle(NAMES), 3):
        record = fleet.emit(name, hops=hops, woken=ref)
        ref, hops = record.ref, int(str(record.body["hops"]))
    assert record.body["cause"] == "events#3"

    for cause in (None, "events#1"):
        with pytest.raises(TryAgain):
            fleet.emit("reply-handler", hops=hops, woken=ref, cause=cause)
    assert fleet.alerts >= 1


def test_a_chain_of_events_gives_no_turns_to_a_thread(fleet: Fleet) -> None:
    """P23: events that runs emit, in a chain or not, do not let agents go on with thanks."""
    ref = fleet.talk.post(OPERATOR, "strategy", "look").ref
    cause = fleet.bus.emit(OPERATOR, "pricing-change", PRICE).ref
    for name in islice(cycle(NAMES), 4):
        fleet.reply(name, ref)
        cause = fleet.emit(name, cause=cause if fleet.runs < 6 else None).ref

    with pytest.raises(TryAgain):
        fleet.reply("competitor-watch", ref)
    fleet.bus.emit(OPERATOR, "pricing-change", PRICE)
    fleet.reply("competitor-watch", ref)


def test_threads_do_not_count_for_each_other(fleet: Fleet) -> None:
    """P23: a thread or channel of two that is held says nothing about any other."""
    for name in islice(cycle(NAMES[:2]), 4):
        other = next(one for one in NAMES[:2] if one != name)
        fleet.talk.send(fleet.run(name), other, "thanks")
    other = fleet.talk.post(in_run("outreach"), "strategy", "a finding").ref

    for name in islice(cycle(("reply-handler", "outreach")), 4):
        fleet.reply(name, other)
    fleet.talk.send(fleet.run("outreach"), "competitor-watch", "x")
    fleet.talk.send(fleet.run("competitor-watch"), "outreach", "y")
    fleet.talk.post(fleet.run("outreach"), "strategy", "another")
