"""Events that wake agents: whom, when, once, and whatever happens to the runner in between."""

from datetime import timedelta
from pathlib import Path

import pytest

from fleet.bus.events import ALWAYS_WAKE, STREAM
from fleet.errors import LockTimeout, TryAgain
from fleet.ports import read_kept
from fleet.records import Body, Draft
from fleet.runner import wakes
from fleet.runner.slots import Slots
from fleets import Scripted
from people import OPERATOR, in_run
from retracting import take_back
from unspawned import Unspawned

TYPE = '{"type": "object", "additionalProperties": true}\n'
AGENTS = {
    "typed": "wake_on: {types: [note], cooldown: 10m}",
    "called": "wake_on: {addressed: true, cooldown: 10m}",
    "deaf": "interests: [note]",
    "off": "enabled: false",
    "other": "interests: [other]",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """Agents that are woken in different ways; `off` would be by any."""
    home = Scripted(tmp_path_factory.mktemp("wakes") / "home", concurrency=9)
    for name in ("note", "other"):
        home.put(f"schemas/{name}.json", TYPE)
    for name, line in AGENTS.items():
        home.agent(name, "true", line)
    home.agent("off", "true", "enabled: false", "wake_on: {types: [note], addressed: true}")
    home.agent("other", "true", "interests: [other]", "wake_on: {types: [other], addressed: true}")
    return home


def append(up: Unspawned, **said: object) -> None:
    """An event as only fleet itself writes it."""
    body: Body = {"op": "event", "from_agent": "x", "payload": {}, "hops": 0, "run": None, **said}
    up.fleet.store.append(STREAM, [Draft(body)])


@pytest.fixture
def up(home: Scripted) -> Unspawned:
    """A runner that has looked once."""
    up = Unspawned(home)
    up.look()
    return up


def test_an_event_wakes_whoever_its_file_says(up: Unspawned) -> None:
    """A broadcast wakes by type, one that is addressed its addressee, and nobody else, or off."""
    up.emit()
    assert up.look() == ["typed"]
    for name in ("called", "other", "deaf", "off"):
        up.emit(to=name)

    assert up.look() == ["called", "other", "typed"]
    up.over("typed")
    up.emit(to="typed")
    assert up.look(600) == ["called", "other", "typed"]


def test_a_wake_is_recorded_with_its_event(up: Unspawned) -> None:
    """Slot, run and token say which event it was: what the run emits is one wake further away."""
    event = up.emit()
    up.look()

    (fire,) = up.fires("typed")
    assert (fire["slot"], fire["result"]) == (f"wake:{event.seq}", "started")
    run = up.fleet.runs.find(str(fire["run"]))
    token, _ = up.fleet.store.get(f"tokens/{run.id}")
    assert (run.slot, run.shown) == (f"wake:{event.seq}", (event.ref,))
    assert token is not None
    assert (token["cause"], token["hops"]) == (event.ref, 0)


def test_the_longest_chain_that_a_wake_shows_counts(up: Unspawned) -> None:
    """An event of few hops does not shorten the chain of another that comes with it."""
    up.emit()
    append(up, type="note", to_agent=None, hops=5)
    up.look()

    (fire,) = up.fires("typed")
    token, _ = up.fleet.store.get(f"tokens/{fire['run']}")
    assert token is not None
    assert token["hops"] == 5


def test_agents_that_wake_each_other_come_to_rest(tmp_path: Path) -> None:
    """P23: each run emits what wakes the other one, named as its cause or not; `hops` ends it."""
    home = Scripted(tmp_path / "home")
    fleet_yaml = home.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("1MiB}", "1MiB, hops: 4}"))
    for name in ("ping", "pong"):
        home.agent(name, "true", "wake_on: {types: [note], cooldown: 0s}")
    up = Unspawned(home)
    up.look()
    up.emit(to="ping")
    up.look()
    refused = ""
    for _ in range(9):
        for name in up.look(1):
            token, _version = up.fleet.store.get(f"tokens/{up.running()[name]}")
            assert token is not None
            hops, cause = int(str(token["hops"])), str(token["cause"])
            try:
                up.fleet.bus.emit(in_run(name, hops=hops, cause=cause), "note", {"n": "1"})
            except TryAgain as fault:
                refused += str(fault)
            up.over(name)

    assert refused.count("loop limit") == 1
    assert up.fleet.store.head(STREAM) == 1 + 4
    assert up.look(3600) == []
    assert len(up.alerts("loop")) == 1


