"""What may be posted, by whom, how often; answers, reactions and pins."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.bus import Bus
from fleet.cursors import Cursors
from fleet.errors import NotAllowed, Rejected, TryAgain, Unknown, Usage
from fleet.identity import SYSTEM
from fleet.records import Draft
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import KINDS, MAX_TEXT, Talk, message_json
from people import CONFIG, OPERATOR, in_run, limited

OUTREACH = in_run("outreach")
WATCH = in_run("competitor-watch")


def _texts(talk: Talk, channel: str = "strategy") -> list[str]:
    return [message.text for message in talk.read(OPERATOR, channel)]


def test_a_message_round_trips(talk: Talk) -> None:
    """Any text comes back as it was, and `--json` prints every field."""
    text = "-`$(rm)` \"q\" 'x'\r\n\u2028\u202e é \U0001f600 {{ 7*7 }}\n@file /clear "
    first = talk.post(OUTREACH, "strategy", text)
    answer = talk.post(WATCH, "strategy", "seen", reply_to=first.ref)
    reaction = talk.react(OUTREACH, answer.ref, "agree")

    assert talk.get(OPERATOR, first.ref).text == text
    assert message_json(talk.get(OPERATOR, answer.ref)) == {
        "ref": "strategy#2",
        "seq": 2,
        "id": answer.id,
        "at": answer.at,
        "channel": "strategy",
        "from_agent": "competitor-watch",
        "text": "seen",
        "reply_to": "strategy#1",
        "pinned": False,
        "reactions": [
            {"agent": "outreach", "kind": "agree", "at": reaction.at, "seq": reaction.seq}
        ],
        "retracted": None,
    }


def test_the_author_is_recorded(talk: Talk, store: RamStore) -> None:
    """A run's post names agent and run, a person's who sat at the terminal."""
    talk.post(OUTREACH, "strategy", "a")
    talk.post(OPERATOR, "strategy", "b")

    run, person = store.read("channels/strategy", 0, 2).records
    assert (run.body["from_agent"], run.body["run"]) == ("outreach", "outreach-r1")
    assert (person.body["from_agent"], person.body["run"]) == ("operator", None)
    assert person.body["by"] == OPERATOR.by


@pytest.mark.parametrize("text", ["", " \n\t", "x" * (MAX_TEXT + 1), "é" * MAX_TEXT, "a\ud800"])
def test_what_is_no_message_is_refused(talk: Talk, store: RamStore, text: str) -> None:
    """Blank, too long as UTF-8, or half a surrogate pair: nothing is stored."""
    with pytest.raises(Rejected):
        talk.post(OUTREACH, "strategy", text)

    assert store.head("channels/strategy") == 0


def test_a_message_may_have_its_full_length(talk: Talk) -> None:
    """16 KiB of quotes and newlines pass."""
    text = '"\n' * (MAX_TEXT // 2)

    assert talk.get(OUTREACH, talk.post(OUTREACH, "strategy", text).ref).text == text


def test_only_members_get_in(talk: Talk) -> None:
    """Posting, answering, reading, reacting, pinning and digests ask for membership."""
    ref = talk.post(OUTREACH, "outreach-review", "ours").ref

    for attempt in (
        lambda: talk.post(WATCH, "outreach-review", "x"),
        lambda: talk.post(WATCH, "outreach-review", "x", reply_to=ref),
        lambda: talk.read(WATCH, "outreach-review"),
        lambda: talk.read(WATCH, "outreach-review", thread=ref),
        lambda: talk.get(WATCH, ref),
        lambda: talk.react(WATCH, ref, "agree"),
        lambda: talk.pin(WATCH, ref),
        lambda: talk.unpin(WATCH, ref),
        lambda: talk.carry_pins(WATCH, "outreach-review", 9),
        lambda: talk.digest("competitor-watch", "outreach-review", 0, 10),
    ):
        with pytest.raises(NotAllowed, match="its channels are small, strategy"):
            attempt()


def test_an_operator_goes_anywhere_but_as_an_agent_does_not(talk: Talk) -> None:
    """The operator reads and posts in every channel; `--as AGENT` has that agent's membership."""
    as_watch = type(OPERATOR)("competitor-watch", None, "", agent=False, by=OPERATOR.by)

    talk.post(OPERATOR, "outreach-review", "hello")

    assert _texts(talk, "outreach-review") == ["hello"]
    assert len(talk.channels(OPERATOR)) == 3
    assert [channel.id for channel in talk.channels(WATCH)] == ["small", "strategy"]
    with pytest.raises(NotAllowed):
        talk.post(as_watch, "outreach-review", "x")


