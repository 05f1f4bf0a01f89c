"""P2: nobody reads half a record; a torn tail is healed by the next writer, its neighbours stay."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.records import Record
from fleet.wiring import Fleet
from fleets import Scripted, until
from promises.storm import without_holes

TEXT = "naïve 😀 \u2028 \x85 end"
Write = Callable[[Fleet], object]
WRITES: dict[str, Write] = {
    "events": lambda fleet: fleet.bus.emit(fleet.author, "note", {"n": TEXT}),
    "channels/strategy": lambda fleet: fleet.talk.post(fleet.author, "strategy", TEXT),
    "claims-log": lambda fleet: fleet.claims.take(fleet.author, f"lead:{TEXT[:5]}", note=TEXT[:7]),
}


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent, and three records in each log."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    for write in WRITES.values():
        for _ in range(3):
            write(scripted.fleet)
    return scripted


def segment(home: Scripted, log: str) -> Path:
    """The only file of a log."""
    (found,) = (home.root / "state" / log).glob("*.jsonl")
    return found


def records(home: Scripted, log: str) -> list[Record]:
    """What a new process reads."""
    return list(home.fleet.store.read(log, 0, 99).records)


@pytest.mark.parametrize("log", WRITES)
def test_a_torn_log_is_healed_by_the_next_command(home: Scripted, log: str) -> None:
    """Two of three records are read whole, the next one stands after them, nothing is mixed."""
    whole = records(home, log)
    path = segment(home, log)
    lines = path.read_bytes().splitlines(keepends=True)
    before, last = b"".join(lines[:2]), lines[2]
    for cut in [*range(1, len(last), 23), len(last) - 1]:
        path.write_bytes(before + last[:cut])
        assert records(home, log) == whole[:2]

        WRITES[log](home.fleet)

        after = records(home, log)
        assert without_holes(after)
        *before_it, new = [record for record in after if record.body["op"] != "gap"]
        assert before_it == whole[:2]
        assert new.id != whole[2].id


def test_commands_go_on_over_torn_logs(home: Scripted) -> None:
    """Every log torn: reading commands exit 0, `verify` names each, a run goes on, all heals."""
    assert home.call("run", "worker").returncode == 0
    torn = [*WRITES, "runs/worker", "fires"]
    for log in torn:
        path = segment(home, log)
        path.write_bytes(path.read_bytes()[:-9])

    reads = [home.call(*argv) for argv in (("events",), ("read", "strategy"), ("runs",))]
    verify = home.call("verify")

    assert [done.returncode for done in reads] == [0, 0, 0], [done.stderr for done in reads]
    for log in torn:
        assert f"state/{log}/" in verify.stdout + verify.stderr
    assert home.call("run", "worker").returncode == 0
    for write in WRITES.values():
        write(home.fleet)
    assert [one for one in home.fleet.store.verify() if one.severity != "note"] == []


def test_a_follower_of_a_slow_writer_prints_whole_records(home: Scripted) -> None:
    """A line that comes in pieces is printed by `events -f` once, when it is complete."""
    path = segment(home, "events")
    lines = path.read_bytes()
    copy = Scripted(home.root.with_name("copy"))
    copy.agent("worker", "true")
    target = copy.root / "state" / "events" / path.name
    target.parent.mkdir(parents=True, mode=0o700)
    (copy.root / "state" / "FORMAT").write_bytes((home.root / "state" / "FORMAT").read_bytes())
    target.touch(mode=0o600)
    argv = [sys.executable, "-m", "fleet", "--home", str(copy.root), "events", "-f", "--json"]
    with (copy.root / "followed").open("wb") as out:
        follower = subprocess.Popen([*argv, "--after", "0"], stdout=out, stderr=out)
    try:
        with target.open("ab", buffering=0) as file:
            for start in range(0, len(lines), 40):
                file.write(lines[start : start + 40])
                time.sleep(0.02)
        assert until(lambda: (copy.root / "followed").read_text().count("\n") >= 3)
    finally:
        follower.kill()
        follower.wait()

    printed = [json.loads(line) for line in (copy.root / "followed").read_text().split("\n")[:-1]]
    assert [(one["seq"], one["payload"]) for one in printed] == [
        (seq, {"n": TEXT}) for seq in (1, 2, 3)
    ]
