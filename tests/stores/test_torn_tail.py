"""A tail torn at any byte is skipped by readers and set aside by the next writer."""

import json
from pathlib import Path

import pytest

from fleet.records import Draft
from fleet.stores.files import FilesStore
from stores.proofs import FIRST, forget_mark, segment

TEXT = "naïve 😀 \u2028 end"


@pytest.fixture
def lines(store: FilesStore, state: Path) -> list[bytes]:
    """Three records in the log, the last one with characters of two to four bytes."""
    store.append("events", [Draft({"n": 1}), Draft({"n": 2}), Draft({"text": TEXT})])
    return segment(state).read_bytes().splitlines(keepends=True)


def test_a_tail_torn_at_any_byte_is_healed(state: Path, lines: list[bytes]) -> None:
    """Cut the last line at each byte: two records are read, the next one is the third.

    What was cut stands in quarantine with the reason.
    """
    whole, last = b"".join(lines[:2]), lines[2]
    for cut in range(1, len(last)):
        segment(state).write_bytes(whole + last[:cut])
        forget_mark(state)
        store = FilesStore(state)
        assert store.head("events") == 2
        assert [r.seq for r in store.read("events", 0, 9).records] == [1, 2]

        stored = store.append("events", [Draft({"cut": cut})])

        batch = store.read("events", 0, 9)
        assert [r.seq for r in batch.records] == [1, 2, 3]
        assert batch.records[2] == stored[0]
        assert batch.damage == ()
        aside = state / "quarantine"
        pieces = [p for p in aside.glob("*.bin") if p.read_bytes() == last[:cut]]
        assert len(pieces) == 1
        reason = json.loads(pieces[0].with_name(pieces[0].stem + ".reason.json").read_text())
        assert reason["file"] == f"state/events/{FIRST}"
        assert reason["bytes"] == cut
        assert "cut off" in reason["reason"]


def test_a_log_that_holds_only_a_stub_begins_at_one(state: Path, lines: list[bytes]) -> None:
    """When nothing but a stub is left, the next record has number 1."""
    segment(state).write_bytes(lines[0][:-1])
    forget_mark(state)

    stored = FilesStore(state).append("events", [Draft({"n": 1})])

    assert stored[0].seq == 1
    assert len(segment(state).read_bytes().splitlines()) == 1


def test_verify_says_that_a_tail_is_torn(state: Path, lines: list[bytes]) -> None:
    """Before it is healed `verify` warns about it; afterwards it is a note about quarantine."""
    segment(state).write_bytes(b"".join(lines)[:-5])
    forget_mark(state)
    store = FilesStore(state)

    (before,) = store.verify()
    store.append("events", [Draft({})])
    (after,) = store.verify()

    assert (before.severity, before.file) == (
        "warning",
        f"state/events/{FIRST}",
    )
    assert after.severity == "note"
    assert "set aside" in after.what


def test_a_reader_never_sees_half_a_record(state: Path, lines: list[bytes]) -> None:
    """Byte by byte as a slow writer would leave it, a reader sees whole records only."""
    data = b"".join(lines)
    ends = [len(lines[0]), len(lines[0]) + len(lines[1]), len(data)]
    for size in range(len(data) + 1):
        segment(state).write_bytes(data[:size])
        store = FilesStore(state)
        whole = sum(end <= size for end in ends)
        assert store.head("events") == whole
        assert len(store.read("events", 0, 9).records) == whole