def test_unknown_names_are_suggested(talk: Talk) -> None:
    """A channel or message that does not exist is refused, with the nearest channel."""
    with pytest.raises(Unknown, match="did you mean 'strategy'"):
        talk.post(OUTREACH, "strategie", "x")
    for ref in ("strategy#9", "nowhere#1", "../strategy#1"):
        with pytest.raises(Unknown):
            talk.get(OPERATOR, ref)
    for ref in ("strategy#x", "#1", "strategy", f"strategy#{'1' * 26}"):
        with pytest.raises(Usage, match="write it like strategy#412"):
            talk.get(OPERATOR, ref)
    with pytest.raises(Unknown, match="strategy#9"):
        talk.post(OUTREACH, "strategy", "x", reply_to="strategy#9")
    talk.post(OUTREACH, "outreach-review", "x")
    with pytest.raises(Rejected, match="answer it in outreach-review"):
        talk.post(OUTREACH, "strategy", "x", reply_to="outreach-review#1")


def test_the_same_id_is_one_message(talk: Talk, store: RamStore) -> None:
    """A repeated key is the first message, also from many at once; another text is refused."""
    with ThreadPoolExecutor(8) as pool:
        seqs = set(
            pool.map(lambda _: talk.post(OUTREACH, "strategy", "once", key="k").seq, range(16))
        )
    assert seqs == {1}
    assert store.head("channels/strategy") == 1

    with pytest.raises(Rejected):
        talk.post(OUTREACH, "strategy", "twice", key="k")
    with pytest.raises(Rejected):
        talk.post(WATCH, "strategy", "once", key="k")


def test_a_reaction_counts_once(talk: Talk) -> None:
    """One agent's same reaction is one, another kind and another agent are more; no other kinds."""
    ref = talk.post(OUTREACH, "strategy", "x").ref
    for author, kind in [(OUTREACH, "agree"), (OUTREACH, "agree"), (WATCH, "agree")]:
        talk.react(author, ref, kind)
    for kind in KINDS:
        talk.react(OUTREACH, ref, kind)

    found = [(one["agent"], one["kind"]) for one in talk.get(OPERATOR, ref).reactions]
    assert found == [
        ("outreach", "agree"),
        ("competitor-watch", "agree"),
        ("outreach", "disagree"),
        ("outreach", "important"),
    ]
    with pytest.raises(Rejected, match="did you mean 'agree'"):
        talk.react(OUTREACH, ref, "agrees")


def test_a_run_posts_so_much(store: RamStore, cache: RamCache) -> None:
    """A run stops at limits.posts_per_run over all its channels; the next run and people go on."""
    talk = Talk(store, cache, limited(posts_per_run=4), Cursors(store))
    for channel in ("strategy", "outreach-review", "small", "strategy"):
        talk.post(OUTREACH, channel, "x")

    with pytest.raises(TryAgain, match="posts_per_run"):
        talk.post(OUTREACH, "small", "x")
    cache._saved.clear()
    with pytest.raises(TryAgain):
        talk.post(OUTREACH, "small", "x")
    talk.post(in_run("outreach", "r2"), "small", "x")
    talk.post(OPERATOR, "small", "x")


def test_a_retry_at_the_limit_is_answered(store: RamStore, cache: RamCache) -> None:
    """The last post that the limits let in gives its record again when it is repeated."""
    talk = Talk(store, cache, limited(posts_per_run=3, turns_per_thread=1), Cursors(store))
    talk.post(OUTREACH, "small", "x", pin=True)
    talk.post(OUTREACH, "small", "last", reply_to="small#1", pin=True, key="k")
    talk.post(OUTREACH, "small", "last", reply_to="small#1", pin=True, key="k")
    answer = talk.post(WATCH, "strategy", "a")
    talk.post(OUTREACH, "strategy", "b", reply_to=answer.ref, key="b")

    assert talk.post(OUTREACH, "strategy", "b", reply_to=answer.ref, key="b").seq == 2
    assert not store.read("alerts", 0, 9).records


def _answer(talk: Talk, ref: str, turns: int, begin: int = 0) -> str:
    """Two agents answer each other in the thread of `ref`, `turns` times."""
    for turn in range(begin, begin + turns):
        name = ("competitor-watch", "outreach")[turn % 2]
        author = in_run(name, f"{name}-{turn}")
        ref = talk.post(author, "strategy", f"thanks {turn}", reply_to=ref).ref
    return ref


def test_two_agents_cannot_thank_each_other_for_ever(talk: Talk, store: RamStore) -> None:
    """After 6 turns with nothing new a thread's answers are held, with one alert."""
    first = talk.post(OUTREACH, "strategy", "a finding").ref
    last = _answer(talk, first, 6)

    for ref in (last, first):
        with pytest.raises(TryAgain, match="loop limit"):
            _answer(talk, ref, 1, begin=6)
    assert [alert.body["subject"] for alert in store.read("alerts", 0, 9).records] == [first]

    talk.post(in_run("reply-handler"), "strategy", "something else")
    other = talk.post(OUTREACH, "strategy", "another thread").ref
    _answer(talk, other, 2)
    talk.react(WATCH, last, "agree")


