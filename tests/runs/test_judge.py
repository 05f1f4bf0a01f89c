"""How a run ended is read from its exit and its output, neither of which is believed alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleet.records import Body
from fleet.runs import OUTCOMES, Verdict, judge_claude, judge_command

EXIT = {"ended_by": "exit", "returncode": 0, "signal": None, "ended": "2026-11-30T12:00:00+00:00"}
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "api_error_status": None,
    "num_turns": 3,
    "result": "Mailed 4 leads.",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 9, "output_tokens": 1},
    "modelUsage": {
        "big": {"inputTokens": 100, "cacheReadInputTokens": 50, "outputTokens": 20},
        "small": {"inputTokens": 5, "cacheCreationInputTokens": 7, "outputTokens": 2},
    },
    "permission_denials": [],
    "terminal_reason": "completed",
}
ERROR = {"is_error": True}
LIMIT = "You've hit your session limit · resets 4:20am (Europe/Warsaw)"


class Case:
    """The output files of one run."""

    def __init__(self, folder: Path) -> None:
        self.stdout, self.stderr = folder / "stdout.jsonl", folder / "stderr.log"

    def claude(self, *lines: object, err: str = "", **exit_: object) -> Verdict:
        """The verdict on a CLI that printed `lines` (objects or raw text)."""
        printed = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.stdout.write_text("".join(f"{line}\n" for line in printed), encoding="utf-8")
        self.stderr.write_text(err, encoding="utf-8")
        return judge_claude(EXIT | exit_, self.stdout, self.stderr)

    def command(self, out: bytes, err: bytes = b"", **exit_: object) -> Verdict:
        """The verdict on any other command."""
        self.stdout.write_bytes(out)
        self.stderr.write_bytes(err)
        return judge_command(EXIT | exit_, self.stdout, self.stderr)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """A run's output files, to be filled."""
    return Case(tmp_path)


def test_a_clean_result_is_ok_with_all_its_numbers(case: Case) -> None:
    """Cost, turns and the tokens of every model are read; cached tokens count as input."""
    verdict = case.claude({"type": "system", "subtype": "init"}, RESULT)

    assert verdict == Verdict("ok", cost_usd=0.25, tokens_in=162, tokens_out=22, turns=3)


def test_the_version_that_the_cli_says_is_kept(case: Case) -> None:
    """The init line names it in newer versions; odd words there are none, long ones are cut."""
    said = [{"type": "system", "subtype": "init", "claude_code_version": one} for one in
            ("2.1.332", 7, "x" * 99)]  # fmt: skip

    assert [case.claude(one, RESULT).cli for one in said] == ["2.1.332", None, "x" * 39 + "…"]
    assert case.claude(said[0]).cli == "2.1.332"
    assert case.claude(RESULT).cli is None


def test_the_order_of_keys_and_earlier_results_do_not_matter(case: Case) -> None:
    """The last result line counts, whatever the order of its keys."""
    turned = dict(reversed(RESULT.items())) | {"total_cost_usd": 0.5}

    verdict = case.claude(RESULT | ERROR | {"num_turns": 0}, turned)

    assert (verdict.outcome, verdict.cost_usd) == ("ok", 0.5)


