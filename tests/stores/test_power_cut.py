"""Acknowledged means durable: what was printed before a power cut is there after it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.errors import FleetError, Unsettled
from fleet.records import Draft
from fleet.stores.files import FilesStore, disk
from stores.power import Power, until_cut

Acknowledged = dict[str, dict[int, str]]


@pytest.fixture
def power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Power]:
    """The disk of a home."""
    (tmp_path / "home").mkdir()
    disk_below = Power(tmp_path / "home", monkeypatch)
    yield disk_below
    disk_below.close()


def work(home: Path, said: Acknowledged, documents: dict[str, int]) -> None:
    """Everything that a store does: logs, rotation, keys, trimming, documents, two processes."""
    for turn in range(3):
        store = FilesStore(home / "state", segment_bytes=700)
        for stream in ("events", "channels/a"):
            for n in range(4):
                drafts = [Draft({"turn": turn, "n": n, "f": "x" * 90}, key=f"{stream}{turn}{n}")]
                if n == 3:
                    drafts += [Draft({"more": n}), Draft({"more": n + 1})]
                for record in store.append(stream, drafts):
                    said.setdefault(stream, {})[record.seq] = record.id
            for key in ("memory/a", "odd/b"):
                version = store.get(key)[1]
                documents[key] = store.put(key, {"n": version + 1}, expect=version)
        store.trim("channels/a", 4)


def check(home: Path, said: Acknowledged, documents: dict[str, int]) -> None:
    """Each acknowledged record has its number and id; documents are as new; all goes on."""
    store = FilesStore(home / "state", segment_bytes=700)
    for stream, records in said.items():
        first = store.trim(stream, 0)
        found = {r.seq: r.id for r in store.read(stream, first - 1, 999).records}
        assert {seq: name for seq, name in records.items() if seq >= first} == {
            seq: found.get(seq) for seq in records if seq >= first
        }
        assert store.append(stream, [Draft({"after": True})])[0].seq > max(records)
    for key, version in documents.items():
        body, found_version = store.get(key)
        assert found_version >= version
        assert body == {"n": found_version}
        store.put(key, {"n": found_version + 1}, expect=found_version)
    assert [f for f in store.verify() if f.severity == "error"] == []


def cut_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, chance: bool) -> int:
    """Cut the power at every call of `work` in turn; how many there were."""
    cut = 0
    while True:
        cut += 1
        home = tmp_path / f"home-{cut}"
        home.mkdir()
        said: Acknowledged = {}
        documents: dict[str, int] = {}
        with monkeypatch.context() as wires:
            power = Power(home, wires)
            power.cut_at = cut
            with until_cut():
                work(home, said, documents)
            over = power.calls < cut
            rng = random.Random(cut) if chance else None
            left = power.survivors(tmp_path / f"left-{cut}", rng)
            power.close()
        with monkeypatch.context() as calm:
            calm.setattr(disk, "sync_file", lambda _: None)
            calm.setattr(disk, "sync_folder", lambda _: None)
            check(left, said, documents)
        if over:
            return cut


@pytest.mark.parametrize("chance", [False, True], ids=["only what was synced", "and by chance"])
def test_what_was_acknowledged_survives_a_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chance: bool
) -> None:
    """The power goes at each call to the disk in turn: nothing acknowledged is lost."""
    assert cut_everywhere(tmp_path, monkeypatch, chance=chance) > 50


def test_the_proof_would_notice_a_missing_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the sync of a file, or of a folder, the same proof fails."""
    for name in ("sync_file", "sync_folder"):
        home = tmp_path / name
        home.mkdir()
        with monkeypatch.context() as wires:
            power = Power(home, wires)
            wires.setattr(disk, name, lambda _: None)
            said: Acknowledged = {}
            documents: dict[str, int] = {}
            work(home, said, documents)
            left = power.survivors(tmp_path / f"left-{name}")
            power.close()
        with pytest.raises((AssertionError, FleetError)):
            check(left, said, documents)


def test_a_reader_that_syncs_may_act(power: Power, tmp_path: Path) -> None:
    """A record that was read before it was durable is durable after `sync`."""
    store = FilesStore(power.root / "state")
    store.append("events", [Draft({"n": 1})])
    power.cut_at = power.calls + 2  # the write happens, its sync does not
    with until_cut():
        store.append("events", [Draft({"n": 2})])
    reader = FilesStore(power.root / "state")
    assert reader.head("events") == 2

    before = FilesStore(power.survivors(tmp_path / "before") / "state").head("events")
    reader.sync("events")
    after = FilesStore(power.survivors(tmp_path / "after") / "state").head("events")

    assert (before, after) == (1, 2)


def test_rotation_settles_what_stands_before_it(power: Power, tmp_path: Path) -> None:
    """A record whose writer never synced is durable once another writer began the next segment."""
    store = FilesStore(power.root / "state", segment_bytes=200)
    store.append("events", [Draft({"n": 1})])
    power.cut_at = power.calls + 2
    with until_cut():
        store.append("events", [Draft({"n": 2})])

    FilesStore(power.root / "state", segment_bytes=200).append("events", [Draft({"n": 3})])

    left = FilesStore(power.survivors(tmp_path / "left") / "state")
    assert [record.seq for record in left.read("events", 0, 9).records] == [1, 2, 3]


def test_a_folder_whose_maker_died_is_synced_by_whoever_uses_it(
    power: Power, tmp_path: Path
) -> None:
    """A folder that somebody made and never synced does not take a document along."""
    store = FilesStore(power.root / "state")
    store.put("memory/a", {}, expect=0)
    (power.root / "state" / "odd").mkdir(mode=0o700)

    store.put("odd/a", {"n": 1}, expect=0)

    left = FilesStore(power.survivors(tmp_path / "left") / "state")
    assert left.get("odd/a") == ({"n": 1}, 1)


def test_a_repeated_key_is_acknowledged_durable(power: Power, tmp_path: Path) -> None:
    """Whoever hears that a key was there already may rely on it, though its writer never synced."""
    store = FilesStore(power.root / "state")
    store.append("events", [Draft({"n": 1})])
    power.cut_at = power.calls + 2
    with until_cut():
        store.append("events", [Draft({"n": 2}, key="K")])

    (again,) = FilesStore(power.root / "state").append("events", [Draft({"n": 2}, key="K")])

    left = FilesStore(power.survivors(tmp_path / "left") / "state")
    assert again.seq == 2
    assert left.read("events", 0, 9).records[1] == again


@pytest.mark.parametrize("given", [True, False], ids=["by its key", "by its id"])
def test_a_failed_sync_is_settled_by_the_same_id(power: Power, tmp_path: Path, given: bool) -> None:
    """After a failed sync the system believes the bytes written; repeating the id writes them."""
    store = FilesStore(power.root / "state")
    store.append("events", [Draft({"n": 1})])
    power.failing = True
    with pytest.raises(Unsettled) as caught:
        store.append("events", [Draft({"n": 2}, key="K" if given else None)])
    power.failing = False
    lost = FilesStore(power.survivors(tmp_path / "lost") / "state")
    assert lost.head("events") == 1

    again = Draft({"n": 2}, key="K") if given else Draft({"n": 2}, id=caught.value.id)
    (settled,) = FilesStore(power.root / "state").append("events", [again])

    left = FilesStore(power.survivors(tmp_path / "left") / "state")
    assert settled.seq == 2
    assert left.read("events", 0, 9).records[1] == settled
