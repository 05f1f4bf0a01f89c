"""How long the files of runs stay, and that nothing but these goes."""

import json
import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import median

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet import processes
from fleet.ops import runfiles
from fleet.ops.backup import backup
from fleet.ops.retention import Files, Limits, Sweep, going
from fleet.records import Draft, new_id
from fleet.runner import sweeper
from fleet.runner.sweeper import Sweeper
from fleet.wiring import Fleet
from fleets import Scripted, until
from lived import DAY, files_of, kept, lived, transcript

SHAPES = Path(__file__).parents[2] / "docs" / "json"
NOW = 1e9
FILES = some.builds(
    Files,
    run=some.uuids().map(str),
    began=some.integers(0, 400).map(lambda days: NOW - days * DAY),
    size=some.integers(0, 50),
    failed=some.booleans(),
    stays=some.booleans(),
)


def home_with(root: Path, retention: str = "{runs: 90d}") -> Scripted:
    """A home with one agent, and that retention."""
    home = Scripted(root, extra=f"retention: {retention}\n")
    home.agent("worker", "cat > /dev/null; echo done")
    return home


def sweep(home: Scripted) -> Fleet:
    """One sweep of everything that is due."""
    fleet = home.fleet
    fleet.config  # noqa: B018 - the files as they are now
    with fleet.maintained(shared=False):
        Sweep(fleet).delete()
    return fleet


@given(
    some.lists(FILES, unique_by=lambda one: one.run), some.integers(0, 20), some.integers(0, 400)
)
def test_what_goes_is_as_little_and_as_old_as_can_be(
    every: list[Files], most: int, size: int
) -> None:
    """What is left is within age, count and size, or nothing that may go is left.

    Nothing older stays than what went, one that failed counting half its age; nothing that stays
    for good, or is needed, goes.
    """
    limits = Limits(90 * DAY, most, size)
    needed = {one.run for one in every[::3]}
    gone = list(going(every, limits, NOW, needed.__contains__))

    left = [one for one in every if one not in gone]
    free = [one for one in left if not one.stays and one.run not in needed]
    assert not any(one.stays or one.run in needed for one in gone)
    assert all(one.age(NOW) <= limits.age for one in free)
    assert not free or (len(left) <= most and sum(one.size for one in left) <= size)
    if gone and free:
        assert max(one.age(NOW) for one in free) <= min(one.age(NOW) for one in gone)
    if gone and gone[-1].age(NOW) <= limits.age:  # the last one had to go: with it it is too much
        assert len(left) + 1 > most or sum(one.size for one in left) + gone[-1].size > size


def test_files_go_by_age_and_failed_ones_at_twice_of_it(tmp_path: Path) -> None:
    """After 90 days a success's files go, after 180 a failure's; its transcripts go along.

    The records stay: `runs` and `explain` know what the logs know.
    """
    home = home_with(tmp_path / "home")
    ok = lived(home, "worker", [200, 91, 89])
    failed = lived(home, "worker", [181, 179], "crashed")
    for run in ok:
        transcript(home, "worker", run)
    lived(home, "worker", [1])

    sweep(home)

    assert set(kept(home)) >= {ok[2], failed[1]}
    assert len(kept(home)) == 3
    left = {path.name for path in (home.root / "state" / "claude").rglob("*") if path.is_file()}
    assert left == {f"{ok[2]}.jsonl", "agent-a.jsonl"}
    assert len(home.runs()) == 6
    said = home.call("explain", ok[0])
    assert (said.returncode, "its files are gone" in said.stdout) == (0, True)


def test_what_somebody_needs_stays_however_old(tmp_path: Path) -> None:
    """A run without an end, one that lives, staged writes that wait, and each agent's last run."""
    home = home_with(tmp_path / "home", "{runs: 1d, run_count: 1, run_bytes: 1KiB}")
    (last,) = lived(home, "worker", [300])
    (failed,) = lived(home, "second", [400], "crashed")
    (goes_on,) = lived(home, "third", [200], None)
    old = lived(home, "fourth", [500, 450, 400, 1])
    alive, staged, unknown = old[:3]
    me = os.getpid()
    told = {"pid": me, "start": processes.start_time(me), "boot": processes.boot_id()}
    alive_note = home.root / "state" / "run" / alive / "alive.json"
    alive_note.write_text(json.dumps(told))
    store = home.fleet.store
    store.append(f"shadow/{staged}", [Draft({"op": "staged", "agent": "fourth"})])
    store.append(f"shadow/{unknown}", [Draft({"op": "staged", "agent": "fourth"})])
    store.append(f"shadow/{unknown}", [Draft({"op": "dropped", "by": "operator"})])

    sweep(home)

    assert kept(home) == sorted([last, failed, goes_on, alive, staged, old[3]])
    alive_note.write_text(json.dumps(told | {"start": 1}))
    sweep(home)
    assert alive not in kept(home)


