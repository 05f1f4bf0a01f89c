"""The operators' half as real processes: a home from `init` to runs, pauses, status and stop."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet, Write
from fleet.identity import SYSTEM
from fleet.records import Body, Draft
from fleet.wiring import open_fleet
from fleets import until

DEADLINE = 30.0  # seconds that a test waits for a process


@pytest.fixture
def worker(home: Path, write: Write) -> Path:
    """`reply-handler` becomes a command that reports and succeeds; nobody needs the CLI."""
    for agent in ("outreach", "competitor-watch"):
        path = home / "agents" / f"{agent}.yaml"
        path.write_text(path.read_text() + "enabled: false\n")
    command = f"{sys.executable} -m fleet report 'did \\x1b[2J it'; echo done"
    text = (home / "agents" / "reply-handler.yaml").read_text()
    write(
        "agents/reply-handler.yaml",
        f"{text}launch: command\ncommand: {json.dumps(['sh', '-c', command])}\n",
    )
    return home


@contextmanager
def up(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A runner in the foreground, ready, and stopped at the end whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fleet", "up"],
        env={**os.environ, "FLEET_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("up: ")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE)


@pytest.mark.parametrize("words", [["new"], ["new", "--minimal"]])
def test_init_makes_a_paused_home_and_says_what_is_next(
    fleet: Fleet, tmp_path: Path, words: list[str]
) -> None:
    """`init` writes a valid home in which nothing runs, and each line it names works."""
    made = fleet("init", *words)
    lines = [line.strip() for line in made.stdout.splitlines() if line.startswith("  fleet ")]

    assert made.returncode == 0
    assert "paused" in made.stdout
    assert len(lines) == 3
    for line in lines[:2]:
        done = fleet(*line.removeprefix("fleet ").split())
        assert done.returncode == 0, done.stderr
    again = fleet("init", *words)
    assert (again.returncode, again.stdout) == (2, "")


def test_check_names_every_fault_at_once(home: Path, fleet: Fleet, shaped) -> None:
    """`check` is exit 0 for a valid home, and 7 with all faults at once for a broken one."""
    well = fleet("check", "--json")
    agent = home / "agents" / "outreach.yaml"
    agent.write_text(
        agent.read_text()
        .replace("schedule:", "shedule:")
        .replace("[reply-handler]", "[reply-handlr]")
        .replace("reply-received", "reply-recieved")
    )

    broken = fleet("check", "--json")
    whats = [str(found) for found in shaped("finding", broken.stdout)]

    assert well.returncode == 0
    assert not [f for f in shaped("finding", well.stdout) if f["severity"] == "error"]
    assert broken.returncode == 7
    for near in ("schedule", "reply-handler", "reply-received"):
        assert any(near in what for what in whats), near


def test_next_lists_due_slots_in_order(home: Path, fleet: Fleet, shaped) -> None:
    """`next` prints nominal and due instants in the home's zone, in order, of enabled agents."""
    slots = shaped("slot", fleet("next", "--days", "1", "--from", "2026-12-01", "--json").stdout)
    due = [datetime.fromisoformat(str(slot["due"])) for slot in slots]

    assert due == sorted(due)
    assert str(slots[0]["due"]).endswith("+01:00")
    assert [s["slot"] for s in slots if s["agent"] == "competitor-watch"] == [
        "2026-12-01T07:30:00+01:00"
    ]


def test_a_run_by_hand_is_told_shown_and_logged(worker: Path, fleet: Fleet, shaped) -> None:
    """`run` waits and exits by the outcome; runs, logs and status show it, hostile text escaped."""
    dry = fleet("run", "reply-handler", "--dry-run")
    before = fleet("runs", "--json").stdout
    done = fleet("run", "reply-handler", "--json")
    (run,) = shaped("run", done.stdout)
    (listed,) = shaped("run", fleet("runs", "reply-handler", "--json").stdout)

    assert (dry.returncode, before) == (0, "")
    assert (done.returncode, run["outcome"], listed["id"]) == (0, "ok", run["id"])
    for words in (["runs"], ["logs", "reply-handler"], ["logs", str(run["id"])], ["status"]):
        shown = fleet(*words)
        assert shown.returncode == 0, shown.stderr
        assert "\x1b" not in shown.stdout
    assert "done" in fleet("logs", "last").stdout


def test_a_failed_run_is_exit_8(worker: Path, fleet: Fleet, write: Write) -> None:
    """A run that ends badly makes `fleet run` exit 8 and names the outcome."""
    agent = worker / "agents" / "reply-handler.yaml"
    text = agent.read_text()
    agent.write_text(text[: text.index("command:")] + "command: [sh, -c, 'exit 3']\n")

    done = fleet("run", "reply-handler")

    assert done.returncode == 8
    assert "reply-handler crashed" in done.stdout


