"""Usage limits, refused logins and overloads, in every wording and place of the CLI's."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.runs import Verdict, judge_claude, judge_command
from fleet.runs.limits import limit_ends

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)  # a Monday
EXIT = {"ended_by": "exit", "signal": None, "ended": NOW.isoformat()}
INIT = {"type": "system", "subtype": "init"}
WORKED = {"type": "assistant", "message": {"model": "claude-x", "content": []}}
RESULT = {"type": "result", "subtype": "success", "is_error": True, "num_turns": 1, "result": ""}

LIMITS = {
    "You've hit your session limit · resets 4:20am (Europe/Warsaw)": "2026-12-01T03:20:00+00:00",
    "You\u2019ve hit your limit · resets 2:10pm (Europe/Moscow)": "2026-12-01T11:10:00+00:00",
    "You have hit your Opus limit · resets 8pm (Africa/Cairo)": "2026-11-30T18:00:00+00:00",
    "You've hit your weekly limit · resets Dec 3 at 5pm (UTC)": "2026-12-03T17:00:00+00:00",
    "You've reached your usage limit, it resets Thu 9:59 AM (UTC)": "2026-12-03T09:59:00+00:00",
    "Claude AI usage limit reached|1796083200": "2026-12-01T00:00:00+00:00",
    "Claude AI usage limit reached|1796083200000": "2026-12-01T00:00:00+00:00",
    "Claude usage limit reached. Your limit will reset at 3pm (UTC).": "2026-11-30T15:00:00+00:00",
    "5-hour limit reached ∙ resets 3pm (UTC)": "2026-11-30T15:00:00+00:00",
    "Weekly limit reached ∙ resets tomorrow at 7am (UTC)": "2026-12-01T07:00:00+00:00",
    "Opus weekly limit reached ∙ resets Oct 3, 5pm (UTC)": "2027-10-03T17:00:00+00:00",
    "Limit reached · resets 11:30pm (UTC) · /upgrade": "2026-11-30T23:30:00+00:00",
    "You're out of extra usage · resets 6pm (UTC)": "2026-11-30T18:00:00+00:00",
    "Spending cap reached resets 7pm (UTC)": "2026-11-30T19:00:00+00:00",
    "You've hit your usage limit, try again in 3 days 4 hours 21 minutes.": (
        "2026-12-03T16:21:00+00:00"
    ),
    "You've hit your usage limit or try again at Dec 3rd, 2026 5:32 PM UTC.": (
        "2026-12-03T17:32:00+00:00"
    ),
    "API Error: 400 You have reached your specified API usage limits. You will regain access on"
    " 2026-12-01 at 00:00 UTC.": "2026-12-01T00:00:00+00:00",
    "API Error: Rate limit reached": None,
    "API Error: Request rejected (429) · This would exceed your organization's limit": None,
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"x"}}': None,
}
LOGINS = (
    "Not logged in · Please run /login",
    "Invalid API key · Please run /login",
    "Invalid API key · Fix external API key",
    "Failed to authenticate. API Error: 403 no",
    "OAuth token revoked · Please run /login",
    "Credit balance is too low",
    "Credit balance too low · Add funds: https://console.anthropic.com/settings/billing",
    "API Error: Please run /login",
    'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"x"}}',
)
OVERLOADS = (
    "API Error: Repeated 529 Overloaded errors",
    "API Error: 529 Overloaded",
    'API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal"}}',
    "API Error: Unable to connect to API (ConnectionRefused)",
    "API Error: Connection error.",
    "API Error: Request timed out.",
)
WARNINGS = (
    "You've used 91% of your weekly limit · resets Dec 3 at 5pm (UTC)",
    "Approaching usage limit · resets at 7pm",
    "You're close to your limit",
)
SAID = [
    *((text, "rate_limited") for text in LIMITS),
    *((text, "auth") for text in LOGINS),
    *((text, "overloaded") for text in OVERLOADS),
]


@pytest.fixture(autouse=True)
def moved(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """This machine is one in Greenwich; `moved("America/New_York")` moves it."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    move("UTC")
    yield move
    monkeypatch.undo()
    time.tzset()


