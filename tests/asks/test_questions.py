"""Questions to a person: one record while open, one answer, one event that tells the agent."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from asks.conftest import Asks, Cut
from fleet.alerts import open_ones
from fleet.bus.events import ALWAYS_WAKE
from fleet.errors import NotAllowed, Rejected, TryAgain, Unavailable, Unknown, Usage
from fleet.questions import MAX_TEXT, MOST_OPEN
from fleet.records import Record
from fleet.retractions import Retractions
from people import CONFIG, OPERATOR, an_agent, in_run
from retracting import target_of

YES_NO = ["yes", "no"]


def ask(asks: Asks, text: str = "mail these 300?", agent: str = "outreach", **more) -> Record:
    """A question of an agent."""
    return asks.questions.ask(in_run(agent, **more), text, YES_NO)


def answer(asks: Asks, ref: str, option: str = "yes", **more) -> Record:
    """A person's answer, not told yet."""
    return asks.questions.answer(OPERATOR, asks.questions.get(ref), option, **more)


def test_a_question_waits_and_raises_an_alert(asks: Asks) -> None:
    """It is stored with who asks and what can be answered, and a person is told what to type."""
    asked = ask(asks)

    (question,) = asks.questions.open()
    (alert,) = open_ones(asks.store, asks.cache)

    assert asked.ref == "questions#1"
    assert (question.agent, question.text, question.options) == (
        "outreach", "mail these 300?", YES_NO,
    )  # fmt: skip
    assert question.record.body["run"] == "outreach-r1"
    assert (alert.kind, alert.subject) == ("question", "questions#1")
    assert alert.fix == "fleet answer questions#1 'yes|no'"  # pasted, it chooses nothing
    with pytest.raises(Usage, match="is no option"):
        answer(asks, asked.ref, "yes|no")
    assert not alert.needs_a_person


def test_asked_again_it_is_the_same_one_while_it_is_open(asks: Asks) -> None:
    """Agents forget: of ten copies in as many runs there is one, and after its answer a new one."""
    first = ask(asks)
    again = [ask(asks, "mail these 300? \n", run=f"r{number}") for number in range(9)]
    others = [
        ask(asks, agent="reply-handler"),
        ask(asks, "mail these 400?"),
        asks.questions.ask(in_run("outreach"), "mail these 300?", ["yes", "no", "later"]),
    ]

    answer(asks, first.ref)
    anew = ask(asks)
    Retractions(asks.store, asks.cache).retract([target_of(anew)], by="operator", reason="x")
    third = ask(asks)

    assert {record.seq for record in again} == {first.seq}
    assert [record.seq for record in others] == [2, 3, 4]
    assert len({first.seq, anew.seq, third.seq}) == 3
    assert len(asks.alerts()) == 6


def test_asked_twice_at_once_it_is_one(asks: Asks) -> None:
    """Two calls that both find none open write one record."""
    with ThreadPoolExecutor(8) as pool:
        refs = set(pool.map(lambda _: ask(asks).ref, range(16)))

    assert refs == {"questions#1"}
    assert asks.store.head("questions") == 1


def test_what_is_no_question_is_refused(asks: Asks) -> None:
    """No text, one option, options that differ in case only, too much: with a line that works."""
    for options in ([], ["yes"], ["yes", "Yes"], ["a", ""], ["a", "b" * 65], list("abcdefghijk")):
        with pytest.raises(Usage, match="--options yes,no"):
            asks.questions.ask(in_run("outreach"), "what?", options)
    with pytest.raises(Usage, match="needs a text"):
        ask(asks, " \n")
    with pytest.raises(Rejected):
        ask(asks, "é" * (MAX_TEXT // 2 + 1))
    with pytest.raises(Usage, match="--as AGENT"):
        asks.questions.ask(OPERATOR, "what?", YES_NO)
    for number in range(MOST_OPEN):
        ask(asks, f"what {number}?")
    with pytest.raises(TryAgain, match="20 questions of outreach are open"):
        ask(asks)
    assert ask(asks, "what 3?").seq == 4


def test_the_answer_reaches_the_agent_as_an_event(asks: Asks) -> None:
    """One addressed event says question, answer and note, by the person, and closes the alert."""
    cause = asks.price()
    asks.questions.ask(in_run("competitor-watch", cause=cause.ref), "buy the report?", YES_NO)

    answered = answer(asks, "1", "YES", note="the short one")
    (event,) = asks.questions.tell()

    assert answered.body["option"] == "yes"
    assert asks.shown("competitor-watch") == [event.seq]
    assert event.body["payload"] == {
        "question": "questions#1",
        "text": "buy the report?",
        "answer": "yes",
        "note": "the short one",
    }
    assert (event.body["from_agent"], event.body["hops"]) == ("operator", 0)
    assert event.body["cause"] == cause.ref
    assert event.body["type"] in ALWAYS_WAKE
    assert open_ones(asks.store, asks.cache) == []
    assert asks.questions.tell() == asks.questions.open() == []


def test_a_question_is_answered_once(asks: Asks) -> None:
    """The second answer is refused and says who gave which and when, also of two at once."""
    ask(asks)
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(answer, asks, "questions#1", option) for option in YES_NO * 4]
    won = [one.result() for one in tries if one.exception() is None]
    lost = [one.exception() for one in tries if one.exception() is not None]

    assert len(won) == 1
    assert len(lost) == 7
    said = f"questions#1 is answered: {won[0].body['option']} by operator, 2027-01-15 08:00"
    assert {type(one) for one in lost} == {Rejected}
    assert {one.what for one in lost} == {said}
    assert len(asks.questions.tell()) == 1


def test_who_may_answer_what(asks: Asks) -> None:
    """A run answers nothing; an option must be one of the question's; one taken back is closed."""
    bad = ask(asks)
    question = asks.questions.get(bad.ref)
    with pytest.raises(NotAllowed):
        asks.questions.answer(in_run("outreach"), question, "yes")
    with pytest.raises(
        Usage, match=r"fleet answer questions#1 yes, or fleet answer questions#1 no"
    ):
        answer(asks, bad.ref, "maybe")
    with pytest.raises(Unknown):
        asks.questions.get("questions#2")
    with pytest.raises(Usage):
        asks.questions.get("events#1")
    Retractions(asks.store, asks.cache).retract([target_of(bad)], by="operator", reason="a slip")
    with pytest.raises(Rejected, match="was retracted: a slip"):
        answer(asks, bad.ref)
    assert asks.questions.open() == []


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_telling_that_is_killed_is_finished_by_the_next(asks: Asks, at: int, written: bool) -> None:
    """Killed before or after any of its writes, the agent is told once, and the alert is closed."""
    ask(asks)
    answer(asks, "questions#1")

    with pytest.raises(Unavailable):
        asks.with_questions(store=Cut(asks.store, at, written=written)).tell()
    asks.with_questions().tell()

    assert [event.key for event in asks.log("events")] == ["questions#1"]
    assert open_ones(asks.store, asks.cache) == []
    assert asks.questions.tell() == []


def test_an_agent_that_is_called_otherwise_now_is_told(asks: Asks) -> None:
    """The answer goes to the agent under its present name."""
    ask(asks)
    answer(asks, "questions#1")
    agents = {"mailer": an_agent("mailer")._replace(formerly=("outreach",))}

    (event,) = asks.with_questions(CONFIG._replace(agents=agents)).tell()

    assert event.body["to_agent"] == "mailer"
