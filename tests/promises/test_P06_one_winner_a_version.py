"""P6: a document has at most one winner for each version, whoever is killed when."""

from pathlib import Path

import pytest

from fleets import Scripted
from promises.storm import Nursery


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent."""
    scripted.agent("worker", "true")
    return scripted


def check_linear(said: list[list[str]]) -> int:
    """Each version was won once, and time agrees with the versions: there is one order of all.

    A read of a version comes after its write and before the next. Whatever began after another
    thing had ended must not come before it in that order.
    """
    done = [(word, *map(int, numbers)) for word, *numbers in said]
    won = [version for word, version, _, _ in done if word == "won"]
    assert len(won) == len(set(won))
    latest = 0
    for _, _, begin, end in sorted(done, key=lambda one: (one[1], one[0] != "won", one[2])):
        assert latest <= end, "something came before what had ended already"
        latest = max(latest, begin)
    return len(won)


@pytest.mark.parametrize("kills", [60, pytest.param(2500, marks=pytest.mark.prove)])
@pytest.mark.timeout(3600)
def test_counters_under_a_storm_are_linearizable(
    home: Scripted, tmp_path: Path, kills: int
) -> None:
    """15 processes add to one document by compare-and-set while they are killed and replaced."""
    with Nursery(home.root, tmp_path / "said") as nursery:
        nursery.storm("count_up", writers=15, kills=kills, life=0.4, seed=6)
        won = check_linear(nursery.said())
        killed = nursery.kills

    body, version = home.fleet.store.get("ledger/proof")
    assert body is not None
    assert body["n"] == version
    assert won <= version <= won + killed
    assert won > kills
    assert [one for one in home.fleet.store.verify() if one.severity == "error"] == []


def test_the_proof_would_notice_two_winners_and_a_stale_read() -> None:
    """A version won twice, a write that was lost and a read of the past each fail the check."""
    good = [["won", "1", "0", "10"], ["read", "1", "12", "13"], ["won", "2", "11", "20"]]
    assert check_linear(good) == 2
    for bad in (
        [["won", "1", "0", "10"], ["won", "1", "0", "10"]],
        [*good, ["read", "1", "21", "22"]],
        [["won", "2", "0", "10"], ["won", "1", "11", "20"]],
    ):
        with pytest.raises(AssertionError):
            check_linear(bad)
