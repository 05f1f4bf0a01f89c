"""A backup is taken while everything runs; what is restored from it is sound, or is not there."""

import json
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from fleet import blobs
from fleet.cursors import BROADCAST
from fleet.errors import BadHome, EndedBadly, FleetError, Rejected, Unavailable, Usage
from fleet.logs import place_at
from fleet.ops import packing
from fleet.ops.backup import backup
from fleet.ops.restore import restore
from fleet.ops.verify import verify
from fleet.places import Places
from fleet.runner import lead
from fleet.wiring import Fleet
from fleets import Scripted

OLD = "019b2e00-0000-7000-8000-000000000001"


@pytest.fixture
def grown(scripted: Scripted) -> Scripted:
    """A home with some of everything, and what no backup holds."""
    return fill(scripted)


def fill(scripted: Scripted) -> Scripted:
    """Some of everything."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    fleet = scripted.fleet
    for n in range(9):
        fleet.bus.emit(fleet.author, "note", {"n": str(n)}, key=f"k{n}")
        fleet.talk.post(fleet.author, "strategy", f"m{n} ä\u2028", pin=n == 3)
    fleet.claims.take(fleet.author, "lead:a", keep=3600)
    fleet.runs.start(fleet.author, "worker", OLD, slot="hand:x")
    fleet.bus.skip(fleet.author, "worker", "events#5")
    lead.settle_in(fleet, take_over=False)
    scripted.put(f"state/run/{OLD}/prompt.md", "Work.")
    scripted.put("state/archive/events/keys.jsonl", "{}\n")
    scripted.put("work/worker/drafts/ä b.md", "a draft")
    (scripted.root / "work" / "worker" / "empty").mkdir()
    scripted.put("bin/gate", "#!/bin/sh\n").chmod(0o755)
    for name in (
        ".git/config",
        "state/spool/x",
        "state/cache/x",
        "state/export/x",
        "state/claims/half.json.tmp",
    ):
        scripted.put(name, "not this")
    (scripted.root / "bin" / "link").symlink_to("/etc/passwd")
    (scripted.root / "work" / "linked").symlink_to("/etc")
    os.mkfifo(scripted.root / "work" / "fifo")
    with socket.socket(socket.AF_UNIX) as door:
        here = Path.cwd()
        os.chdir(scripted.root / "state")
        door.bind("fleet.sock")
        os.chdir(here)
    return scripted


def made(home: Scripted, target: Path, **options: object) -> packing.Manifest:
    """A backup by the use-case itself."""
    return backup(Places(home.root), target, wall=0.0, **options)  # type: ignore[arg-type]


def contents(root: Path) -> dict[str, bytes]:
    """Every regular file that a backup holds, by its path."""
    never = {"cache", "export/x", "locks", "spool", "claims/half.json.tmp"}
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        kept = not any(name.startswith(f"state/{place}") for place in never)
        if path.is_file() and not path.is_symlink() and kept and not name.startswith(".git/"):
            found[name] = path.read_bytes()
    return found


def lanes(fleet: Fleet) -> dict[str, object]:
    """Where every lane stands."""
    return {agent: fleet.cursors.get(agent) for agent in fleet.cursors.agents()}


def test_what_is_restored_is_what_was_there(grown: Scripted, tmp_path: Path) -> None:
    """Every byte of files, logs and documents comes back, for its owner alone; caches do not.

    Links and devices are left out and named. The restored home is sound and its numbers go on.
    """
    target = tmp_path / "home.zip"
    before, stood = contents(grown.root), lanes(grown.fleet)
    done = grown.call("backup", str(target))
    os.chdir(tmp_path)
    back = grown.call("restore", "home.zip", "other")

    assert (done.returncode, back.returncode) == (0, 0), (done.stderr, back.stderr)
    assert done.stderr.splitlines() == [
        "fleet: note: left out bin/link: a symbolic link",
        "fleet: note: left out work/fifo: a device",
        "fleet: note: left out work/linked: a symbolic link",
    ]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    other = Scripted.at(tmp_path / "other")
    assert "4 logs with" in back.stdout
    assert "every record and document can be read" in back.stdout
    assert f"it was {grown.root}" in back.stdout
    assert contents(other.root) == before
    assert lanes(other.fleet) == stood
    assert (other.root / "work" / "worker" / "empty").is_dir()
    assert not (other.root / "state" / "export" / "x").exists()
    for path in other.root.rglob("*"):
        if "cache" not in path.parts and "locks" not in path.parts:
            private = 0o700 if path.is_dir() or path.name == "gate" else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == private, path
    fleet = other.fleet
    assert fleet.bus.emit(fleet.author, "note", {"n": "10"}).seq == 10
    assert fleet.bus.emit(fleet.author, "note", {"n": "4"}, key="k4").seq == 5


def test_without_work(grown: Scripted, tmp_path: Path) -> None:
    """--without-work leaves the agents' folders out and nothing else."""
    made(grown, tmp_path / "home.zip", work=False)
    restore(tmp_path / "home.zip", tmp_path / "other")

    before = {name for name in contents(grown.root) if not name.startswith("work/")}
    assert set(contents(tmp_path / "other")) == before