def test_only_runs_and_their_transcripts_go(tmp_path: Path) -> None:
    """What else lies there stays: names that are no run's, the CLI's memory and settings.

    A session that was no run's goes by its age, and a run that never came on record.
    """
    home = home_with(tmp_path / "home", "{runs: 90d}")
    lived(home, "worker", [1])
    state = home.root / "state"
    own = ["run/mine/notes", "claude/worker/.claude.json", "claude/worker/projects/-x/memory/M.md"]
    for name in own:
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text("x")
    sessions = [transcript(home, "worker", new_id(1.0)) for _ in range(2)]
    long_ago = time.time() - 91 * DAY
    os.utime(sessions[0], (long_ago, long_ago))
    os.utime(sessions[0].with_suffix(""), (long_ago, long_ago))
    never = files_of(home, new_id(long_ago))

    sweep(home)

    assert all((state / name).exists() for name in own)
    assert [path.exists() for path in sessions] == [False, True]
    assert not sessions[0].with_suffix("").exists()
    assert not never.exists()


def test_no_link_is_followed(tmp_path: Path) -> None:
    """Links in a run's folder go and what they point to stays; links in place of folders stay."""
    home = home_with(tmp_path / "home", "{runs: 1d}")
    old = lived(home, "worker", [50, 40, 1])
    outside = tmp_path / "outside"
    (outside / "-home").mkdir(parents=True)
    precious = [outside / "file", outside / "-home" / f"{old[1]}.jsonl"]
    for path in precious:
        path.write_text("precious")
    folder = home.root / "state" / "run" / old[0]
    (folder / "out").symlink_to(outside)
    (folder / "file").symlink_to(precious[0])
    os.link(precious[0], folder / "hard")
    link = home.root / "state" / "run" / new_id(1.0)
    link.symlink_to(outside)
    (home.root / "state" / "claude" / "worker").mkdir(parents=True)
    (home.root / "state" / "claude" / "worker" / "projects").symlink_to(outside)
    (home.root / "state" / "claude" / "other").symlink_to(tmp_path)

    sweep(home)

    assert kept(home) == sorted([old[2], link.name])
    assert [path.read_text() for path in precious] == ["precious"] * 2


