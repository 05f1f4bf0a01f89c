"""P1: a write that exited 0 survives `kill -9` of any process and a power cut."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleet.wiring import Fleet, open_fleet
from fleets import Scripted, until
from promises.forgetful import Mounted
from promises.storm import Nursery, without_holes

LOGS = ("events", "channels/strategy", "claims-log")


def found(fleet: Fleet) -> dict[str, str]:
    """The id of each record by its reference, and the token of each claim."""
    store = fleet.store
    records = {r.ref: r.id for log in LOGS[:2] for r in store.read(log, 0, 10**9).records}
    keys = store.keys("claims/", "", 10**6)
    claims = {f"claim:{key.removeprefix('claims/')}": store.get(key)[0] or {} for key in keys}
    return records | {name: str(body["token"]) for name, body in claims.items()}


def check(root: Path, said: list[list[str]]) -> None:
    """What was said is there once, under its number; holes in the numbers are said; all goes on."""
    fleet = open_fleet(root, env={})
    here = found(fleet)
    lost = [(ref, name) for ref, name in said if here.get(ref) != name]
    assert not lost, f"{len(lost)} of {len(said)} lost, such as {lost[:3]}"
    fleet.bus.emit(fleet.author, "note", {"n": "after"})
    fleet.talk.post(fleet.author, "strategy", "after")
    fleet.claims.take(fleet.author, "after")
    for log in LOGS:
        records = fleet.store.read(log, 0, 10**9).records
        assert without_holes(records)
        assert len({record.id for record in records}) == len(records)
    assert [one for one in fleet.store.verify() if one.severity == "error"] == []


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    return scripted


# kill -9 -----------------------------------------------------------------------------------------


def calls_killed(home: Scripted, number: int, seed: int) -> list[list[str]]:
    """Cold `fleet emit` calls, two at a time, each killed after a random time; what they said."""
    rng = random.Random(seed)
    said: list[list[str]] = []
    for first in range(0, number, 2):
        line = [sys.executable, "-m", "fleet", "--home", str(home.root), "emit", "note", "--json"]
        calls = [
            subprocess.Popen([*line, f"n=cold.{seed}.{first + n}"], stdout=subprocess.PIPE)
            for n in range(2)
        ]
        for call in calls:
            time.sleep(rng.random() * 0.3)
            call.kill()
            out = call.communicate()[0]
            if out.endswith(b"\n"):
                answer = json.loads(out)
                said.append([answer["ref"], answer["id"]])
    return said


def storm(home: Scripted, out: Path, *, kills: int, calls: int) -> int:
    """15 writers and cold calls under `kill -9` at once; how many processes were killed."""
    with Nursery(home.root, out) as nursery:
        nursery.storm("write", writers=15, kills=kills // 2, life=0.5, seed=kills)
        nursery.start("write", 5)
        cold = calls_killed(home, calls, seed=7)
        nursery.end()
        nursery.storm("write", writers=15, kills=kills - kills // 2, life=0.2, seed=kills + 1)
        said = nursery.said() + cold
        assert len(said) > kills
        check(home.root, said)
        return nursery.kills + calls


def test_killed_writers_and_calls_lose_nothing(home: Scripted, tmp_path: Path) -> None:
    """15 long-lived writers and cold calls, killed at any moment: what they said is there once."""
    assert storm(home, tmp_path / "said", kills=60, calls=8) > 60


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_two_thousand_kills_lose_nothing(home: Scripted, tmp_path: Path) -> None:
    """The same, over 2,000 kills long, 100 of them of cold calls."""
    assert storm(home, tmp_path / "said", kills=2000, calls=100) > 2100


# Power cuts --------------------------------------------------------------------------------------


def cuts(home: Scripted, tmp_path: Path, number: int) -> int:
    """Power cuts under ten writers and a builder of contexts, one after the other on one home.

    Each is followed by a check on what the disk holds; how many things were said in all.
    """
    backing, at = tmp_path / "disk", tmp_path / "mounted"
    home.root.rename(tmp_path / "made")
    backing.mkdir()
    (tmp_path / "made").rename(backing / "home")
    said = 0
    for cut in range(number):
        with Mounted(backing, at, seed=cut) as mounted:
            if mounted.why_not:
                pytest.skip(f"no file system in user space here: {mounted.why_not}")
            with Nursery(at / "home", tmp_path / f"said-{cut}") as nursery:
                nursery.start("write", 10)
                nursery.start("act", 2)
                assert until(lambda n=nursery: len(n.said()) > 60, 60)
                mounted.cut()
                nursery.bury()
        check(backing / "home", nursery.said())
        said += len(nursery.said())
    return said


def test_a_power_cut_under_many_writers_loses_nothing(home: Scripted, tmp_path: Path) -> None:
    """Real processes on a disk that forgets what was not synced: all that was said is there.

    So is every event that a context built for a run was made of.
    """
    assert cuts(home, tmp_path, 2) > 100


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_sixty_power_cuts_lose_nothing(home: Scripted, tmp_path: Path) -> None:
    """The same, 60 cuts long on one home."""
    assert cuts(home, tmp_path, 60) > 3000
