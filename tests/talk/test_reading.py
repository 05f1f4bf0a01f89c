"""Boards, digests, threads and ranges of messages."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from clocks import FakeClock
from fleet.errors import Rejected
from fleet.records import Draft, Place
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Digest, Message, Talk
from people import OPERATOR, in_run

OUTREACH = in_run("outreach")
WATCH = in_run("competitor-watch")


def _fill(talk: Talk, count: int, channel: str = "strategy") -> None:
    for number in range(count):
        talk.post(OPERATOR, channel, str(number))


def _texts(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def _digest(talk: Talk, after: int, limit: int, agent: str = "outreach") -> Digest:
    return talk.digest(agent, "strategy", after, limit)


def test_the_newest_messages_are_read_oldest_first(talk: Talk) -> None:
    """Without a start the newest; after a number the oldest from there, one's own included."""
    _fill(talk, 120)
    talk.post(OUTREACH, "strategy", "mine")

    assert _texts(talk.read(OUTREACH, "strategy", limit=3)) == ["118", "119", "mine"]
    assert _texts(talk.read(OUTREACH, "strategy", since_seq=5, limit=2)) == ["5", "6"]
    assert _texts(talk.read(OUTREACH, "strategy", since_seq=119)) == ["119", "mine"]
    assert _texts(talk.read(OUTREACH, "strategy", unread_after=119)) == ["119"]
    assert talk.read(OUTREACH, "strategy", unread_after=120) == []


def test_a_time_range_is_read(talk: Talk, clock: FakeClock) -> None:
    """`since` and `until` cut by the stamps."""
    begun = clock.wall
    for number in range(5):
        talk.post(OPERATOR, "strategy", str(number))
        clock.advance(60)

    assert _texts(talk.read(OUTREACH, "strategy", since=begun + 120)) == ["2", "3", "4"]
    assert _texts(talk.read(OUTREACH, "strategy", until=begun + 60)) == ["0", "1"]
    assert _texts(talk.read(OUTREACH, "strategy", since=begun + 60, until=begun + 120)) == [
        "1",
        "2",
    ]


def test_reading_moves_nothing(talk: Talk, store: RamStore) -> None:
    """Reads and digests write neither a record nor a document."""
    _fill(talk, 5)

    for _ in range(2):
        talk.read(OUTREACH, "strategy", unread_after=0)
        _digest(talk, 0, 3)

    assert store.head("channels/strategy") == 5
    assert store.keys("", "", 10) == []


def test_a_digest_shows_pins_then_the_newest_unread(talk: Talk, store: RamStore) -> None:
    """Pinned first, then the newest unread oldest first; own and read ones are not news."""
    talk.post(OPERATOR, "strategy", "rule", pin=True)
    _fill(talk, 10)
    talk.post(OUTREACH, "strategy", "mine")

    digest = _digest(talk, 5, 3)

    assert _texts(digest.messages) == ["rule", "7", "8", "9"]
    assert digest.new == {9, 10, 11}
    assert (digest.unread, digest.not_shown) == (6, 3)
    assert digest.upto == Place(12, store.read("channels/strategy", 11, 1).records[0].crc)


def test_an_unread_pin_counts_as_shown_once(talk: Talk) -> None:
    """A pinned message that is unread stands with the pins and is not counted as left out."""
    _fill(talk, 4)
    talk.post(OPERATOR, "strategy", "rule", pin=True)

    digest = _digest(talk, 0, 2)

    assert _texts(digest.messages) == ["rule", "2", "3"]
    assert (digest.unread, digest.not_shown, digest.new) == (5, 2, {3, 4, 5})


def test_an_old_unread_pin_is_counted_once(talk: Talk) -> None:
    """A pin older than what is kept is shown, and is not among those that are not."""
    talk.post(OPERATOR, "small", "rule", pin=True)
    _fill(talk, 9, "small")

    digest = talk.digest("outreach", "small", 0, 2)

    assert _texts(digest.messages) == ["rule", "7", "8"]
    assert (digest.unread, digest.not_shown) == (10, 7)


def test_nothing_new_shows_only_pins(talk: Talk) -> None:
    """What was read is never shown as new."""
    talk.post(OPERATOR, "strategy", "rule", pin=True)
    _fill(talk, 3)
    upto = _digest(talk, 0, 9).upto

    digest = _digest(talk, upto.seq, 9)

    assert _texts(digest.messages) == ["rule"]
    assert (digest.new, digest.unread, digest.not_shown) == (frozenset(), 0, 0)
    assert digest.upto == upto


def test_a_weekly_reader_is_told_exactly_what_it_missed(talk: Talk) -> None:
    """150 posts with 100 kept: the digest counts all unread, and the log still shows the oldest."""
    _fill(talk, 10)
    for number in range(150):
        talk.post(OPERATOR if number % 3 else OUTREACH, "strategy", f"n{number}")

    digest = _digest(talk, 10, 20)

    assert digest.unread == 100
    assert digest.not_shown == 80
    assert _texts(digest.messages)[-1] == "n149"
    old = talk.read(OUTREACH, "strategy", unread_after=10, limit=3)
    assert _texts(old) == ["n1", "n2", "n4"]


def test_a_flood_is_counted_exactly(talk: Talk) -> None:
    """3,000 unread messages: the count of those not shown is the truth."""
    _fill(talk, 3000)

    digest = _digest(talk, 0, 30)

    assert (digest.unread, digest.not_shown, len(digest.messages)) == (3000, 2970, 30)