@pytest.mark.parametrize(
    ("change", "code", "outcome"),
    [
        (
            {"subtype": "error_max_turns", "result": None, "errors": ["Reached maximum"]} | ERROR,
            1,
            "max_turns",
        ),
        ({"subtype": "error_max_budget_usd", "errors": ["Reached maximum"]} | ERROR, 1, "budget"),
        ({"result": "API Error: 400 bad thing", "api_error_status": 400} | ERROR, 1, "incomplete"),
        (
            {"result": "Invalid API key · Fix external API key", "api_error_status": 401} | ERROR,
            1,
            "auth",
        ),
        (
            {"result": "Failed to authenticate. API Error: 403 no", "api_error_status": 403}
            | ERROR,
            1,
            "auth",
        ),
        ({"result": "Not logged in · Please run /login"} | ERROR, 1, "auth"),
        ({"result": "Credit balance is too low", "api_error_status": 400} | ERROR, 1, "auth"),
        ({"result": "Not logged in · Please run /login"}, 0, "auth"),
        (
            {"result": "There's an issue with the selected model (x)", "api_error_status": 404}
            | ERROR,
            1,
            "config",
        ),
        (
            {"result": "API Error: Request rejected (429) · rate", "api_error_status": 429} | ERROR,
            1,
            "rate_limited",
        ),
        ({"result": LIMIT} | ERROR, 1, "rate_limited"),
        ({"result": LIMIT}, 0, "rate_limited"),
        ({"result": "Claude AI usage limit reached|1749924000"}, 0, "rate_limited"),
        (
            {
                "result": "Server is temporarily limiting requests (not your usage limit)",
                "api_error_status": 429,
            }
            | ERROR,
            1,
            "overloaded",
        ),
        ({"result": "API Error: Repeated 529 Overloaded errors."} | ERROR, 1, "overloaded"),
        ({"result": "API Error: 529", "api_error_status": 529} | ERROR, 1, "overloaded"),
        ({"result": "API Error: 500 Internal", "api_error_status": 500} | ERROR, 1, "overloaded"),
        (
            {"result": "API Error: Unable to connect to API (ConnectionRefused)"} | ERROR,
            1,
            "overloaded",
        ),
        ({"result": "API Error: Connection refused (ECONNREFUSED)"} | ERROR, 1, "overloaded"),
        (
            {"result": "Prompt is too long · x", "terminal_reason": "prompt_too_long"} | ERROR,
            1,
            "prompt_too_long",
        ),
        ({"result": "Prompt is too long · x"} | ERROR, 1, "prompt_too_long"),
        (
            {"result": "API Error: Claude's response exceeded the 64000 output token maximum"}
            | ERROR,
            1,
            "incomplete",
        ),
        ({"subtype": "error_during_execution", "result": None} | ERROR, 1, "crashed"),
        ({"num_turns": 0, "result": "UserPromptSubmit operation blocked by hook"}, 0, "empty"),
        ({"result": ""}, 0, "empty"),
        ({"result": " \n"}, 0, "empty"),
        ({}, 1, "crashed"),
    ],
)
def test_each_way_the_cli_ends_has_its_word(
    case: Case, change: dict[str, Any], code: int, outcome: str
) -> None:
    """Status, subtype, text and exit code together give the outcome; none of them alone."""
    verdict = case.claude(RESULT | change, returncode=code)

    assert verdict.outcome == outcome
    assert verdict.reason
    assert verdict.cost_usd == 0.25


def test_denied_tools_are_named(case: Case) -> None:
    """A run whose tools were denied is not plain ok, and says what was denied, escaped."""
    denied = [{"tool_name": "Bash", "tool_input": {"command": "rm -rf \x1b[2J"}}, "odd"]

    verdict = case.claude(RESULT | {"permission_denials": denied})

    assert verdict.outcome == "ok_with_denials"
    assert verdict.denials == ("Bash(rm -rf \\x1b[2J)", "?")


@pytest.mark.parametrize(
    ("ended_by", "outcome"),
    [
        ("timeout", "timeout"),
        ("stalled", "stalled"),
        ("output_cap", "crashed"),
        ("stopped", "killed"),
        ("keeper_stopped", "killed"),
        ("launch", "launch_failed"),
    ],
)
@pytest.mark.parametrize("lines", [(), ({"type": "assistant"},), (RESULT,)])
def test_who_ended_it_decides_when_the_cli_did_not(
    case: Case, ended_by: str, outcome: str, lines: tuple[object, ...]
) -> None:
    """A run ended from outside is that, with or without a result, also when it exits 0."""
    verdict = case.claude(*lines, ended_by=ended_by, reason="over 20m", returncode=0)

    assert (verdict.outcome, verdict.reason) == (outcome, "over 20m")


def test_a_process_that_lingers_behind_its_result_is_judged_by_the_result(case: Case) -> None:
    """The keeper's own signal after the result line does not turn success into a crash."""
    verdict = case.claude(RESULT, ended_by="after_result", returncode=None, signal=15)

    assert verdict.outcome == "ok"


