"""The doctor: each thing that is wrong with a machine or a state folder is named."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Fleet as Call
from conftest import Write
from fleet.errors import Finding
from fleet.ops import claude_cli
from fleet.ops import doctor as ops
from fleet.ops.doctor import doctor, file_system
from fleet.wiring import Fleet, open_fleet


@pytest.fixture
def cli(home: Path, write: Write, tmp_path: Path) -> Path:
    """A stand-in for the CLI that answers `--version`, named by the home."""
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\necho "2.1.197 (Claude Code)"\n')
    program.chmod(0o755)
    text = (home / "fleet.yaml").read_text()
    write("fleet.yaml", f"{text}claude: {{path: {program}}}\n")
    return program


@pytest.fixture
def opened(home: Path, cli: Path) -> Fleet:
    """The home with some state in it."""
    fleet = open_fleet(home, env={})
    fleet.talk.post(fleet.author, "strategy", "hello")
    fleet.bus.emit(fleet.author, "pricing-change", {"competitor": "a", "newPrice": "1"})
    fleet.claims.take(fleet.author, "lead:a")
    return fleet


def errors(fleet: Fleet) -> list[Finding]:
    """What the doctor calls an error, on a machine whose disk is not a network's."""
    return [f for f in doctor(fleet) if f.severity == "error" and "is on" not in f.what]


def test_a_fit_machine_has_no_errors(opened: Fleet) -> None:
    """Nothing is wrong with a fresh home; the versions are noted."""
    notes = [found.what for found in doctor(opened) if found.severity == "note"]

    assert errors(opened) == []
    assert any("2.1.197" in note for note in notes)
    assert any("Python" in note for note in notes)


