"""What every store promises about logs."""

import math
import threading
import time

import pytest

from clocks import FakeClock
from fleet.errors import Rejected, Stale, Trimmed
from fleet.ports import Store, last_record
from fleet.records import (
    MAX_KEY,
    MAX_RECORD,
    RESERVED,
    Body,
    Draft,
    HeldBy,
    NotHeldByOther,
    Record,
    Sieve,
)


def drafts(count: int, **more: object) -> list[Draft]:
    """`count` different drafts."""
    return [Draft({"op": "event", "n": n, **more}) for n in range(1, count + 1)]


def numbers(records: tuple[Record, ...] | list[Record]) -> list[int]:
    """The records' numbers."""
    return [record.seq for record in records]


def test_what_was_appended_is_read_back_equal(store: Store) -> None:
    """`append` returns the records as `read` shows them: number, id, time, body, key and crc."""
    stored = store.append("events", [Draft({"a": [1, None, {"b": "c"}]}, key="k"), *drafts(2)])

    batch = store.read("events", 0, 10)

    assert list(batch.records) == stored
    assert batch.upto == 3
    assert numbers(stored) == [1, 2, 3]
    assert stored[0].at == "2027-01-15T08:00:00.000+00:00"
    assert stored[0].key == "k"
    assert stored[0].ref == "events#1"
    assert all(len(record.crc) == 8 for record in stored)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ä€😀",
        "a\nb\r\nc\u2028d\u2029e\u0085f",
        'quote " and \\ slash',
        "\x00\x1b[2J\x7f",
        "\ufeff",
    ],
)
def test_any_text_comes_back_as_it_was(store: Store, text: str) -> None:
    """Records end at LF only: every Unicode text comes back character for character."""
    store.append("channels/strategy", [Draft({"text": text, text or "empty": 1})])

    found = store.read("channels/strategy", 0, 10).records

    assert [record.body for record in found] == [{"text": text, text or "empty": 1}]


def test_an_unknown_log_is_an_empty_one(store: Store) -> None:
    """Reading a log that nobody wrote to shows nothing and creates nothing."""
    batch = store.read("events", 0, 10)

    assert (batch.records, batch.upto, batch.damage) == ((), 0, ())
    assert store.head("events") == 0
    store.sync("events")
    assert store.streams("", "", 10) == []
    assert last_record(store, "events") is None


def test_reading_goes_on_after_a_number(store: Store) -> None:
    """Read by `limit` from each `upto`, every record comes once and in order."""
    for draft in drafts(200):
        store.append("events", [draft])

    seen: list[int] = []
    upto = 0
    while batch := store.read("events", upto, 7).records:
        seen += numbers(batch)
        upto = batch[-1].seq

    assert seen == list(range(1, 201))
    assert store.head("events") == 200
    assert store.read("events", 200, 7).upto == 200
    assert store.read("events", 500, 7).upto == 500


def test_every_number_can_be_started_from(store: Store) -> None:
    """Wherever a reader stands, the next record is the one after it."""
    for _ in range(30):
        store.append("events", drafts(5, filler="x" * 40))

    for after in range(150):
        batch = store.read("events", after, 1)
        assert numbers(batch.records) == [after + 1]
        assert batch.upto == after + 1


def test_order_never_depends_on_the_clock(store: Store, clock: FakeClock) -> None:
    """Equal timestamps and a stepped clock lose and repeat nothing: 120 events, read 50 by 50."""
    for n in range(120):
        store.append("events", [Draft({"n": n})])
        if n == 40:
            clock.step_wall(-3600)
        if n == 80:
            clock.step_wall(86400)

    seen: list[object] = []
    upto = 0
    for _ in range(3):
        batch = store.read("events", upto, 50)
        seen += [record.body["n"] for record in batch.records]
        upto = batch.upto

    assert seen == list(range(120))


def test_a_sieve_counts_only_what_passes(store: Store) -> None:
    """With a sieve `limit` counts what passes; `upto` ends before the first one left out."""
    for n in range(300):
        kind = "rare" if n % 10 == 9 else "common"
        store.append("events", [Draft({"type": kind, "to_agent": None, "n": n})])
    sieve = Sieve({"type": frozenset({"rare"}), "to_agent": frozenset({None, "me"})})

    first = store.read("events", 0, 3, sieve=sieve)
    rest = store.read("events", first.upto, 100, sieve=sieve)

    assert numbers(first.records) == [10, 20, 30]
    assert first.upto == 39
    assert numbers(rest.records) == list(range(40, 301, 10))
    assert rest.upto == 300