def test_context_shows_and_changes_nothing(home: Path, fleet: Fleet) -> None:
    """`context` prints what an agent would be told, hostile text escaped; nothing is written."""
    fleet("emit", "pricing-change", "competitor=\x1b[2JCursor", "newPrice=$20")
    state = home / "state"
    before = {p for p in state.rglob("*") if "cache" not in p.parts}

    told = fleet("context", "outreach")
    costs = fleet("context", "outreach", "--explain")

    assert "Do the work of outreach." in told.stdout
    assert "\x1b" not in told.stdout
    assert "events" in costs.stdout
    assert {p for p in state.rglob("*") if "cache" not in p.parts} == before


def test_status_tells_the_truth_and_check_turns_it_into_codes(
    worker: Path, fleet: Fleet, shaped
) -> None:
    """`status --check` is 9 without a runner, 0 with one, 8 with a failing agent or a bad line."""
    down = fleet("status", "--check", "--json")
    with up(worker):
        fleet("run", "reply-handler")
        well = fleet("status", "--check", "--json")
        agent = worker / "agents" / "reply-handler.yaml"
        text = agent.read_text()
        agent.write_text(text[: text.index("command:")] + "command: [sh, -c, 'exit 3']\n")
        fleet("run", "reply-handler")
        degraded = fleet("status", "--check", "--json")
        agent.write_text(text)
        fleet("run", "reply-handler")
        (worker / "state" / "metrics").mkdir()
        (worker / "state" / "metrics" / f"{1:020}.jsonl").write_text("no record\n")
        damaged = fleet("status", "--check", "--json")

    (state,) = shaped("status", well.stdout)
    assert (down.returncode, well.returncode, degraded.returncode) == (9, 0, 8)
    (after,) = shaped("status", damaged.stdout)
    assert (damaged.returncode, after["health"], after["damaged"]) == (
        8,
        "degraded",
        {"metrics": 1},
    )
    assert not any(one["failing"] for one in after["agents"])
    assert state["runner"]["alive"]
    assert shaped("status", degraded.stdout)[0]["health"] == "degraded"


def test_pause_halt_and_resume_are_seen_in_status(worker: Path, fleet: Fleet, shaped) -> None:
    """Each word changes the agent's state as status shows it; a halted agent does not run."""

    def state() -> object:
        (found,) = shaped("status", fleet("status", "--json").stdout)
        return next(a["state"] for a in found["agents"] if a["id"] == "reply-handler")

    seen = [state()]
    for words in (
        ["pause", "reply-handler", "--reason", "new mail provider"],
        ["resume", "reply-handler"],
        ["kill", "reply-handler", "--reason", "wrong list"],
    ):
        assert fleet(*words).returncode == 0
        seen.append(state())
    refused = fleet("run", "reply-handler")
    fleet("resume", "reply-handler")

    assert seen == ["waiting", "paused", "waiting", "halted"]
    assert refused.returncode == 75
    assert "wrong list" in refused.stderr
    assert fleet("run", "reply-handler").returncode == 0
    assert fleet("pause", "reply-handlr").returncode == 4


def test_an_account_is_paused_and_resumed_by_its_name(home: Path, shaped) -> None:
    """`--account` holds all that share it, as `status`, `next` and `resume AGENT` say.

    Names are checked (4), and an agent beside an account is refused (2).
    """
    yaml = home / "fleet.yaml"
    yaml.write_text(yaml.read_text() + "accounts: {main: {agents: [outreach]}}\n")
    pause = ["pause", "--account", "main", "--reason", "too dear"]
    lines = [pause, ["status", "--json"], ["next", "--json"], ["resume", "outreach"], ["resume"]]
    lines += [["resume", "--account", "main"], ["resume", "--account", "main"]]
    lines += [["status", "--json"], ["pause", "--account", "mian"], ["resume", "--account", "x"]]
    lines += [["pause", "outreach", "--account", "main"], ["pause", "--account", "fleet"]]
    done = many(home, [call(*words) for words in lines])

    assert [one.code for one in done] == [0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 2, 0]
    (account,) = shaped("status", done[1].out)[0]["accounts"]
    assert (account["name"], account["agents"], account["state"]) == (
        "main",
        ["outreach"],
        "paused",
    )
    assert "too dear" in account["why"]
    reasons = {slot["agent"]: slot["reason"] for slot in shaped("slot", done[2].out)}
    assert "account main is paused by operator" in reasons.pop("outreach")
    assert set(reasons.values()) == {"schedule"}
    for resumed in done[3:5]:
        assert "account main is still paused by operator" in resumed.out
        assert "fleet resume --account main" in resumed.out
    assert [one.out.strip() for one in done[5:7]] == [
        "resumed account main",
        "nothing held account main",
    ]
    assert shaped("status", done[7].out)[0]["accounts"] == []
    assert "did you mean 'main'?" in done[8].err
    assert "paused account fleet (competitor-watch, reply-handler)" in done[11].out


