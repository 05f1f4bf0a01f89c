"""What channels show of retracted messages: nothing to agents, the reason to people."""

import pytest

from clocks import FakeClock
from fleet.cursors import Cursors
from fleet.errors import Rejected
from fleet.records import Record
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Talk, message_json
from people import CONFIG, OPERATOR, in_run
from retracting import take_back

HANDLER, OUTREACH, WATCH = (
    in_run(name) for name in ("reply-handler", "outreach", "competitor-watch")
)


@pytest.fixture
def store() -> RamStore:
    """An empty store."""
    return RamStore(FakeClock())


@pytest.fixture
def cache() -> RamCache:
    """An empty cache."""
    return RamCache()


@pytest.fixture
def talk(store: RamStore, cache: RamCache) -> Talk:
    """The channels of `CONFIG`."""
    return Talk(store, cache, CONFIG, Cursors(store))


@pytest.fixture
def three(talk: Talk, store: RamStore, cache: RamCache) -> tuple[Record, Record, Record]:
    """A message, a wrong one that was pinned, answered and retracted, and the answer."""
    good = talk.post(OUTREACH, "strategy", "good")
    bad = talk.post(WATCH, "strategy", "wrong", pin=True)
    answer = talk.post(OUTREACH, "strategy", "answer", reply_to=bad.ref)
    take_back(store, cache, bad)
    return good, bad, answer


def texts(talk: Talk, **more: object) -> list[str]:
    """What reply-handler reads in strategy."""
    found = talk.read(HANDLER, "strategy", **more)  # type: ignore[arg-type]
    return [message.text for message in found]


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    "how", [{}, {"since_seq": 0}, {"unread_after": 0}, {"since": 0.0}, {"thread": "strategy#2"}]
)
def test_an_agent_reads_no_retracted_message(talk: Talk, how: dict[str, object]) -> None:
    """However an agent reads a channel, a retracted message is not there."""
    assert texts(talk, **how) == (["answer"] if "thread" in how else ["good", "answer"])


def test_the_thread_of_a_retracted_message_still_holds(
    talk: Talk, three: tuple[Record, Record, Record]
) -> None:
    """Answers to a retracted message stay one thread, go on, and keep their parent's reference."""
    _, bad, answer = three
    later = talk.post(HANDLER, "strategy", "later", reply_to=answer.ref)

    assert texts(talk, thread=later.ref) == ["answer", "later"]
    assert talk.get(HANDLER, answer.ref).reply_to == bad.ref


def test_a_person_reads_it_with_the_reason(
    talk: Talk, three: tuple[Record, Record, Record]
) -> None:
    """The operator still reads a retracted message, whole and marked; the others are not."""
    _, bad, _ = three
    found = talk.read(OPERATOR, "strategy")

    assert [message.retracted for message in found] == [None, "wrong page", None]
    assert message_json(talk.get(OPERATOR, bad.ref))["text"] == "wrong"
    assert message_json(talk.get(OPERATOR, bad.ref))["retracted"] == "wrong page"


@pytest.mark.parametrize("what", ["get", "react", "pin"])
def test_nobody_acts_on_a_retracted_message(
    talk: Talk, three: tuple[Record, Record, Record], what: str
) -> None:
    """An agent that looks at, reacts to or pins a retracted message is told that it was."""
    more = ("agree",) if what == "react" else ()

    with pytest.raises(Rejected, match="strategy#2 was retracted"):
        getattr(talk, what)(HANDLER, three[1].ref, *more)


@pytest.mark.usefixtures("three")
def test_the_digest_leaves_it_out(talk: Talk) -> None:
    """A digest neither shows nor counts a retracted message, pinned or not, and passes it."""
    digest = talk.digest("reply-handler", "strategy", 0, 10)

    assert [message.text for message in digest.messages] == ["good", "answer"]
    assert (digest.unread, digest.not_shown, digest.upto.seq) == (2, 0, 3)


def test_the_digest_counts_no_retracted_message_of_long_ago(
    talk: Talk, store: RamStore, cache: RamCache
) -> None:
    """What left the board and was retracted does not count as unread."""
    bad = talk.post(WATCH, "small", "wrong")
    for number in range(4):
        talk.post(WATCH, "small", str(number))
    take_back(store, cache, bad)

    assert talk.digest("outreach", "small", 0, 10).unread == 4


def test_a_retracted_pin_makes_room(talk: Talk, store: RamStore, cache: RamCache) -> None:
    """A retracted pinned message counts toward no limit of pins."""
    pinned = [talk.post(WATCH, "small", str(number), pin=True) for number in range(2)]
    take_back(store, cache, pinned[0])

    assert talk.board("small").pins == (pinned[1].seq,)
    talk.post(WATCH, "small", "another", pin=True)


@pytest.mark.parametrize("more", [0, 4])
def test_a_retracted_reaction_is_gone(
    talk: Talk, store: RamStore, cache: RamCache, more: int
) -> None:
    """A retracted reaction is shown to nobody, on the board and behind it; the others stay."""
    message = talk.post(WATCH, "small", "text")
    bad = talk.react(OUTREACH, message.ref, "agree")
    talk.react(HANDLER, message.ref, "important")
    for number in range(more):
        talk.post(WATCH, "small", str(number))
    take_back(store, cache, bad)

    kinds = [said["kind"] for said in talk.get(OPERATOR, message.ref).reactions]

    assert kinds == ["important"]


def test_nobody_answers_what_was_retracted(
    talk: Talk, three: tuple[Record, Record, Record], store: RamStore
) -> None:
    """An answer to a retracted message is refused as a reaction is; one repeated by id is not."""
    good, bad, _ = three
    first = talk.post(HANDLER, "strategy", "noted", reply_to=good.ref, key="k")
    take_back(store, RamCache(), good)

    for ref in (good.ref, bad.ref):
        with pytest.raises(Rejected, match=f"{ref} was retracted"):
            talk.post(HANDLER, "strategy", "yes", reply_to=ref)

    assert talk.post(HANDLER, "strategy", "noted", reply_to=good.ref, key="k") == first
