"""When the runner looked last, so that a gap in its watch is on record; slots are not its business.

A machine that slept, a process that was stopped and a runner that was down look alike from here.
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fleet.records import Body, Draft
from fleet.runner import lead
from fleet.status import FIRES
from fleet.wiring import Fleet

GAP = timedelta(minutes=5)  # nobody watched between two looks that are further apart
NOTED_EVERY = timedelta(minutes=1)
NAME = "looked"


class LastLook:
    """Notes each minute that somebody watches, and each time that nobody did."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._noted: datetime | None = None

    def look(self, fleet: Fleet, now: datetime) -> None:
        """Record a gap since the last look, of this runner or of the one before it."""
        last = self._last or _remembered(fleet)
        if last is not None and now - last > GAP:
            _record(fleet, last, now)
        self._last = now
        if self._noted is None or abs(now - self._noted) >= NOTED_EVERY:
            lead.note(fleet.store, {NAME: now.isoformat()})
            self._noted = now


def _remembered(fleet: Fleet) -> datetime | None:
    said = lead.remembered(fleet.store, NAME)
    return datetime.fromisoformat(said) if isinstance(said, str) else None


def _record(fleet: Fleet, last: datetime, now: datetime) -> None:
    zone = ZoneInfo(fleet.config.timezone)
    begin, end = (f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" for moment in (last, now))
    body: Body = {
        "op": "unwatched",
        "since": last.isoformat(),
        "until": now.isoformat(),
        "detail": f"nobody was watching from {begin} to {end}",
    }
    fleet.store.append(FIRES, [Draft(body, key=f"unwatched/{last.isoformat()}", same=("op",))])