def test_a_halt_leaves_its_reason_and_a_second_run_names_the_first(
    worker: Path, fleet: Fleet, shaped
) -> None:
    """A running agent runs no second time, exit 6 with the run; who halts it says why on record."""
    agent = worker / "agents" / "reply-handler.yaml"
    text = agent.read_text()
    command = "echo out; echo oops >&2; sleep 60"
    agent.write_text(text[: text.index("command:")] + f"command: [sh, -c, '{command}']\n")
    argv = [sys.executable, "-m", "fleet", "run", "reply-handler"]
    first = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None
    run = first.stdout.readline().split()[-1]
    assert until(lambda: "oops" in fleet("logs", "reply-handler").stdout)

    second = fleet("run", "reply-handler")
    halted = fleet("halt", "reply-handler", "--reason", "wrong list")
    first.communicate(timeout=DEADLINE)
    (ended,) = shaped("run", fleet("runs", "reply-handler", "--json").stdout)
    logs = fleet("logs", "reply-handler").stdout

    assert second.returncode == 6
    assert f"reply-handler is already running: {run}" in second.stderr
    assert halted.returncode == 0
    assert (ended["outcome"], ended["reason"]) == ("killed", "halted by operator: wrong list")
    assert logs == "out\n-- standard error:\noops\n"


def test_there_is_one_runner_and_stop_ends_it(worker: Path, fleet: Fleet) -> None:
    """A second `up` is exit 6 and names the first; `stop` ends it; then `stop` is exit 9."""
    with up(worker) as process:
        second = fleet("up")
        stopped = fleet("stop")
        code = process.wait(DEADLINE)

    assert second.returncode == 6
    assert str(process.pid) in second.stderr
    assert (stopped.returncode, code) == (0, 0)
    assert fleet("stop").returncode == 9


def test_version_names_program_state_and_json(fleet: Fleet, shaped) -> None:
    """`version --json` works without a home and fits its shape."""
    (found,) = shaped("version", fleet("version", "--json", env={"FLEET_HOME": None}).stdout)

    assert found["state"] == "fleet-state 1"


def test_a_broken_home_can_still_be_watched_and_stopped(worker: Path, fleet: Fleet) -> None:
    """With errors in the files, what stops and shows works on with the last good config."""
    fleet("status")
    (worker / "agents" / "outreach.yaml").write_text("shedule: [\n")

    for words in (["halt", "--all"], ["resume"], ["pause"], ["status"], ["next"], ["verify"]):
        done = fleet(*words)
        assert done.returncode == 0, words
        assert "outreach.yaml" in done.stderr
    for words in (["up"], ["run", "reply-handler"], ["post", "strategy", "hi"]):
        assert fleet(*words).returncode == 7, words


def test_runs_can_be_asked_for_a_time(home: Path, fleet: Fleet) -> None:
    """`--since` and `--until` bound the runs by their start, and `--limit` counts what is left."""
    runs = open_fleet(home, env={}).runs
    for number in range(3):
        runs.start(
            SYSTEM, "outreach", f"019b2e00-0000-7000-8000-00000000000{number}", slot="hand:x"
        )

    assert len(fleet("runs", "--since", "1h", "--json").stdout.splitlines()) == 3
    assert len(fleet("runs", "--since", "1h", "--limit", "2", "--json").stdout.splitlines()) == 2
    assert fleet("runs", "--until", "1h", "--json").stdout == ""
    assert fleet("runs", "--since", "soon").returncode == 2


def test_next_stops_at_its_limit(home: Path, fleet: Fleet) -> None:
    """The slots come in order, and at most as many as asked for."""
    whole = fleet("next", "--days", "2", "--json").stdout.splitlines()

    some = fleet("next", "--days", "2", "--limit", "3", "--json").stdout.splitlines()
    assert some == whole[:3]


def test_a_run_whose_beginning_is_lost_is_shown(home: Path) -> None:
    """Of a run of which only a report is left, every list says that its start is unknown."""
    run = "019b2e00-0000-7000-8000-000000000009"
    report: Body = {"op": "report", "text": "x", "next": "", "idle": False, "run": run}
    open_fleet(home, env={}).store.append("runs/outreach", [Draft(report)])

    runs, agents, shown = many(home, [call("runs"), call("agents"), call("show", run)])

    assert [done.code for done in (runs, agents, shown)] == [0, 0, 0]
    assert re.search(rf"{run}  outreach  -  ", runs.out)