class Judged:
    """The verdicts on what a program printed and how it exited."""

    def __init__(self, folder: Path) -> None:
        self.out, self.err = folder / "out", folder / "err"

    def _write(self, lines: tuple[object, ...], err: str) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.out.write_text("".join(f"{text}\n" for text in texts))
        self.err.write_text(err)

    def claude(self, code: int, *lines: object, err: str = "", by: str = "exit") -> Verdict:
        """Of the CLI."""
        self._write(lines, err)
        return judge_claude(EXIT | {"returncode": code, "ended_by": by}, self.out, self.err)

    def command(self, code: int, *lines: object, err: str = "") -> Verdict:
        """Of any other command."""
        self._write(lines, err)
        return judge_command(EXIT | {"returncode": code}, self.out, self.err)


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    """Nothing was printed yet."""
    return Judged(tmp_path)


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("place", ["an error", "an answer", "plain", "between JSON", "stderr"])
def test_every_wording_is_known_wherever_the_cli_says_it(
    judged: Judged, code: int, place: str
) -> None:
    """As result with or without is_error, as plain text, amid JSON, on stderr, with exit 0 and 1.

    A limit's end is read in each of them.
    """
    for text, outcome in SAID:
        result = RESULT | {"result": text, "is_error": place == "an error"}
        if place in {"an error", "an answer"}:
            verdict = judged.claude(code, INIT, WORKED, result)
        elif place == "plain":
            verdict = judged.claude(code, text)
        elif place == "between JSON":
            verdict = judged.claude(code, INIT, text)
        else:
            verdict = judged.claude(code, INIT, err=f"{text}\n")

        assert verdict.outcome == outcome, text
        assert verdict.limit_until == _moment(LIMITS.get(text)), text


@pytest.mark.parametrize(("code", "where"), [(0, "out"), (1, "out"), (1, "err")])
def test_a_script_round_the_cli_that_prints_its_words_is_understood(
    judged: Judged, code: int, where: str
) -> None:
    """A `launch: command` agent's plain output says the same, in its last lines or as all of it."""
    for text, outcome in SAID:
        lines = [text] if where == "out" else []
        verdict = judged.command(code, *lines, err=f"{text}\n" if where == "err" else "")

        assert verdict.outcome == outcome, text
        assert verdict.limit_until == _moment(LIMITS.get(text)), text


def test_a_script_that_prints_the_result_line_is_judged_by_it(judged: Judged) -> None:
    """`claude -p --output-format json` in a script: its verdict, cost and turns count."""
    limit = "You've hit your limit · resets 8pm (UTC)"
    long = RESULT | {"result": limit, "total_cost_usd": 0.5, "usage": {"x": "y" * 500}}

    limited = judged.command(0, long)
    done = judged.command(0, RESULT | {"is_error": False, "result": "done", "total_cost_usd": 0.5})
    own = judged.command(0, {"type": "result", "result": limit, "of": "a program of one's own"})

    assert (limited.outcome, limited.cost_usd) == ("rate_limited", 0.5)
    assert limited.limit_until == _moment("2026-11-30T20:00:00+00:00")
    assert (done.outcome, done.cost_usd) == ("ok", 0.5)
    assert own.outcome == "ok"


@pytest.mark.parametrize("text", WARNINGS)
def test_a_warning_is_no_limit(judged: Judged, text: str) -> None:
    """What says that a limit is near ends nothing, in no place."""
    ok = RESULT | {"is_error": False, "result": "done"}

    assert judged.claude(0, INIT, text, WORKED, ok).outcome == "ok"
    assert judged.claude(0, INIT, ok | {"result": text}).outcome == "ok"
    assert judged.claude(1, INIT, text).outcome == "crashed"
    assert judged.command(0, text).outcome == "ok"
    assert judged.command(3, text).outcome == "crashed"


@pytest.mark.parametrize(
    "text",
    [
        "They say: You've hit your limit",
        "Not logged in to the CRM, so nothing was mailed",
        "Invalid API key for the mail provider; told the operator",
        "API Error: the CRM's, twice. Skipped it",
        "The weekly limit reached us late",
    ],
)
def test_an_agent_that_tells_of_such_things_did_its_work(judged: Judged, text: str) -> None:
    """Words of a model or of another program block no account."""
    ok = RESULT | {"is_error": False, "result": text}

    assert judged.claude(0, INIT, WORKED, ok).outcome == "ok"
    assert judged.command(0, text).outcome == "ok"
    assert judged.command(3, "working", err="npm ERR! Invalid API key\n").outcome == "crashed"
    assert judged.command(3, "x", err="curl: (7) Connection refused\n").outcome == "crashed"


