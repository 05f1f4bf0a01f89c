"""What a run's exit and its output say about how it ended; expectations come after it.

The keeper's `exit.json` says who ended the process; the CLI's last `result` line what it thinks
of itself. Neither is believed alone: a usage limit can come with exit 0, a failed login with
`subtype: success`. The CLI's own wording is only looked for where no model can have written it:
in an error, in output without one JSON line, or as the whole of a short answer.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from fleet.runs import stream
from fleet.runs.limits import is_limit, limit_ends, tells_of_limit
from fleet.runs.outcome import Verdict
from fleet.runs.stream import Json, Output
from fleet.text import clip, escape

SHORT_ANSWER = 400  # characters; what the CLI says itself is shorter
MOST_REASON = 300  # characters of the line that says why
LAST = 5  # lines at the end of a failed command's output in which its reason is looked for
ENDED_BY = {
    "launch": "launch_failed",
    "timeout": "timeout",
    "stalled": "stalled",
    "output_cap": "crashed",  # the agent's own fault, and the reason says how much it wrote
    "stopped": "killed",
    "keeper_stopped": "killed",
}
BY_SUBTYPE = {"error_max_turns": "max_turns", "error_max_budget_usd": "budget"}
BY_STATUS = {401: "auth", 402: "auth", 403: "auth", 404: "config", 408: "overloaded"}
BY_STATUS |= {413: "prompt_too_long", 429: "rate_limited"}
BY_FAULT = {
    "authentication_failed": "auth",
    "billing_error": "auth",
    "rate_limit": "rate_limited",
    "server_error": "overloaded",
}
SERVER_ERROR = 500
NOT_A_LIMIT = "not your usage limit"  # a throttle of the server's, worded like a limit
AUTH = re.compile(
    r"Not logged in|Invalid API key|invalid x-api-key|Failed to authenticate|authentication_error"
    r"|Credit balance (?:is )?too low|run /login|organization has been disabled"
    r"|OAuth token (?:has |was )?(?:been )?(?:expired|revoked)|does not have access to Claude",
    re.IGNORECASE,
)
AUTH_ITSELF = re.compile(
    r"(?:Not logged in|Invalid API key|OAuth token revoked) · |Failed to authenticate\. "
    r"|Credit balance (?:is )?too low|(?:API Error: )?(?:Please run /login|OAuth token has expired)"
)
API_ERROR = re.compile(
    r"API Error: (?:(\d{3})\b|Repeated |Request |Unable |Connection |Rate limit)"
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
    if output.result is not None:
        return _counted(exit_, output, output.result)
    complained = stream.edges(stderr)
    # Between lines of JSON only a whole line of the CLI's own counts: the rest is a model's.
    whole = f"{stream.edges(stdout)}\n{complained}"
    said = f"{output.plain}\n{_last(complained)}" if output.lines else whole
    verdict = _without_result(exit_, output, said.strip())
    return replace(verdict, reason=_line(verdict.reason), cli=output.version)


def judge_command(exit_: Json, stdout: Path, stderr: Path) -> Verdict:
    """How a run of any other command ended: exit 0 and something on stdout is ok.

    A script round the CLI that prints the CLI's result line is judged by it.

    Args:
        exit_: the keeper's exit.json.
        stdout: what the command printed.
        stderr: its standard error.
    """
    said, complained = stream.edges(stdout).strip(), stream.edges(stderr).strip()
    if by_others := _ended_by_others(exit_):
        return by_others
    output = stream.read_stream(stdout) if said.endswith("}") else Output()
    if output.result is not None and isinstance(output.result.get("is_error"), bool):
        return _counted(exit_, output, output.result)
    failed = exit_.get("returncode") != 0
    if failed:
        said = "\n".join((*said.splitlines()[-LAST:], *complained.splitlines()[-LAST:]))
        if tells_of_limit(said):
            return _limited_in(said, exit_)
    for line in said.splitlines() if failed or len(said) <= SHORT_ANSWER else ():
        # Anybody's program may fail to log in somewhere: only the CLI's very words are its login.
        if word := _itself(line.strip()):
            limited = word == "rate_limited"
            return _limited_in(said, exit_) if limited else Verdict(word, _line(line))
    if failed:
        return Verdict("crashed", _line(f"{_death(exit_)}: {_last(complained)}"))
    return Verdict("ok") if said else Verdict("empty", "exit 0 and no output")


def _itself(text: str) -> str:
    """The word of the table for a text that is the CLI's own and nothing else; "" for any other."""
    if is_limit(text):
        return "rate_limited"
    if AUTH_ITSELF.match(text):
        return "auth"
    return (_error({}, text) or "incomplete") if API_ERROR.match(text) else ""


