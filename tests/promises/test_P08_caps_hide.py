"""P8: caps hide, they never delete; what a reader has not read is kept, or he is told how much."""

import json

import pytest

from fleet.stores.files import FilesStore
from fleet.wiring import Fleet
from fleets import Scripted


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A channel that keeps three messages, and an agent that reads it."""
    scripted.put("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nkeep: 3\n")
    scripted.agent("worker", "cat > prompt; echo done")
    return scripted


def prompt(home: Scripted) -> str:
    """What the worker was told, in a run that went well."""
    assert home.call("run", "worker").returncode == 0
    return (home.root / "work" / "worker" / "prompt").read_text()


def test_a_channels_cap_hides_and_says_how_much(home: Scripted) -> None:
    """Of ten messages three are shown, seven are counted, and all ten can still be read."""
    fleet = home.fleet
    for n in range(10):
        fleet.talk.post(fleet.author, "strategy", f"message {n}", pin=n == 1)

    told = prompt(home)
    read = home.call("read", "strategy", "--after", "strategy#0", "--limit", "99", "--json")
    again = prompt(home)

    shown = [n for n in range(10) if f"message {n}" in told]
    assert shown == [1, 7, 8, 9]
    assert "6 " in next(line for line in told.splitlines() if "not shown" in line or "more" in line)
    assert [json.loads(line)["text"] for line in read.stdout.splitlines()] == [
        f"message {n}" for n in range(10)
    ]
    assert [n for n in range(10) if f"message {n}" in again] == [1]


def test_a_budget_hides_events_and_says_how_many(home: Scripted) -> None:
    """Events that do not fit are counted with the command that shows them, and come later."""
    home.agent("worker", "cat > prompt; echo done", "context: {sections: {events: {max_items: 4}}}")
    fleet = home.fleet
    for n in range(10):
        fleet.bus.emit(fleet.author, "note", {"n": f"event {n}"})

    told = [prompt(home) for _ in range(3)]

    sections = [text.split("## Events for you")[1].split("##")[0] for text in told]
    shown = [[n for n in range(10) if f"event {n}" in section] for section in sections]
    assert shown == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert "6 more wait: fleet events --for worker" in sections[0]
    assert "more wait" not in sections[2]


def test_trimming_moves_and_loses_nothing(home: Scripted) -> None:
    """What leaves a live log stands in the archive byte for byte; pins stay in sight."""
    fleet = home.fleet
    fleet.__dict__["_files"] = FilesStore(home.root / "state", segment_bytes=2048)
    for n in range(60):
        fleet.talk.post(fleet.author, "strategy", f"message {n} " + "x" * 60, pin=n == 2)
    state = home.root / "state"
    before = _bytes(fleet)

    fleet.talk.carry_pins(fleet.author, "strategy", 40)
    carried = _bytes(fleet)
    kept = fleet.store.trim("channels/strategy", 40)
    archived = sorted((state / "archive" / "channels" / "strategy").glob("*.jsonl"))

    assert kept > 20
    assert carried.startswith(before)
    assert b"".join(path.read_bytes() for path in archived) + _bytes(fleet) == carried
    assert "message 2 " in prompt(home)
    assert home.call("verify").returncode == 0


def _bytes(fleet: Fleet) -> bytes:
    """The live segments, one after the other."""
    folder = fleet.root / "state" / "channels" / "strategy"
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.jsonl")))
