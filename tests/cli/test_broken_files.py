"""While fleet.yaml is broken or gone: the real fault first, and what shows or stops goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import call, many
from conftest import HOME, Fleet
from fleet.cli.commands import COMMANDS, TOLERANT
from fleets import until

BROKEN = "name: test\ntimezone: [Europe/Berlin\ndefaults: {prompt: base.md.j2}\n"
ARGUMENTS = {
    "read": ["strategy"], "schema": ["list"], "context": ["outreach"], "post": ["strategy", "x"],
    "reply": ["strategy#1", "x"], "react": ["strategy#1", "agree"], "pin": ["strategy#1"],
    "unpin": ["strategy#1"], "claim": ["k"], "renew": ["k"], "release": ["k"], "report": ["x"],
    "emit": ["pricing-change", "competitor=a", "newPrice=b"], "ack": ["events#1"],
    "agent": ["set", "outreach", "model=x"], "channel": ["set", "strategy", "keep=5"],
    "memory": ["plan", "add", "x"], "lesson": ["add", "x"], "goal": ["add", "x"],
    "research": ["add", "x", "--source", "y"], "strength": ["add", "x"], "weakness": ["add", "x"],
    "run": ["outreach"], "skip": ["outreach", "--to", "now"], "halt": ["--all"], "logs": ["last"],
    "metric": ["show"], "send": ["outreach", "x"],
    "retract": ["events#1", "--reason", "x"],
    "shadow": ["list"], "backup": ["../home.zip"], "deadletters": ["list"], "ask": ["what?"],
    "remind": ["1d", "x"], "recap": ["--per", "contact-made"],
    "show": ["strategy#1"], "find": ["x"], "seen": ["strategy#1"], "explain": ["strategy#1"],
}  # fmt: skip
SHOWN_ELSEWHERE = {
    "restore",
    "migrate",
    "init",
    "demo",
    "version",
    "check",
    "stop",
    "logs",
    "doctor",
    "replay",
    "diff",
}


@pytest.fixture
def defaulted(home: Path) -> Path:
    """A home whose agents leave to fleet.yaml what they all have."""
    for name in ("outreach", "reply-handler", "competitor-watch"):
        path = home / "agents" / f"{name}.yaml"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("prompt")]
        path.write_text("\n".join(lines) + "\n")
    fleet_yaml = home / "fleet.yaml"
    fleet_yaml.write_text(HOME["fleet.yaml"] + "defaults: {prompt: base.md.j2}\n")
    return home


@pytest.mark.parametrize("said", [BROKEN, "name: test\ndefaults: [prompt]\n"])
def test_the_real_fault_is_said_once_and_first(defaulted: Path, said: str) -> None:
    """A broken fleet.yaml is the first fault and no agent is blamed for the defaults it lost."""
    (defaulted / "fleet.yaml").write_text(said)

    for words in (["up"], ["check"]):
        (done,) = many(defaulted, [call(*words)])
        text = done.out + done.err
        assert done.code == 7
        assert "fleet.yaml:" in text.splitlines()[0]
        assert "agents/" not in text
        faults = [line for line in text.splitlines() if "fleet.yaml:" in line]
        assert len(faults) == 1, text


def test_faults_of_other_files_are_named_after_it(defaulted: Path) -> None:
    """What is wrong by itself is named too, each once."""
    (defaulted / "fleet.yaml").write_text(BROKEN)
    agent = defaulted / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text() + "shedule: x\n")

    (done,) = many(defaulted, [call("up")])

    assert done.err.index("fleet.yaml:") < done.err.index("agents/outreach.yaml:")
    assert done.err.count("shedule") == done.err.count("outreach.yaml:") == 1


def test_what_shows_or_stops_goes_on_and_nothing_else(home: Path, fleet: Fleet) -> None:
    """By the table: a reading command serves the last good config with a warning, others are 7."""
    fleet("post", "strategy", "x")
    (home / "fleet.yaml").write_text(BROKEN)
    names = [name for name in COMMANDS if name not in SHOWN_ELSEWHERE]

    done = many(home, [call(name, *ARGUMENTS.get(name, [])) for name in names])

    for name, one in zip(names, done, strict=True):
        called = {name, " ".join([name, *ARGUMENTS.get(name, [])[:1]])}
        assert one.code == (7 if TOLERANT.isdisjoint(called) else 0), (name, one)
        assert "fleet.yaml:2" in one.err, (name, one)
    assert one.err.count("last good config") <= 1


@pytest.mark.parametrize("by", ["--home", "FLEET_HOME", "folder"])
def test_a_runner_whose_fleet_yaml_is_gone_can_be_seen_and_stopped(home: Path, by: str) -> None:
    """`status`, `halt` and `stop` work on a home that lost its fleet.yaml while `up` lives."""
    for agent in (home / "agents").iterdir():
        agent.write_text(agent.read_text() + "enabled: false\n")
    up = subprocess.Popen(
        [sys.executable, "-m", "fleet", "up"],
        env={**os.environ, "FLEET_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert up.stdout is not None
        assert up.stdout.readline().startswith(b"up: ")
        (home / "fleet.yaml").unlink()
        flag = ["--home", str(home)] if by == "--home" else []
        place = home / "work" if by == "folder" else home.parent
        place.mkdir(exist_ok=True)
        env = {"FLEET_HOME": str(home) if by == "FLEET_HOME" else None}

        lines = [["status"], ["halt", "--all"], ["stop"]]
        done = many(home, [call(*flag, *words, cwd=place, **env) for words in lines])

        assert [one.code for one in done] == [0, 0, 0], done
        assert all("fleet.yaml: the file is not there" in one.err for one in done)
        assert until(lambda: up.poll() is not None)
    finally:
        up.kill()
        up.communicate()


def test_a_broken_event_type_is_said_wherever_it_matters(home: Path) -> None:
    """The last good form serves with a warning, what starts is exit 7 with the line, list goes on.

    What does not look at event types is not slowed down by looking.
    """
    emit = call("emit", *ARGUMENTS["emit"])
    many(home, [call("status")])
    (home / "schemas" / "pricing-change.json").write_text("{ broken")
    said = ("last good form of pricing-change", "schemas/pricing-change.json:1")

    *shown, listed = many(
        home,
        [
            call("status"),
            call("agents"),
            call("context", "outreach"),
            emit,
            call("schema", "list"),
        ],
    )
    started = many(home, [call("up"), call("run", "outreach"), call("reindex")])
    (posted,) = many(home, [call("post", "strategy", "x")])

    assert all(one.code == 0 and all(word in one.err for word in said) for one in shown), shown
    assert listed.code == 0
    assert "pricing-change" in listed.out
    assert all(one.code == 7 and said[1] in one.err for one in started), started
    assert (posted.code, posted.err) == (0, "")


def test_one_bad_type_hides_no_other(home: Path) -> None:
    """In a home that was never looked at `schema list` shows the sound types, and names the bad."""
    (home / "schemas" / "bad.json").write_text("{ broken")

    listed, status = many(home, [call("schema", "list"), call("status", "--json")])

    assert listed.code == 0
    assert "pricing-change" in listed.out
    assert "no bad can be emitted: schemas/bad.json:1" in listed.err
    assert "schemas/bad.json:1" in status.out
