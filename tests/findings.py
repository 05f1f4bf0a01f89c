"""What tests ask of findings: which there are, where they stand, what they say."""

from pathlib import Path

from fleet.config import check
from fleet.errors import Finding

MINIMAL = "description: Does things\nschedule: null\nprompt: outreach.md.j2\n"  # 3 lines


def errors(root: Path) -> list[Finding]:
    """The findings that forbid the config."""
    return [finding for finding in check(root) if finding.severity == "error"]


def only(root: Path) -> Finding:
    """The one error there is."""
    found = errors(root)
    assert len(found) == 1, [str(finding) for finding in found]
    return found[0]


def assert_says(finding: Finding, file: str, line: int, what: str, fix: str) -> None:
    """The finding is at that place, is one line, and says `what` and `fix`."""
    assert (finding.file, finding.line) == (file, line), str(finding)
    assert "\n" not in str(finding)
    assert what in finding.what, str(finding)
    assert fix in str(finding), str(finding)