def test_a_piece_of_json_is_no_word_of_the_clis(judged: Judged) -> None:
    """A line that was torn may hold a model's words, and decides nothing."""
    torn = '{"type": "assistant", "text": "Not logged in. You\'ve hit your limit'

    assert judged.claude(1, INIT, torn).outcome == "crashed"


def test_a_refusal_in_the_stream_holds_until_an_answer_comes(judged: Judged) -> None:
    """A limit that the account has extra usage for is none; the CLI's own lines lift nothing."""
    refused = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": 1796083200},
    }
    warned = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}
    synthetic = {"type": "assistant", "message": {"model": "<synthetic>"}, "error": "rate_limit"}
    no_end = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}}
    millis = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": 1796083200000},
    }
    failed = RESULT | {"result": "something went wrong"}

    for lines in ([refused], [refused, synthetic], [millis]):
        for last in ([], [failed]):
            verdict = judged.claude(1, INIT, *lines, *last, by="exit" if last else "timeout")
            assert (verdict.outcome, verdict.limit_until) == ("rate_limited", 1796083200)
    assert judged.claude(1, INIT, no_end, by="timeout").outcome == "rate_limited"
    assert judged.claude(1, INIT, synthetic).outcome == "rate_limited"
    assert judged.claude(1, INIT, refused, WORKED, by="timeout").outcome == "timeout"
    assert judged.claude(1, INIT, refused, warned, by="timeout").outcome == "timeout"


def test_an_end_that_is_over_is_not_believed(judged: Judged) -> None:
    """A stream's moment from before the run's end is another limit's: the text's own counts."""
    stale = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": 1700000000},
    }
    said = RESULT | {"result": "You've hit your limit · resets 8pm (UTC)"}

    verdict = judged.claude(1, INIT, stale, said)

    assert verdict.limit_until == _moment("2026-11-30T20:00:00+00:00")


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("authentication_failed", "auth"),
        ("billing_error", "auth"),
        ("rate_limit", "rate_limited"),
        ("server_error", "overloaded"),
        ("unknown", "crashed"),
    ],
)
def test_what_the_cli_calls_a_fault_counts_where_no_result_came(
    judged: Judged, fault: str, outcome: str
) -> None:
    """The word beside its own last message is the outcome of a run that has nothing else."""
    line = {"type": "assistant", "message": {"model": "<synthetic>"}, "error": fault}

    assert judged.claude(1, INIT, WORKED, line).outcome == outcome


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("hit your weekly limit · resets Jan 2 at 5pm", "2027-01-02T17:00:00+00:00"),
        ("Limits will reset at 9:30 AM.", "2026-12-01T09:30:00+00:00"),
        ("resets 20:00", "2026-11-30T20:00:00+00:00"),
        ("resets 12am (UTC)", "2026-12-01T00:00:00+00:00"),
        ("resets Mon 9am (UTC)", "2026-12-07T09:00:00+00:00"),
        ("resets Mon 1pm (UTC)", "2026-11-30T13:00:00+00:00"),
        ("resets at 2026-12-01T04:20:00Z", "2026-12-01T04:20:00+00:00"),
        ("retry in 39.5s", "2026-11-30T12:00:39.500000+00:00"),
        ("resets in 2h 15m", "2026-11-30T14:15:00+00:00"),
    ],
)
def test_the_end_of_a_limit_is_read_from_its_text(text: str, ends: str) -> None:
    """Clock times, days, dates, spans and instants give the first such moment after the run."""
    assert limit_ends(text, NOW) == _moment(ends)


def test_a_clock_time_without_a_zone_is_one_of_this_machine(moved: Callable[[str], None]) -> None:
    """The CLI means where it runs: 8pm in New York is one o'clock at night in Greenwich."""
    moved("America/New_York")

    assert limit_ends("resets 8pm", NOW) == _moment("2026-12-01T01:00:00+00:00")
    assert limit_ends("resets 8pm (UTC)", NOW) == _moment("2026-11-30T20:00:00+00:00")


@pytest.mark.parametrize(
    "text",
    ["", "resets 25:00", "resets Foo 99 at 5pm", "resets 31:99pm (No/Where)", "429", "resets 3 x"],
)
def test_a_limit_without_a_readable_end_has_none(text: str) -> None:
    """Nonsense gives None, so that the caller falls back to its own waiting time."""
    assert limit_ends(text, NOW) is None


def _moment(said: str | None) -> float | None:
    return datetime.fromisoformat(said).timestamp() if said else None