def test_no_document_is_ahead_of_its_log(grown: Scripted, tmp_path: Path) -> None:
    """With events, claims, runs and lanes written after every single file that is copied.

    The documents in the backup stand on records that are in it, and it is sound; everything that
    was acknowledged before it began is in it.
    """
    fleet = grown.fleet
    acknowledged = fleet.store.head("events")

    def go_on(done: int, _total: int) -> None:
        record = fleet.bus.emit(fleet.author, "note", {"n": str(done)})
        fleet.cursors.advance("worker", {BROADCAST: place_at(fleet.store, "events", record.seq)})
        fleet.talk.post(fleet.author, "strategy", "and on")
        run = f"{OLD[:-12]}{done:012d}"
        blob = blobs.keep(fleet.store, f"a template of {done}")
        fleet.runs.start(fleet.author, "worker", run, slot="hand:y", context={"blob": blob})
        grown.put(f"state/run/{run}/prompt.md", "Work.")

    made(grown, tmp_path / "home.zip", progress=go_on)
    restore(tmp_path / "home.zip", tmp_path / "other")

    restored = Scripted.at(tmp_path / "other").fleet
    assert verify(restored) == []
    assert restored.store.head("events") > acknowledged
    assert fleet.cursors.get("worker")[BROADCAST].seq > restored.store.head("events")
    for record in restored.store.read("runs/worker", 0, 1000).records:
        context = record.body["context"]
        assert not context or blobs.load(restored.store, context["blob"])
    for run in restored.runs.open():
        assert restored.config.run_folder(run.id).is_dir()


def test_an_append_under_way_is_not_in_it(grown: Scripted, tmp_path: Path) -> None:
    """What stands after the last line feed of a log stays out: the restored log ends whole."""
    (segment,) = (grown.root / "state" / "events").glob("*.jsonl")
    whole = segment.read_bytes()
    segment.write_bytes(whole + b'{"v":1,"seq":10,"half')

    made(grown, tmp_path / "home.zip")
    restore(tmp_path / "home.zip", tmp_path / "other")

    assert (tmp_path / "other" / segment.relative_to(grown.root)).read_bytes() == whole


def test_a_backup_replaces_nothing_and_holds_no_backup(grown: Scripted, tmp_path: Path) -> None:
    """A file that exists, a place in the home, a missing folder: refused before a byte is read."""
    (tmp_path / "there.zip").write_text("mine")
    (tmp_path / "door").symlink_to(grown.root / "work")

    for name in ("there.zip", "home/x.zip", "door/x.zip", "nowhere/x.zip"):
        with pytest.raises(Usage):
            made(grown, tmp_path / name)

    assert (tmp_path / "there.zip").read_text() == "mine"
    assert not list(tmp_path.rglob("*x.zip*"))


def test_a_full_disk_leaves_nothing(grown: Scripted, tmp_path: Path) -> None:
    """One line that says so, exit 75, and no file; so where less than min_free would be left."""
    folder = tmp_path / "backups"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "fleet", "--home", str(grown.root), "backup", f"{folder}/home.zip"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    with pytest.raises(Unavailable, match=r"min_free is .* on another disk"):
        made(grown, folder / "home.zip", least=1 << 60)

    assert done.returncode == 75
    assert done.stderr.count("\n") == 1
    assert "nothing was left behind" in done.stderr
    assert list(folder.iterdir()) == []


# What is damaged ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A backup's bytes."""
    folder = tmp_path_factory.mktemp("whole")
    made(fill(Scripted(folder / "home")), folder / "home.zip")
    return (folder / "home.zip").read_bytes()