@pytest.mark.parametrize(
    ("lines", "err", "exit_", "outcome"),
    [
        ((), "error: unknown option '--x'", {"returncode": 1}, "config"),
        ((), "Configuration error in /x/.claude.json", {"returncode": 1}, "launch_failed"),
        ((), "Not logged in · Please run /login", {"returncode": 1}, "auth"),
        ((LIMIT,), "", {"returncode": 1}, "rate_limited"),
        ((), "", {"returncode": 0}, "crashed"),
        ((), "", {"returncode": None, "signal": 9}, "crashed"),
        ((), "", {"returncode": None}, "crashed"),
        (({"type": "assistant", "text": LIMIT},), "", {"returncode": 143}, "crashed"),
        (({"type": "assistant", "text": "Not logged in"},), "", {"returncode": 1}, "crashed"),
    ],
)
def test_without_a_result_line_no_run_is_ok(
    case: Case, lines: tuple[object, ...], err: str, exit_: dict[str, object], outcome: str
) -> None:
    """Exit 0 alone is nothing, and words that a model may have written decide nothing."""
    assert case.claude(*lines, err=err, **exit_).outcome == outcome


@pytest.mark.parametrize(
    ("status", "outcome"), [(429, "rate_limited"), (529, "overloaded"), (401, "auth")]
)
def test_a_run_ended_while_it_kept_trying_is_what_it_kept_trying_against(
    case: Case, status: int, outcome: str
) -> None:
    """A time limit that ends a CLI in its retries is not the agent's failure."""
    retry = {"type": "system", "subtype": "api_retry", "error_status": status}

    assert case.claude(retry, ended_by="timeout").outcome == outcome
    assert case.claude(retry, {"type": "assistant"}, ended_by="timeout").outcome == "timeout"


def test_a_refused_limit_in_the_stream_tells_when_it_ends(case: Case) -> None:
    """The stream's own rate limit line gives the moment; a mere warning gives nothing."""
    line = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": 1800000000},
    }
    failed = RESULT | ERROR | {"result": "API Error", "api_error_status": 429}
    warning = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}

    assert case.claude(line, failed).limit_until == 1800000000
    assert case.claude(warning, RESULT).outcome == "ok"


def test_an_answer_about_limits_is_an_answer(case: Case) -> None:
    """A long text that quotes the limit's words is the model's own, hence success."""
    essay = "Competitors answer 'You've hit your limit · resets 8pm' far too often. " * 10

    assert case.claude(RESULT | {"result": essay}).outcome == "ok"
    assert case.claude(RESULT | {"result": "They say: You've hit your limit"}).outcome == "ok"


def test_torn_huge_and_hostile_lines_hide_nothing(case: Case) -> None:
    """Broken JSON, depth bombs, non-objects, a 20 MB line and a torn tail leave the result."""
    lines = ['{"type": "resu', "[" * 100_000, "7", "null", "x" * (20 << 20), RESULT, '{"type": "re']

    assert case.claude(*lines).outcome == "ok"


def test_a_result_without_its_line_feed_counts_and_half_of_one_does_not(case: Case) -> None:
    """A whole last line needs no LF; one that was cut is no result."""
    line = json.dumps(RESULT)
    case.stderr.write_text("")

    case.stdout.write_text(line)
    whole = judge_claude(EXIT, case.stdout, case.stderr)
    case.stdout.write_text(line[:-9])
    half = judge_claude(EXIT, case.stdout, case.stderr)

    assert (whole.outcome, half.outcome) == ("ok", "crashed")


def test_numbers_that_are_none_become_unknown(case: Case) -> None:
    """NaN, negative and mistyped counts are None: a budget must not trust them."""
    odd = {
        "total_cost_usd": float("nan"),
        "num_turns": 2,
        "usage": None,
        "modelUsage": {"m": {"inputTokens": -4}},
    }

    verdict = case.claude(RESULT | odd)

    assert (verdict.cost_usd, verdict.tokens_in, verdict.outcome) == (None, None, "ok")