def test_a_third_agent_does_not_restart_a_loop(talk: Talk) -> None:
    """The turns of a thread count whoever takes part."""
    last = _answer(talk, talk.post(OUTREACH, "strategy", "a finding").ref, 6)

    with pytest.raises(TryAgain):
        talk.post(in_run("reply-handler"), "strategy", "me too", reply_to=last)


def test_news_from_outside_restarts_a_thread(talk: Talk, store: RamStore, home: object) -> None:
    """An event that no run emitted, or a person's word in the thread, gives the turns anew."""
    from fleet.schemas import Registry

    last = _answer(talk, talk.post(OUTREACH, "strategy", "a finding").ref, 6)
    registry = Registry(home, RamCache())  # type: ignore[arg-type]
    bus = Bus(store, RamCache(), CONFIG, registry, Cursors(store))
    price: dict[str, object] = {"competitor": "c", "newPrice": "1"}

    bus.emit(OUTREACH, "pricing-change", price)
    with pytest.raises(TryAgain):
        _answer(talk, last, 1, begin=6)

    bus.emit(OPERATOR, "pricing-change", price)
    last = _answer(talk, last, 6, begin=6)
    with pytest.raises(TryAgain):
        _answer(talk, last, 1, begin=12)

    last = talk.post(OPERATOR, "strategy", "go on", reply_to=last).ref
    last = _answer(talk, last, 6, begin=12)
    with pytest.raises(TryAgain):
        _answer(talk, last, 1, begin=18)


def test_going_on_oneself_is_no_turn(talk: Talk) -> None:
    """An agent may add to its own thread; only the change of speakers counts."""
    ref = talk.post(OUTREACH, "strategy", "a finding").ref
    for number in range(10):
        ref = talk.post(OUTREACH, "strategy", f"more {number}", reply_to=ref).ref

    assert len(talk.read(OPERATOR, "strategy", thread=ref)) == 11
    _answer(talk, ref, 5)


def test_pins_have_a_limit(talk: Talk) -> None:
    """One pin too many is refused and names the oldest; after unpinning there is room."""
    refs = [talk.post(OUTREACH, "small", str(number)).ref for number in range(3)]
    talk.pin(OUTREACH, refs[1])
    talk.pin(OUTREACH, refs[0])

    with pytest.raises(Rejected, match="fleet unpin small#2"):
        talk.pin(WATCH, refs[2])
    with pytest.raises(Rejected, match="max_pins"):
        talk.post(WATCH, "small", "x", pin=True)
    talk.unpin(WATCH, refs[1])
    talk.pin(WATCH, refs[2])

    assert [message.pinned for message in talk.read(OPERATOR, "small")] == [True, False, True]


def test_pinning_twice_writes_once(talk: Talk, store: RamStore) -> None:
    """Pins and unpins that change nothing write nothing, and all answer with the message."""
    post = talk.post(OUTREACH, "small", "keep me")

    pinned = [talk.pin(OUTREACH, post.ref), talk.pin(WATCH, post.ref)]
    assert store.head("channels/small") == 2
    unpinned = [talk.unpin(OUTREACH, post.ref), talk.unpin(WATCH, post.ref)]
    assert store.head("channels/small") == 3

    assert [(m.ref, m.pinned) for m in pinned] == [(post.ref, True)] * 2
    assert [(m.ref, m.pinned) for m in unpinned] == [(post.ref, False)] * 2


def test_trimming_loses_no_pin(talk: Talk, store: RamStore) -> None:
    """Pins carried forward survive the trimming of their messages, and can be taken back."""
    ref = talk.post(OUTREACH, "small", "keep me", pin=True).ref
    talk.react(WATCH, ref, "important")
    for number in range(9):
        talk.post(OUTREACH, "small", str(number))

    for _ in range(2):
        talk.carry_pins(SYSTEM, "small", 8)
    assert store.head("channels/small") == 12
    before = talk.get(OPERATOR, ref)
    store.trim("channels/small", 8)

    assert talk.get(OPERATOR, ref) == before
    assert [one["agent"] for one in before.reactions] == ["competitor-watch"]
    talk.unpin(OUTREACH, ref)
    with pytest.raises(Unknown):
        talk.get(OPERATOR, ref)


def test_unknown_operations_are_skipped_and_counted(talk: Talk, store: RamStore) -> None:
    """Records of a newer version, or about messages that are not there, break nothing."""
    talk.post(OUTREACH, "strategy", "x")
    for body in (
        {"op": "later", "target": 1},
        {"op": "react", "target": 99, "kind": "agree", "from_agent": "outreach"},
        {"op": "react", "target": 1, "kind": "agree", "from_agent": "outreach"},
        {"op": "react", "target": 1, "kind": "agree", "from_agent": "outreach"},
        {"op": "pin", "target": "x"},
        {"op": "unpin", "target": 99},
    ):
        store.append("channels/strategy", [Draft(dict(body))])

    board = talk.board("strategy")
    assert (board.total, board.unknown, board.pins) == (1, 1, ())
    [message] = talk.read(OPERATOR, "strategy")
    assert (message.text, len(message.reactions)) == ("x", 1)