def test_an_agents_own_events_never_wake_it(up: Unspawned) -> None:
    """Neither a broadcast nor one that it addresses to itself."""
    up.emit(author="typed")
    up.emit(author="called", to="called")

    assert up.look() == []


def test_what_fleet_tells_an_agent_wakes_it_without_any_wake_on(up: Unspawned) -> None:
    """An answer or a reminder, whoever is its author; without a cooldown."""
    for number, name in enumerate(sorted(ALWAYS_WAKE)):
        append(up, type=name, from_agent="deaf", to_agent="deaf")
        assert up.look() == ["deaf"], number
        up.over("deaf")


def test_events_that_come_together_are_one_wake(up: Unspawned) -> None:
    """Whatever comes until the run begins is shown by it, and none of it wakes again."""
    for _ in range(5):
        up.emit()
    up.look()
    run = up.over("typed")

    assert run.events_shown == 5
    assert up.look(3600) == []
    assert up.results("typed") == [("wake:1", "started")]


def test_wakes_begin_a_cooldown_apart(up: Unspawned) -> None:
    """The second waits for the rest of the ten minutes, with all that came meanwhile."""
    up.emit()
    up.look()
    up.over("typed")
    up.clock.advance(60)
    up.emit()

    assert up.look() == []
    assert up.wakes("typed") == [("wake:2", 1, timedelta(minutes=9))]
    up.emit()
    assert up.look(9 * 60 - 1) == []
    assert [name for name, _, _ in up.wakes("typed")] == ["wake:2"]
    assert up.look(1) == ["typed"]
    assert up.over("typed").events_shown == 2


def test_an_event_that_comes_during_a_run_wakes_after_it(up: Unspawned) -> None:
    """The live run was told before; the wake waits for its end, without a record of it."""
    up.emit()
    up.look()
    up.emit()
    assert up.look(1200) == ["typed"]
    first = up.over("typed")

    assert up.look() == ["typed"]
    assert up.over("typed").id != first.id
    assert up.results("typed") == [("wake:1", "started"), ("wake:2", "started")]


def test_an_event_that_another_run_was_shown_wakes_nobody(up: Unspawned) -> None:
    """Consumed in between, or skipped by a person: the wake is closed with the reason."""
    up.emit()
    up.fleet.controls.set("typed", "paused", by="operator", reason="")
    up.look()
    up.fleet.bus.skip(OPERATOR, "typed", "now")
    up.fleet.controls.clear("typed", by="operator")

    assert up.look() == []
    assert up.results("typed") == [("wake:1", "paused"), ("wake:1", "coalesced")]


def test_a_retracted_event_wakes_nobody(up: Unspawned) -> None:
    """Taken back before the look it opens nothing; taken back while its wake waits, no run."""
    first = up.emit()
    take_back(up.fleet.store, up.fleet.cache, first)
    assert up.look() == []
    assert up.fires("typed") == []

    up.fleet.controls.set("typed", "paused", by="operator", reason="")
    second = up.emit()
    up.look()
    take_back(up.fleet.store, up.fleet.cache, second)
    up.fleet.controls.clear("typed", by="operator")
    assert up.look() == []
    assert up.wakes("typed") == []


@pytest.mark.parametrize("held", ["paused", "halted"])
def test_a_wake_waits_for_whatever_holds_its_agent(up: Unspawned, held: str) -> None:
    """It is told once why it waits, and starts when the reason is gone."""
    up.fleet.controls.set("typed", held, by="operator", reason="new list")
    up.emit()
    for _ in range(3):
        assert up.look(60) == []
    up.fleet.controls.clear("typed", by="operator")

    assert up.look() == ["typed"]
    assert up.results("typed") == [("wake:1", held), ("wake:1", "started")]


# Failures and much to read ------------------------------------------------------------------------


