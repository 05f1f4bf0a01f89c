"""P5: the same given id twice is one record, for ever; with another payload it is refused."""

import json
from pathlib import Path

import pytest

from fleet.errors import Rejected
from fleet.stores.files import FilesStore
from fleet.wiring import Fleet
from fleets import Scripted
from promises.storm import Nursery


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    return scripted


@pytest.mark.parametrize("kills", [40, pytest.param(1000, marks=pytest.mark.prove)])
@pytest.mark.timeout(1800)
def test_ids_under_a_storm_are_one_record_each(home: Scripted, tmp_path: Path, kills: int) -> None:
    """15 writers that repeat the same ids, killed at any moment: one record an id, told to all."""
    with Nursery(home.root, tmp_path / "said") as nursery:
        nursery.storm("keyed", writers=15, kills=kills, life=0.4, seed=5)
        said = nursery.said()

    records = home.fleet.store.read("events", 0, 10**9).records
    keys = [record.key for record in records]
    assert len(keys) == len(set(keys))
    answers = {(key, ref, name) for key, ref, name in said}
    assert len(answers) == len({key for key, _, _ in answers}) > 5
    assert answers <= {(record.key, record.ref, record.id) for record in records}


def test_an_id_outlives_rotation_trimming_and_every_cache(home: Scripted) -> None:
    """Long after its record left the live log the id still answers with the first number."""
    fleet = small(home)
    first = fleet.bus.emit(fleet.author, "note", {"n": "1"}, key="K")
    for n in range(40):
        fleet.bus.emit(fleet.author, "note", {"n": f"{n}" * 50})
    kept = fleet.store.trim("events", 30)
    assert kept > 1

    again = small(home).bus.emit(fleet.author, "note", {"n": "1"}, key="K")
    by_hand = home.call("emit", "note", "n=1", "--id", "K", "--json")

    assert (again.seq, again.id) == (first.seq, first.id)
    assert json.loads(by_hand.stdout)["seq"] == 1
    assert fleet.store.head("events") == 41
    with pytest.raises(Rejected):
        small(home).bus.emit(fleet.author, "note", {"n": "other"}, key="K")


def small(home: Scripted) -> Fleet:
    """The home with segments of 2 KB."""
    fleet = home.fleet
    fleet.__dict__["_files"] = FilesStore(home.root / "state", segment_bytes=2048)
    return fleet


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        ("emit note n=1", "emit note n=1", "emit note n=2"),
        ("emit note n=1", "emit note n=1", "emit note n=1 --to worker"),
        ("post strategy hello", "post strategy hello", "post strategy bye"),
        ("post strategy hello", "post strategy hello", "post strategy hello --pin"),
    ],
)
def test_another_content_under_the_same_id_is_refused(
    home: Scripted, first: str, same: str, other: str
) -> None:
    """The first call's reference is printed again, another payload exits 3 and writes nothing."""
    one, two, three = (
        home.call(*line.split(), "--id", "K-1", "--json") for line in (first, same, other)
    )

    assert (one.returncode, two.returncode, three.returncode) == (0, 0, 3)
    assert one.stdout == two.stdout
    assert "K-1" in three.stderr
    stream = "events" if first.startswith("emit") else "channels/strategy"
    assert home.fleet.store.head(stream) == 1
