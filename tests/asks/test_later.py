"""Events that wait for their time: what may wait, and that each becomes one event, once."""

import pytest

from asks.conftest import Asks, Cut
from fleet.bus import later
from fleet.bus.events import ALWAYS_WAKE
from fleet.bus.later import LONGEST, MOST_WAITING
from fleet.errors import NotAllowed, Rejected, TryAgain, Unavailable, Unknown, Usage
from fleet.records import Draft
from fleet.retractions import Retractions
from people import CONFIG, OPERATOR, an_agent, in_run, limited
from retracting import target_of

PRICE: dict[str, object] = {"competitor": "cursor", "newPrice": "20"}
HOUR = 3600.0


def wait(asks: Asks, hours: float = 1.0, *, run: str = "", **more: object):
    """A price change by outreach that is due in so many hours."""
    author = in_run("outreach", run)
    return asks.later.emit(author, "pricing-change", PRICE, due=asks.ahead(hours * HOUR), **more)


def test_an_event_comes_when_it_is_due_and_not_before(asks: Asks) -> None:
    """Until its moment nobody is shown it; then it is an event of its author and its run."""
    cause = asks.price(0)
    woken = in_run("outreach", hops=2, cause=cause.ref)
    asks.later.emit(woken, "pricing-change", PRICE, due=asks.ahead(HOUR), to="reply-handler")

    early = asks.later.deliver()
    asks.clock.advance(HOUR)
    (event,) = asks.later.deliver()

    assert early == []
    assert asks.shown("reply-handler") == [event.seq]
    assert event.key == "later#1"
    assert {name: event.body[name] for name in ("op", "type", "from_agent", "to_agent")} == {
        "op": "event",
        "type": "pricing-change",
        "from_agent": "outreach",
        "to_agent": "reply-handler",
    }
    assert {name: event.body[name] for name in ("payload", "cause", "hops", "run")} == {
        "payload": PRICE,
        "cause": cause.ref,
        "hops": 3,
        "run": "outreach-r1",
    }
    assert "due" not in event.body
    assert asks.later.deliver() == asks.later.waiting() == []


def test_what_is_due_comes_in_the_order_of_its_time(asks: Asks) -> None:
    """Of several that are due the one that was due first comes first, and times to come wait."""
    for hours in (3, 1, 2, 9):
        wait(asks, hours)

    asks.clock.advance(4 * HOUR)

    assert [event.key for event in asks.later.deliver()] == ["later#2", "later#3", "later#1"]
    assert [one.seq for one in asks.later.waiting()] == [4]
    assert asks.later.next_due() == asks.ahead(5 * HOUR)


@pytest.mark.parametrize("step", [-30 * 86400.0, 30 * 86400.0])
def test_a_clock_that_is_set_changes_only_when(asks: Asks, step: float) -> None:
    """Set back, it waits until the clock shows its moment again; set forward, it comes at once."""
    wait(asks)

    asks.clock.step_wall(step)
    at_once = asks.later.deliver()
    asks.clock.step_wall(-step)
    asks.clock.advance(HOUR)

    assert len(at_once) == (step > 0)
    assert len(at_once) + len(asks.later.deliver()) == 1


def test_what_is_no_event_now_does_not_wait(asks: Asks) -> None:
    """Schema, addressee, cause, run's limits, hops and moment are judged when it is said."""
    tight = asks.with_later(limited(hops=1, events_per_run=1))
    due = asks.ahead(HOUR)
    outreach, deep = in_run("outreach"), in_run("outreach", "deep", hops=1)
    tight.emit(outreach, "pricing-change", PRICE, due=due)

    def refused(error, *args, later=asks.later, author=outreach, when=due, **more):
        with pytest.raises(error) as fault:
            later.emit(author, *args, due=when, **more)
        return str(fault.value)

    assert "newPrice=…" in refused(Rejected, "pricing-change", {"competitor": "x"})
    assert "'pricing-change'" in refused(Unknown, "pricing-chang", PRICE)
    assert "nobody" in refused(Unknown, "pricing-change", PRICE, to="nobody")
    refused(Unknown, "pricing-change", PRICE, cause="events#9")
    assert "limits.events_per_run" in refused(TryAgain, "pricing-change", PRICE, later=tight)
    assert "loop limit" in refused(TryAgain, "pricing-change", PRICE, later=tight, author=deep)
    assert "not ahead" in refused(Usage, "pricing-change", PRICE, when=asks.clock.wall)
    too_far = asks.ahead(LONGEST + 1)
    assert "400 days" in refused(Usage, "pricing-change", PRICE, when=too_far)
    assert asks.store.head("later") == 1


