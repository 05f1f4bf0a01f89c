"""What people write for a schedule, and what becomes of it."""

import json
from datetime import datetime

from fleets import Scripted

WORKS = {  # written, and when it is due in the first hours of Monday 2027-03-01
    "@hourly": ["00:00", "01:00", "02:00"],
    "@Daily": ["00:00"],
    "@midnight": ["00:00"],
    "*/20 1 * * *": ["01:00", "01:20", "01:40"],
    "0 0-2/2 * * MON": ["00:00", "02:00"],
    "5,35 1 1 MAR *": ["01:05", "01:35"],
    "0  2   *\t* 1-5": ["02:00"],
    "0 1 * * 7": [],
}
REFUSED = {  # written, and what the line says of it
    "": "has 0 fields, not 5",
    "0 */5 * * * *": "has 6 fields, not 5",
    "* * * *": "has 4 fields, not 5",
    "*/90 * * * *": "minute '*/90' steps by 90",
    "60 * * * *": "minute '60' is not in 0-59",
    "0 22-2 * * *": "hour '22-2' runs backwards: write 22-23,0-2",
    "0 24 * * *": "hour '24' is not in 0-23",
    "0 0 * * 8": "weekday '8' is not in 0-7",
    "0 9 * * mon-funday": "weekday 'MON-FUNDAY' is not in 0-7",
    "@reboot": "is not among @yearly",
    "@every 5m": "is not among @yearly",
    "hourly": "has 1 fields, not 5",
    "0 0 L * *": "day of month 'L' is not in 1-31",
    "0 0 ? * *": "is not crontab(5)",
}
NEVER = ("0 0 31 2 *", "0 0 30,31 feb *", "0 0 31 4,6,9,11 *")


def test_what_cron_takes_works_as_in_cron(scripted: Scripted) -> None:
    """A12: words, names, steps, ranges, any blank between fields: due when cron would be."""
    for number, text in enumerate(WORKS):
        scripted.agent(f"agent{number}", "true", schedule=json.dumps(text))

    lines = scripted.call("next", "--from", "2027-02-28T23:59", "--days", "0.1", "--json").stdout

    due: dict[str, list[str]] = {f"agent{number}": [] for number in range(len(WORKS))}
    for slot in map(json.loads, lines.splitlines()):
        due[slot["agent"]].append(f"{datetime.fromisoformat(slot['due']):%H:%M}")
    assert dict(zip(WORKS, due.values(), strict=True)) == WORKS


def test_what_it_does_not_take_is_one_line_that_names_it(scripted: Scripted) -> None:
    """A12: each wrong text is an error with agent, line, field and value; no run, no traceback."""
    for number, text in enumerate(REFUSED):
        scripted.agent(f"agent{number}", "true", schedule=json.dumps(text))

    check, up = scripted.call("check"), scripted.call("up")

    said = check.stdout.splitlines()
    for number, reason in enumerate(REFUSED.values()):
        (line,) = [line for line in said if f"agents/agent{number}.yaml:" in line]
        assert "schedule" in line
        assert reason in line
    assert (check.returncode, up.returncode) == (7, 7)
    assert "Traceback" not in check.stderr + up.stderr


def test_what_can_never_be_due_is_an_error(scripted: Scripted) -> None:
    """A11: `0 0 31 2 *` and its like are refused with `never fires`, by the agent's name."""
    for number, text in enumerate(NEVER):
        scripted.agent(f"agent{number}", "true", schedule=json.dumps(text))

    check = scripted.call("check")

    assert check.returncode == 7
    for number in range(len(NEVER)):
        (line,) = [one for one in check.stdout.splitlines() if f"agents/agent{number}.yaml:" in one]
        assert "never fires" in line
