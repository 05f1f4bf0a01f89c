"""Runs: their records, how each one ended, and what that means for what it was shown."""

from fleet.runs.book import Runs
from fleet.runs.judge import judge_claude, judge_command
from fleet.runs.outcome import (
    NOT_STARTED,
    OUTCOMES,
    UNPREPARED,
    Left,
    Outcome,
    Report,
    Verdict,
    settle_expectations,
)
from fleet.runs.report import MAX_REPORT
from fleet.runs.run import Run, places_body, places_of
from fleet.runs.spending import Spending

__all__ = [
    "MAX_REPORT",
    "NOT_STARTED",
    "OUTCOMES",
    "UNPREPARED",
    "Left",
    "Outcome",
    "Report",
    "Run",
    "Runs",
    "Spending",
    "Verdict",
    "judge_claude",
    "judge_command",
    "places_body",
    "places_of",
    "settle_expectations",
]
