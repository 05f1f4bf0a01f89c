"""Damage is found and named, never returned as data, and hides nothing around it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.errors import BadHome, Unavailable
from fleet.records import Draft, Sieve
from fleet.stores.files import FilesStore
from stores.proofs import FIRST, Worker, printed, segment

FILE = f"state/events/{FIRST}"


@pytest.fixture
def log(store: FilesStore, state: Path) -> Path:
    """The file of a log of nine records."""
    store.append("events", [Draft({"type": "t", "n": n}) for n in range(1, 10)])
    return segment(state)


def spoil(path: Path, line: int, old: bytes, new: bytes) -> None:
    """Change bytes of the 1-based `line`."""
    lines = path.read_bytes().splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_bytes(b"".join(lines))


def test_any_flipped_bit_is_found_and_named(store: FilesStore, log: Path) -> None:
    """Flip each bit of a line: that record alone is missing, and file and line are said."""
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = sum(map(len, lines[:4]))
    for at in range(start, start + len(lines[4]) - 1):
        for bit in range(8):
            flipped = whole[at] ^ 1 << bit
            if flipped == ord("\n"):
                continue
            log.write_bytes(whole[:at] + bytes([flipped]) + whole[at + 1 :])

            batch = store.read("events", 0, 99)

            assert [r.seq for r in batch.records] == [1, 2, 3, 4, 6, 7, 8, 9]
            assert [(d.file, d.line) for d in batch.damage] == [(FILE, 5)]
            assert batch.upto == 9


def test_a_line_cut_in_two_hides_no_neighbour(store: FilesStore, log: Path) -> None:
    """A bit that becomes a line feed makes two damaged lines, and the rest is read."""
    spoil(log, 5, b'"n"', b"\nn\n")

    batch = store.read("events", 0, 99)

    assert [r.seq for r in batch.records] == [1, 2, 3, 4, 6, 7, 8, 9]
    assert [d.line for d in batch.damage] == [5, 6, 7]


@pytest.mark.parametrize("line", range(1, 10))
def test_reading_goes_on_from_every_number_around_damage(
    store: FilesStore, log: Path, line: int
) -> None:
    """A damaged line counts as one number: readers pass it once, and writers go on after it."""
    spoil(log, line, b'"n"', b'"m"')

    assert store.head("events") == 9
    for after in range(10):
        batch = store.read("events", after, 99)
        assert [r.seq for r in batch.records] == [n for n in range(after + 1, 10) if n != line]
        assert [d.line for d in batch.damage] == ([line] if after < line else [])
        assert batch.upto == 9
    assert [r.seq for r in store.append("events", [Draft({})])] == [10]


def test_a_limit_ends_before_the_record_left_out(store: FilesStore, log: Path) -> None:
    """Damage between what is returned and what is left out is passed with it."""
    spoil(log, 3, b'"n"', b'"m"')

    batch = store.read("events", 0, 2)

    assert [r.seq for r in batch.records] == [1, 2]
    assert batch.upto == 3
    assert [d.line for d in batch.damage] == [3]


def test_a_sieve_passes_damage_by(store: FilesStore, log: Path) -> None:
    """With a sieve a damaged line is neither returned nor in the way."""
    spoil(log, 5, b'"n"', b'"m"')

    batch = store.read("events", 0, 99, sieve=Sieve({"type": frozenset({"t"})}))

    assert [r.seq for r in batch.records] == [1, 2, 3, 4, 6, 7, 8, 9]


def test_conflict_markers_are_damaged_lines(store: FilesStore, log: Path) -> None:
    """A merge that went wrong is named line by line, and the good lines are read."""
    lines = log.read_bytes().splitlines(keepends=True)
    marked = [
        *lines[:4],
        b"<<<<<<< HEAD\n",
        lines[4],
        b"=======\n",
        b">>>>>>> theirs\n",
        *lines[5:],
    ]
    log.write_bytes(b"".join(marked))

    batch = store.read("events", 0, 99)

    assert [r.seq for r in batch.records] == list(range(1, 10))
    assert [d.line for d in batch.damage] == [5, 7, 8]
    assert [f.line for f in store.verify()] == [5, 7, 8]
    assert store.append("events", [Draft({})])[0].seq == 10


def test_verify_finds_lines_that_were_removed_or_repeated(store: FilesStore, log: Path) -> None:
    """Numbers that are missing or come twice are errors, with their line."""
    lines = log.read_bytes().splitlines(keepends=True)

    log.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    (removed,) = store.verify()
    log.write_bytes(b"".join([*lines[:4], *lines[3:]]))
    (repeated,) = store.verify()

    assert (removed.severity, removed.line, removed.what) == ("error", 4, "number 5 follows 3")
    assert (repeated.severity, repeated.line, repeated.what) == ("error", 5, "number 4 follows 4")
    assert str(removed).startswith(f"{FILE}:4: number 5 follows 3")


def test_a_record_of_a_newer_fleet_is_refused(store: FilesStore, log: Path) -> None:
    """A higher `v` is never guessed at: reading says to upgrade."""
    from zlib import crc32

    head = b'{"v":2,"seq":10,"id":"x","at":"2027-01-15T08:00:00.000+00:00"'
    with log.open("ab") as file:
        file.write(b'%b,"crc":"%08x"}\n' % (head, crc32(head)))

    with pytest.raises(BadHome, match="upgrade"):
        store.read("events", 0, 99)


def test_a_huge_line_needs_no_memory(store: FilesStore, log: Path, worker: Worker) -> None:
    """A line of 50 MB in the log: everything around it is read, written and verified in 200 MB."""
    with log.open("ab") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b"\n")
    store.append("events", [Draft({"n": 11})])

    ((records, damaged, megabytes),) = printed(worker("read", "events"))

    assert (int(records), int(damaged)) == (10, 1)
    assert int(megabytes) < 200


def test_a_huge_stub_needs_no_memory(
    store: FilesStore, log: Path, worker: Worker, state: Path
) -> None:
    """50 MB without a line feed are set aside in pieces."""
    with log.open("ab") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)

    ((records, damaged, megabytes),) = printed(worker("read", "events"))

    assert (int(records), int(damaged)) == (9, 0)
    assert int(megabytes) < 200
    (piece,) = (state / "quarantine").glob("*.bin")
    assert piece.stat().st_size == 50_000_000


# Documents ------------------------------------------------------------------------------------


@pytest.fixture
def document(store: FilesStore, state: Path) -> Path:
    """The file of a document of version 3."""
    for version in range(3):
        store.put("memory/a", {"n": version + 1}, expect=version)
    return state / "memory" / "a.json"


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-30],
    "empty": lambda _: b"",
    "flipped": lambda data: data.replace(b'"n": 3', b'"n": 4'),
    "garbage": lambda _: b"\xff\xfe" * 40,
    "markers": lambda data: b"<<<<<<< HEAD\n" + data,
    "huge": lambda data: data + b" " * 300_000,
}


@pytest.mark.parametrize("how", SPOILED)
def test_the_copy_before_stands_in(
    store: FilesStore, document: Path, state: Path, how: str
) -> None:
    """A damaged document is stood in for by the copy before it, never by nothing, and kept."""
    spoiled = SPOILED[how](document.read_bytes())
    document.write_bytes(spoiled)

    assert store.get("memory/a") == ({"n": 2}, 3)
    (finding,) = store.verify()
    assert (finding.severity, finding.file) == ("error", "state/memory/a.json")
    assert "the copy before it stands in" in finding.what

    assert store.put("memory/a", {"n": 9}, expect=3) == 4

    assert store.get("memory/a") == ({"n": 9}, 4)
    assert [p.read_bytes() for p in (state / "quarantine").glob("*.bin")] == [spoiled]
    assert [found.severity for found in store.verify()] == ["note"]


def test_without_a_good_copy_nothing_is_started_afresh(
    store: FilesStore, document: Path, state: Path
) -> None:
    """Both copies damaged: reading and writing say which file, and change nothing."""
    for path in (document, state / "memory" / "a.json.prev"):
        path.write_bytes(b"{}")

    for use in (lambda: store.get("memory/a"), lambda: store.put("memory/a", {}, expect=0)):
        with pytest.raises(Unavailable, match=r"state/memory/a\.json is damaged"):
            use()
    assert document.read_bytes() == b"{}"


@pytest.mark.parametrize("missing", ["a.json", "a.json.prev", ""])
def test_whoever_has_the_truth_elsewhere_replaces_it(
    store: FilesStore, document: Path, state: Path, missing: str
) -> None:
    """No copy can be read and no version is expected: both are set aside, and writing goes on."""
    bad = {name: name.encode() * 9 for name in ("a.json", "a.json.prev") if name != missing}
    for name in ("a.json", "a.json.prev"):
        (state / "memory" / name).unlink()
    for name, page in bad.items():
        (state / "memory" / name).write_bytes(page)

    assert store.put("memory/a", {"n": 7}, expect=None) == 1

    assert store.get("memory/a") == ({"n": 7}, 1)
    aside = {path.read_bytes() for path in (state / "quarantine").glob("*.bin")}
    assert aside == set(bad.values())
    store.put("memory/a", {"n": 8}, expect=1)
    assert {one.severity for one in store.verify()} == {"note"}


def test_a_lost_document_is_not_a_new_one(store: FilesStore, document: Path) -> None:
    """When only the copy before it is left, that stands in: no version is given twice."""
    document.unlink()

    assert store.get("memory/a") == ({"n": 2}, 3)
    assert store.keys("memory/", "", 9) == ["memory/a"]
    assert store.put("memory/a", {"n": 9}, expect=3) == 4


def test_a_document_under_a_wrong_name_is_damaged(
    store: FilesStore, document: Path, state: Path
) -> None:
    """A copy of another agent's document is not taken for this agent's."""
    (state / "memory" / "b.json").write_bytes(document.read_bytes())

    with pytest.raises(Unavailable, match="it is the document memory/a"):
        store.get("memory/b")
    assert [found.file for found in store.verify()] == ["state/memory/b.json"]


def test_a_person_can_read_a_document(store: FilesStore, document: Path) -> None:
    """A document is plain JSON, its body's names one a line, the items of a list too."""
    import json

    store.put("memory/a", {"lessons": [{"text": "ä"}, {"text": "b"}], "plan": None}, expect=3)

    text = document.read_text(encoding="utf-8")

    assert json.loads(text)["body"] == {"lessons": [{"text": "ä"}, {"text": "b"}], "plan": None}
    assert '    "plan": null\n' in text
    assert '      {"text":"ä"},\n' in text
