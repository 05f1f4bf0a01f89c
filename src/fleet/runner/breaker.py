"""How long an agent that keeps failing by its own fault is held: pure, over its newest runs."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from fleet.records import wall_of
from fleet.runs import Run
from fleet.status import failed
from fleet.wiring import Fleet

OPENS_AT = 5  # failures in a row from which the next start is held
PAUSES_AT = 8  # and at which the agent is paused until a person looks
FIRST = timedelta(minutes=10)  # doubled with each further failure
LONGEST = timedelta(hours=6)
LOOKED_AT = 60  # newest runs in which the failures are looked for
LOOKED_AT_FIRST = 4  # of them: most streaks are short
_DOUBLINGS = 6  # more than bring `FIRST` to `LONGEST`


def streak(runs: Iterable[Run], resumed: float, *, own: bool = True) -> tuple[list[Run], bool]:
    """The failures in a row that are the agent's own, newest first, and whether that is all.

    Args:
        runs: its newest runs, newest first.
        resumed: when a person last resumed it, epoch seconds: what ended before is forgiven.
        own: whether the agent's own are meant; else those by nobody's fault, which one of its
            own ends.

    Of its own failures, runs that failed by nobody's fault neither count nor end it.
    """
    found: list[Run] = []
    for run in runs:
        row = run.row
        if row is None:
            continue
        if row.advances or (row.fault and not own) or wall_of(str(run.ended)) <= resumed:
            return found, True
        if row.fault if own else failed(run):
            found.append(run)
    return found, False


def held_until(failures: list[Run]) -> datetime | None:
    """Until when the agent's next start is held after such a streak; None when it is not."""
    if len(failures) < OPENS_AT:
        return None
    doublings = min(len(failures) - OPENS_AT, _DOUBLINGS)
    wait: timedelta = FIRST * 2**doublings
    return datetime.fromisoformat(str(failures[0].ended)) + min(wait, LONGEST)


def failures_of(fleet: Fleet, agent: str, now: float) -> list[Run]:
    """The streak of the agent `agent` of this home at `now`, epoch seconds."""
    last = fleet.runs.last_ended(agent)
    if last is None or last.row is None or last.row.advances:
        return []  # most agents, and no old run is read for them
    since = resumed_at(fleet, agent, now)
    found, whole = streak(fleet.runs.list(agent, LOOKED_AT_FIRST), since)
    return found if whole else streak(fleet.runs.list(agent, LOOKED_AT), since)[0]


def resumed_at(fleet: Fleet, agent: str, now: float) -> float:
    """When a person last resumed the agent, epoch seconds."""
    resumed = fleet.controls.resumed(agent)
    # A moment that is still to come was written by a clock that was set back since.
    return resumed if resumed <= now else 0.0


def breaker_of(fleet: Fleet, agent: str, now: datetime) -> tuple[str, datetime | None]:
    """Why the agent's next start is held at `now`, and until when; ("", None) when it is not."""
    failures = failures_of(fleet, agent, now.timestamp())
    until = held_until(failures)
    if until is None or until <= now:
        return "", None
    return said_of(failures), until


def said_of(failures: list[Run]) -> str:
    """One line about a streak: how long it is, and its newest failure."""
    last = failures[0]
    return f"failed {len(failures)} times in a row: {last.outcome}, {last.reason}"
