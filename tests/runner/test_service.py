"""`fleet install-service`: what it writes, and that it runs a home when nothing else is there."""

import os
import plistlib
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.errors import EndedBadly, Rejected
from fleet.runner import control, service
from fleets import Scripted, until
from people import OPERATOR

ODD = 'we ird %h "q" $x ü \\z'  # what a unit, a property list or a shell could take amiss
PROGRAM = Path(sys.executable).with_name("fleet")
SLEEPS = "cat > /dev/null; exec sleep 100"


@pytest.fixture
def odd(tmp_path: Path) -> Scripted:
    """A home in a folder with an odd name, whose one agent sleeps."""
    home = Scripted(tmp_path / ODD)
    home.agent("worker", SLEEPS, schedule="{every: 1s}")
    return home


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Where the user's units are, below `environ`'s $XDG_CONFIG_HOME."""
    return tmp_path / "config" / "systemd" / "user"


def environ(tmp_path: Path) -> dict[str, str]:
    """What the command is called with beside the test's own environment."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def words(line: str) -> list[str]:
    """A command line as systemd takes it apart (systemd.syntax(7), systemd.service(5))."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)
    plain = [re.sub(r"\\(.)", r"\1", quoted) if quoted else bare for quoted, bare in found]
    program, *rest = [word.replace("%%", "%") for word in plain]
    return [program, *(word.replace("$$", "$") for word in rest)]


def said(unit: Path, key: str) -> str:
    """The value of the one line `key=` of a unit."""
    (line,) = re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)
    return str(line)


def test_the_service_runs_a_home_with_nothing_else_there(
    odd: Scripted, units: Path, tmp_path: Path
) -> None:
    """Its start line, with only its own environment, runs agents; a crash leaves the run alive.

    The next start takes that run over, and the stop line ends the runner and every run.
    """
    done = odd.call("install-service", "--yes", env=environ(tmp_path))
    assert done.returncode == 0, done.stderr
    unit = units / "fleet-test.service"
    start, stop = words(said(unit, "ExecStart")), words(said(unit, "ExecStop").removeprefix("-"))
    name, _, value = words(said(unit, "Environment"))[0].partition("=")
    bare = {name: value}

    assert start == [str(PROGRAM), "--home", str(odd.root), "up"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = subprocess.Popen(start, env=bare, cwd="/", **quiet)  # type: ignore[call-overload]
    assert until(lambda: odd.runs() and len(odd.alive(odd.runs()[0].id)) > 1)
    run = odd.runs()[0].id
    first.kill()
    first.wait()
    assert odd.alive(run)

    second = subprocess.Popen(start, env=bare, cwd="/", **quiet)  # type: ignore[call-overload]
    assert until(lambda: str(second.pid) in odd.call("status").stdout)
    ended = subprocess.run(stop, env=bare, cwd="/", capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert second.wait(5) == 0
    assert not odd.alive(run)
    assert [(one.id, one.outcome) for one in odd.runs()] == [(run, "killed")]


def test_a_stop_ends_the_runs_of_a_runner_that_hangs(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`stop --wait` stops the runs itself, and names the runner that does not end."""
    scripted.agent("worker", SLEEPS, "grace: 1s", schedule="{every: 1s}")
    monkeypatch.setattr(control, "STOP_MARGIN", 0.5)
    up = scripted.start("up")
    try:
        assert until(lambda: scripted.runs() and len(scripted.alive(scripted.runs()[0].id)) > 1)
        up.send_signal(signal.SIGSTOP)
        with pytest.raises(EndedBadly, match=f"kill -9 {up.pid}"):
            control.stop_and_wait(scripted.fleet, OPERATOR, drain=False)
        (run,) = scripted.runs()
        assert run.outcome == "killed"
        assert not scripted.alive(run.id)
    finally:
        up.send_signal(signal.SIGKILL)
        up.wait()

    again = scripted.call("stop", "--wait")
    assert (again.returncode, again.stdout) == (0, "nothing runs any more; 0 runs stopped\n")
    assert scripted.call("stop").returncode == 9


