"""Direct messages: who may write to whom, who gets in, and what waits for a reader."""

from typing import TYPE_CHECKING

import pytest

from fleet.config.model import HomeConfig
from fleet.cursors import Cursors
from fleet.errors import NotAllowed, Rejected, TryAgain, Unknown
from fleet.records import Draft
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Digest, Talk
from people import CONFIG, OPERATOR, in_run, limited

if TYPE_CHECKING:
    from collections.abc import Callable

OUTREACH = in_run("outreach")
HANDLER = in_run("reply-handler")
WATCH = in_run("competitor-watch")
PAIR = "outreach+reply-handler"


def opened(store: RamStore, cache: RamCache, config: HomeConfig) -> Talk:
    """The channels of another config over the same store."""
    return Talk(store, cache, config, Cursors(store))


def _inbox(talk: Talk, agent: str, places: dict[str, int], limit: int) -> list[Digest]:
    return talk.inbox(agent, [one.id for one in talk.directs(in_run(agent))], places, limit)


def test_the_two_share_one_channel_whoever_writes_first(talk: Talk, store: RamStore) -> None:
    """Both directions, answers and reactions are one log with the names in order."""
    first = talk.send(HANDLER, "outreach", "is sarah yours?")
    second = talk.send(OUTREACH, "reply-handler", "yes")
    third = talk.post(HANDLER, PAIR, "good", reply_to=second.ref)
    talk.react(OUTREACH, third.ref, "agree")

    assert [one.ref for one in (first, second, third)] == [f"{PAIR}#{n}" for n in (1, 2, 3)]
    assert [one.text for one in talk.read(OUTREACH, PAIR)] == ["is sarah yours?", "yes", "good"]
    assert [one.text for one in talk.read(HANDLER, PAIR, thread=third.ref)] == ["yes", "good"]
    assert store.streams("channels/", "", 9) == [f"channels/{PAIR}"]


def test_a_person_and_an_agent_write_to_each_other(talk: Talk) -> None:
    """`operator` is a person at the terminal; other agents get no sight of it."""
    talk.send(OPERATOR, "outreach", "stop at 20 mails")
    talk.send(OUTREACH, "operator", "done")

    assert [one.from_agent for one in talk.read(OPERATOR, "operator+outreach")] == [
        "operator",
        "outreach",
    ]
    with pytest.raises(NotAllowed):
        talk.read(HANDLER, "operator+outreach")


@pytest.mark.parametrize(
    ("to", "fault", "fix"),
    [
        ("outreach", Rejected, "fleet report TEXT --next TEXT"),
        ("outreech", Unknown, "did you mean 'outreach'"),
        ("nobody-at-all", Unknown, "there are competitor-watch, operator, outreach, reply-handler"),
        ("all", Unknown, "fleet channels"),
        ("fleet", Unknown, "fleet channels"),
        ("human", Unknown, "fleet send operator"),
        ("system", Unknown, "fleet send operator"),
        ("strategy", Unknown, "fleet post strategy"),
        ("../outreach", Unknown, "outreach"),
        (PAIR, Unknown, "outreach"),
        ("", Unknown, "there are"),
    ],
)
def test_what_is_nobody_is_refused(
    talk: Talk, store: RamStore, to: str, fault: type[Exception], fix: str
) -> None:
    """Oneself, an unknown or reserved name and a channel are refused, with what to do instead."""
    with pytest.raises(fault, match=fix):
        talk.send(OUTREACH, to, "x")

    assert store.streams("", "", 9) == []


def test_a_person_does_not_write_to_himself(talk: Talk) -> None:
    """The operator has no channel with the operator; acting as an agent he may be written to."""
    with pytest.raises(Rejected):
        talk.send(OPERATOR, "operator", "x")
    as_watch = OPERATOR._replace(name="competitor-watch")

    assert talk.send(as_watch, "operator", "x").ref == "competitor-watch+operator#1"


def test_only_the_two_get_in(talk: Talk) -> None:
    """A third agent is refused in every path, whether something was said or not."""
    ways: list[Callable[[], object]] = [
        lambda: talk.post(WATCH, PAIR, "x"),
        lambda: talk.read(WATCH, PAIR),
        lambda: talk.get(WATCH, f"{PAIR}#1"),
        lambda: talk.react(WATCH, f"{PAIR}#1", "agree"),
        lambda: talk.pin(WATCH, f"{PAIR}#1"),
        lambda: talk.unpin(WATCH, f"{PAIR}#1"),
        lambda: talk.post(WATCH, PAIR, "x", reply_to=f"{PAIR}#1"),
        lambda: talk.carry_pins(WATCH, PAIR, 9),
        lambda: talk.digest("competitor-watch", PAIR, 0, 10),
    ]
    said = []
    for _ in range(2):
        for way in ways:
            with pytest.raises(NotAllowed, match=f"no member of .*{PAIR[-5:]}") as refused:
                way()
            said.append(str(refused.value))
        talk.send(OUTREACH, "reply-handler", "secret", key="once")

    assert said[: len(ways)] == said[len(ways) :]
    assert _inbox(talk, "competitor-watch", {}, 9) == []
    assert talk.directs(WATCH) == []


