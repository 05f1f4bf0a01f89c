"""Set-aside events that a person gives back: to that agent alone, once, counted as nothing new."""

import pytest

from asks.conftest import Asks, Cut
from fleet.alerts import open_ones
from fleet.errors import NotAllowed, Rejected, Unavailable, Unknown, Usage
from people import OPERATOR, in_run
from retracting import take_back

RUNS = ["r1", "r2", "r3", "r4", "r5"]


def set_aside(asks: Asks, number: int = 0, *agents: str) -> str:
    """A price change on which five runs of each of `agents` failed; its reference."""
    event = asks.price(number)
    for agent in agents or ("outreach",):
        assert asks.bus.set_aside(agent, event, 5, RUNS) is not None
    return event.ref


def test_a_dead_letter_comes_back_to_its_agent_alone(asks: Asks) -> None:
    """Retried it waits for that agent again, addressed to it, by its author; the alert closes."""
    ref = set_aside(asks)
    before = asks.shown("outreach")

    again = asks.letters.retry(OPERATOR, "deadletters#1")

    assert before == []
    assert asks.shown("outreach") == [again.seq]
    assert (again.body["to_agent"], again.body["again"]) == ("outreach", ref)
    assert again.body["payload"] == asks.bus.get(ref).body["payload"]
    assert asks.letters.listing() == []
    assert [one.retried for one in asks.letters.listing(everything=True)] == [again.ref]
    assert open_ones(asks.store, asks.cache) == []


def test_it_counts_as_no_new_event(asks: Asks) -> None:
    """Counts of its type, what is newest of it and who announced what stay as they were."""
    set_aside(asks)
    counted = asks.bus.count_since("pricing-change", 0.0)
    latest = [record.seq for record in asks.bus.latest(["pricing-change"])]

    asks.letters.retry(OPERATOR, "1")

    assert asks.bus.count_since("pricing-change", 0.0) == counted == 1
    assert [record.seq for record in asks.bus.latest(["pricing-change"])] == latest


@pytest.mark.parametrize("before", [True, False])
def test_what_was_taken_back_does_not_come_back(asks: Asks, before: bool) -> None:
    """Retracted before, it is refused; retracted after it came back, it waits no longer."""
    event = asks.bus.get(set_aside(asks))
    if before:
        take_back(asks.store, asks.cache, event)
        with pytest.raises(Rejected, match="was retracted: wrong page"):
            asks.letters.retry(OPERATOR, "deadletters#1")
    else:
        asks.letters.retry(OPERATOR, "deadletters#1")
        take_back(asks.store, asks.cache, event)

    assert asks.shown("outreach") == []
    assert asks.bus.lag("outreach", {}) == 0
    assert asks.letters.listing() == []


def test_it_comes_back_once(asks: Asks) -> None:
    """A second word is refused and names the event, also after the first was cut off."""
    set_aside(asks)
    cut = Asks(asks.root)
    cut.letters._store = Cut(asks.store, 2, written=False)
    with pytest.raises(Unavailable):
        cut.letters.retry(OPERATOR, "deadletters#1")

    again = asks.letters.retry(OPERATOR, "deadletters#1")

    assert asks.store.head("events") == again.seq == 2
    with pytest.raises(Rejected, match="came back as events#2"):
        asks.letters.retry(OPERATOR, "deadletters#1")


def test_what_fails_again_is_set_aside_again(asks: Asks) -> None:
    """Its second dead letter names the event that came back, and may come back as well."""
    ref = set_aside(asks)
    again = asks.letters.retry(OPERATOR, "deadletters#1")
    asks.bus.set_aside("outreach", again, 5, RUNS)

    third = asks.letters.retry(OPERATOR, again.ref)

    assert asks.shown("outreach") == [third.seq]
    assert third.body["again"] == ref


def test_a_wrong_word_is_told(asks: Asks) -> None:
    """By a run, without one of that number, of another log, or of several agents: refused."""
    ref = set_aside(asks, 0, "outreach", "reply-handler")
    with pytest.raises(NotAllowed):
        asks.letters.retry(in_run("outreach"), "deadletters#1")
    with pytest.raises(Unknown):
        asks.letters.retry(OPERATOR, "deadletters#3")
    with pytest.raises(Usage, match="like deadletters#3"):
        asks.letters.retry(OPERATOR, "alerts#1")
    with pytest.raises(Usage, match=r"deadletters#1 \(outreach\), deadletters#2 \(reply-handler\)"):
        asks.letters.retry(OPERATOR, ref)
    assert asks.letters.retry(OPERATOR, "deadletters#2").body["to_agent"] == "reply-handler"
    assert [one.agent for one in asks.letters.listing()] == ["outreach"]
    assert [one.subject for one in open_ones(asks.store, asks.cache)] == ["outreach"]
