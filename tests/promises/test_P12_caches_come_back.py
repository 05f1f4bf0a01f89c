"""P12: every file below state/cache may be deleted at any time and comes back equal."""

import json
import random
import re
import shutil
import threading
from pathlib import Path

import pytest

from calls import Call, call, many
from fleet.cli.commands import COMMANDS
from fleet.context import build
from fleet.records import Body, Draft
from fleets import Scripted
from promises.storm import Nursery

READS = (
    "events --json --limit 500",
    "events --for worker --json",
    "events --type note --since 8d --json",
    "read strategy --json --limit 500",
    "read strategy --thread strategy#3 --json",
    "--as worker read strategy --unread --json",
    "channels --json",
    "agents --json",
    "schema list --json",
    "schema show note --json",
    "claims --json",
    "claims --history lead:1 --json",
    "status --json",
    "next --days 2 --from 2030-01-01 --json",
    "runs --json",
    "runs worker --json",
    "logs worker",
    "replay worker --json",
    "diff worker~1 worker --json",
    "metric show --json",
    "--as worker inbox --json",
    "shadow list --json",
    "answer --json",
    "remind --json",
    "alerts --all --json",
    "deadletters --json",
    "recap --per note --json",
    "show strategy#3 --json",
    "find 4 --json",
    "seen events#9 --json",
    "explain worker --json",
    "timeline --since 8d --limit 500 --json",
    "memory show --agent worker --json",
    "memory show --agent worker --archive --json",
    "check --json",
    "verify --json",
    "whoami --json",
)

BEGINS = re.compile(r'"since":"[^"]*"')  # a recap begins so many days before it is asked for


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home in which enough has happened that every fold is saved."""
    scripted.agent("worker", "cat > /dev/null; fleet report did; fleet claim lead:9 --keep 3d")
    scripted.agent("other", "cat > /dev/null; echo done", "collaborators: [worker]")
    fleet = scripted.fleet
    for n in range(90):
        fleet.bus.emit(fleet.author, "note", {"n": str(n)}, to="worker" if n % 9 == 0 else None)
        fleet.talk.post(fleet.author, "strategy", str(n), reply_to="strategy#3" if n == 9 else None)
        fleet.claims.take(fleet.author, f"lead:{n % 8}")
        fleet.metrics.record(fleet.author, f"draft-{n % 7}", "views", n)
    lesson: Body = {"op": "lesson", "category": "success", "importance": "low", "run": None}
    lessons = [Draft(lesson | {"text": str(n), "from_agent": "worker"}) for n in range(90)]
    fleet.store.append("memory-log/worker", lessons)
    fleet.talk.react(fleet.author, "strategy#2", "agree")
    worker = fleet.author._replace(name="worker")
    for n in range(3):
        question = fleet.questions.get(fleet.questions.ask(worker, f"{n}?", ["yes", "no"]).ref)
        fleet.later.remind(worker, str(n), due=fleet.store.now().wall + 9e6 + n)
    fleet.questions.answer(fleet.author, question, "no")
    fleet.bus.set_aside("worker", fleet.bus.get(1), 5, ["r1"])
    fleet.talk.pin(fleet.author, "strategy#4")
    for _ in range(2):
        assert scripted.call("run", "worker").returncode == 0
    return scripted


def answers(home: Scripted) -> list[str]:
    """What every reading command says, and the context of both agents at one moment."""
    calls: list[Call] = [call("--home", str(home.root), *line.split()) for line in READS]
    said = [f"{done.code} {done.out} {done.err}" for done in many(home.root, calls)]
    said = [BEGINS.sub("", line) for line in said]
    fleet = home.fleet
    now = 1_900_000_000.0
    for agent in fleet.config.agents.values():
        built = build(fleet.sources(), agent, run="run-0", now=now, nonce="k7q2m9x4")
        said += [built.context_md, built.prompt_md, json.dumps(built.manifest, sort_keys=True)]
    return said


def caches(home: Scripted) -> list[Path]:
    """Every cache there is."""
    return sorted(path for path in (home.root / "state" / "cache").rglob("*") if path.is_file())


def remove_all(home: Scripted) -> None:
    """The whole folder."""
    shutil.rmtree(home.root / "state" / "cache")


def spoil_all(home: Scripted) -> None:
    """Each file cut, emptied, or with a flipped byte."""
    rng = random.Random(12)
    for path in caches(home):
        data = path.read_bytes()
        at = rng.randrange(len(data))
        path.write_bytes(
            rng.choice([b"", data[:at], data[:at] + bytes([data[at] ^ 8]) + data[at + 1 :]])
        )


def remove_some(home: Scripted) -> None:
    """Every second file."""
    for path in caches(home)[::2]:
        path.unlink()


def test_lost_caches_change_no_answer(home: Scripted) -> None:
    """Every reading command and every context says the same, whatever was removed or spoilt."""
    warm = answers(home)
    names = {path.name for path in caches(home)}
    assert len(names) > 8
    assert not [line for line in warm if line.startswith("1 ")]

    for harm in (remove_some, spoil_all, remove_all):
        harm(home)
        assert answers(home) == warm

    assert names <= {path.name for path in caches(home)}


@pytest.mark.parametrize("reads", [1, pytest.param(len(READS), marks=pytest.mark.prove)])
@pytest.mark.timeout(900)
def test_caches_that_vanish_all_the_time_disturb_nobody(
    home: Scripted, tmp_path: Path, reads: int
) -> None:
    """While writers write and readers read, the caches are deleted again and again."""
    over = threading.Event()
    remover = threading.Thread(target=_remove_until, args=(home, over))
    remover.start()
    try:
        with Nursery(home.root, tmp_path / "said") as nursery:
            nursery.start("write", 3)
            nursery.start("act", 1)
            codes = [home.call(*line.split()).returncode for line in READS[:reads]]
            codes.append(home.call("run", "other").returncode)
            nursery.end()  # each of them was still alive
    finally:
        over.set()
        remover.join()

    assert codes == [0] * (reads + 1)
    last = answers(home)
    remove_all(home)
    assert answers(home) == last


def _remove_until(home: Scripted, over: threading.Event) -> None:
    while not over.wait(0.01):
        for path in caches(home):
            path.unlink(missing_ok=True)


def test_every_reading_command_is_compared() -> None:
    """No command that only reads is missing in the list above, but those with no answer to hold."""
    writes = {
        "post",
        "reply",
        "react",
        "pin",
        "unpin",
        "emit",
        "ack",
        "claim",
        "renew",
        "release",
        "send",
    }
    writes |= {"lesson", "goal", "research", "strength", "weakness", "ask"}
    acts = {
        "agent",
        "backup",
        "channel",
        "report",
        "restore",
        "init",
        "demo",
        "up",
        "stop",
        "run",
        "pause",
        "resume",
        "halt",
        "skip",
        "trim",
        "retract",
    }
    of_the_machine = {"install-service", "forecast", "doctor", "migrate", "version", "reindex"}
    built_above = {"context"}
    compared = {word for line in READS for word in line.split() if word in COMMANDS}

    assert set(COMMANDS) - writes - acts - of_the_machine - built_above == compared