# With a result line ----------------------------------------------------------------------------


def _counted(exit_: Json, output: Output, result: Json) -> Verdict:
    """The verdict on a result line, with what it counts."""
    verdict = _with_result(exit_, output, result, stream.answer(result))
    counts = asdict(stream.numbers(result))
    reason = _doubting(_line(verdict.reason), counts.pop("impossible"))
    return replace(verdict, reason=reason, cli=output.version, **counts)


def _doubting(reason: str, impossible: tuple[str, ...]) -> str:
    """The reason, with the figures that count as unknown named behind it."""
    if not impossible:
        return reason
    doubt = f"what it told of its {' and '.join(impossible)} cannot be, and counts as unknown"
    return f"{clip(reason, MOST_REASON - len(doubt) - 2)}; {doubt}" if reason else doubt


def _with_result(exit_: Json, output: Output, result: Json, text: str) -> Verdict:
    if result.get("is_error") is not False or result.get("subtype") != "success":
        word = _error(result, text) or BY_FAULT.get(output.fault, "")
        word = word or ("rate_limited" if output.refused else "")
        if word == "rate_limited":
            return _limited(text, exit_, output.limit_ends)
        if word:
            return Verdict(word, text)
        return _ended_by_others(exit_) or _unexplained(result, text)
    word = _itself(text) if len(text) <= SHORT_ANSWER else ""
    if word:
        return (
            _limited(text, exit_, output.limit_ends)
            if word == "rate_limited"
            else Verdict(word, text)
        )
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
    found = API_ERROR.match(text)
    said = int(found[1]) if found and found[1] else None
    status = stream.count(result.get("api_error_status"))
    return _by_status(said if status is None else status) or _by_text(text)


def _by_status(status: int | None) -> str:
    if status is not None and status >= SERVER_ERROR:
        return "overloaded"
    return BY_STATUS.get(status or 0, "")


def _by_text(text: str) -> str:
    if tells_of_limit(text):
        return "rate_limited"
    for pattern, word in ((AUTH, "auth"), (OVERLOADED, "overloaded"), (NO_MODEL, "config")):
        if pattern.search(text):
            return word
    return ""


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
    if output.refused or "rate_limited" in {kept_trying, BY_FAULT.get(output.fault)}:
        return _limited("429 while the CLI kept trying", exit_, output.limit_ends)
    if kept_trying:
        return Verdict(kept_trying, f"{output.retry_status} while the CLI kept trying")
    if tells_of_limit(said):
        return _limited_in(said, exit_)
    by_others = _ended_by_others(exit_)
    if by_others:
        return by_others
    if AUTH.search(said):
        return Verdict("auth", _saying(AUTH.search, said))
    if word := _itself(_saying(API_ERROR.match, said)):
        return Verdict(word, _saying(API_ERROR.match, said))
    if output.lines:
        word = BY_FAULT.get(output.fault, "")
        return Verdict(word or "crashed", f"{_death(exit_)}, and no result")
    return _plain(exit_, said)


def _plain(exit_: Json, said: str) -> Verdict:
    """The CLI printed no JSON at all."""
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
    if until is None or until <= ended.timestamp():  # of a limit before this one
        until = limit_ends(text, ended)
    return Verdict("rate_limited", _line(text), limit_until=until)


def _limited_in(text: str, exit_: Json) -> Verdict:
    """A limit that a line of `text` tells of; when it ends may stand in the next one."""
    line = _saying(tells_of_limit, text)
    rest = text[text.rindex(line) :] if line in text else text
    return _limited(line, exit_, limit_ends(rest, _moment(exit_.get("ended"))))


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


def _saying(says: Callable[[str], object], text: str) -> str:
    """The last line of `text` of which `says` is true."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if says(line)), _last(text))


def _line(text: str) -> str:
    return escape(clip(text, MOST_REASON))