def test_systemd_has_nothing_to_say_against_the_unit(
    odd: Scripted, units: Path, tmp_path: Path
) -> None:
    """`systemd-analyze verify` finds the program and knows every line of it."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    odd.call("install-service", "--yes", env=environ(tmp_path))
    verify = ["systemd-analyze", "--user", "--man=no", "verify", str(units / "fleet-test.service")]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    done = subprocess.run(verify, env=env, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_keeps_runs_alive_and_tries_in_vain_no_more(odd: Scripted, tmp_path: Path) -> None:
    """A crash restarts the runner alone, exit 6 and 7 do not, a stop has the longest grace."""
    odd.agent("patient", SLEEPS, "grace: 5m")
    text = odd.call("install-service", "--print", env=environ(tmp_path)).stdout
    lines = set(text.splitlines())

    assert {
        "KillMode=process",
        "Restart=on-failure",
        "RestartPreventExitStatus=6 7",
        "TimeoutStopSec=360",
        "OOMPolicy=continue",
    } <= lines
    assert not (tmp_path / "config").exists()


def test_it_is_written_once_and_only_over_its_own(
    scripted: Scripted, units: Path, tmp_path: Path
) -> None:
    """Said again it changes nothing; what changed is written; what is not its own it refuses."""
    scripted.agent("worker", SLEEPS)
    unit, env = units / "fleet-test.service", environ(tmp_path)

    def install(home: Scripted) -> "subprocess.CompletedProcess[str]":
        return home.call("install-service", "--yes", env=env)

    first = install(scripted)
    before = unit.stat().st_mtime_ns, unit.read_text()
    again = install(scripted)
    assert (again.returncode, unit.stat().st_mtime_ns) == (0, before[0])
    assert "already" in again.stdout
    for line in ("systemctl --user daemon-reload", "enable --now fleet-test", "enable-linger"):
        assert line in first.stdout
        assert line in again.stdout
    scripted.agent("worker", SLEEPS, "grace: 9m")
    assert install(scripted).returncode == 0
    assert "TimeoutStopSec=600" in unit.read_text()

    scripted.put("fleet.yaml", "name: renamed\nlimits: {min_free: 1MiB}\n")
    renamed = install(scripted)
    assert "fleet-test.service starts this home too" in renamed.stderr
    (units / "fleet-renamed.service").unlink()
    scripted.put("fleet.yaml", "name: test\nlimits: {min_free: 1MiB}\n")

    other = scripted.copied_to(tmp_path / "other")
    refused = install(other)
    assert refused.returncode == 6
    assert f"of the home {scripted.root}: give one of the two another name" in refused.stderr
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    assert install(scripted).returncode == 6
    unit.unlink()
    unit.symlink_to("/dev/null")  # as `systemctl mask` leaves it
    assert "a link" in install(scripted).stderr
    assert unit.is_symlink()
    assert [path.name for path in units.iterdir()] == [unit.name]


def test_a_person_is_shown_it_and_asked(scripted: Scripted, units: Path, tmp_path: Path) -> None:
    """On a terminal it asks; without one, and without --yes, it is exit 2 and nothing is there."""
    scripted.agent("worker", SLEEPS)
    env = {**os.environ, **environ(tmp_path)}
    refused = scripted.call("install-service", env=environ(tmp_path))
    assert (refused.returncode, units.exists()) == (2, False)
    assert "--yes" in refused.stderr

    for answer, there in ((b"n\n", False), (b"y\n", True)):
        ours, theirs = pty.openpty()
        call = [str(PROGRAM), "--home", str(scripted.root), "install-service"]
        asked = subprocess.Popen(call, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        while asked.poll() is None or b"Next" not in shown:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the terminal's other end is gone
                break
        os.close(ours)
        assert asked.wait(10) == 0
        assert b"KillMode=process" in shown
        assert b"[y/N]" in shown
        assert (units / "fleet-test.service").exists() is there


def test_start_says_the_commands_to_systemd(scripted: Scripted, tmp_path: Path) -> None:
    """`--start` runs what it lists, in that order; one that fails is exit 8 with what it said."""
    scripted.agent("worker", SLEEPS)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        script = programs / name
        script.write_text(
            f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/said; test {name} != loginctl\n'
        )
        script.chmod(0o755)
    env = environ(tmp_path) | {"PATH": f"{programs}:{os.environ['PATH']}"}

    done = scripted.call("install-service", "--yes", "--start", env=env)

    assert done.returncode == 8
    assert "loginctl enable-linger failed (exit 1)" in done.stderr
    assert (tmp_path / "said").read_text().splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now fleet-test.service",
        "loginctl enable-linger",
    ]


def test_what_the_service_will_not_have_is_said(scripted: Scripted, tmp_path: Path) -> None:
    """A login, or a variable that agents are passed, is named when only the terminal has it.

    No value of the environment but PATH is written down.
    """
    scripted.agent("worker", SLEEPS, "env: {pass: [TONE]}")
    env = environ(tmp_path) | {"TONE": "dry-humour", "ANTHROPIC_API_KEY": "not-to-be-kept"}

    done = scripted.call("install-service", "--print", env=env)

    assert (
        "the service has no ANTHROPIC_API_KEY: a login belongs into claude: env_file" in done.stderr
    )
    assert "TONE, which runs from this terminal get" in done.stderr
    assert "dry-humour" not in done.stdout + done.stderr
    assert "not-to-be-kept" not in done.stdout + done.stderr


def test_macos_gets_a_property_list(odd: Scripted, tmp_path: Path) -> None:
    """On macOS a crash alone restarts it, keepers are spared, a stop has the longest grace."""
    planned = service.plan(odd.fleet, {"HOME": str(tmp_path), "PATH": "/usr/bin"}, "darwin")
    read = plistlib.loads(planned.text.encode())

    assert planned.path == tmp_path / "Library" / "LaunchAgents" / "fleet.test.plist"
    assert read["ProgramArguments"][1:] == ["--home", str(odd.root), "up"]
    assert read["KeepAlive"] == {"SuccessfulExit": False}
    assert (read["AbandonProcessGroup"], read["ProcessType"]) == (True, "Standard")
    assert read["ExitTimeOut"] == 63
    assert service.home_of(planned.text) == str(odd.root)
    assert not service.is_written(planned)
    service.write(planned)
    assert service.is_written(planned)


@pytest.mark.parametrize("name", ["two\nlines", "a\ttab", "\udcff"])
def test_a_path_that_no_unit_can_say_is_refused(tmp_path: Path, name: str) -> None:
    """A line break or what is no text in a path cannot become a line of a unit."""
    home = Scripted(tmp_path / name)
    home.agent("worker", SLEEPS)

    with pytest.raises(Rejected, match="control character, or is no UTF-8"):
        service.plan(home.fleet, {"HOME": str(tmp_path)})


def test_a_name_of_any_kind_names_a_file(scripted: Scripted, tmp_path: Path) -> None:
    """A home's name is for people; what stands in a path of it is letters, digits, `_ . -`."""
    scripted.agent("worker", SLEEPS)
    names = {"Größe & Co. / x": "Gr-e-Co.-x", "成長": "home", "..": "home", "a" * 300: "a" * 60}
    for name, file in names.items():
        scripted.put("fleet.yaml", f'name: "{name}"\nlimits: {{min_free: 1MiB}}\n')
        planned = service.plan(scripted.fleet, {"HOME": str(tmp_path)}, "linux")
        assert planned.path.name == f"fleet-{file}.service"