def test_a_person_reads_and_writes_everywhere(talk: Talk) -> None:
    """The operator may read what two agents tell each other, and step in."""
    talk.send(OUTREACH, "reply-handler", "a")
    talk.post(OPERATOR, PAIR, "enough, both of you")

    assert len(talk.read(OPERATOR, PAIR)) == 2
    assert [one.unread for one in _inbox(talk, "outreach", {}, 9)] == [1]
    assert talk.directs(OPERATOR) == []  # it is not his own


def test_channels_of_two_are_listed_once_something_was_said(talk: Talk) -> None:
    """They are not among the channels with a file, and each of the two sees the same one."""
    assert talk.directs(OUTREACH) == []
    talk.send(OUTREACH, "reply-handler", "a")
    talk.send(OPERATOR, "outreach", "b")

    assert [one.id for one in talk.directs(OUTREACH)] == ["operator+outreach", PAIR]
    assert [one.id for one in talk.directs(HANDLER)] == [PAIR]
    assert PAIR not in [one.id for one in talk.channels(OUTREACH)]


def test_an_inbox_is_what_others_wrote_since(talk: Talk) -> None:
    """Own messages do not count, read ones neither; of many the newest are in hand, all counted."""
    for number in range(5):
        talk.send(HANDLER, "outreach", f"h{number}")
    talk.send(OUTREACH, "reply-handler", "mine")
    talk.send(OPERATOR, "outreach", "person")

    unread = _inbox(talk, "outreach", {PAIR: 1}, 2)

    assert [(one.channel, one.unread, one.not_shown) for one in unread] == [
        ("operator+outreach", 1, 0),
        (PAIR, 4, 2),
    ]
    assert [m.text for one in unread for m in one.messages] == ["person", "h3", "h4"]
    assert _inbox(talk, "outreach", {PAIR: 5, "operator+outreach": 1}, 9) == []


def test_the_same_id_is_one_message(talk: Talk) -> None:
    """A repeated key is the first message again, another text under it is refused."""
    first = talk.send(OUTREACH, "reply-handler", "a", key="k")

    assert talk.send(OUTREACH, "reply-handler", "a", key="k").seq == first.seq
    with pytest.raises(Rejected):
        talk.send(OUTREACH, "reply-handler", "b", key="k")


def test_direct_messages_count_as_posts(store: RamStore, cache: RamCache) -> None:
    """limits.posts_per_run is for channels of many and of two together."""
    talk = opened(store, cache, limited(posts_per_run=3))
    talk.post(OUTREACH, "strategy", "x")
    talk.send(OUTREACH, "reply-handler", "x")
    talk.send(OUTREACH, "operator", "x")

    for attempt in (
        lambda: talk.send(OUTREACH, "competitor-watch", "x"),
        lambda: talk.post(OUTREACH, "small", "x"),
    ):
        with pytest.raises(TryAgain, match="posts_per_run"):
            attempt()
    talk.send(in_run("outreach", "r2"), "reply-handler", "x")


def test_what_was_said_outlives_one_of_the_two(store: RamStore, cache: RamCache) -> None:
    """When an agent is taken away the other still reads, and is told that nobody would read him."""
    opened(store, cache, CONFIG).send(HANDLER, "outreach", "a")
    agents = {name: one for name, one in CONFIG.agents.items() if name != "reply-handler"}
    talk = opened(store, cache, CONFIG._replace(agents=agents))

    assert [one.text for one in talk.read(OUTREACH, PAIR)] == ["a"]
    for attempt in (
        lambda: talk.post(OUTREACH, PAIR, "x", reply_to=f"{PAIR}#1"),
        lambda: talk.send(OUTREACH, "reply-handler", "x"),
    ):
        with pytest.raises(Unknown, match="reply-handler"):
            attempt()


def test_foreign_logs_are_no_channels_of_two(talk: Talk, store: RamStore) -> None:
    """A log whose name has no two in it is not taken for one."""
    for name in ("outreach", "+outreach", "a+b+outreach", "reply-handler+outreach"):
        store.append(f"channels/{name}", [Draft({"op": "post", "from_agent": "x", "text": "y"})])

    assert talk.directs(OUTREACH) == []
    assert _inbox(talk, "outreach", {}, 9) == []


def test_a_renamed_agent_keeps_what_it_was_told(store: RamStore, cache: RamCache) -> None:
    """It reads what stood under its old name, others do not; who writes it learns the new one."""
    opened(store, cache, CONFIG).send(HANDLER, "outreach", "a")
    agents = {name: one for name, one in CONFIG.agents.items() if name != "reply-handler"}
    agents["answerer"] = CONFIG.agents["reply-handler"]._replace(
        id="answerer", formerly=("reply-handler",)
    )
    talk = opened(store, cache, CONFIG._replace(agents=agents))
    answerer = in_run("answerer")

    assert [one.text for one in talk.read(answerer, PAIR)] == ["a"]
    assert [one.id for one in talk.directs(answerer)] == [PAIR]
    with pytest.raises(NotAllowed):
        talk.read(WATCH, PAIR)
    for attempt in (
        lambda: talk.send(OUTREACH, "reply-handler", "x"),
        lambda: talk.post(OUTREACH, PAIR, "x", reply_to=f"{PAIR}#1"),
    ):
        with pytest.raises(Unknown, match="fleet send answerer"):
            attempt()
    assert talk.send(OUTREACH, "answerer", "x").ref == "answerer+outreach#1"
