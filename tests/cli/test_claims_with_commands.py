"""`claim KEY -- CMD` excludes every other, also at another terminal of the same person."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from conftest import Fleet
from fleet.records import claim_document
from fleet.wiring import open_fleet
from fleets import until

KEY = "deploy"
FLEET = (sys.executable, "-m", "fleet")


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`fleet claim deploy -- CMD`, at the moment when CMD runs; it ends at a line on its input."""
    program = "import sys; print('in', flush=True); sys.stdin.readline()"
    argv = [*FLEET, *words, "claim", KEY, "--", sys.executable, "-c", program]
    process = subprocess.Popen(
        argv, env=os.environ.copy(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        yield process
        process.kill()


def finished(process: subprocess.Popen[str]) -> int:
    """End the command; the exit code."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.close()
    return process.wait(20)


@pytest.mark.parametrize("as_agent", [(), ("--as", "outreach")], ids=["operator", "agent"])
def test_two_terminals_are_never_both_inside(
    home: Path, fleet: Fleet, as_agent: tuple[str, ...]
) -> None:
    """While a command runs, the same holder's command, claim, renewal and release are exit 6."""
    with running(*as_agent) as first:
        command = fleet(*as_agent, "claim", KEY, "--", sys.executable, "-c", "print('in')")
        others = [fleet(*as_agent, word, KEY) for word in ("claim", "renew", "release")]

        assert (command.returncode, command.stdout) == (6, "")
        assert f"by process {first.pid}, which runs a command" in command.stderr
        assert [other.returncode for other in others] == [6, 6, 6]
        assert finished(first) == 0
    assert operations(fleet, KEY) == ["taken", "completed"]
    assert fleet(*as_agent, "claim", KEY, "--", sys.executable, "-c", "").returncode == 0


def test_a_claim_of_ones_own_lets_no_command_in(home: Path, fleet: Fleet) -> None:
    """Who claimed at one terminal keeps others out at the next; claiming again is the same."""
    first = fleet("claim", KEY)
    again = fleet("claim", KEY)

    assert (first.returncode, again.stdout) == (0, first.stdout)
    assert fleet("claim", KEY, "--", sys.executable, "-c", "").returncode == 6
    assert fleet("release", KEY).returncode == 0
    assert fleet("claim", KEY, "--", sys.executable, "-c", "").returncode == 0


def test_a_dead_terminal_excludes_until_a_person_says_so(home: Path, fleet: Fleet) -> None:
    """After `kill -9` of the waiting fleet its command may go on: only a release lets others in."""
    with running() as first:
        first.send_signal(signal.SIGKILL)
        first.wait(20)
        refused = fleet("claim", KEY, "--", sys.executable, "-c", "")

        assert refused.returncode == 6
        assert fleet("release", KEY).returncode == 0
        assert fleet("claim", KEY, "--", sys.executable, "-c", "").returncode == 0


def test_a_command_waits_for_another(home: Path, fleet: Fleet) -> None:
    """`--wait` lets the second in when the first has ended, and not before."""
    with running() as first:
        argv = [*FLEET, "claim", KEY, "--wait", "30s", "--", sys.executable, "-c", "print('in')"]
        with subprocess.Popen(argv, env=os.environ.copy()) as second:
            assert finished(first) == 0
            assert second.wait(20) == 0
    assert operations(fleet, KEY) == ["taken", "completed"] * 2


def test_a_run_may_put_its_own_claim_under_a_command(home: Path, run_env, fleet: Fleet) -> None:
    """In a run `claim KEY`, then `claim KEY -- CMD` is one claim, and CMD may write under it."""
    agent = home / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text() + "may_run: [sh]\n")
    lead = "lead:a@b.example"
    env = run_env("outreach")
    emit = f"{shlex.join(FLEET)} emit contact-made email=a@b.example method=email"

    taken = fleet("claim", lead, env=env)
    done = fleet("claim", lead, "--", "sh", "-c", f"{emit} >&2; echo $FLEET_CLAIM_TOKEN", env=env)

    assert (taken.returncode, done.returncode) == (0, 0), done.stderr
    assert f"(token {done.stdout.strip()})" in taken.stdout
    assert operations(fleet, lead) == ["taken", "taken", "taken", "completed"]


def operations(fleet: Fleet, key: str) -> list[str]:
    """What happened to the key, oldest first."""
    lines = fleet("claims", "--history", key, "--json").stdout.splitlines()
    return [json.loads(line)["op"] for line in lines]


def test_the_command_decides_the_code_when_the_claim_went_to_another(
    home: Path, fleet: Fleet
) -> None:
    """What a command did stays its exit code, with a warning, when its claim cannot be released."""
    store = open_fleet(home, env={}).store
    document = claim_document(KEY)
    for ending in ("", "raise SystemExit(7)"):
        argv = [*FLEET, "claim", KEY, "--", sys.executable, "-c", f"input(); {ending}"]
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert until(lambda: (store.get(document)[0] or {}).get("holder") == "operator")
        body, version = store.get(document)
        assert body is not None
        token = cast("int", body["token"]) + 1
        other = {**body, "holder": "outreach", "command": None, "token": token}
        store.put(document, other, expect=version)
        _, err = process.communicate("\n", timeout=20)

        assert process.returncode == (7 if ending else 0)
        assert f"{KEY} could not be given back: {KEY} is held by outreach" in err
        assert ("completed is not on record" in err) == (not ending)
        fleet("--as", "outreach", "release", KEY)


def test_a_kept_claim_has_no_command(home: Path, fleet: Fleet) -> None:
    """`--keep` with a command is a contradiction and refused before anything is claimed or run."""
    refused = fleet("claim", KEY, "--keep", "1h", "--", "touch", "ran")

    assert refused.returncode == 2
    assert "--keep" in refused.stderr
    assert fleet("claims", "--json").stdout == ""
    assert list(home.parent.glob("ran")) == []
