"""The outcome table as data, and what expectations make of a verdict; nothing here reads files."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fleet.config.model import Expectation, Expects


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the outcome table.

    Attributes:
        word: how a run ended.
        advances: whether the lanes move past what the run was shown.
        fault: whether it counts as the agent's own failure.
        retried: whether `retries` may name it; such a run says nothing about the agent.
        exit_code: what `fleet run` exits with.
    """

    word: str
    advances: bool = False
    fault: bool = False
    retried: bool = False
    exit_code: int = 8


_ROWS = (
    Outcome("ok", advances=True, exit_code=0),
    # counts as `ok` when the run left what it should or the agent reported: Verdict.counts_as_ok
    Outcome("ok_with_denials", fault=True),
    Outcome("incomplete", fault=True),
    Outcome("empty", fault=True),
    Outcome("max_turns", fault=True),
    Outcome("budget", fault=True),
    Outcome("timeout", fault=True),
    Outcome("stalled", fault=True),
    Outcome("crashed", fault=True),
    Outcome("prompt_too_long", fault=True),
    Outcome("overloaded", retried=True),
    Outcome("launch_failed", retried=True),
    Outcome("rate_limited"),
    Outcome("auth"),
    Outcome("config"),
    Outcome("render_failed"),
    Outcome("killed"),
)
OUTCOMES = {row.word: row for row in _ROWS}

NOTHING_RAN = frozenset({"config", "launch_failed", "render_failed"})
"""Outcomes of runs that ended before any model was asked: unless it is known, they cost nothing."""

UNPREPARED = frozenset({"config", "render_failed"})
"""Outcomes of runs that were never told anything: they have no files."""

# Why an agent that was due did not start, and what `fleet run` exits with.
NOT_STARTED = {
    "skipped_overlap": 6,
    "missed": 75,
    "coalesced": 75,
    "paused": 75,
    "halted": 75,
    "gated": 75,
    "over_budget": 75,
    "daily_runs": 75,
    "quiet_hours": 75,
    "waiting_for_limit": 75,
    "auth_blocked": 75,
    "breaker_open": 75,
    "low_disk": 75,
    "config_invalid": 7,
    "stopping": 75,
    "not_here": 75,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended, as far as its output and its exit tell.

    Attributes:
        outcome: a key of `OUTCOMES`.
        reason: one line for people, at most 300 characters, control characters shown escaped.
        cost_usd: dollars, None when unknown.
        tokens_in: input tokens, cached ones included; None when unknown.
        tokens_out: output tokens; None when unknown.
        turns: tool results + 1 as the CLI counts; None when unknown.
        denials: the tools that were denied, as `Bash(rm -rf x)`, at most 20.
        idle: the agent reported that there was nothing to do.
        counts_as_ok: for `ok_with_denials` only: it left what it should, or reported.
        limit_until: seconds since the epoch at which a usage limit ends, None when not told.
        lost: for `killed` only: a crash of its host or of its keeper took it, nobody stopped it.
        cli: the version that the CLI says it is, None when it does not.
    """

    outcome: str
    reason: str = ""
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    denials: tuple[str, ...] = ()
    idle: bool = False
    counts_as_ok: bool = False
    limit_until: float | None = None
    lost: bool = False
    cli: str | None = None

    @property
    def row(self) -> Outcome:
        """The row of the table that holds for this run."""
        if self.outcome == "ok_with_denials" and self.counts_as_ok:
            return replace(OUTCOMES["ok"], word=self.outcome)
        return OUTCOMES[self.outcome]


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left behind.

    Attributes:
        events: types of the events that it emitted.
        posts: channels in which it posted.
        files: those globs of `expects` that match a file written during the run.
    """

    events: frozenset[str] = frozenset()
    posts: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def holds(self, expectation: Expectation) -> bool:
        """Whether the one thing that `expectation` names is there."""
        return (
            (expectation.event is None or expectation.event in self.events)
            and (expectation.post is None or expectation.post in self.posts)
            and (expectation.file is None or expectation.file in self.files)
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What the agent itself said about its run; `idle`: there was nothing to do."""

    text: str
    next: str = field(default="")
    idle: bool = False


def settle_expectations(
    verdict: Verdict, expects: Expects, left: Left, report: Report | None
) -> Verdict:
    """What becomes of an `ok` or `ok_with_denials` when what the run left is looked at.

    Unmet expectations make `ok` `incomplete`, unless the agent reported that there was nothing to
    do. Denied tools cost the success unless stated expectations hold or the agent reported. Every
    other outcome stays.
    """
    idle = report is not None and report.idle
    missing = "" if idle else _missing(expects, left)
    if verdict.outcome == "ok":
        if missing:
            return replace(verdict, outcome="incomplete", reason=missing)
        return replace(verdict, idle=idle)
    if verdict.outcome == "ok_with_denials":
        asked = bool(expects.any_of or expects.all_of)
        counts = report is not None or (asked and not missing)
        reason = verdict.reason if counts or not missing else f"{verdict.reason}; {missing}"
        return replace(verdict, idle=idle, counts_as_ok=counts, reason=reason)
    return verdict


def free_where_nothing_ran(verdict: Verdict) -> Verdict:
    """The verdict with a cost of 0 where its outcome says so and nothing else is known."""
    if verdict.outcome not in NOTHING_RAN or verdict.cost_usd is not None:
        return verdict
    return replace(verdict, cost_usd=0.0, tokens_in=0, tokens_out=0)


def _missing(expects: Expects, left: Left) -> str:
    absent = [one for one in expects.all_of if not left.holds(one)]
    if absent:
        return f"left behind nothing of: {_names(absent)}"
    if expects.any_of and not any(left.holds(one) for one in expects.any_of):
        return f"left behind none of: {_names(expects.any_of)}"
    return ""


def _names(expectations: Iterable[Expectation]) -> str:
    parts = (("event", "event"), ("file", "file"), ("post", "post to"))
    return ", ".join(
        " and ".join(f"{say} {getattr(one, name)}" for name, say in parts if getattr(one, name))
        for one in expectations
    )