def test_a_sieve_is_exact_behind_its_byte_test(store: Store) -> None:
    """The bytes of a value elsewhere in a record do not let it pass; an absent name is null."""
    store.append(
        "events",
        [
            Draft({"type": "b", "payload": {"type": "a"}}),
            Draft({"type": "a", "payload": {"type": "b"}}),
            Draft({"type": "a", "to_agent": "other"}),
            Draft({"type": 'q"uote', "to_agent": None}),
        ],
    )

    def passing(sieve: Sieve) -> list[int]:
        return numbers(store.read("events", 0, 10, sieve=sieve).records)

    assert passing(Sieve({"type": frozenset({"a"})})) == [2, 3]
    assert passing(Sieve({"type": frozenset({"a"}), "to_agent": frozenset({None})})) == [2]
    assert passing(Sieve({"type": frozenset({'q"uote'})})) == [4]
    assert passing(Sieve({"to_agent": frozenset({"other", None})})) == [1, 2, 3, 4]
    assert passing(Sieve({})) == [1, 2, 3, 4]


def test_ten_thousand_foreign_records_do_not_hide_one(store: Store) -> None:
    """A record behind 10,000 that do not pass is delivered at the next read, which then goes on."""
    store.append("events", [Draft({"type": "foreign"})] * 10_000)
    store.append("events", [Draft({"type": "mine"})])
    mine = Sieve({"type": frozenset({"mine"})})

    began = time.monotonic()
    batch = store.read("events", 0, 50, sieve=mine)

    assert time.monotonic() - began < 1
    assert numbers(batch.records) == [10_001]
    assert batch.upto == 10_001


# Given ids ------------------------------------------------------------------------------------


def test_a_given_key_is_one_record_for_ever(store: Store) -> None:
    """The same key again returns the first record, whatever was written in between."""
    first = store.append("events", [Draft({"n": 1}, key="K")])
    for _ in range(40):
        store.append("events", drafts(3, filler="y" * 60))

    again = store.append("events", [Draft({"n": 1}, key="K")])

    assert again == first
    assert store.head("events") == 121


def test_a_given_id_is_one_record(store: Store) -> None:
    """A batch that is repeated with its ids is completed, not doubled."""
    batch = [Draft({"n": n}, id=f"run-{n}") for n in range(5)]
    store.append("runs/a", batch[:2])

    stored = store.append("runs/a", batch)

    assert numbers(stored) == [1, 2, 3, 4, 5]
    assert [record.id for record in store.read("runs/a", 0, 9).records] == [d.id for d in batch]


def test_a_key_twice_in_one_batch_is_one_record(store: Store) -> None:
    """Repetition inside a batch is found as well."""
    stored = store.append("events", [Draft({"n": 1}, key="K"), Draft({"n": 1}, key="K")])

    assert numbers(stored) == [1, 1]
    assert store.head("events") == 1


def test_a_key_for_another_body_is_refused(store: Store) -> None:
    """The same key with another payload is refused, and the batch leaves nothing behind."""
    store.append("events", [Draft({"n": 1}, key="K")])

    with pytest.raises(Rejected, match="was used for another record"):
        store.append("events", [Draft({"n": 7}, key="new"), Draft({"n": 2}, key="K")])

    assert store.head("events") == 1
    assert numbers(store.append("events", [Draft({"n": 8}, key="new")])) == [2]


def test_only_the_named_parts_must_be_equal(store: Store) -> None:
    """`same` names what makes two records the same: the rest may differ (a run's id, say)."""
    same = ("type", "payload")
    first = store.append(
        "events", [Draft({"type": "t", "payload": {"a": 1}, "run": "r1"}, key="K")]
    )

    again = store.append(
        "events", [Draft({"type": "t", "payload": {"a": 1}, "run": "r2"}, key="K", same=same)]
    )

    assert again == first
    with pytest.raises(Rejected):
        store.append("events", [Draft({"type": "t", "payload": {}}, key="K", same=same)])


def test_keys_belong_to_their_log(store: Store) -> None:
    """The same key in two logs is two records."""
    store.append("events", [Draft({"n": 1}, key="K")])

    assert numbers(store.append("channels/a", [Draft({"n": 2}, key="K")])) == [1]


def test_a_key_in_a_payload_is_no_key(store: Store) -> None:
    """A payload that looks like a record's key does not stand for one."""
    store.append("events", [Draft({"payload": {"key": "K", "id": "I"}})])

    stored = store.append("events", [Draft({"n": 1}, key="K", id="I")])

    assert numbers(stored) == [2]


# Limits ---------------------------------------------------------------------------------------


def refused(store: Store, draft: Draft) -> None:
    """A batch with `draft` in it is refused and leaves nothing."""
    with pytest.raises(Rejected):
        store.append("events", [Draft({"n": 1}), draft])
    assert store.head("events") == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "\ud800", b"bytes", {1, 2}])