def test_a_type_that_takes_a_claim_cannot_wait(asks: Asks) -> None:
    """Nobody can hold its key until then: it is refused, with what to do."""
    payload: dict[str, object] = {"email": "a@b.example", "method": "mail"}
    with pytest.raises(Rejected, match=r"takes the claim lead:\{email\}") as refused:
        asks.later.emit(OPERATOR, "contact-made", payload, due=asks.ahead(HOUR))

    assert "fleet remind" in refused.value.fix


def test_the_same_id_is_one_event(asks: Asks) -> None:
    """Said twice under one id it waits once, also when there is no room for more."""
    first = wait(asks, 1, key="K")
    for number in range(MOST_WAITING - 1):
        asks.later.remind(in_run("outreach"), f"{number}", due=asks.ahead(HOUR))

    assert wait(asks, 2, key="K") == first
    with pytest.raises(TryAgain, match="100 events of outreach wait"):
        wait(asks)
    with pytest.raises(Rejected, match="used for another record"):
        asks.later.emit(OPERATOR, "pricing-change", PRICE, due=asks.ahead(9), key="K")
    assert asks.later.remind(in_run("reply-handler"), "me", due=asks.ahead(9)).seq == 101


@pytest.mark.parametrize("key", ["later#1", "questions#1", "deadletters#3"])
def test_no_id_takes_the_place_of_a_delivery(asks: Asks, key: str) -> None:
    """Ids by which fleet makes an event once are refused to everybody else."""
    with pytest.raises(Rejected, match="fleet's own"):
        asks.bus.emit(OPERATOR, "pricing-change", PRICE, key=key)


def test_a_reminder_comes_to_who_noted_it(asks: Asks) -> None:
    """It is addressed, whatever its interests, wakes it, and makes no chain longer or shorter."""
    asks.later.remind(in_run("competitor-watch", hops=7), "look at Cursor", due=asks.ahead(HOUR))

    asks.clock.advance(HOUR)
    (event,) = asks.later.deliver()

    assert asks.shown("competitor-watch") == [event.seq]
    assert (event.body["type"], event.body["hops"]) == ("reminder-due", 7)
    assert event.body["type"] in ALWAYS_WAKE
    assert event.body["payload"]["text"] == "look at Cursor"
    assert event.body["payload"]["noted"] == asks.log("later")[0].at


def test_only_an_agent_reminds_itself(asks: Asks) -> None:
    """A person has no next run; nobody emits a type of fleet's own, at once or later."""
    with pytest.raises(Usage, match="an agent's to itself"):
        asks.later.remind(OPERATOR, "x", due=asks.ahead(9))
    with pytest.raises(NotAllowed, match="fleet remind 3d"):
        asks.bus.emit(in_run("outreach"), "reminder-due", {"text": "x", "noted": "y"})
    said: dict[str, object] = {"question": "questions#1", "text": "x", "answer": "yes"}
    with pytest.raises(NotAllowed, match="fleet answer"):
        asks.later.emit(in_run("outreach"), "question-answered", said, due=asks.ahead(9))


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("at", [1, 2])
def test_a_delivery_that_is_killed_is_finished_by_the_next(
    asks: Asks, at: int, written: bool
) -> None:
    """Killed before or after any of its writes, the next one makes of two events two."""
    wait(asks)
    asks.later.remind(in_run("outreach"), "look", due=asks.ahead(HOUR))
    asks.clock.advance(HOUR)

    with pytest.raises(Unavailable):
        asks.with_later(store=Cut(asks.store, at, written=written)).deliver()
    asks.with_later().deliver()

    assert [event.key for event in asks.log("events")] == ["later#1", "later#2"]
    assert asks.later.next_due() is None


