"""P20: each way that the two measured versions of the CLI end has its outcome, and what follows."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fleet.runs import judge_claude

POLICY = "API Error: Claude Code is unable to respond to this request, which appears to violate"
SAFEGUARDS = "API Error: Opus 5.5's safeguards flagged this message.\n\nTry rephrasing the request"
TOO_LONG = "Prompt is too long · the request is ~300000 tokens (limit 200000) but"
SERVER = ". This is a server-side issue, usually temporary — try again in a moment."
SERVER += " If it persists, check your inference gateway (127.0.0.1:40543)."
MODEL = "There's an issue with the selected model (x). It may not exist or you may not have access"
BLOCKED = "UserPromptSubmit operation blocked by hook:\nNO\n\nOriginal prompt: hi"
MAXIMUM = "API Error: Claude's response exceeded the 64000 output token maximum. To configure this"
DENIAL = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "touch x"}}


class Ends(NamedTuple):
    """One way to end: what the result line says in both versions, and the exit codes."""

    says: dict[str, Any]
    older: dict[str, Any]
    newer: dict[str, Any]
    codes: tuple[int, int]


def ok(text: str = "Done.", *, turns: int = 2, **more: Any) -> Ends:
    """A result that calls itself a success, exit 0."""
    says = {"subtype": "success", "is_error": False, "num_turns": turns, "result": text}
    reason = {"terminal_reason": "completed", "stop_reason": "end_turn", "permission_denials": []}
    return Ends(says | reason | more, {}, {}, (0, 0))


def api(
    status: int | None, text: str, *, newer: int | None = None, words: str = "", **more: Any
) -> Ends:
    """An error of the API, exit 1: the newer version has a status or words of its own."""
    says = {"subtype": "success", "is_error": True, "num_turns": 1, "result": text}
    says |= {"stop_reason": "stop_sequence", "permission_denials": []} | more
    older = {"api_error_status": status, "terminal_reason": "completed"}
    other = {"api_error_status": newer or status, "terminal_reason": "api_error"}
    return Ends(says, older | more, other | more | ({"result": words} if words else {}), (1, 1))


def stopped(subtype: str, error: str, *, older: str | None, newer: str) -> Ends:
    """A limit of its own that the CLI met, exit 1, without a text."""
    says = {"subtype": subtype, "is_error": True, "num_turns": 3, "errors": [error]}
    reason = {"terminal_reason": older} if older else {}
    return Ends(says, reason, {"terminal_reason": newer}, (1, 1))


INTERRUPTED = {"subtype": "error_during_execution", "is_error": True, "num_turns": 2}
TURNS = "Reached maximum number of turns (2)"
MONEY = "Reached maximum budget ($0.001)"
REFUSED = "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"

WITH_RESULT = {
    "success": ("ok", ok()),
    "max turns": (
        "max_turns",
        stopped("error_max_turns", TURNS, older="max_turns", newer="max_turns"),
    ),
    "budget": (
        "budget",
        stopped("error_max_budget_usd", MONEY, older=None, newer="budget_exhausted"),
    ),
    "400": ("incomplete", api(400, "API Error: 400 bad thing")),
    "401": ("auth", api(401, "Invalid API key · Fix external API key")),
    "403": ("auth", api(403, "Failed to authenticate. API Error: 403 no")),
    "404": ("config", api(404, MODEL)),
    "413": ("prompt_too_long", api(413, "API Error: 413 request too large")),
    "no credit": ("auth", api(400, "Credit balance is too low")),
    "prompt too long": (
        "prompt_too_long",
        api(400, TOO_LONG, terminal_reason="prompt_too_long"),
    ),
    "429": ("rate_limited", api(429, "API Error: Request rejected (429) · rate")),
    "529": ("overloaded", api(529, "API Error: 529 Overloaded" + SERVER)),
    "529 again and again": (
        "overloaded",
        api(None, "API Error: Repeated 529 Overloaded errors. The API is at capacity", newer=529),
    ),
    "500": ("overloaded", api(500, "API Error: 500 Internal server error" + SERVER)),
    "connection refused": (
        "overloaded",
        api(None, "API Error: Unable to connect to API (ConnectionRefused)", words=REFUSED),
    ),
    "request timed out": ("overloaded", api(None, "Request timed out")),
    "no credentials": ("auth", api(None, "Not logged in · Please run /login")),
    "max tokens": ("incomplete", api(None, MAXIMUM)),
    "refusal": ("incomplete", api(None, POLICY, words=SAFEGUARDS, stop_reason="refusal")),
    "denied tool": ("ok_with_denials", ok(permission_denials=[DENIAL])),
    "prompt blocked by a hook": ("empty", ok(BLOCKED, turns=0)),
    "stopped by a hook": ("empty", ok("", terminal_reason="hook_stopped")),
    "kept going by a hook for ever": ("empty", ok("", turns=10)),
    "slash command": ("empty", ok("Total cost: $0.00", turns=0)),
    "SIGINT in a tool": (
        "crashed",
        Ends(INTERRUPTED | {"terminal_reason": "aborted_tools"}, {}, {}, (1, 0)),
    ),
}
WITHOUT_RESULT = {
    "unknown flag": ("config", 1, "error: unknown option '--x'"),
    "wrong format": ("config", 1, "error: option '--output-format <format>' argument is invalid"),
    "no prompt": ("config", 1, "Error: Input must be provided through stdin or as an argument"),
    "stream-json alone": ("config", 1, "Error: --output-format=stream-json requires --verbose"),
    "no settings file": ("config", 1, "Error processing settings: Settings file not found: /x"),
    "bad mcp config": ("config", 1, "Error: Invalid MCP configuration"),
    "used session id": ("config", 1, "Error: Session ID 0 is already in use."),
    "unknown session": ("config", 1, "No conversation found with session ID: 0"),
    "as root": ("config", 1, "--dangerously-skip-permissions cannot be used with root/sudo"),
    "broken configuration": ("launch_failed", 1, "Configuration error in /x/.claude.json: bad"),
    "lost configuration": ("launch_failed", 1, "Claude configuration file not found at: /x"),
    "SIGTERM while the API hangs": ("crashed", 143, ""),
    "SIGINT while the API hangs": ("crashed", 0, ""),
}
# What follows, by the table: lanes advance, the agent's own fault, may be tried again, exit code.
FOLLOWS = {
    "ok": (True, False, False, 0),
    **dict.fromkeys(
        ("ok_with_denials", "incomplete", "empty", "max_turns", "budget", "crashed"),
        (False, True, False, 8),
    ),
    "prompt_too_long": (False, True, False, 8),
    "overloaded": (False, False, True, 8),
    "launch_failed": (False, False, True, 8),
    "rate_limited": (False, False, False, 8),
    "auth": (False, False, False, 8),
    "config": (False, False, False, 8),
}


def judged(folder: Path, code: int, *, lines: list[dict[str, Any]], err: str = "") -> str:
    """The outcome of a CLI that printed these lines and ended with that code, as it must be."""
    (folder / "out").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "err").write_text(err)
    ended = {"ended_by": "exit", "returncode": code, "signal": None}
    verdict = judge_claude(ended, folder / "out", folder / "err")
    row = verdict.row
    assert (row.advances, row.fault, row.retried, row.exit_code) == FOLLOWS[verdict.outcome]
    assert bool(verdict.reason) == (verdict.outcome != "ok")
    assert "\n" not in verdict.reason
    return verdict.outcome


@pytest.mark.parametrize("name", WITH_RESULT)
def test_each_result_has_its_outcome(tmp_path: Path, name: str) -> None:
    """P20: in both versions, whatever the order of the keys, the row's outcome and consequences."""
    outcome, ends = WITH_RESULT[name]
    base = {"type": "result", "session_id": "s", "total_cost_usd": 0.001}
    older = base | ends.says | ends.older
    newer = dict(reversed((base | {"subagent_stats": {}} | ends.says | ends.newer).items()))
    init = {"type": "system", "subtype": "init"}

    found = [
        judged(tmp_path, code, lines=[init, result])
        for code, result in zip(ends.codes, (older, newer), strict=True)
    ]

    assert found == [outcome, outcome]


@pytest.mark.parametrize("name", WITHOUT_RESULT)
def test_each_end_without_a_result_has_its_outcome(tmp_path: Path, name: str) -> None:
    """P20: words on standard error and an exit code, 0 among them, and never a success."""
    outcome, code, said = WITHOUT_RESULT[name]
    lines = [{"type": "system", "subtype": "init"}] if not said else []

    assert judged(tmp_path, code, lines=lines, err=said) == outcome