def test_a_failed_wake_is_tried_again_until_its_event_is_set_aside(up: Unspawned) -> None:
    """Each attempt comes after the cooldown, none at once; the fifth ends it with a dead letter."""
    up.emit()
    tries = 0
    for _ in range(200):
        if up.look(60):
            tries += 1
            up.over("typed", "crashed")
            assert up.look() == []
    attempts = [fire["attempt"] for fire in up.fires("typed") if fire["result"] == "started"]

    assert attempts == list(range(1, tries + 1))
    assert len(up.fleet.bus.set_aside_for("typed")) == 1
    assert tries == 5
    assert up.wakes("typed") == []


@pytest.mark.parametrize("outcome", ["killed", "render_failed", "auth"])
def test_a_run_that_failed_for_other_reasons_leaves_its_wake_open(
    up: Unspawned, outcome: str
) -> None:
    """Stopped, or without a login: an agent without a schedule is not stuck for ever."""
    up.emit()
    up.look()
    up.over("typed", outcome)

    assert up.wakes("typed") == [("wake:1", 2, timedelta(minutes=10))]


def test_the_rest_of_much_wakes_again_after_the_cooldown(up: Unspawned) -> None:
    """A prompt shows so many events; further wakes bring the others until none waits."""
    for _ in range(120):
        up.emit()
    known = up.fleet.config.agents["typed"]
    shown = []
    while wakes.waits(up.fleet, known):
        assert up.look(600) == ["typed"], shown
        shown.append(up.over("typed").events_shown)

    assert len(shown) > 1
    assert up.wakes("typed") == []
    assert [fire["attempt"] for fire in up.fires("typed")] == [1] * len(shown)


def test_what_follows_from_a_run_may_be_repeated(up: Unspawned) -> None:
    """Whoever settles a run once more opens nothing more."""
    up.emit()
    up.look()
    run = up.over("typed", "crashed")
    known = up.fleet.config.agents["typed"]

    wakes.after(up.fleet, known, run)

    assert len(up.wakes("typed")) == 1


# The runner comes and goes ------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["reload", "restart"])
def test_nothing_old_wakes_a_new_agent(home: Scripted, again: str) -> None:
    """Events before the first runner, or before the agent had its wake_on, wake nobody."""
    up = Unspawned(home)
    up.emit()
    assert up.look() == []
    file = home.root / "agents" / "deaf.yaml"
    before = file.read_text()
    up.emit(to="deaf")
    if again == "reload":
        up.look()
    try:
        file.write_text(before + "wake_on: {types: [note], addressed: true, cooldown: 0s}\n")
        up.reload(home)
        if again == "restart":
            up.restart()
        assert up.look() == []
        up.emit(to="deaf")
        assert up.look() == ["deaf"]
    finally:
        file.write_text(before)


def test_what_came_while_nobody_watched_wakes_once(up: Unspawned) -> None:
    """The next runner goes on where the last one was, and one wake stands for all of it."""
    up.emit()
    up.emit()
    up.restart()

    assert up.look(3600) == ["typed"]
    assert up.over("typed").events_shown == 2


@pytest.mark.parametrize("step", ["open", "start", "end"])
def test_a_runner_that_dies_neither_loses_nor_doubles_a_wake(up: Unspawned, step: str) -> None:
    """Killed after it opened the wake, after the run began, or after it ended: one run in all."""
    up.emit()
    if step == "open":
        for name in up.engine._wakes.look(up.fleet, up.now):
            up.engine._wakes.open(up.fleet, name, up.now)
    else:
        up.look()
    if step == "end":
        up.over("typed")
    up.restart()  # which knows as little of the events as the first one did
    up.look()

    if step != "end":
        up.over("typed")
    assert up.look(3600) == []
    assert [result for _, result in up.results("typed")].count("started") == 1
    assert up.wakes("typed") == []


def test_two_that_look_at_one_event_open_one_wake(up: Unspawned) -> None:
    """Compare-and-set: of two runners one opens the slot, whatever the other believes."""
    slots = Slots(up.fleet.store)

    opened = [slots.open_wake("typed", 7, 0.0, up.now) for _ in range(2)]

    assert opened == [True, False]
    assert [name for name, _, _ in up.wakes("typed")] == ["wake:7"]


