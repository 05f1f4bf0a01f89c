"""How runs of the real CLI end: each row's outcome, exit code, lanes moved, and what is left."""

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from claude.real_fleet import RealFleet, play
from fleet.ops.claude_cli import ask
from fleet.records import Place
from fleet.runner.launch import ready
from fleet.runner.probes.messages_stub import MessagesStub, Turn, bash, fail, say
from fleet.runs import Run
from fleet.wiring import Fleet

pytestmark = pytest.mark.claude

DENIED = bash("touch made")
DONE = say("Done.")
FEW = "env: {set: {CLAUDE_CODE_MAX_RETRIES: '1'}}"
WANTS = "expects: {any_of: [{event: note}]}"
LIMIT = "You've hit your session limit · resets 4:20am (Europe/Warsaw)"
HOURS = 3600


def hooked(event: str, command: str) -> str:
    """A line of an agent's file: a hook of an operator's own, who overrides fleet's settings."""
    call = {"type": "command", "command": command, "timeout": HOURS}
    settings = {"hooks": {event: [{"matcher": "", "hooks": [call]}]}}
    return f"claude_args: {json.dumps(['--settings', json.dumps(settings)])}"


BLOCK = json.dumps({"decision": "block", "reason": "There is more to do."})
STUBBORN = hooked("Stop", f"cat > /dev/null; echo {shlex.quote(BLOCK)}")
SLEEPY = hooked("SessionStart", f"sleep {HOURS}")
STAYS = hooked("SessionEnd", f"sleep {HOURS}")
SILENT = "idle_timeout: 4s"


@dataclass(frozen=True)
class Row:
    """One agent: what its model does, lines of its file, and what has to become of its run."""

    outcome: str
    turns: Sequence[Turn]
    lines: Sequence[str] = ()
    reason: str = ""
    code: int = 8
    advances: bool = False


def good(outcome: str, turns: Sequence[Turn], *lines: str, reason: str = "") -> Row:
    """A row that is a success."""
    return Row(outcome, turns, lines, reason, code=0, advances=True)


def invalid(message: str) -> Turn:
    """An answer 400."""
    return fail(400, "invalid_request_error", message)


ROWS = {
    "ok": good("ok", [DONE]),
    "denied": Row("ok_with_denials", [DENIED, DONE], reason="Bash(touch made)"),
    "denied-and-reported": good(
        "ok_with_denials", [DENIED, bash("fleet report 'no touch here'"), DONE]
    ),
    "denied-and-as-expected": good(
        "ok_with_denials", [DENIED, bash("fleet emit note n=1"), DONE], WANTS
    ),
    "denied-and-less-than-expected": Row(
        "ok_with_denials", [DENIED, DONE], (WANTS,), "left behind none of: event note"
    ),
    "less-than-expected": Row("incomplete", [DONE], (WANTS,), "left behind none of: event note"),
    "idle": good("ok", [bash("fleet report --idle 'no leads'"), DONE], WANTS),
    "no-answer": Row("empty", [say("")] * 9, reason="no answer"),
    "bad-request": Row("incomplete", [invalid("scripted")] * 3, reason="400"),
    "too-long": Row("prompt_too_long", [invalid("prompt is too long")] * 3),
    "no-credit": Row("auth", [invalid("Your credit balance is too low to go on")] * 3),
    "bad-key": Row("auth", [fail(401, "authentication_error")] * 3, (FEW,)),
    "forbidden": Row("auth", [fail(403, "permission_error")] * 3, reason="403"),
    "no-such-model": Row("config", [fail(404, "not_found_error")] * 3),
    "limited": Row(
        "rate_limited", [fail(429, "rate_limit_error", retry_after="1")] * 3, (FEW,), "429"
    ),
    "overloaded": Row("overloaded", [fail(529, "overloaded_error")] * 9, reason="529"),
    "overloaded-once": good("ok", [fail(529, "overloaded_error"), DONE]),
    "server-error": Row("overloaded", [fail(500, "api_error")] * 3, (FEW,), "500"),
    "broken-stream": good("ok", [say("Done.", cut_after=3), DONE, DONE]),
    "too-many-turns": Row(
        "max_turns", [bash("fleet channels"), bash("fleet channels"), DONE], ("max_turns: 1",)
    ),
    "too-dear": Row(
        "budget", [bash("fleet channels")] * 9, ("budget: {per_run: 0.0001}",), "budget"
    ),
    "limit-in-words": Row("rate_limited", [say(LIMIT)], reason=LIMIT),
    "endless-stop": Row("empty", [say("Done.")] * 20, (STUBBORN,), "no answer"),
    "hangs-at-once": Row("stalled", [DONE], (SLEEPY, SILENT), "no sign of life"),
    "hangs-in-thought": Row("stalled", [say("Late.", delay=HOURS)], (SILENT,), "no sign of life"),
    "too-slow": Row("timeout", [say("Late.", delay=HOURS)], ("timeout: 5s",), "after 5 s"),
    "stays-after-its-result": good("ok", [DONE], STAYS, "timeout: 5m"),
    "unreachable": Row(
        "overloaded",
        [],
        ("env: {set: {ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', CLAUDE_CODE_MAX_RETRIES: '1'}}",),
    ),
}


