"""`fleet doctor --claude` tells a CLI that fleet can count on from one that it cannot."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from claude.real_fleet import RealFleet
from fleet.runner.probes import PROBES
from fleet.runner.probes.messages_stub import MessagesStub

pytestmark = pytest.mark.claude

Start = Callable[..., MessagesStub]

WRAPPER = """#!{python}
import os, signal, subprocess, sys, time
real, words = {real!r}, sys.argv[1:]
def drop(flag):
    at = words.index(flag) if flag in words else len(words)
    value = words[at + 1] if at < len(words) else ""
    del words[at : at + 2]
    return value
def run(more="", **how):
    if "--version" in words:
        os.execv(real, [real, *words])
    task = sys.stdin.read()
    return task, subprocess.run([real, *words], input=(more + task).encode(), **how)
{body}
"""
LACKS = "drop('--settings'), drop('--tools'), os.execv(real, [real, *words])"
CUTS = """
out = run(stdout=subprocess.PIPE)[1].stdout
os.write(1, out[:-100_000])
"""
PULLS = """
told = drop('--append-system-prompt-file')
words += ['--allowedTools', 'Bash(touch *)']
run(told and open(told).read())
"""
DEAF = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
task, done = run(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(60 if 'Wait for a stop' in task else 0)
"""
BREAKS = {
    "lacks": (
        LACKS,
        {
            "--tools limits what is offered",
            "fleet's hook lets fleet's calls pass",
            "what a hook adds reaches the model",
            "what a hook denies does not run",
            "the state cannot be read",
        },
    ),
    "cuts": (
        CUTS,
        {
            "a run ends with a result",
            "a result says cost, tokens and turns",
            "a result of 300 kB arrives whole",
            "what no rule allows does not run, and is named",
        },
    ),
    "pulls": (
        PULLS,
        {
            "@path in a context pulls no file in",
            "what no rule allows does not run, and is named",
        },
    ),
    "deaf": (DEAF, {"SIGINT ends a run"}),
}
CLAIMS = {claim for claim, _ in PROBES}


def examined(home: RealFleet, tmp_path: Path, code: int) -> tuple[set[str], set[str]]:
    """The claims that held and those that did not, of a doctor that leaves nothing behind."""
    aside = tmp_path / "tmp"
    aside.mkdir()
    done = home.call("doctor", "--claude", "--json", env={"TMPDIR": str(aside)})
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == code, done.stderr
    assert list(aside.iterdir()) == []
    assert not home.stub.asked
    said = [one["what"].partition(", ")[2] for one in found if "CLI probe ok" in one["what"]]
    faults = {one["what"].partition(", ")[2].partition(":")[0]: one for one in found
              if "CLI probe failed" in one["what"]}  # fmt: skip
    assert all(one["severity"] == "error" and one["fix"] for one in faults.values())
    return set(said), set(faults)


def broken(cli: Path, tmp_path: Path, body: str) -> Path:
    """The real CLI behind a program that spoils something."""
    program = tmp_path / "claude"
    program.write_text(WRAPPER.format(python=sys.executable, real=str(cli), body=body))
    program.chmod(0o755)
    return program


def test_the_real_cli_does_what_fleet_counts_on(tmp_path: Path, cli: Path, stub: Start) -> None:
    """Every probe of the real CLI holds, without its model, and nothing of them is left."""
    home = RealFleet(tmp_path / "home", cli, stub())
    home.claude("writer")

    assert examined(home, tmp_path, 0) == (CLAIMS, set())


@pytest.mark.prove
@pytest.mark.parametrize("how", BREAKS)
def test_a_cli_that_does_less_is_found_out(
    tmp_path: Path, cli: Path, stub: Start, how: str
) -> None:
    """Each thing that a CLI stops doing fails its own probes, and the doctor exits 8."""
    body, faults = BREAKS[how]
    home = RealFleet(tmp_path / "home", broken(cli, tmp_path, body), stub())
    home.claude("writer")

    assert examined(home, tmp_path, 8) == (CLAIMS - faults, faults)
