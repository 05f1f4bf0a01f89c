"""Gates as the programs they are."""

import os
import time
from collections.abc import Iterator

import pytest

from fleet import processes
from fleet.runner import gates
from fleet.runner.gates import Gates
from fleets import Scripted, until

KEY = "sk-ant-api03-" + "k" * 60


@pytest.fixture
def asker() -> Iterator[Gates]:
    """Gates that leave nothing."""
    asker = Gates()
    yield asker
    asker.close()


def gate(home: Scripted, script: str, *lines: str) -> None:
    """An agent whose gate is a shell script."""
    home.put("gate", f"#!/bin/sh\n{script}\n").chmod(0o755)
    home.agent("worker", "true", f"gate: [{home.root / 'gate'}, '-v']", *lines)


def answer(home: Scripted, asker: Gates, env: dict[str, str] | None = None) -> str:
    """What the gate says in the end."""
    fleet = home.fleet
    fleet.env = env or {}
    agent = fleet.config.agents["worker"]
    found: dict[str, str] = {}

    def answered() -> bool:
        found.update(asker.ask(fleet, [agent]))
        return bool(found)

    assert until(answered, 10)
    return found["worker"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", ""),
        ("echo no; exit 0", ""),
        ("exit 1", "exited with 1"),
        ("echo 'no new leads' >&2; exit 3", "exited with 3: no new leads"),
        (f"echo 'bad key {KEY}' >&2; exit 2", "exited with 2: bad key [masked:anthropic-key]"),
        ("printf 'red \\033[31m' >&2; exit 1", "exited with 1: red \\x1b[31m"),
        ("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 0", ""),
        ("kill -9 $$", "was ended by SIGKILL"),
    ],
)
def test_exit_0_means_yes_and_anything_else_is_the_reason(
    scripted: Scripted, asker: Gates, script: str, said: str
) -> None:
    """With the code and a line of its errors, masked and without control characters."""
    gate(scripted, script)

    found = answer(scripted, asker)

    assert found == (f"{scripted.root / 'gate'} {said}" if said else "")
    assert not asker.busy


def test_a_gate_has_the_variables_of_a_run_and_no_login(scripted: Scripted, asker: Gates) -> None:
    """It starts in the agent's folder; neither a key nor a token nor the runner's own reach it."""
    given = "env: {pass: [TONE, ANTHROPIC_API_KEY], set: {LANGUAGE: en}}"
    gate(scripted, "env > env.txt; pwd > pwd.txt", given)
    env = {"ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_OAUTH_TOKEN": KEY, "TONE": "warm", "MINE": "x"}

    assert answer(scripted, asker, env | {"PATH": os.environ["PATH"]}) == ""

    cwd = scripted.root / "work" / "worker"
    seen = dict(line.split("=", 1) for line in (cwd / "env.txt").read_text().splitlines())
    assert (cwd / "pwd.txt").read_text().strip() == str(cwd)
    assert {"TONE": "warm", "LANGUAGE": "en", "FLEET_AGENT": "worker"}.items() <= seen.items()
    assert seen["FLEET_HOME"] == str(scripted.root)
    assert not {"MINE", "FLEET_RUN_ID", "FLEET_RUN_TOKEN"} & set(seen)
    assert KEY not in (cwd / "env.txt").read_text()


def test_a_gate_that_hangs_is_ended_with_all_it_started(
    scripted: Scripted, asker: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its bound, though it ignores signals and its children have groups of their own."""
    monkeypatch.setattr(gates, "GATE_TIMEOUT", 0.4)
    script = "trap '' TERM INT\necho $$ > pids; setsid sleep 61 & echo $! >> pids; sleep 62"
    gate(scripted, script)

    said = answer(scripted, asker)

    assert "did not end within 0.4 s" in said
    pids = (scripted.root / "work" / "worker" / "pids").read_text().split()
    assert len(pids) == 2
    assert until(lambda: not any(_lives(int(pid)) for pid in pids), 5)


def test_asking_never_waits(scripted: Scripted, asker: Gates) -> None:
    """A look at a gate that takes its time costs milliseconds; it is asked once."""
    gate(scripted, "echo x >> asked; sleep 30")
    fleet = scripted.fleet
    agent = fleet.config.agents["worker"]
    assert asker.ask(fleet, [agent]) == {}

    began = time.process_time()
    for _ in range(20):
        assert asker.ask(fleet, [agent]) == {}

    assert time.process_time() - began < 0.1
    assert asker.busy
    asked = scripted.root / "work" / "worker" / "asked"
    assert until(asked.exists)
    assert asked.read_text() == "x\n"


@pytest.mark.parametrize("trouble", ["missing", "no program", "no folder"])
def test_a_gate_that_cannot_be_started_is_a_no_and_told_once(
    scripted: Scripted, asker: Gates, trouble: str
) -> None:
    """A person has to see to it: one alert a day names the file."""
    gate(scripted, "exit 0")
    if trouble == "missing":
        (scripted.root / "gate").unlink()
    elif trouble == "no program":
        (scripted.root / "gate").chmod(0o644)
    else:
        scripted.put("taken", "a file")
        gate(scripted, "exit 0", "cwd: taken/below")

    said = {answer(scripted, asker) for _ in range(3)}

    assert len(said) == 1
    assert "could not be started" in said.pop()
    (alert,) = scripted.fleet.store.read("alerts", 0, 10).records
    assert (alert.body["kind"], alert.body["subject"]) == ("gate", "worker")
    assert "agents/worker.yaml" in str(alert.body["fix"])


def test_an_answer_that_nobody_waits_for_is_forgotten(scripted: Scripted, asker: Gates) -> None:
    """The agent was paused meanwhile: the next question is a new one."""
    gate(scripted, "echo x >> asked; exit 1")
    fleet = scripted.fleet
    agent = fleet.config.agents["worker"]
    asker.ask(fleet, [agent])
    assert until(lambda: asker.ask(fleet, []) == {} and not asker.busy)

    assert "exited with 1" in answer(scripted, asker)
    assert len((scripted.root / "work" / "worker" / "asked").read_text().split()) == 2


def _lives(pid: int) -> bool:
    found = processes.find(pid)
    return found is not None and not found.zombie