@pytest.mark.parametrize(
    ("odd", "unknown", "named"),
    [
        ({"total_cost_usd": 1e308}, {"cost_usd"}, "cost"),
        ({"total_cost_usd": 10**400}, {"cost_usd"}, "cost"),
        ({"total_cost_usd": -0.01}, {"cost_usd"}, "cost"),
        ({"total_cost_usd": float("inf")}, {"cost_usd"}, "cost"),
        ({"num_turns": 10**7 + 1}, {"turns"}, "turns"),
        ({"modelUsage": {"m": {"inputTokens": 10**300}}}, {"tokens_in"}, "tokens"),
        ({"modelUsage": {"m": {"outputTokens": 6 * 10**9}, "n": {"outputTokens": 6 * 10**9}}},
         {"tokens_out"}, "tokens"),
        ({"total_cost_usd": 10_001, "num_turns": 10**9}, {"cost_usd", "turns"}, "cost and turns"),
        ({"total_cost_usd": 10_000, "num_turns": 10**7}, set(), ""),
    ],
)  # fmt: skip
def test_figures_that_no_run_can_have_count_as_unknown(
    case: Case, odd: Body, unknown: set[str], named: str
) -> None:
    """The reason names them, whether a success told them or a failure; one in bounds stays."""
    said = f"what it told of its {named} cannot be, and counts as unknown"

    done = case.claude(RESULT | odd)
    failed = case.claude(RESULT | odd, returncode=3)
    by_command = case.command(json.dumps(RESULT | odd).encode())

    names = ("cost_usd", "tokens_in", "tokens_out", "turns")
    assert {name for name in names if getattr(done, name) is None} == unknown
    assert done == by_command
    assert (done.outcome, done.reason) == ("ok", said if named else "")
    assert failed.reason == (f"exit 3; {said}" if named else "exit 3")


def test_what_a_program_may_say_of_its_cost_is_read_as_it_is_described(case: Case) -> None:
    """The line that agents/README.md shows gives a command its cost, tokens and turns."""
    text = " ".join((Path(__file__).parents[2] / "agents" / "README.md").read_text().split())
    line = text.partition("newest line like `")[2].partition("`")[0]

    verdict = case.command(b"I looked at 4 leads.\n" + line.encode() + b"\n")

    assert verdict == Verdict("ok", cost_usd=0.12, tokens_in=900, tokens_out=80, turns=3)


def test_a_limit_that_ends_after_all_time_is_one_that_does_not_say(case: Case) -> None:
    """A moment that no calendar has is no moment."""
    info = {"status": "rejected", "resetsAt": 10**400}
    limited = case.claude({"type": "rate_limit_event", "rate_limit_info": info})

    assert (limited.outcome, limited.limit_until) == ("rate_limited", None)


def test_missing_files_are_empty_ones(tmp_path: Path) -> None:
    """A run whose output was never made is judged, not crashed on."""
    gone = tmp_path / "gone"

    assert judge_claude(EXIT | {"ended_by": "launch"}, gone, gone).outcome == "launch_failed"
    assert judge_command(EXIT, gone, gone).outcome == "empty"


@pytest.mark.parametrize(
    ("out", "err", "exit_", "outcome"),
    [
        (b"done\n", b"", {}, "ok"),
        (b" \n", b"noise", {}, "empty"),
        (LIMIT.encode(), b"", {}, "rate_limited"),
        (b"", LIMIT.encode(), {"returncode": 1}, "rate_limited"),
        (b"x", b"boom", {"returncode": 3}, "crashed"),
        (b"x", b"", {"returncode": None, "signal": 9}, "crashed"),
        (b"x", b"", {"ended_by": "timeout", "signal": 9}, "timeout"),
        (b"x", b"", {"ended_by": "stopped"}, "killed"),
        (b"\xff\xfe", b"", {}, "ok"),
    ],
)
def test_any_command_is_judged_by_exit_and_output(
    case: Case, out: bytes, err: bytes, exit_: dict[str, object], outcome: str
) -> None:
    """Exit 0 with output is ok, without it empty; a limit's text is a limit, a death a failure."""
    assert case.command(out, err, **exit_).outcome == outcome


def test_every_verdict_is_in_the_table() -> None:
    """The table has a row for each word; only ok advances, only faults count, two are retried."""
    assert {row.word for row in OUTCOMES.values() if row.advances} == {"ok"}
    assert {row.word for row in OUTCOMES.values() if row.retried} == {"overloaded", "launch_failed"}
    assert not {row.word for row in OUTCOMES.values() if row.fault and row.retried}