def test_old_pins_do_not_push_out_the_newest(talk: Talk) -> None:
    """Pinned messages stay besides the newest `keep`, however old they are."""
    for number in range(2):
        talk.post(OPERATOR, "small", f"rule {number}", pin=True)
    _fill(talk, 7, "small")

    assert _texts(talk.board("small").messages) == ["rule 0", "rule 1", "4", "5", "6"]
    talk.unpin(OPERATOR, "small#1")
    assert _texts(talk.board("small").messages) == ["rule 1", "4", "5", "6"]


def test_an_old_message_can_still_be_pinned(talk: Talk) -> None:
    """Pinning what is no longer kept brings it back, with the reactions it had and gets."""
    _fill(talk, 9, "small")
    talk.react(WATCH, "small#1", "agree")
    talk.react(OUTREACH, "small#9", "agree")

    talk.pin(OPERATOR, "small#1")
    talk.react(OUTREACH, "small#1", "important")

    found = talk.board("small").find(1)
    assert found is not None
    assert found.pinned
    assert [one["kind"] for one in found.reactions] == ["agree", "important"]
    assert talk.digest("outreach", "small", 9, 9).messages == (found,)


def test_old_messages_show_what_happened_to_them(talk: Talk) -> None:
    """A message read from the log, far behind the board, has its reactions and pin."""
    _fill(talk, 3, "small")
    talk.react(WATCH, "small#1", "agree")
    _fill(talk, 9, "small")
    talk.react(WATCH, "small#1", "disagree")

    [old, *_] = talk.read(OUTREACH, "small", since_seq=0, limit=2)

    assert [one["kind"] for one in old.reactions] == ["agree", "disagree"]
    assert not old.pinned


def test_lost_boards_come_back_equal(talk: Talk, cache: RamCache) -> None:
    """Deleting the caches changes no board, digest or reading."""
    _fill(talk, 150)
    for seq in (1, 60, 149):
        talk.react(WATCH, f"strategy#{seq}", "agree")
        talk.pin(OPERATOR, f"strategy#{seq}")
    talk.unpin(OPERATOR, "strategy#60")
    before = talk.board("strategy"), _digest(talk, 20, 10), talk.get(OPERATOR, "strategy#1")
    cache._saved.clear()

    after = talk.board("strategy"), _digest(talk, 20, 10), talk.get(OPERATOR, "strategy#1")

    assert after == before


def test_a_thread_is_shown_whole(talk: Talk) -> None:
    """A thread is its first message and every answer below it, from wherever one asks."""
    _fill(talk, 2)
    first = talk.post(OUTREACH, "strategy", "first").ref
    second = talk.post(WATCH, "strategy", "second", reply_to=first).ref
    talk.post(OPERATOR, "strategy", "beside")
    third = talk.post(OUTREACH, "strategy", "third", reply_to=second).ref
    talk.post(WATCH, "strategy", "fourth", reply_to=first)

    for ref in (first, second, third):
        assert _texts(talk.read(OPERATOR, "strategy", thread=ref)) == [
            "first",
            "second",
            "third",
            "fourth",
        ]
    assert _texts(talk.read(OPERATOR, "strategy", thread=first, limit=2)) == ["third", "fourth"]
    with pytest.raises(Rejected, match="not in small"):
        talk.read(OPERATOR, "small", thread=first)


def _raw(store: RamStore, text: str, reply_to: object) -> None:
    body = {"op": "post", "from_agent": "outreach", "text": text, "reply_to": reply_to}
    store.append("channels/strategy", [Draft(dict(body))])


def test_threads_bear_missing_parents_and_cycles(talk: Talk, store: RamStore) -> None:
    """Answers to nothing, to themselves, in a ring or to nonsense are read and answered."""
    _raw(store, "orphan", "strategy#99")
    _raw(store, "ring a", "strategy#3")
    _raw(store, "ring b", "strategy#2")
    _raw(store, "self", "strategy#4")
    _raw(store, "nonsense", {"x": 1})
    _raw(store, "elsewhere", "small#1")
    for seq in range(1, 7):
        talk.post(OPERATOR, "strategy", f"to {seq}", reply_to=f"strategy#{seq}")

    def thread(seq: int) -> list[str]:
        return _texts(talk.read(OPERATOR, "strategy", thread=f"strategy#{seq}"))

    assert thread(1) == ["orphan", "to 1"]
    assert thread(2) == thread(3) == ["ring a", "ring b", "to 2", "to 3"]
    assert thread(4) == ["self", "to 4"]
    assert thread(5) == ["nonsense", "to 5"]
    assert thread(6) == ["elsewhere", "to 6"]
    assert len(talk.board("strategy").messages) == 12


def test_many_at_once_lose_no_reaction(talk: Talk) -> None:
    """Posts and reactions of many threads at once are all on the board."""
    ref = talk.post(OPERATOR, "strategy", "x").ref
    names = ("outreach", "reply-handler", "competitor-watch")

    def act(number: int) -> None:
        talk.post(in_run(names[number % 3], f"r{number}"), "strategy", str(number))
        talk.react(in_run(names[number % 3]), ref, "agree")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(30)))

    board = talk.board("strategy")
    assert board.total == 31
    assert len(talk.get(OPERATOR, ref).reactions) == 3