@pytest.fixture
def backed_up(whole: bytes, tmp_path: Path) -> Path:
    """A backup in a folder of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "home.zip").write_bytes(whole)
    return tmp_path / "in" / "home.zip"


def rewritten(path: Path, change: Callable[[dict[str, bytes], dict[str, object]], None]) -> None:
    """Make the zip anew with `change` applied to its files and its manifest."""
    with ZipFile(path) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}
    manifest = json.loads(files.pop(packing.MANIFEST))
    change(files, manifest)
    path.unlink()
    with ZipFile(path, "w", ZIP_DEFLATED) as new:
        for name, data in files.items():
            new.writestr(name, data)
        new.writestr(packing.MANIFEST, json.dumps(manifest))


def _named(name: str) -> Callable[..., None]:
    def change(files: dict[str, bytes], manifest: dict[str, list[object]]) -> None:
        files[f"home/{name}"] = b"x"
        entry = [name, 1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", 0, 0]
        manifest["files"].append(entry)

    return change


def _folder(name: str) -> Callable[..., None]:
    return lambda _files, manifest: manifest["folders"].append(name)


def _says(name: str, value: object) -> Callable[..., None]:
    return lambda _files, manifest: manifest.update({name: value})


def _other_bytes(files: dict[str, bytes], _manifest: dict[str, object]) -> None:
    files["home/fleet.yaml"] = files["home/fleet.yaml"][:-1] + b" "


def _bomb(files: dict[str, bytes], _manifest: dict[str, object]) -> None:
    files["home/fleet.yaml"] = bytes(1 << 22)


def _unnamed(files: dict[str, bytes], _manifest: dict[str, object]) -> None:
    files["home/agents/more.yaml"] = b""


def _missing(files: dict[str, bytes], _manifest: dict[str, object]) -> None:
    del files["home/fleet.yaml"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_named("../outside"), EndedBadly),
        (_named("/tmp/outside"), EndedBadly),
        (_named("a/../../outside"), EndedBadly),
        (_named("a//b"), EndedBadly),
        (_named("state/cache/config"), EndedBadly),
        (_named("fleet.yaml/x"), EndedBadly),
        (_named("x" * 300), EndedBadly),
        (_folder("../outside"), EndedBadly),
        (_folder("fleet.yaml"), EndedBadly),
        (_other_bytes, EndedBadly),
        (_bomb, EndedBadly),
        (_unnamed, EndedBadly),
        (_missing, EndedBadly),
        (_says("files", [["a"]]), EndedBadly),
        (_says("files", None), EndedBadly),
        (_says("format", "fleet-backup 2"), BadHome),
        (_says("state", "fleet-state 2"), BadHome),
        (_says("format", None), BadHome),
    ],
)
def test_what_somebody_made_up_leaves_nothing(
    backed_up: Path, change: Callable[..., None], kind: type[FleetError]
) -> None:
    """Paths that leave the folder, other bytes or sizes, a newer format: one line, and no file."""
    rewritten(backed_up, change)
    before = set(backed_up.parent.parent.rglob("*"))

    with pytest.raises(kind) as fault:
        restore(backed_up, backed_up.parent / "other")

    assert len(str(fault.value).splitlines()) == 1
    assert not any(word in str(fault.value) for word in ("()", "argument", "NoneType", "object"))
    assert set(backed_up.parent.parent.rglob("*")) == before


def test_a_damaged_file_leaves_nothing(backed_up: Path, whole: bytes) -> None:
    """Cut off at either end, or with a flipped bit anywhere, it is refused; no byte is written."""
    damaged = [whole[:cut] for cut in (0, 10, len(whole) // 2, len(whole) - 1)]
    damaged += [whole[cut:] for cut in (1, 50, len(whole) // 2)]
    damaged += [b"#!/bin/sh\n", b"PK\x05\x06" + bytes(18)]
    damaged += [
        whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
        for at in range(60, len(whole) - 22, len(whole) // 40)
    ]
    for data in damaged:
        backed_up.write_bytes(data)
        try:
            restore(backed_up, backed_up.parent / "other")
        except (Rejected, EndedBadly, BadHome):
            assert list(backed_up.parent.iterdir()) == [backed_up]
        else:  # a bit that says nothing, such as the time of a file in the zip's own list
            assert verify(Scripted.at(backed_up.parent / "other").fleet) == []
            subprocess.run(["rm", "-r", str(backed_up.parent / "other")], check=True)


def test_nothing_is_restored_over_anything(backed_up: Path, monkeypatch) -> None:
    """A folder that holds anything, a file, the folder one is in: refused; an empty one is fine."""
    here = backed_up.parent
    (here / "full").mkdir()
    (here / "full" / "mine").touch()
    (here / "empty").mkdir()
    (here / "link").symlink_to(here / "empty")
    monkeypatch.chdir(here / "empty")

    for name in ("full", "full/mine", "link", "no/where", "empty"):
        with pytest.raises(Usage):
            restore(backed_up, here / name)
    monkeypatch.chdir(here)
    restore(backed_up, here / "empty")

    assert (here / "empty" / "fleet.yaml").is_file()