def test_locks_that_do_not_exclude_are_found(
    opened: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a lock call that does nothing, the second process gets in, and the doctor says so."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)

    assert "locks do not exclude here" in [found.what for found in errors(opened)]


def test_a_lock_that_stays_held_is_found(opened: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the lock is still held after its release, the doctor says so."""

    @contextmanager
    def never_released(path: Path, _timeout: float) -> Iterator[None]:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield

    monkeypatch.setattr(ops, "file_lock", never_released)

    assert "a released lock is not free here" in [found.what for found in errors(opened)]


def test_network_file_systems_are_refused(
    opened: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The longest mount point that holds the state decides; nfs and its like are errors."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "30 22 0:50 / /mnt/my\\040share rw shared:1 - nfs4 host:/x rw\n"
        "31 22 0:51 / /mnt/my\\040share/local rw - xfs /dev/vdb rw\n"
    )
    monkeypatch.setattr(ops, "file_system", lambda _path: "nfs4")

    assert file_system(Path("/mnt/my share/home/state"), table) == "nfs4"
    assert file_system(Path("/mnt/my share/local/x"), table) == "xfs"
    assert file_system(Path("/mnt/my shared"), table) == "ext4"
    assert file_system(tmp_path, tmp_path / "none") == ""
    assert any("nfs4" in f.what and f.severity == "error" for f in doctor(opened))


def test_too_little_space_is_an_error_and_little_a_warning(
    opened: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Free space below limits.min_free is an error, below twice that a warning."""
    usage = shutil.disk_usage("/")

    for free, severity in ((1 << 19, "error"), (3 << 19, "warning"), (1 << 30, "")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _p, f=free: usage._replace(free=f))
        found = [f.severity for f in doctor(opened) if "min_free" in f.what]
        assert found == ([severity] if severity else [])


def test_a_clock_that_was_set_back_is_a_warning(
    home: Path, cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock behind the newest record is said, and one from before fleet existed is an error."""
    fleet = open_fleet(home, env={})
    payload: dict[str, object] = {"competitor": "a", "newPrice": "1"}
    ahead = fleet.store.now().wall + 3600
    real = time.time
    monkeypatch.setattr(time, "time", lambda: ahead)
    fleet.bus.emit(fleet.author, "pricing-change", payload)

    monkeypatch.setattr(time, "time", real)
    late = [f.what for f in doctor(fleet) if f.severity == "warning"]
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    early = [f.what for f in errors(fleet)]

    assert any("behind events#1" in what for what in late)
    assert any("before fleet existed" in what for what in early)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "there is no"),
        ("#!/bin/sh\nexit 3\n", "failed with 3"),
        ("#!/bin/sh\nexec sleep 60\n", "did not answer"),
    ],
)
def test_a_cli_that_does_not_answer_is_an_error(
    opened: Fleet, cli: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, said: str
) -> None:
    """A CLI that is missing, fails or hangs is an error within the doctor's patience."""
    monkeypatch.setattr(claude_cli, "ANSWER", 0.3)
    cli.unlink()
    if program:
        cli.write_text(program)
        cli.chmod(0o755)

    assert any(said in found.what for found in errors(opened))


def test_keys_that_others_may_read_are_an_error(
    home: Path, cli: Path, write: Write, tmp_path: Path
) -> None:
    """claude.env_file must be there and be 0600."""
    keys = tmp_path / "keys"
    text = (home / "fleet.yaml").read_text()
    write("fleet.yaml", text.replace("{path:", f"{{env_file: {keys}, path:"))
    fleet = open_fleet(home, env={})

    missing = errors(fleet)
    keys.write_text("ANTHROPIC_API_KEY=x\n")
    keys.chmod(0o644)
    readable = errors(fleet)
    keys.chmod(0o600)

    assert [str(keys) == found.file for found in (*missing, *readable)] == [True, True]
    assert errors(fleet) == []


def test_the_login_is_named_and_never_shown(
    opened: Fleet, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which login the CLI will use: none, its own file, a variable, the env file, each first."""
    user = tmp_path / "user"
    (user / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    logins = [said_of_login(opened)]
    (user / ".claude" / ".credentials.json").write_text("hidden")
    logins.append(said_of_login(opened))
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "hidden")
    logins.append(said_of_login(opened))
    text = (opened.root / "fleet.yaml").read_text()
    write("fleet.yaml", text.replace("{path:", "{env_file: keys, path:"))
    write("keys", "ANTHROPIC_API_KEY=hidden\n").chmod(0o600)
    logins.append(said_of_login(open_fleet(opened.root, env={})))

    assert logins == [
        ("warning", "no login for the CLI was found here"),
        ("note", f"the CLI's login is the one in {user}/.claude"),
        ("note", "the CLI's login is CLAUDE_CODE_OAUTH_TOKEN of the environment"),
        ("note", "the CLI's login is ANTHROPIC_API_KEY of fleet.yaml's claude.env_file"),
    ]


def said_of_login(fleet: Fleet) -> tuple[str, str]:
    """The doctor's line about the login."""
    found = doctor(fleet)
    assert not any("hidden" in str(one) for one in found)
    return next((one.severity, one.what) for one in found if " login " in f"{one.what} ")


def test_damaged_files_are_named(opened: Fleet) -> None:
    """Empty, garbled and misplaced documents and conflict markers are named by file and line."""
    state = opened.places.state
    document = next((state / "claims").glob("*.json"))
    (state / "control" / "a.json").write_bytes(b"")
    (state / "control" / "b.json").write_bytes(b'{"half": ')
    (state / "control" / "c.json").write_bytes(b"[]")
    (state / "control" / "d.json").mkdir()
    document.write_text("<<<<<<< ours\n" + document.read_text() + "=======\n>>>>>>> theirs\n")
    (segment,) = (state / "channels" / "strategy").glob("*.jsonl")
    segment.write_text(segment.read_text() + "<<<<<<< HEAD\n{}\n")
    agent = opened.root / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text() + "||||||| base\n")
    # the good config was read before the merge
    named = {(found.file, found.line) for found in errors(opened)}

    for name in "abcd":
        assert (f"state/control/{name}.json", 0) in named
    assert (str(document.relative_to(opened.root)), 1) in named
    assert (str(segment.relative_to(opened.root)), 2) in named
    assert any(file == "agents/outreach.yaml" for file, _ in named)


def test_runs_of_an_older_boot_are_named(opened: Fleet) -> None:
    """A run without an end, whose keeper was alive in another boot, is a warning."""
    run = "019b2e00-0000-7000-8000-000000000001"
    opened.runs.start(opened.author, "outreach", run, slot=f"hand:{run}")
    folder = opened.places.run_folder(run)
    folder.mkdir(parents=True)
    (folder / "alive.json").write_text(json.dumps({"boot": "an older one", "pid": 1}))

    found = [f for f in doctor(opened) if f.severity == "warning" and run in f.what]

    assert [f.file for f in found] == [f"state/run/{run}/alive.json"]


@pytest.mark.parametrize(("mode", "severity"), [(0o755, "warning"), (0o777, "error")])
@pytest.mark.parametrize("what", ["", "channels", "channels/strategy", "locks", "run"])
def test_a_state_that_others_may_enter_is_named(
    opened: Fleet, what: str, mode: int, severity: str
) -> None:
    """A wider mode of the state, or of what fleet made in it, is named with the chmod for it."""
    (opened.places.state / "run").mkdir(0o700)
    claude = opened.places.state / "claude" / "outreach"
    claude.mkdir(parents=True)
    claude.parent.chmod(0o700)
    assert [f for f in doctor(opened) if "chmod" in f.fix] == []
    (opened.places.state / what).chmod(mode)

    (found,) = [f for f in doctor(opened) if "chmod" in f.fix]

    assert (found.severity, found.file) == (severity, str(Path("state", what)))
    assert f"mode is {mode:o}" in found.what


@pytest.mark.parametrize("what", [".", "fleet.yaml", "agents", "agents/outreach.yaml"])
def test_an_operators_file_that_others_may_write_is_named(opened: Fleet, what: str) -> None:
    """Who may write a file that says which commands run is told of, with the chmod for it."""
    assert [f for f in doctor(opened) if "go-w" in f.fix] == []
    path = opened.root / what
    path.chmod(path.stat().st_mode | 0o002)

    (found,) = [f for f in doctor(opened) if "go-w" in f.fix]

    assert (found.severity, found.file) == ("warning", what)


def test_the_command_exits_8_and_prints_the_shape(
    opened: Fleet, home: Path, fleet: Call, shaped_findings
) -> None:
    """`fleet doctor` is exit 8 with an error in it; --json prints findings as documented."""
    (home / "state" / "control" / "a.json").write_bytes(b"")

    done = fleet("doctor", "--json")

    assert done.returncode == 8
    assert any(f["file"] == "state/control/a.json" for f in shaped_findings(done.stdout))
