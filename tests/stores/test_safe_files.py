"""No name leads out of the store, nothing foreign is followed, and only the owner may look in."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.errors import BadHome, FleetError, NotAllowed, Unavailable
from fleet.records import Draft
from fleet.stores.files import FORMAT, FilesCache, FilesStore
from fleet.stores.files.locks import Lock
from stores.proofs import FIRST, Worker, printed, segment

SECRET = b"not for fleet"


def around(home: Path) -> set[str]:
    """Every path in the folder above the home."""
    return {str(path.relative_to(home.parent)) for path in home.parent.rglob("*")}


@pytest.mark.parametrize(
    "name", ["../../x", "a/../../../x", "a//x", "a/.", "a/..", "a/\x00", "a/x\n", "/etc/passwd"]
)
def test_no_name_leads_out_of_the_folder(state: Path, name: str) -> None:
    """Whatever a log or document is called, its files are in the state folder."""
    state.parent.mkdir()
    store = FilesStore(state)

    for use in (
        lambda: store.append(name, [Draft({})]),
        lambda: store.put(name, {}, expect=0),
        lambda: store.append(f"channels/{name}", [Draft({})]),
        lambda: store.put(f"memory/{name}", {}, expect=0),
    ):
        try:
            use()
        except FleetError:
            continue

    outside = {path for path in around(state.parent) if not path.startswith("home/state")}
    assert outside == {"home"}
    assert not (state.parent / "x").exists()


def test_twins_in_case_have_names_of_their_own(store: FilesStore, state: Path) -> None:
    """Where the file system ignores case, `a` and `A` are two files: no capital is written."""
    for name in ("a", "A", "aB", "Ab"):
        store.append(f"channels/{name}", [Draft({})])
        store.put(f"memory/{name}", {}, expect=0)

    for folder in (state / "channels", state / "memory"):
        plain = {path.name.casefold() for path in folder.iterdir()}
        assert len(plain) == 4
    assert (state / "memory" / "%41b.json").exists()


def test_a_cache_name_stays_in_its_folder(tmp_path: Path) -> None:
    """A derived file's name is one file name, whatever it says."""
    cache = FilesCache(tmp_path / "cache")

    for name in ("../x", "/etc/x", "fold/events/x", "x" * 500, ".", ".."):
        cache.save(name, name.encode())
        assert cache.load(name) == name.encode()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]
    assert len(list((tmp_path / "cache").iterdir())) == 6


def as_symlink(path: Path, target: Path) -> None:
    """`path` leads to `target`."""
    path.symlink_to(target)


def as_hard_link(path: Path, target: Path) -> None:
    """`path` is a second name of `target`."""
    os.link(target, path)


def as_fifo(path: Path, _target: Path) -> None:
    """`path` would keep whoever opens it waiting."""
    os.mkfifo(path)


