"""F9: agents that answer each other with nothing new are held, and nobody else is."""

from collections.abc import Iterator
from itertools import count, cycle, islice

import pytest

from calls import Call, Done, call, many
from fleet.identity import issue_token
from fleet.wiring import open_fleet
from fleets import Scripted

_RUNS = count(1)


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """Three agents and a channel for all of them."""
    for name in ("alice", "bob", "carol"):
        scripted.agent(name, "true")
    return scripted


def by(home: Scripted, agent: str, *argv: str) -> Call:
    """One call of a new run of `agent`, as its shell would make it."""
    run = f"{agent}-{next(_RUNS)}"
    token = issue_token(open_fleet(home.root, env={}).store, run, agent, "", 600.0, 0)
    return call(*argv, FLEET_RUN_TOKEN=token, FLEET_RUN_ID=run)


def person(*argv: str) -> Call:
    """One call at the terminal."""
    return call(*argv)


def done(home: Scripted, *calls: Call) -> list[Done]:
    """What each of them answered."""
    return many(home.root, calls, {"FLEET_HOME": str(home.root)})


def codes(home: Scripted, *calls: Call) -> list[int]:
    """The exit codes."""
    return [one.code for one in done(home, *calls)]


def pingpong(home: Scripted, turns: int) -> Iterator[Call]:
    """Two agents that thank each other by fresh direct messages, the first one to bob."""
    pairs = islice(cycle([("alice", "bob"), ("bob", "alice")]), turns)
    return (by(home, one, "send", other, f"thanks, {other}!") for one, other in pairs)


def alerts(home: Scripted) -> list[str]:
    """What the operator is told about loops."""
    found = home.fleet.store.read("alerts", 0, 50).records
    return [str(one.body["subject"]) for one in found if one.body["kind"] == "loop"]


def test_fresh_direct_messages_are_one_thread(home: Scripted) -> None:
    """F9: without any reply-to the seventh turn of two agents is exit 75, with one alert."""
    answers = done(home, *pingpong(home, 9))

    assert [one.code for one in answers] == [0] * 6 + [75] * 3
    assert "loop limit" in answers[6].err
    assert "alert" in answers[6].err
    assert alerts(home) == ["alice+bob#1"]
    assert home.fleet.store.head("channels/alice+bob") == 6


def test_what_is_genuine_goes_on_elsewhere(home: Scripted) -> None:
    """F9: the two may still post, react, write to others and be written to."""
    done(home, *pingpong(home, 7))

    assert (
        codes(
            home,
            by(home, "alice", "post", "strategy", "leads from the fair are in"),
            by(home, "bob", "reply", "strategy#1", "taking them"),
            by(home, "alice", "send", "carol", "could you look at lead 7?"),
            by(home, "carol", "send", "alice", "it is cold"),
            by(home, "alice", "send", "operator", "who owns lead 7?"),
            by(home, "alice", "react", "alice+bob#6", "agree"),
            by(home, "bob", "emit", "note", "n=1", "--to", "alice"),
        )
        == [0] * 7
    )


@pytest.mark.parametrize("news", ["event", "word", "as an agent"])
def test_news_from_outside_lets_them_go_on(home: Scripted, news: str) -> None:
    """F9: an event that no run emitted, or a person's word there, gives six turns anew."""
    says = {
        "event": person("emit", "note", "n=1"),
        "word": person("reply", "alice+bob#6", "enough of thanks: who takes lead 7?"),
        "as an agent": person("--as", "bob", "send", "alice", "stop it"),
    }[news]
    done(home, *pingpong(home, 6))

    again = codes(
        home, by(home, "alice", "send", "bob", "x"), says, *pingpong(home, 6),
        by(home, "alice", "send", "bob", "x"),
    )  # fmt: skip

    assert again == [75, 0, *[0] * 6, 75]
    assert len(alerts(home)) == 2


def test_events_of_the_loop_itself_are_no_news(home: Scripted) -> None:
    """F9: what runs emit does not count as news, be it by the two or by a third."""
    done(home, *pingpong(home, 6))

    assert codes(
        home,
        by(home, "bob", "emit", "note", "n=1"),
        by(home, "carol", "emit", "note", "n=2", "--to", "alice"),
        by(home, "carol", "post", "strategy", "x"),
        by(home, "alice", "send", "bob", "x"),
    ) == [0, 0, 0, 75]


def test_a_ring_of_three_is_a_loop_too(home: Scripted) -> None:
    """F9: alice to bob, bob to carol, carol to alice: no pair answers, and yet it ends."""
    ring = [("alice", "bob"), ("bob", "carol"), ("carol", "alice")] * 6
    calls = [by(home, one, "send", other, "pass it on") for one, other in ring]

    more = [by(home, one, "send", other, "once more") for one, other in ring[:3]]
    ended = codes(home, *calls, *more)

    assert ended == [0] * 18 + [75] * 3
    assert sorted(alerts(home)) == ["alice+bob#1", "alice+carol#1", "bob+carol#1"]


def test_messages_to_one_who_never_answers_are_no_loop(home: Scripted) -> None:
    """F9: an agent that reports to another each day, and hears nothing, is not held."""
    reports = [by(home, "alice", "send", "bob", f"day {n}: all well") for n in range(12)]

    assert codes(home, *reports) == [0] * 12


def test_a_loop_of_messages_and_events_ends(home: Scripted) -> None:
    """F9: bob answers alice's events by messages: the messages count although she sends none."""
    calls: list[Call] = []
    for n in range(8):
        calls.append(by(home, "alice", "emit", "note", f"n={n}", "--to", "bob"))
        calls.append(by(home, "bob", "send", "alice", f"got {n}"))

    ended = codes(home, *calls)

    assert ended[::2] == [0] * 8
    assert ended[1::2] == [0] * 6 + [75] * 2


def test_posts_that_speak_to_each_other_by_name_are_a_thread(home: Scripted) -> None:
    """F9: in a channel of many, "@bob" and "alice:" answered by name are turns without reply-to."""
    words = cycle([("alice", "thanks a lot. bob: great work"), ("bob", "@alice thank you!")])
    calls = [by(home, name, "post", "strategy", text) for name, text in islice(words, 8)]

    ended = codes(home, *calls, by(home, "bob", "post", "strategy", "lead 7 has signed"))

    assert ended == [0] * 7 + [75, 0]


def test_posts_that_speak_to_nobody_are_never_held(home: Scripted) -> None:
    """F9: two agents that post their findings in turn, naming each other's work, are no loop."""
    texts = cycle([("alice", "bob mailed 12 leads"), ("bob", "alice found 3: see alice's list")])
    calls = [by(home, name, "post", "strategy", text) for name, text in islice(texts, 16)]

    assert set(codes(home, *calls)) == {0}
    assert alerts(home) == []
