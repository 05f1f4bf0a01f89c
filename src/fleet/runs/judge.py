"""What a run's exit and its output say about how it ended; expectations come after it.

The keeper's `exit.json` says who ended the process; the CLI's last `result` line what it thinks
of itself. Neither is believed alone: a usage limit can come with exit 0, a failed login with
`subtype: success`. The CLI's own wording is only looked for where no model can have written it:
in an error, in output without one JSON line, or as the whole of a short answer.
"""

import re
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from fleet.runs import stream
from fleet.runs.limits import limit_ends, tells_of_limit
from fleet.runs.outcome import Verdict
from fleet.runs.stream import Json, Output
from fleet.text import clip, escape

SHORT_ANSWER = 400  # characters; what the CLI says itself is shorter
ENDED_BY = {
    "launch": "launch_failed",
    "timeout": "timeout",
    "stalled": "stalled",
    "output_cap": "crashed",  # the agent's own fault, and the reason says how much it wrote
    "stopped": "killed",
    "keeper_stopped": "killed",
}
BY_SUBTYPE = {"error_max_turns": "max_turns", "error_max_budget_usd": "budget"}
BY_STATUS = {401: "auth", 403: "auth", 404: "config", 413: "prompt_too_long", 429: "rate_limited"}
SERVER_ERROR = 500
NOT_A_LIMIT = "not your usage limit"  # a throttle of the server's, worded like a limit
AUTH = re.compile(
    r"Not logged in|Invalid API key|Failed to authenticate|Credit balance is too low"
    r"|Please run /login|OAuth token (?:has )?(?:expired|been revoked)|authentication_error"
)
OVERLOADED = re.compile(
    NOT_A_LIMIT + r"|Overloaded|API is at capacity|ECONN(?:REFUSED|RESET)"
    r"|Connection ?(?:Refused|error)|Unable to connect|ETIMEDOUT|ENOTFOUND|EAI_AGAIN"
    r"|Request timed out",
    re.IGNORECASE,
)
PROMPT_TOO_LONG = re.compile(r"^Prompt is too long")
NO_MODEL = re.compile(r"issue with the selected model")
BROKEN_CLI_CONFIG = re.compile(r"Configuration error in|Claude configuration file")


def judge_claude(exit_: Json, stdout: Path, stderr: Path) -> Verdict:
    """How a run of the CLI ended.

    Args:
        exit_: the keeper's exit.json.
        stdout: the stream-json file, however torn or huge; a missing one is an empty one.
        stderr: the CLI's standard error.
    """
    output = stream.read_stream(stdout)
    if output.result is None:
        said = stream.edges(stdout) + "\n" + stream.edges(stderr)
        verdict = _without_result(exit_, output, said.strip())
    else:
        found = _with_result(exit_, output, output.result, stream.answer(output.result))
        verdict = replace(found, **asdict(stream.numbers(output.result)))
    return replace(verdict, reason=_line(verdict.reason), cli=output.version)


def judge_command(exit_: Json, stdout: Path, stderr: Path) -> Verdict:
    """How a run of any other command ended: exit 0 and something on stdout is ok.

    Args:
        exit_: the keeper's exit.json.
        stdout: what the command printed.
        stderr: its standard error.
    """
    said, complained = stream.edges(stdout).strip(), stream.edges(stderr).strip()
    by_others = _ended_by_others(exit_)
    if by_others:
        return by_others
    if exit_.get("returncode") != 0:
        if tells_of_limit(f"{said}\n{complained}"):
            return _limited(_last(f"{said}\n{complained}"), exit_)
        return Verdict("crashed", _line(f"{_death(exit_)}: {_last(complained)}"))
    if len(said) <= SHORT_ANSWER and tells_of_limit(said):
        return _limited(said, exit_)
    return Verdict("ok") if said else Verdict("empty", "exit 0 and no output")


# With a result line ----------------------------------------------------------------------------


