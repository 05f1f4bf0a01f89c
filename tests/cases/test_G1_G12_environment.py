"""Agents under cron and inside another CLI: what their environment has, and what it must not."""

import json
import os
import pwd
import subprocess
import sys

import pytest

from fakeclaude import claude_agent, fake_claude
from fleets import Scripted, running, until

SAVES = 'Path("env.json").write_text(json.dumps(dict(os.environ)))'
MARKS = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SSE_PORT": "1",
    "FLEET_AGENT": "another",
    "SECRET_TOKEN": "s3cret",
    "LD_PRELOAD": "",
    "PYTHONPATH": "/tmp",
}


def _bare(home: Scripted, *argv: str) -> "subprocess.CompletedProcess[str]":
    """A command in the environment that cron gives."""
    return subprocess.run(
        [sys.executable, "-m", "fleet", "--home", str(home.root), *argv],
        env={"HOME": str(home.root.parent), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_agent_runs_in_crons_environment(scripted: Scripted) -> None:
    """G1: with HOME and a short PATH alone an agent runs, has USER and LOGNAME, and finds fleet."""
    fake_claude(
        scripted, f'{SAVES}; subprocess.run(["fleet", "post", "strategy", "hi"], check=True)'
    )
    claude_agent(scripted, "worker")

    done = _bare(scripted, "run", "worker")

    assert done.returncode == 0, done.stdout + done.stderr
    env = json.loads((scripted.root / "work" / "worker" / "env.json").read_text())
    user = pwd.getpwuid(os.getuid()).pw_name
    assert (env["USER"], env["LOGNAME"]) == (user, user)
    assert (env["HOME"], "LANG" in env) == (str(scripted.root.parent), True)
    assert "worker" in scripted.call("read", "strategy").stdout


@pytest.mark.parametrize("launch", ["claude", "command"])
def test_a_program_that_cron_does_not_find_is_named(scripted: Scripted, launch: str) -> None:
    """G1: where the program is not on that PATH a run is `launch_failed` and names it, exit 8.

    The runner has one such record a slot, no traceback, and its other agents run.
    """
    if launch == "claude":
        claude_agent(scripted, "worker", schedule="{every: 1s}")
    else:
        scripted.agent("worker", "", "command: [claude, -p]", schedule="{every: 1s}")
    scripted.agent("other", "cat > /dev/null; echo done", schedule="{every: 1s}")

    done = _bare(scripted, "run", "worker")
    with running(scripted, env={"PATH": "/usr/bin:/bin"}) as up:
        assert until(lambda: min(len(scripted.ended(a)) for a in ("worker", "other")) >= 2)
        up.stop()

    assert done.returncode == 8
    for run in scripted.ended("worker"):
        assert run.outcome in {"launch_failed", "killed"}
    first = scripted.ended("worker")[-1]
    assert "claude" in first.reason
    assert "no such command" in first.reason
    assert "Traceback" not in done.stderr + up.said()
    slots = [run.slot for run in scripted.runs("worker")]
    assert len(slots) == len(set(slots))


@pytest.mark.parametrize("launch", ["claude", "command"])
def test_a_run_does_not_inherit_where_it_was_started(scripted: Scripted, launch: str) -> None:
    """G12: nothing of the CLI around the runner reaches a run, and nothing that is not allowed.

    What the agent's file passes or sets is there.
    """
    lines = ("env: {pass: [TONE], set: {LANGUAGE: en}}",)
    if launch == "claude":
        fake_claude(scripted, SAVES)
        claude_agent(scripted, "worker", *lines)
    else:
        program = f"import json, os; from pathlib import Path; {SAVES}; print('done')"
        command = json.dumps([sys.executable, "-c", program])
        scripted.agent("worker", "", f"command: {command}", *lines)

    done = scripted.call("run", "worker", env={**MARKS, "TONE": "friendly"})

    assert done.returncode == 0, done.stderr
    env = json.loads((scripted.root / "work" / "worker" / "env.json").read_text())
    assert set(MARKS) & set(env) == {"FLEET_AGENT"}
    assert not [name for name in env if name.startswith("CLAUDECODE")]
    assert (env["FLEET_AGENT"], env["TONE"], env["LANGUAGE"]) == ("worker", "friendly", "en")


def test_a_runner_inside_the_cli_is_no_hindrance(scripted: Scripted) -> None:
    """G12: a CLI that refuses to start inside another one starts under a runner in a session."""
    refuses = 'if "CLAUDECODE" in os.environ:\n    sys.exit("cannot be launched inside another")'
    fake_claude(scripted, refuses)
    claude_agent(scripted, "worker", schedule="{every: 1s}")

    with running(scripted, env=MARKS) as up:
        assert until(scripted.ended), up.said()
        up.stop()

    assert scripted.ended()[-1].outcome == "ok"
