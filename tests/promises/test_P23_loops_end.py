"""P23: loop limits count per thread and per causal chain, whoever takes part."""

from itertools import cycle, islice
from pathlib import Path

import pytest

from fleet.bus import Bus
from fleet.bus.later import Later
from fleet.cursors import Cursors
from fleet.errors import TryAgain
from fleet.identity import Author
from fleet.records import Record, new_id
from fleet.runner import launch, settle
from fleet.runner.live import is_over
from fleet.schemas import Registry
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Talk
from fleets import Scripted, until
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
        self.later = Later(self.store, self.cache, config, registry)
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


def test_a_reminder_makes_no_chain_shorter(fleet: Fleet) -> None:
    """P23: who goes on when it is reminded is as far away as it was when it reminded itself."""
    ref, hops = fleet.bus.emit(OPERATOR, "pricing-change", PRICE).ref, 0
    for name in islice(cycle(NAMES), 3):
        record = fleet.emit(name, hops=hops, woken=ref)
        due = fleet.store.now().wall + 60
        note = fleet.later.remind(fleet.run(name, int(str(record.body["hops"])), ref), "x", due=due)
        ref, hops = record.ref, int(str(note.body["hops"]))

    with pytest.raises(TryAgain, match="loop limit"):
        fleet.emit("outreach", hops=hops, woken=ref)


def test_a_thread_ends_though_each_answer_is_of_a_run_that_was_woken(fleet: Fleet) -> None:
    """P23: an event that wakes a run gives no turn to the thread in which that run answers."""
    ref = fleet.talk.post(OPERATOR, "strategy", "look").ref
    woken = fleet.bus.emit(OPERATOR, "pricing-change", PRICE).ref
    for turn, name in enumerate(islice(cycle(NAMES[:2]), 4)):
        author = fleet.run(name, hops=min(turn, 3), woken=woken)
        fleet.talk.post(author, "strategy", "yes", reply_to=ref)

    with pytest.raises(TryAgain, match="loop limit"):
        fleet.talk.post(fleet.run("outreach", 3, woken), "strategy", "yes", reply_to=ref)
    assert fleet.alerts == 1


def test_real_runs_that_wake_each_other_come_to_an_end(tmp_path: Path) -> None:
    """P23: the token of a woken run carries how far away it is; its agent can say nothing else.

    What wakes two agents by turns is refused after `hops` events, with one alert; a run by
    schedule begins anew.
    """
    home = Scripted(tmp_path / "home")
    file = home.root / "fleet.yaml"
    file.write_text(file.read_text().replace("min_free: 1MiB", "min_free: 1MiB, hops: 2"))
    for name in ("ping", "pong"):
        home.agent(name, "fleet emit note n=1; echo code $?")
    home.call("emit", "note", "n=0")
    said = [woken(home, name, seq) for seq, name in enumerate(("ping", "pong", "ping"), 1)]
    by_schedule = woken(home, "pong", None)

    events = [record.body for record in home.fleet.store.read("events", 0, 100).records]
    assert [one["hops"] for one in events] == [0, 1, 2, 1]
    assert [one["cause"] for one in events] == [None, "events#1", "events#2", None]
    assert ["code 0" in text for text in [*said, by_schedule]] == [True, True, False, True]
    assert "code 75" in said[-1]
    alerts = [record.body["kind"] for record in home.fleet.store.read("alerts", 0, 100).records]
    assert alerts == ["loop"]


def woken(home: Scripted, name: str, seq: int | None) -> str:
    """What a run of `name` said that event number `seq` woke, or its schedule."""
    fleet = home.fleet
    agent, run = fleet.config.agents[name], new_id(fleet.store.now().wall)
    slot, cause = (f"wake:{seq}", f"events#{seq}") if seq else ("2026-01-01T00:00:00+00:00", "")
    launch.reserve(fleet, agent, run)
    live = launch.start(fleet, agent, run, slot=slot, cause=cause)
    assert live
    assert until(lambda: is_over(fleet, live))
    assert settle.settle(fleet, name, run).outcome == "ok"
    return (fleet.config.run_folder(run) / "stdout.jsonl").read_text()


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