def test_a_wake_that_the_store_refuses_holds_nobody_and_is_not_lost(
    up: Unspawned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another agent is woken by the same event; the refused one by the next look that may."""
    real = Slots.open_wake

    def refused(self: Slots, agent: str, *rest: object) -> bool:
        if agent == "called":
            raise LockTimeout("locked", "try again")
        return real(self, agent, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Slots, "open_wake", refused)
        up.emit(to="called")
        up.emit()
        assert up.look() == ["typed"]
        up.look(120)
        up.restart()
        assert up.look() == ["typed"]

    assert up.look() == ["called", "typed"]


def test_looking_costs_one_read_whatever_the_agents(
    up: Unspawned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look without new events reads none; with some it reads them once for all agents."""
    reads: list[object] = []

    def counted(*said: object) -> object:
        reads.append(said)
        return read_kept(*said)  # type: ignore[arg-type]

    monkeypatch.setattr(wakes, "read_kept", counted)
    up.look()
    assert reads == []
    for _ in range(3):
        up.emit()
    up.look()

    assert len(reads) == 1


# Gates and quiet hours ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """An agent with a schedule, a wake and a gate, and one without."""
    home = Scripted(tmp_path_factory.mktemp("gated") / "home", concurrency=1)
    lines = ("wake_on: {types: [note], cooldown: 0s}", "gate: [./worth-it]")
    home.agent("gated", "true", *lines, schedule="{every: 1h}")
    home.agent("free", "true", schedule="{every: 1h}")
    return home


@pytest.fixture
def gate(gated: Scripted) -> Unspawned:
    """Its runner, which has looked once."""
    up = Unspawned(gated)
    up.look()
    return up


def test_a_gate_is_asked_once_for_each_slot_and_delays_nobody(gate: Unspawned) -> None:
    """While it does not answer others start; its yes starts it; the next slot asks again."""
    assert gate.look(3600) == ["free"]
    assert gate.look(1) == ["free"]
    gate.over("free")
    gate.answers["gated"] = ""

    assert gate.look() == ["gated"]
    count = len(gate.asked)
    gate.over("gated")
    assert gate.look() == []
    assert len(gate.asked) == count
    assert gate.look(3600) == ["free"]
    assert len(gate.asked) > count


def test_an_answer_holds_while_its_slot_waits_for_a_place(gate: Unspawned) -> None:
    """A yes is not asked for again at every look."""
    gate.answers["gated"] = ""
    assert len(gate.look(3600)) == 1
    first = len(gate.asked)

    for _ in range(3):
        gate.look(10)

    assert len(gate.asked) == first


def test_a_gate_that_says_no_closes_the_slot(gate: Unspawned) -> None:
    """The record has what it said; the next slot asks again."""
    gate.answers["gated"] = "./worth-it exited with 1: no leads"
    gate.look(3600)

    (fire,) = gate.fires("gated")
    assert (fire["result"], fire["detail"]) == ("gated", "./worth-it exited with 1: no leads")
    assert Slots(gate.fleet.store).open("gated") == []


def test_a_gate_that_says_no_to_a_wake_is_asked_again(gate: Unspawned) -> None:
    """The event still waits: it is told once, asked again after the cooldown, and starts then."""
    gate.answers["gated"] = "./worth-it exited with 1: no leads"
    gate.emit()
    gate.look()
    for _ in range(3):
        gate.look(10)
    asked = len(gate.asked)
    gate.answers["gated"] = ""

    assert gate.look(601) == ["gated"]
    assert asked == 1
    assert gate.results("gated") == [("wake:1", "gated"), ("wake:1", "started")]


def test_a_gate_is_not_asked_for_a_wake_that_is_served(gate: Unspawned) -> None:
    """What was consumed since needs no opinion."""
    gate.emit()
    gate.fleet.bus.skip(OPERATOR, "gated", "now")
    gate.look()

    assert gate.asked == []
    assert gate.results("gated") == [("wake:1", "coalesced")]