FOREIGN = [as_symlink, as_hard_link, as_fifo]
PLACES: dict[str, Callable[[FilesStore], object]] = {
    f"events/{FIRST}": lambda store: store.append("events", [Draft({"n": 2})]),
    "locks/log.events": lambda store: store.append("events", [Draft({"n": 2})]),
    "memory/a.json": lambda store: store.put("memory/a", {"n": 2}, expect=1),
    "memory/a.json.tmp": lambda store: store.put("memory/a", {"n": 2}, expect=1),
    "memory/a.json.prev.tmp": lambda store: store.put("memory/a", {"n": 2}, expect=1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", FOREIGN)
def test_nothing_foreign_is_followed(
    store: FilesStore, state: Path, place: str, make: Callable[[Path, Path], None]
) -> None:
    """A symlink, hard link or FIFO is refused, and what it leads to is untouched."""
    target = state.parent / "target"
    store.append("events", [Draft({"n": 1})])
    store.put("memory/a", {"n": 1}, expect=0)
    target.write_bytes(SECRET)
    (state / place).unlink(missing_ok=True)
    make(state / place, target)

    with pytest.raises(NotAllowed):
        PLACES[place](FilesStore(state))

    assert target.read_bytes() == SECRET


@pytest.mark.parametrize("make", FOREIGN)
def test_nothing_foreign_is_read(
    store: FilesStore, state: Path, make: Callable[[Path, Path], None]
) -> None:
    """Readers refuse it as well, and do not wait for the other end of a FIFO."""
    store.append("events", [Draft({"n": 1})])
    store.put("memory/a", {"n": 1}, expect=0)
    target = state.parent / "target"
    for path in (segment(state), state / "memory" / "a.json"):
        target.write_bytes(path.read_bytes())
        path.unlink()
        make(path, target)

    for use in (
        lambda: store.read("events", 0, 9),
        lambda: store.head("events"),
        lambda: store.get("memory/a"),
    ):
        with pytest.raises(NotAllowed):
            use()


@pytest.mark.parametrize("folder", ["events", "channels", "memory", "locks"])
def test_a_folder_is_no_symlink(store: FilesStore, state: Path, folder: str) -> None:
    """A folder that is a symlink to elsewhere is refused; nothing appears there."""
    elsewhere = state.parent / "elsewhere"
    elsewhere.mkdir(parents=True)
    store.put("control/x", {}, expect=0)
    if (state / folder).exists():
        (state / folder).rename(state.parent / "old")
    (state / folder).symlink_to(elsewhere)

    uses: dict[str, Callable[[], object]] = {
        "events": lambda: store.append("events", [Draft({})]),
        "channels": lambda: store.append("channels/a", [Draft({})]),
        "memory": lambda: store.put("memory/a", {}, expect=0),
        "locks": lambda: FilesStore(state),
    }
    looks: dict[str, Callable[[], object]] = {
        "events": lambda: store.read("events", 0, 9),
        "memory": lambda: store.get("memory/a"),
    }
    for use in (uses[folder], looks.get(folder, uses[folder])):
        with pytest.raises(NotAllowed):
            use()

    assert list(elsewhere.iterdir()) == []


def test_the_state_is_no_symlink(state: Path) -> None:
    """The state folder itself is not followed elsewhere."""
    elsewhere = state.parent / "elsewhere"
    elsewhere.mkdir(parents=True)
    state.symlink_to(elsewhere)

    with pytest.raises(NotAllowed):
        FilesStore(state)


def test_a_folder_in_a_files_place_is_named(store: FilesStore, state: Path) -> None:
    """A directory where a document or lock should be is one line that names it."""
    store.append("events", [Draft({})])
    (state / "memory" / "a.json").mkdir()
    lock = state / "locks" / "log.events"
    lock.unlink()
    lock.mkdir()

    with pytest.raises(NotAllowed, match=r"a\.json is not a regular file"):
        store.get("memory/a")
    with pytest.raises(Unavailable, match=r"a folder stands in its place \(.*log\.events\)"):
        store.append("events", [Draft({})])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_only_the_owner_may_look_in(state: Path, umask: int) -> None:
    """Files are 0600 and folders 0700 whatever the umask, quarantine and archive included."""
    old = os.umask(umask)
    try:
        store = FilesStore(state, segment_bytes=300)
        state.mkdir(parents=True, mode=0o755)
        for n in range(9):
            store.append("channels/a", [Draft({"n": n, "f": "x" * 90}, key=f"k{n}")])
        store.trim("channels/a", 5)
        store.put("memory/a", {"n": 1}, expect=0)
        store.put("memory/a", {"n": 2}, expect=1)
        newest = max((state / "channels" / "a").iterdir())
        newest.write_bytes(newest.read_bytes() + b"stub")
        store.append("channels/a", [Draft({})])
        FilesCache(state / "cache").save("x", b"data")
    finally:
        os.umask(old)

    modes = {
        str(path.relative_to(state.parent)): (path.is_dir(), stat.S_IMODE(path.lstat().st_mode))
        for path in [state, *state.rglob("*")]
    }
    assert {mode for folder, mode in modes.values() if folder} == {0o700}
    assert {mode for folder, mode in modes.values() if not folder} == {0o600}
    assert {"state/archive/channels/a", "state/quarantine"} <= modes.keys()


def test_reading_makes_nothing(store: FilesStore, state: Path) -> None:
    """A store that is only read from leaves no trace."""
    store.read("events", 0, 9)
    store.get("memory/a")
    store.sync("events")
    assert (store.verify(), store.keys("", "", 9), store.streams("", "", 9)) == ([], [], [])

    assert not state.exists()


def test_another_format_is_refused(state: Path) -> None:
    """A state of another format is neither read nor started afresh."""
    state.mkdir(parents=True)
    (state / "FORMAT").write_text("fleet-state 2\n")

    with pytest.raises(BadHome, match="fleet-state 2"):
        FilesStore(state)

    assert [path.name for path in state.iterdir()] == ["FORMAT"]


def test_records_without_a_format_are_refused(store: FilesStore, state: Path) -> None:
    """A state that lost its FORMAT is not taken for a new one; a README and caches may be there."""
    (state / "cache").mkdir(parents=True)
    (state / "README.md").write_text("the format")
    (state / "run" / "r1").mkdir(parents=True)
    (state / "run" / "r1" / "manifest.json").write_text("{}")
    FilesStore(state).append("events", [Draft({})])
    assert (state / "FORMAT").read_text() == f"{FORMAT}\n"

    (state / "FORMAT").unlink()
    with pytest.raises(BadHome, match="no file FORMAT"):
        FilesStore(state)


def test_a_lock_file_is_never_followed(tmp_path: Path) -> None:
    """Neither a lock nor a singleton's lock truncates what a symlink leads to."""
    target = tmp_path / "target"
    target.write_bytes(SECRET)
    (tmp_path / "lock").symlink_to(target)

    with pytest.raises(NotAllowed), Lock(str(tmp_path / "lock"), "a test", timeout=1):
        pass

    state = tmp_path / "home" / "state"
    singleton = FilesStore(state).singleton("runner", "the runner of this home")
    (state / "locks" / "runner.lock").symlink_to(target)
    with pytest.raises(NotAllowed):
        singleton.acquire()
    assert target.read_bytes() == SECRET


def test_a_cache_of_others_is_not_believed(tmp_path: Path) -> None:
    """A derived file that others may change, that is damaged, or a link, counts as absent."""
    cache = FilesCache(tmp_path)
    cache.save("x", b"data")
    path = tmp_path / "x"
    good = path.read_bytes()
    assert cache.load("x") == b"data"

    path.chmod(0o622)
    assert cache.load("x") is None
    path.chmod(0o600)
    for spoiled in (b"", good[:-1], good.replace(b"data", b"date"), good + b"!", b"data"):
        path.write_bytes(spoiled)
        assert cache.load("x") is None
    path.unlink()
    (tmp_path / "real").write_bytes(good)
    path.symlink_to(tmp_path / "real")
    assert cache.load("x") is None
    cache.save("x", b"new")
    assert cache.load("x") == b"new"
    assert (tmp_path / "real").read_bytes() == good


def test_a_cache_never_stops_anyone(tmp_path: Path) -> None:
    """Where nothing can be saved, saving does nothing."""
    (tmp_path / "file").write_bytes(b"")
    cache = FilesCache(tmp_path / "file")

    cache.save("x", b"data")

    assert cache.load("x") is None


def test_large_records_weld_nothing(state: Path, worker: Worker) -> None:
    """Six processes write 200 records of 20 KB each: all 1,200 decode, each id once."""
    workers = [worker("append", 200, 10_000, name) for name in "abcdef"]
    seen = [words[1] for process in workers for words in printed(process)]

    store = FilesStore(state)
    found: list[str] = []
    upto = 0
    while batch := store.read("events", upto, 100).records:
        found += [record.id for record in batch]
        upto = batch[-1].seq

    assert len(found) == 1200
    assert sorted(found) == sorted(seen)
    assert store.verify() == []