def test_one_that_cannot_come_holds_up_no_other(
    asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a record of old has its key, or its line is damaged, it is told; the others come."""
    for _ in range(4):
        wait(asks)
    before: dict[str, object] = {"op": "event", "type": "x", "from_agent": "a", "run": None}
    asks.store.append("events", [Draft({**before, "to_agent": None}, key="later#2")])
    read = later.record_at
    damaged = ("later", 3)
    monkeypatch.setattr(later, "record_at", lambda s, *at: None if at == damaged else read(s, *at))
    asks.clock.advance(HOUR)

    made = asks.later.deliver()

    assert [event.key for event in made] == ["later#1", "later#4"]
    assert asks.alerts() == ["lost-later", "lost-later"]
    assert asks.later.next_due() is None


def test_an_agent_that_is_called_otherwise_now_gets_it(asks: Asks) -> None:
    """Addressed under its former name it comes to the agent; one that is gone raises an alert."""
    wait(asks, to="reply-handler")
    agents = dict(CONFIG.agents)
    del agents["reply-handler"]
    renamed = an_agent("answers")._replace(formerly=("reply-handler",))
    asks.clock.advance(HOUR)
    named = CONFIG._replace(agents=agents | {"answers": renamed})
    (event,) = asks.with_later(named).deliver()
    wait(asks, to="reply-handler")
    asks.clock.advance(HOUR)
    (lost,) = asks.with_later(CONFIG._replace(agents=agents)).deliver()

    assert event.body["to_agent"] == "answers"
    assert lost.body["to_agent"] == "reply-handler"
    assert asks.alerts() == ["no-addressee"]


def test_a_type_that_changed_or_went_does_not_matter(asks: Asks) -> None:
    """What was let in comes as it was let in: stored events are never checked again."""
    wait(asks, to="reply-handler")
    (asks.root / "schemas" / "pricing-change.json").unlink()

    asks.clock.advance(HOUR)

    assert len(asks.with_later().deliver()) == 1


def test_what_was_taken_back_never_comes(asks: Asks) -> None:
    """It leaves room at once, becomes no event when it is due, and nothing is left of it."""
    bad = wait(asks)
    Retractions(asks.store, asks.cache).retract([target_of(bad)], by="operator", reason="wrong")

    assert asks.later.waiting() == []
    asks.clock.advance(HOUR)
    assert asks.later.deliver() == []
    assert asks.store.head("events") == 0
    assert asks.later.next_due() is None


@pytest.mark.parametrize("killed", [False, True])
def test_what_is_taken_back_while_it_is_delivered_is_taken_back(asks: Asks, killed: bool) -> None:
    """A retraction between the look and the event, or before a killed delivery goes on, counts."""
    bad = wait(asks, to="reply-handler")
    asks.clock.advance(HOUR)
    taken = Retractions(asks.store, asks.cache)

    class Between(Cut):
        def append(self, stream, records, *, guard=None):
            made = super().append(stream, records, guard=guard)
            if stream == "events":
                taken.retract([target_of(bad)], by="operator", reason="wrong page")
                if killed:
                    raise Unavailable("killed")
            return made

    later = asks.with_later(store=Between(asks.store, 99, written=False))
    if killed:
        with pytest.raises(Unavailable):
            later.deliver()
        later = asks.later
    later.deliver()

    assert asks.shown("reply-handler") == []
    assert taken.reason_of("events", 1) == "wrong page"
    assert asks.later.deliver() == []


def test_an_id_stands_for_one_delay(asks: Asks) -> None:
    """P5: the same delay said again later is the same record; another one, or none, is refused."""
    author = in_run("outreach")
    first = asks.later.remind(author, "call", due=asks.ahead(3 * HOUR), when="3h", key="R")
    asks.clock.advance(60)

    assert asks.later.remind(author, "call", due=asks.ahead(3 * HOUR), when="3h", key="R") == first
    with pytest.raises(Rejected, match="used for another record"):
        asks.later.remind(author, "call", due=asks.ahead(HOUR), when="1h", key="R")
    wait(asks, key="Z")
    asks.bus.emit(author, "pricing-change", PRICE, key="N")
    with pytest.raises(Rejected, match="used for another record"):
        asks.bus.emit(author, "pricing-change", PRICE, key="Z")
    with pytest.raises(Rejected, match="used for another record"):
        wait(asks, key="N")