def _with_result(exit_: Json, output: Output, result: Json, text: str) -> Verdict:
    if result.get("is_error") is not False or result.get("subtype") != "success":
        word = _error(result, text)
        if word == "rate_limited":
            return _limited(text, exit_, output.limit_ends)
        if word:
            return Verdict(word, text)
        return _ended_by_others(exit_) or _unexplained(result, text)
    if len(text) <= SHORT_ANSWER and AUTH.match(text):
        return Verdict("auth", text)
    if len(text) <= SHORT_ANSWER and text.startswith(("You", "Claude")) and tells_of_limit(text):
        return _limited(text, exit_, output.limit_ends)
    # a process that lingers behind its result is ended by the keeper: that says nothing
    if exit_.get("ended_by") != "after_result":
        by_others = _ended_by_others(exit_)
        if by_others or exit_.get("returncode") != 0:
            return by_others or Verdict("crashed", _death(exit_))
    return _success(result, text)


def _error(result: Json, text: str) -> str:
    """The word of the table for what the CLI calls an error; "" when it says nothing known."""
    subtype = BY_SUBTYPE.get(str(result.get("subtype")))
    if subtype:
        return subtype
    if result.get("terminal_reason") == "prompt_too_long" or PROMPT_TOO_LONG.search(text):
        return "prompt_too_long"
    if NOT_A_LIMIT in text:
        return "overloaded"
    return _by_status(stream.count(result.get("api_error_status"))) or _by_text(text)


def _by_status(status: int | None) -> str:
    if status is not None and status >= SERVER_ERROR:
        return "overloaded"
    return BY_STATUS.get(status or 0, "")


def _by_text(text: str) -> str:
    for pattern, word in ((AUTH, "auth"), (OVERLOADED, "overloaded"), (NO_MODEL, "config")):
        if pattern.search(text):
            return word
    return "rate_limited" if tells_of_limit(text) else ""


def _unexplained(result: Json, text: str) -> Verdict:
    if result.get("subtype") == "error_during_execution":
        return Verdict("crashed", text or "the CLI was interrupted")
    return Verdict("incomplete", text or f"the CLI ended with {result.get('subtype')}")


def _success(result: Json, text: str) -> Verdict:
    if not stream.count(result.get("num_turns")):
        return Verdict("empty", text or "no model call was made")
    if not text.strip():
        return Verdict("empty", f"no answer ({result.get('terminal_reason') or 'no reason given'})")
    denied = stream.denials(result)
    if denied:
        return Verdict("ok_with_denials", f"denied: {', '.join(denied)}", denials=denied)
    return Verdict("ok")


# Without one -----------------------------------------------------------------------------------


def _without_result(exit_: Json, output: Output, said: str) -> Verdict:
    kept_trying = _by_status(output.retry_status)
    if output.limit_ends is not None or kept_trying == "rate_limited":
        return _limited("429 while the CLI kept trying", exit_, output.limit_ends)
    if kept_trying:
        return Verdict(kept_trying, f"{output.retry_status} while the CLI kept trying")
    by_others = _ended_by_others(exit_)
    if by_others:
        return by_others
    if output.lines:  # what the model wrote may look like anything
        return Verdict("crashed", f"{_death(exit_)}, and no result")
    return _plain(exit_, said)


def _plain(exit_: Json, said: str) -> Verdict:
    """The CLI printed no JSON at all."""
    if tells_of_limit(said):
        return _limited(_last(said), exit_)
    if AUTH.search(said):
        return Verdict("auth", _last(said))
    if BROKEN_CLI_CONFIG.search(said):
        return Verdict("launch_failed", _last(said))
    if exit_.get("returncode") == 1:
        return Verdict("config", f"the CLI refused to start: {_last(said)}")
    return Verdict("crashed", f"{_death(exit_)}, and no result: {_last(said)}")


def _ended_by_others(exit_: Json) -> Verdict | None:
    word = ENDED_BY.get(str(exit_.get("ended_by")))
    return Verdict(word, _line(str(exit_.get("reason") or word))) if word else None


def _limited(text: str, exit_: Json, until: float | None = None) -> Verdict:
    ended = _moment(exit_.get("ended"))
    return Verdict("rate_limited", _line(text), limit_until=until or limit_ends(text, ended))


def _death(exit_: Json) -> str:
    signal = stream.count(exit_.get("signal"))
    if signal:
        return f"died by signal {signal}"
    code = exit_.get("returncode")
    return "ended with nobody watching" if code is None else f"exit {code}"


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1].strip()


def _line(text: str) -> str:
    return escape(clip(text, 300))