def test_what_was_cut_short_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is cut short, a folder is whole or a remainder, which the next sweep finishes."""
    home = home_with(tmp_path / "home", "{runs: 1d}")
    old = lived(home, "worker", [60, 50, 40, 1])
    for run in old:
        transcript(home, "worker", run)

    class Cut(BaseException):
        """The end of the process."""

    for after in range(12):
        left = [after]

        def cut(*_: object, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Cut

        with monkeypatch.context() as patch:
            for name in ("unlink", "rmdir"):
                real = getattr(os, name)
                patch.setattr(os, name, lambda *a, real=real, **k: (cut(), real(*a, **k)))
            try:
                sweep(home)
            except Cut:
                names = [name.removeprefix(".gone-") for name in kept(home)]
                assert len(set(names)) == len(names)
                whole = [name for name in kept(home) if not name.startswith(".gone-")]
                assert all(len(list(_folder(home, run).iterdir())) == 1 for run in whole)
    backup(home.fleet.places, tmp_path / "b.zip", wall=NOW, work=True, least=0)
    sweep(home)

    assert kept(home) == [old[3]]
    left_over = {path.stem for path in (home.root / "state" / "claude").rglob("*.jsonl")}
    assert left_over == {old[3], "agent-a"}


def _folder(home: Scripted, run: str) -> Path:
    return home.root / "state" / "run" / run


@pytest.mark.prove
def test_a_kill_leaves_no_half_folder(tmp_path: Path) -> None:
    """Of 5 sweeps each is killed: each folder is whole or a remainder, and the last one ends."""
    home = home_with(tmp_path / "home", "{runs: 1d}")
    (last,) = lived(home, "worker", [0.1])
    code = (
        "import sys; from pathlib import Path; from fleet.wiring import open_fleet\n"
        "from fleet.ops.retention import Sweep\n"
        "Sweep(open_fleet(Path(sys.argv[1]), env={})).delete()"
    )
    dice = random.Random(1)
    cut = 0
    for _ in range(5):
        runs = lived(home, "old", [50.0] * 200)
        for run, n in product(runs, range(10)):
            (_folder(home, run) / f"{n}").write_bytes(b"x")
        before = len(kept(home))
        process = subprocess.Popen([sys.executable, "-c", code, str(home.root)])
        assert until(lambda before=before: len(kept(home)) < before)  # type: ignore[misc]
        time.sleep(dice.random() / 100)
        process.kill()
        process.wait()
        whole = set(kept(home)) & set(runs)
        assert all(len(list(_folder(home, run).iterdir())) == 11 for run in whole)
        cut += 1 < len(whole) < len(runs)
    sweep(home)

    assert cut
    assert kept(home) == sorted([last, runs[-1]])


def test_the_runner_sweeps_beside_its_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look costs the loop nothing; while a backup goes on nothing is deleted, then it is."""
    home = home_with(tmp_path / "home", "{runs: 1d}")
    old = lived(home, "worker", [float(day) for day in range(60, 0, -1)])
    monkeypatch.setattr(sweeper, "FIRST", 0.0)
    monkeypatch.setattr(sweeper, "EVERY", 0.0)
    monkeypatch.setattr("fleet.wiring.locking.MAINTENANCE", 0.05)
    fleet = home.fleet
    fleet.config  # noqa: B018 - what the loop has done long before
    chore = Sweeper()
    took: list[float] = []

    def looked() -> None:
        began = time.perf_counter()
        chore.look(fleet, datetime.now(UTC))
        took.append(time.perf_counter() - began)

    with fleet.maintained(shared=True):
        for _ in range(20):
            looked()
            time.sleep(0.01)
        assert len(kept(home)) == 60
    assert until(lambda: looked() or len(kept(home)) == 1, 10)
    assert kept(home) == [old[-1]]
    assert median(took) < 0.02  # seconds; the slowest one says how busy this machine is


def test_trim_does_it_and_says_so(tmp_path: Path) -> None:
    """Plain `trim` shows what run folders take and what may go; `--free` and `--keep` delete that.

    What is left is told with what keeps it, and `logs` and `verify` say that files are gone.
    """
    home = home_with(tmp_path / "home", "{runs: 1d}")
    gone, _ = lived(home, "worker", [50, 0.5], size=3000)
    stored = json.loads((SHAPES / "stored.json").read_text())

    shown = [json.loads(line) for line in home.call("trim", "--json").stdout.splitlines()]
    folders = next(one for one in shown if one["what"] == "run folders")
    jsonschema.validate(folders, stored)
    assert (folders["live"], folders["can_go"]) == (6000, 3000)
    assert folders["held_by"] == "retention: 1d, 20000 runs, 2.0 GiB"
    assert "run folders  5.9 KiB" in home.call("trim").stdout

    done = home.call("trim", "--free", "2KiB", "--json")
    (line,) = done.stdout.splitlines()
    jsonschema.validate(json.loads(line), json.loads((SHAPES / "trimmed.json").read_text()))
    assert (done.returncode, json.loads(line)["runs"]) == (0, 1)
    assert json.loads(line)["freed"] == 3000
    more = home.call("trim", "--free", "2KiB")
    assert more.returncode == 8
    assert "run folders keep 2.9 KiB: retention: 1d" in more.stderr

    logs, checked = home.call("logs", gone), home.call("verify")
    assert logs.returncode == 4
    assert "are gone" in logs.stderr
    assert "retention: 1d" in logs.stderr
    assert "the files of 1 run of the newest 2 are gone (retention: 1d" in checked.stdout


def test_what_cannot_be_deleted_holds_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that the system refuses to delete is left, counted, and tried again."""
    home = home_with(tmp_path / "home", "{runs: 1d}")
    old = lived(home, "worker", [50, 40, 0.5])
    real = runfiles.delete

    def refuse(state: Path, run: str, known: list[runfiles.Transcript]) -> None:
        if run == old[0]:
            raise PermissionError
        real(state, run, known)

    with monkeypatch.context() as patch:
        patch.setattr(runfiles, "delete", refuse)
        swept = Sweep(home.fleet).delete()
    assert (swept.runs, swept.left) == (1, 1)
    assert kept(home) == [old[0], old[2]]
    assert Sweep(home.fleet).delete().runs == 1
