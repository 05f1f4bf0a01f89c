"""A state of another format is brought to this one's after a backup, or is left as it is."""

import shutil
import stat
from pathlib import Path
from zipfile import ZipFile

import pytest

from calls import call, many, tree
from fleet.cli.commands import COMMANDS
from fleet.errors import BadHome, EndedBadly, LockTimeout, Usage
from fleet.ops import packing
from fleet.ops.migrate import STEPS, Step, migrate
from fleet.places import FORMAT, Places
from fleet.wiring.locking import file_lock
from fleets import Scripted

HOMELESS = {"init", "demo", "version", "restore"}
WORDS = {
    "post": ["strategy", "x"], "emit": ["note", "n=1"], "claim": ["k"], "read": ["strategy"],
    "run": ["worker"], "halt": ["--all"], "context": ["worker"], "skip": ["worker", "--to", "now"],
    "logs": ["worker"], "backup": ["../x.zip"], "schema": ["list"], "report": ["x"],
}  # fmt: skip
NO_WORD = {
    "events", "claims", "channels", "whoami", "up", "stop", "status", "next", "pause", "resume",
    "runs", "check", "doctor", "verify", "reindex", "migrate",
}  # fmt: skip


@pytest.fixture
def old(scripted: Scripted) -> Scripted:
    """A home with records, whose state says that it is of an older format."""
    scripted.agent("worker", "cat > /dev/null")
    fleet = scripted.fleet
    for n in range(5):
        fleet.bus.emit(fleet.author, "note", {"n": str(n)})
    assert (scripted.root / "state" / "cache").is_dir()
    (scripted.root / "state" / "FORMAT").write_text("fleet-state 0\n")
    return scripted


@pytest.mark.parametrize(
    ("said", "fix", "migrate_fix"),
    [
        ("fleet-state 2", "use the newer fleet that wrote it", "use the newer fleet"),
        ("fleet-state 0", "fleet migrate", "use the older fleet that wrote it"),
        ("something else", f"write into it what stood there: {FORMAT}", f"stood there: {FORMAT}"),
        ("", "FORMAT is empty: restore it from a backup, or write", f"stood there: {FORMAT}"),
    ],
)
def test_no_command_touches_another_format(
    old: Scripted, said: str, fix: str, migrate_fix: str
) -> None:
    """Every command is exit 7 with one line that says what to use, and not a byte changes."""
    (old.root / "state" / "FORMAT").write_text(f"{said}\n")
    shutil.rmtree(old.root / "state" / "cache")
    before = tree(old.root.parent)
    names = [name for name in COMMANDS if name not in HOMELESS]
    lines = [call(name, *WORDS.get(name, [])) for name in names]

    done = dict(zip(names, many(old.root, lines, {"FLEET_HOME": str(old.root)}), strict=True))

    for name, one in done.items():
        if name in NO_WORD or name in WORDS:
            assert (one.code, one.out, len(one.err.splitlines())) == (7, "", 1), (name, one)
            assert (fix if name != "migrate" else migrate_fix) in one.err
            assert said in one.err
        assert one.code in {2, 7}, (name, one)  # some want a word more
    assert tree(old.root.parent) == before


def test_a_current_state_is_left_alone(scripted: Scripted) -> None:
    """`fleet migrate` on a current home, or one without state, says so; there is no backup."""
    fleet = scripted.fleet
    scripted.agent("worker", "cat > /dev/null")
    fresh = many(scripted.root, [call("migrate")], {"FLEET_HOME": str(scripted.root)})
    fleet.bus.emit(fleet.author, "note", {"n": "1"})

    (done,) = many(scripted.root, [call("migrate")], {"FLEET_HOME": str(scripted.root)})

    assert [one.out for one in (*fresh, done)] == [f"the state is current: {FORMAT}\n"] * 2
    assert [path.name for path in scripted.root.parent.iterdir()] == ["home"]
    assert STEPS == {}


def _migrate(home: Scripted, steps: dict[str, Step], target: Path | None = None) -> list[str]:
    said: list[str] = []
    assert migrate(Places(home.root), target, wall=0.0, say=said.append, steps=steps)
    return said


def test_steps_follow_one_another_after_a_backup(old: Scripted, tmp_path: Path) -> None:
    """Each step sees the format before it and a backup that was read; FORMAT comes after it."""
    seen = []
    named = tmp_path / "before.zip"

    def note(state: Path) -> None:
        with ZipFile(named) as archive:
            kept = archive.read("home/state/FORMAT").decode().strip()
        seen.append(((state / "FORMAT").read_text().strip(), kept))

    steps = {"fleet-state 0": Step("fleet-state 0.5", note), "fleet-state 0.5": Step(FORMAT, note)}
    said = _migrate(old, steps, named)

    assert seen == [("fleet-state 0", "fleet-state 0"), ("fleet-state 0.5", "fleet-state 0")]
    assert (old.root / "state" / "FORMAT").read_text() == f"{FORMAT}\n"
    assert stat.S_IMODE((old.root / "state" / "FORMAT").stat().st_mode) == 0o600
    assert not (old.root / "state" / "cache").exists()
    assert said == [
        f"backed up to {named}, and read back",
        "the state is fleet-state 0.5 now",
        f"the state is {FORMAT} now",
    ]
    assert old.fleet.store.head("events") == 5


def test_a_step_that_was_broken_off_is_begun_again(old: Scripted) -> None:
    """Until a step is done FORMAT says the old format; the same word goes on, with a new backup."""
    tries = []

    def fail_once(state: Path) -> None:
        tries.append((state / "FORMAT").read_text().strip())
        (state / "half").touch()
        if len(tries) == 1:
            raise EndedBadly("the power is gone")

    steps = {"fleet-state 0": Step(FORMAT, fail_once)}
    with pytest.raises(EndedBadly):
        _migrate(old, steps, old.root.parent / "first.zip")
    with pytest.raises(BadHome):
        _ = old.fleet.store
    _migrate(old, steps)

    assert tries == ["fleet-state 0", "fleet-state 0"]
    assert old.fleet.store.head("events") == 5
    (second,) = old.root.parent.glob("home-before-fleet-state-1-*.zip")
    with packing.opened(second) as archive:
        assert packing.check(archive, lambda _n: None, ("fleet-state 0",)).state == "fleet-state 0"


def test_without_a_backup_there_is_no_step(old: Scripted, tmp_path: Path) -> None:
    """Where the backup cannot be written, or a runner is at work, nothing is changed."""
    before = tree(old.root)
    steps = {"fleet-state 0": Step(FORMAT, lambda state: (state / "FORMAT").unlink())}
    (tmp_path / "there.zip").touch()

    with pytest.raises(Usage):
        _migrate(old, steps, tmp_path / "there.zip")
    with (
        file_lock(old.root / "state" / "locks" / "runner.lock", 1),
        pytest.raises(LockTimeout, match="pid"),
    ):
        _migrate(old, steps)

    assert {name: kept for name, kept in tree(old.root).items() if "locks" not in name} == {
        name: kept for name, kept in before.items() if "locks" not in name
    }
