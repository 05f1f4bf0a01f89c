"""People read one time zone, the home's, whatever the machine's is."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from calls import call, many

HOME_ZONE = ZoneInfo("Europe/Berlin")
ELSEWHERE = {"TZ": "Asia/Tokyo"}
CLOCK = re.compile(r"(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d")


def _clocks(text: str) -> set[str]:
    return {found[-5:] for found in CLOCK.findall(text)}


def _near(seconds: float) -> set[str]:
    """What the home's clock shows about then."""
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    minutes = (at + timedelta(seconds=60 * n) for n in (-2, -1, 0, 1))
    return {f"{minute.astimezone(HOME_ZONE):%H:%M}" for minute in minutes}


def test_a_held_claim_names_one_time(home: Path) -> None:
    """The line about a held or a completed claim has no time but the home's."""
    taken, held, done, again = many(
        home,
        [
            call("--as", "outreach", "claim", "k", "--ttl", "1h", "--note", "busy"),
            call("--as", "reply-handler", "claim", "k"),
            call("claim", "once", "--once", "1h", "--", "true"),
            call("claim", "once", "--once", "1h", "--", "true"),
        ],
        ELSEWHERE,
    )

    assert (taken.code, held.code, done.code, again.code) == (0, 6, 0, 6)
    for line in (held.err, again.err):
        assert len(_clocks(line)) == 1, line
        assert _clocks(line) <= _near(3600), line
    assert "busy" in held.err
    assert "completed by operator" in again.err


def test_pauses_name_the_homes_time(home: Path) -> None:
    """Who paused or halted, and when: in the home's zone wherever it is shown."""
    lines = [["pause", "outreach", "--reason", "why"], ["halt", "reply-handler"], ["next"],
             ["halt", "--all"], ["resume", "outreach"], ["run", "outreach"]]  # fmt: skip
    done = dict(
        zip(map(" ".join, lines), many(home, [call(*w) for w in lines], ELSEWHERE), strict=True)
    )
    now = _near(0)

    for line in done["next"].out.splitlines():
        _, _, note = line.partition("operator at ")
        assert not note or _clocks(note) <= now, line
    assert _clocks(done["resume outreach"].out) <= now
    assert _clocks(done["run outreach"].err) <= now
    assert done["run outreach"].code == 75
    assert "operator at" in done["next"].out