UNHEARD = {"unreachable", "hangs-at-once"}
"""Rows whose model is never asked."""
FIRST = (
    *("denied", "bad-key", "limit-in-words", "overloaded-once", "endless-stop"),
    *("too-many-turns", "too-dear", "hangs-at-once"),
)
"""The rows of every test run; the others take their turn in the long proofs."""


@dataclass(frozen=True)
class Ended:
    """What became of one row: `moved` are the lanes that did, `left` is what must not be there."""

    code: int
    run: Run
    moved: set[str]
    left: list[object]
    seen: str


def end_all(cli: Path, root: Path, names: Collection[str]) -> dict[str, Ended]:
    """Run all rows of these names by `fleet run`, four at a time."""
    rows = {name: ROWS[name] for name in names}
    plays = [play(name, *row.turns) for name, row in rows.items()]
    with MessagesStub(plays) as server:
        # Each has a login of its own: one that is refused or at its limit holds up no other.
        accounts = {name: {"agents": [name]} for name in rows}
        home = RealFleet(root, cli, server, extra=f"accounts: {json.dumps(accounts)}\n")
        for name, row in rows.items():
            home.claude(name, "interests: []", *row.lines)
        fleet = home.fleet
        for name in rows:
            fleet.bus.emit(fleet.author, "note", {"n": f"for {name}"}, to=name)
        before = {name: lanes(fleet, name) for name in rows}
        with ThreadPoolExecutor(4) as four:
            done = list(four.map(lambda name: home.call("run", name), rows))
    runs = {run.agent: run for run in home.runs()}
    return {
        name: Ended(
            one.returncode,
            runs[name],
            moved={
                lane for lane, at in fleet.cursors.get(name).items() if at != before[name][lane]
            },
            left=left(home, runs[name].id),
            seen="\n".join(asked.everything() for asked in home.asked(runs[name].id)),
        )
        for name, one in zip(rows, done, strict=True)
    }


def lanes(fleet: Fleet, name: str) -> dict[str, Place]:
    """Where an agent's lanes stand before its first run, as the runner begins them."""
    ready(fleet, fleet.config.agents[name])
    return dict(fleet.cursors.get(name))


def left(home: RealFleet, run: str) -> list[object]:
    """Processes, claims and a living token of a run that is over."""
    token = home.fleet.store.get(f"tokens/{run}")[0]
    claims = [claim.key for claim in home.fleet.claims.live() if claim.run == run]
    return [*home.alive(run), *claims, *([] if token and token.get("ended") else ["token"])]


def check(became: Mapping[str, Ended]) -> None:
    """Outcome, exit code, lanes and reason of each row, and that its model was told what waited."""
    found = {name: (one.run.outcome, one.code, bool(one.moved)) for name, one in became.items()}
    rows = {name: ROWS[name] for name in became}
    assert found == {name: (row.outcome, row.code, row.advances) for name, row in rows.items()}
    assert {name: one.left for name, one in became.items()} == {name: [] for name in became}
    for name, row in rows.items():
        assert row.reason in became[name].run.reason, name
        assert became[name].run.events_shown == 1, name
        assert f"for {name}" in became[name].seen or name in UNHEARD


def test_runs_end_as_the_table_says(cli: Path, tmp_path: Path) -> None:
    """Outcome, reason and exit code are the table's, lanes move in its rows that advance.

    Nothing is left of any run, and each says which version of the CLI it was.
    """
    became = end_all(cli, tmp_path / "home", FIRST)

    check(became)
    assert {one.run.cli for one in became.values()} == {ask(str(cli), os.environ).version}


@pytest.mark.prove
def test_more_runs_end_as_the_table_says(cli: Path, tmp_path: Path) -> None:
    """The same of the rows that are left."""
    check(end_all(cli, tmp_path / "home", [name for name in ROWS if name not in FIRST]))
