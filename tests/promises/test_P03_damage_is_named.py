"""P3: a flipped bit is found and named, never returned as data; everything else stays readable."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.errors import FleetError
from fleet.records import Body, Record
from fleets import Scripted

LOGS = ("events", "channels/strategy", "claims-log", "runs/worker", "fires")


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home in which something of everything has happened."""
    scripted.agent("worker", "cat > /dev/null; fleet claim lead:x --keep 1h; fleet report did")
    for n in range(6):
        fleet = scripted.fleet
        fleet.bus.emit(fleet.author, "note", {"n": f"{n} ä"})
        fleet.talk.post(fleet.author, "strategy", f"{n} ö", pin=n == 3)
    fleet.controls.set("worker", "paused", by="operator", reason="x")
    assert scripted.call("run", "worker").returncode == 0
    assert scripted.call("run", "worker").returncode == 0
    return scripted


def stored(home: Scripted) -> list[Path]:
    """Every file that holds records or a document."""
    state = home.root / "state"
    return sorted(p for end in ("*.jsonl", "*.json") for p in state.glob(f"**/{end}") if _own(p))


def _own(path: Path) -> bool:
    return not {"cache", "run", "quarantine"} & set(path.parts)


def read_all(home: Scripted) -> Iterator[tuple[str, Record | Body]]:
    """Everything that can be read, by name; what is refused with a line is left out."""
    store = home.fleet.store
    for log in LOGS:
        try:
            yield from ((record.ref, record) for record in store.read(log, 0, 999).records)
        except FleetError:
            continue
    for key in store.keys("", "", 999):
        try:
            body, version = store.get(key)
        except FleetError:
            continue
        if body is not None:
            yield f"{key} {version}", body


def flips(home: Scripted, number: int, seed: int) -> Iterator[tuple[Path, int]]:
    """Flip one bit after the other, each taken back before the next: the file and the line."""
    rng = random.Random(seed)
    for path in stored(home):
        whole = path.read_bytes()
        for _ in range(number):
            at, bit = rng.randrange(len(whole)), rng.randrange(8)
            flipped = bytes([whole[at] ^ 1 << bit])
            path.write_bytes(whole[:at] + flipped + whole[at + 1 :])
            yield path, whole.count(b"\n", 0, at) + 1
            path.write_bytes(whole)


def known(home: Scripted) -> dict[str, list[Record | Body]]:
    """What was stored by its name, and what the copy before a document says in its place."""
    ever = {what: [value] for what, value in read_all(home)}
    for path in stored(home):
        if path.with_name(path.name + ".prev").exists():
            page = path.read_bytes()
            path.unlink()
            for what, value in read_all(home):
                ever[what].append(value)
            path.write_bytes(page)
            path.chmod(0o600)
    return ever


def check_flips(home: Scripted, number: int, seed: int) -> int:
    """The promise for each of so many flips a file; how many there were."""
    ever = known(home)
    count = 0
    for path, line in flips(home, number, seed):
        count += 1
        name = str(path.relative_to(home.root))
        for what, value in read_all(home):
            assert value in ever[what], f"{name}:{line} gave other data as {what}"
        named = [one for one in home.fleet.store.verify() if one.severity == "error"]
        assert name in {one.file for one in named}, f"{name}:{line} was not found"
        if path.suffix == ".jsonl":
            assert {one.line for one in named if one.file == name} & {line, line + 1, line + 2}
    return count


def test_any_flipped_bit_is_found_and_never_returned(home: Scripted) -> None:
    """A few bits of every log and document: each is named with its file, other data is intact."""
    assert check_flips(home, 4, seed=1) > 40


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_three_thousand_flipped_bits_are_found(home: Scripted) -> None:
    """The same, over 3,000 flips."""
    assert check_flips(home, 270, seed=2) > 3000


def test_commands_say_which_line_and_go_on(home: Scripted) -> None:
    """`verify` exits 8 and names file and line, readers show the rest, a run is shown the rest."""
    (path,) = (home.root / "state" / "events").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace("2 ä".encode(), "9 ä".encode()))

    verify, events = home.call("verify"), home.call("events", "--json")
    home.call("emit", "note", "n=later")
    run = home.call("run", "worker")

    assert verify.returncode == 8
    assert "state/events/00000000000000000001.jsonl:3" in verify.stdout + verify.stderr
    assert events.returncode == 0
    assert [line.split('"seq":')[1][0] for line in events.stdout.splitlines()] == list("12456")
    assert "9 ä" not in events.stdout
    assert run.returncode == 0, run.stderr
    assert home.runs()[0].delivered == ("events#7",)