def test_what_json_cannot_say_is_refused(store: Store, value: object) -> None:
    """NaN, infinities, half a surrogate pair and foreign objects are refused; nothing is stored."""
    refused(store, Draft({"deep": [{"value": value}]}))


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_names_are_refused(store: Store, name: str) -> None:
    """A body cannot take the place of what the store writes."""
    refused(store, Draft({name: 1}))


def test_a_record_has_a_size_limit(store: Store) -> None:
    """64 KiB encoded with the line feed is the limit, measured in bytes: one more is refused."""
    empty = store.append("size", [Draft({"t": ""}, id="i" * 36)])[0]
    room = MAX_RECORD - line_length(empty)

    store.append("size", [Draft({"t": "ä" * (room // 2) + "x" * (room % 2)}, id="j" * 36)])

    refused(store, Draft({"t": "ä" * (room // 2) + "x" * (room % 2 + 1)}, id="k" * 36))


def line_length(record: Record) -> int:
    """Bytes of a record's line, from the shape that the format promises."""
    head = f'{{"v":1,"seq":{record.seq},"id":"{record.id}","at":"{record.at}","t":"","crc":"'
    return len(head.encode()) + 8 + len('"}\n')


@pytest.mark.parametrize("key", ["", "x" * (MAX_KEY + 1), "ä" * (MAX_KEY // 2 + 1), "\ud800"])
def test_keys_have_limits(store: Store, key: str) -> None:
    """A key is 1 to 200 bytes of valid text."""
    refused(store, Draft({"n": 1}, key=key))


def test_the_longest_key_works(store: Store) -> None:
    """200 bytes of key are kept and found."""
    first = store.append("events", [Draft({"n": 1}, key='"ä' * 66)])

    assert store.append("events", [Draft({"n": 1}, key='"ä' * 66)]) == first


@pytest.mark.parametrize("name", ["", "/x", "events/", "locks/x", "cache", "\ud800", "x" * 300])
def test_impossible_names_are_refused(store: Store, name: str) -> None:
    """A log needs a name that is not a folder of another kind."""
    with pytest.raises(Rejected):
        store.append(name, drafts(1))


def test_names_are_kept_apart(store: Store) -> None:
    """Upper and lower case, dots, slashes and spaces make different logs, whatever the engine."""
    names = ["a/x", "a/X", "a/../x", "a/.", "a/ x", "a/x.json", "a/x/y", "a", "a/ä", "..", "a/x "]
    for n, name in enumerate(names):
        store.append(name, [Draft({"n": n})])

    assert store.streams("", "", 99) == sorted(names)
    assert [store.read(name, 0, 9).records[0].body["n"] for name in names] == list(
        range(len(names))
    )


def test_logs_are_listed_by_prefix_and_page(store: Store) -> None:
    """`streams` is sorted, begins after a name, and gives at most `limit`."""
    for name in ("events", "channels/b", "channels/a", "channels/c", "alerts"):
        store.append(name, drafts(1))

    assert store.streams("channels/", "", 9) == ["channels/a", "channels/b", "channels/c"]
    assert store.streams("channels/", "channels/a", 1) == ["channels/b"]
    assert store.streams("", "channels/b", 9) == ["channels/c", "events"]
    assert store.streams("ch", "", 9) == ["channels/a", "channels/b", "channels/c"]
    assert store.streams("ch", "", 9, having="s/b") == ["channels/b"]
    assert store.streams("", "channels/b", 9, having="channels/b") == []


# Guards ---------------------------------------------------------------------------------------


def claim(clock: FakeClock, holder: str, token: int, seconds: float) -> Body:
    """A claim's document, held for `seconds`."""
    return {
        "holder": holder,
        "token": token,
        "boot": clock.boot,
        "until_uptime": clock.uptime + seconds,
        "until_wall": clock.wall + seconds,
    }


def test_a_guard_lets_only_the_holder_write(store: Store, clock: FakeClock) -> None:
    """`HeldBy` permits the live token and no other; a refused write leaves nothing."""
    store.put("claims/lead", claim(clock, "a", 4, 60), expect=0)

    store.append("events", drafts(1), guard=HeldBy("lead", 4))

    with pytest.raises(Stale):
        store.append("events", drafts(1), guard=HeldBy("lead", 3))
    with pytest.raises(Stale):
        store.append("events", drafts(1), guard=HeldBy("nobody", 1))
    clock.advance(61)
    with pytest.raises(Stale):
        store.append("events", drafts(1), guard=HeldBy("lead", 4))
    assert store.head("events") == 1


def test_a_guard_keeps_others_out_while_it_is_held(store: Store, clock: FakeClock) -> None:
    """`NotHeldByOther` permits the holder, and everyone once the claim is free or over."""
    store.append("events", drafts(1), guard=NotHeldByOther("lead", "b"))
    store.put("claims/lead", claim(clock, "a", 1, 60), expect=0)

    store.append("events", drafts(1), guard=NotHeldByOther("lead", "a"))
    with pytest.raises(Stale):
        store.append("events", drafts(1), guard=NotHeldByOther("lead", "b"))
    clock.step_wall(7200)
    with pytest.raises(Stale):
        store.append("events", drafts(1), guard=NotHeldByOther("lead", "b"))
    clock.advance(61)
    store.append("events", drafts(1), guard=NotHeldByOther("lead", "b"))


# Gaps, trimming, waiting ----------------------------------------------------------------------


def test_a_gap_continues_above_every_known_cursor(store: Store) -> None:
    """After a gap numbers go on above it, and no number that was known comes again."""
    store.append("events", drafts(3))

    found = store.append_gap("events", 500)

    assert found is not None
    assert (found.seq, found.body) == (501, {"op": "gap", "above": 500})
    assert numbers(store.append("events", drafts(2))) == [502, 503]
    assert numbers(store.read("events", 3, 9).records) == [501, 502, 503]
    assert store.append_gap("events", 503) is None
    assert numbers(store.read("events", 502, 9).records) == [503]


def test_a_log_may_begin_with_a_gap(store: Store) -> None:
    """A log that was lost altogether goes on as well, and its beginning can be read."""
    store.append_gap("events", 40)
    store.append("events", drafts(1))

    assert numbers(store.read("events", 0, 9).records) == [41, 42]
    assert store.head("events") == 42


def fill(store: Store, count: int) -> None:
    """`count` keyed records of about 200 bytes each."""
    for n in range(1, count + 1):
        store.append("events", [Draft({"n": n, "filler": "z" * 80}, key=f"key-{n}")])


def test_trimming_never_takes_what_is_needed(store: Store) -> None:
    """After `trim(below)` everything from `below` on is there; what went says where to begin."""
    fill(store, 100)

    first = store.trim("events", 60)

    assert 1 < first <= 60
    assert numbers(store.read("events", first - 1, 200).records) == list(range(first, 101))
    with pytest.raises(Trimmed) as trimmed:
        store.read("events", first - 2, 10)
    assert trimmed.value.first == first
    assert store.head("events") == 100
    assert store.trim("events", 60) == first
    assert store.trim("nothing", 60) == 1


def test_a_trimmed_key_is_still_the_same_record(store: Store) -> None:
    """The key of a trimmed record is answered with its number, and refused for another body."""
    fill(store, 100)
    before = store.read("events", 9, 1).records[0]
    assert store.trim("events", 60) > 10

    again = store.append("events", [Draft({"n": 10, "filler": "z" * 80}, key="key-10")])

    assert again == [before]
    with pytest.raises(Rejected):
        store.append("events", [Draft({"n": 11, "filler": "z" * 80}, key="key-10")])
    assert store.head("events") == 100


def test_a_log_that_was_trimmed_whole_goes_on(store: Store) -> None:
    """Trimming all that can go never makes numbers begin again."""
    fill(store, 100)

    store.trim("events", 10_000)
    store.append("events", drafts(1))

    assert store.head("events") == 101


def test_waiting_ends_with_the_first_new_record(store: Store) -> None:
    """`wait` names the logs that went on, at once when they did already, else when they do."""
    store.append("events", drafts(2))
    assert store.wait({"events": 1, "other": 0}, 5) == {"events"}

    writer = threading.Timer(0.1, lambda: store.append("other", drafts(1)))
    began = time.monotonic()
    writer.start()
    woken = store.wait({"events": 2, "other": 0}, 30)
    writer.join()

    assert woken == {"other"}
    assert time.monotonic() - began < 5


def test_waiting_is_bounded(store: Store) -> None:
    """With nothing new `wait` returns empty when its time is over."""
    began = time.monotonic()

    assert store.wait({"events": 0}, 0.1) == set()
    assert time.monotonic() - began < 5


def test_threads_may_share_a_store(store: Store) -> None:
    """Eight threads that append at once get every number once."""
    got: list[int] = []

    def work(name: int) -> None:
        for n in range(25):
            got.extend(numbers(store.append("events", [Draft({"by": name, "n": n})])))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == list(range(1, 201))
    assert numbers(store.read("events", 0, 300).records) == list(range(1, 201))


def test_the_store_has_the_clock_it_was_given(store: Store, clock: FakeClock) -> None:
    """`now` is that clock, and a new store has nothing damaged."""
    assert store.now() == clock()
    assert store.verify() == []
