"""What a run must leave behind decides whether its success stands."""

import pytest

from fleet.config.model import Expectation, Expects
from fleet.runs import Left, Report, Verdict, settle_expectations

EXPECTS = Expects(any_of=(Expectation(event="contact-made"), Expectation(file="drafts/*.md")))
NOTHING, MAIL = Left(), Left(events=frozenset({"contact-made"}))
SAID, IDLE = Report("mailed 4 leads"), Report("no new leads", idle=True)
DENIED = Verdict("ok_with_denials", "denied: Bash(rm)", denials=("Bash(rm)",))


@pytest.mark.parametrize(
    ("left", "report", "outcome", "idle"),
    [
        (MAIL, None, "ok", False),
        (Left(files=frozenset({"drafts/*.md"})), None, "ok", False),
        (NOTHING, None, "incomplete", False),
        (NOTHING, SAID, "incomplete", False),
        (NOTHING, IDLE, "ok", True),
    ],
)
def test_unmet_expectations_make_a_run_incomplete(
    left: Left, report: Report | None, outcome: str, idle: bool
) -> None:
    """A plain report does not replace the artefact; an idle one says there was nothing to do."""
    settled = settle_expectations(Verdict("ok"), EXPECTS, left, report)

    assert (settled.outcome, settled.idle) == (outcome, idle)
    assert settled.row.advances == (outcome == "ok")


def test_all_of_names_what_is_missing() -> None:
    """Every entry of all_of is needed, and the reason names the absent ones only."""
    expects = Expects(all_of=(Expectation(event="contact-made"), Expectation(post="strategy")))

    settled = settle_expectations(Verdict("ok"), expects, MAIL, None)

    assert settled.reason == "left behind nothing of: post to strategy"


@pytest.mark.parametrize(
    ("expects", "left", "report", "advances"),
    [
        (EXPECTS, MAIL, None, True),
        (EXPECTS, NOTHING, SAID, True),
        (EXPECTS, NOTHING, None, False),
        (Expects(), NOTHING, None, False),
        (Expects(), NOTHING, SAID, True),
    ],
)
def test_denied_tools_cost_the_success_unless_the_work_is_there(
    expects: Expects, left: Left, report: Report | None, advances: bool
) -> None:
    """It counts as ok when stated expectations hold or the agent reported; it is shown always."""
    settled = settle_expectations(DENIED, expects, left, report)

    assert settled.outcome == "ok_with_denials"
    assert settled.denials == ("Bash(rm)",)
    assert settled.row.advances is advances
    assert settled.row.fault is not advances
    assert settled.row.exit_code == (0 if advances else 8)


@pytest.mark.parametrize("outcome", ["timeout", "rate_limited", "killed", "empty"])
def test_a_bad_end_stays_bad(outcome: str) -> None:
    """What a failed run left behind does not turn it into a success."""
    assert settle_expectations(Verdict(outcome), EXPECTS, MAIL, IDLE) == Verdict(outcome)
