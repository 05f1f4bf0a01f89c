"""Hands new alerts to the operator's `on_alert`, one process at a time, and never twice.

How far it has told is a lane of `operator` in the log of alerts. The loop never waits for it; what
it tells is decided in `fleet.alerts`.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime

from fleet.alerts import STREAM, Alert, acknowledge, older, open_ones, raise_alert, raised
from fleet.cursors import Cursors
from fleet.identity import SYSTEM
from fleet.logs import holds, place_at
from fleet.ports import Store
from fleet.records import Place
from fleet.runner.errand import Errand
from fleet.wiring import Fleet

LIMIT = 30.0  # seconds that the command may take
PAUSE = 5.0  # seconds between the starts of two: what is raised meanwhile is told as one
AGAIN = 10.0  # seconds after which what failed is tried again; doubled each time
LONGEST = 600.0
MOST = 1000  # alerts that are counted for one telling
KIND = "on-alert"  # it could not be told: which is never told by itself
READER = "operator"


class Alerter:
    """The chore; `look` starts and ends one process at a time."""

    def __init__(self, echo: Callable[[str], None]) -> None:
        self._echo = echo
        self._argv: tuple[str, ...] = ()
        self._errand: Errand | None = None
        self._upto = Place(0)  # where the lane stands once what is being told is told
        self._head = -1  # of the log, when it was looked at last
        self._tried = 0  # the newest alert that the command failed to take
        self._next = 0.0
        self._wait = AGAIN
        self._again = 0.0  # when what failed is tried again

    def look(self, fleet: Fleet, now: datetime) -> None:  # noqa: ARG002 - every chore's shape
        """Tell what is new, unless that goes on; note what was told.

        Raises:
            TryAgain: it could not be noted; the next look does it.
        """
        if self._errand is not None:
            if not self._errand.over():
                return
            self._settle(fleet, self._errand)
        if fleet.config.on_alert != self._argv:  # another command may do what the last one did not
            self._argv, self._head, self._tried = fleet.config.on_alert, -1, 0
            self._wait = AGAIN
        if not self._argv or time.monotonic() < self._next:
            return
        head = fleet.store.head(STREAM)
        if head != self._head or (self._tried and time.monotonic() >= self._again):
            self._tell(fleet, head)
            self._head = head

    def close(self, fleet: Fleet) -> None:
        """The runner ends: what is being told gets a moment.

        Raises:
            TryAgain: it could not be noted.
        """
        if self._errand is not None:
            self._errand.close()
            self._settle(fleet, self._errand)

    def _tell(self, fleet: Fleet, head: int) -> None:
        """Start a process for the newest one that needs a person, the others counted."""
        told = _told_up_to(fleet.store)
        every = raised(fleet.store, fleet.cache, MOST, after=told.seq, upto=head)
        new = [one for one in every if one.kind != KIND]
        wanted = [one for one in new if one.open]
        if not wanted or (new[-1].seq <= self._tried and time.monotonic() < self._again):
            return
        sorts = {(one.kind, one.subject): one for one in open_ones(fleet.store, fleet.cache)}
        chosen = next((one for one in reversed(wanted) if one.needs_a_person), wanted[-1])
        whole = sorts.get((chosen.kind, chosen.subject), chosen)
        self._upto = place_at(fleet.store, STREAM, new[-1].seq)
        count = len(new) if older(fleet.store, fleet.cache) else len(wanted)
        self._errand = Errand(fleet, self._argv, LIMIT, _line(fleet, whole, count - 1))
        self._next = time.monotonic() + PAUSE

    def _settle(self, fleet: Fleet, errand: Errand) -> None:
        """The command is over: the lane moves, or it is said once that it failed."""
        failed = [one for one in open_ones(fleet.store, fleet.cache) if one.kind == KIND]
        if errand.fault:
            if not failed:
                _complain(fleet.store, errand.fault)
            if not self._tried:
                self._echo(f"on_alert: {errand.fault}")
            self._tried = self._upto.seq
            self._again = time.monotonic() + self._wait
            self._wait = min(2 * self._wait, LONGEST)
        else:
            Cursors(fleet.store).advance(READER, {STREAM: self._upto})
            acknowledge(
                fleet.store, fleet.cache, [one.seq for one in failed], by=SYSTEM.name, person=None
            )
            self._tried, self._wait = 0, AGAIN
        self._errand = None


def _complain(store: Store, fault: str) -> None:
    raise_alert(
        store,
        kind=KIND,
        subject="fleet",
        what=f"on_alert fails, nobody is told of alerts: {fault}",
        done="they are kept, and told when it works again; until then the heartbeat is silent",
        fix="mend on_alert in fleet.yaml, or what it calls; it is tried again within ten minutes",
    )


def _told_up_to(store: Store) -> Place:
    """Where the lane stands; in a log that was replaced, the last place that it still holds."""
    cursors = Cursors(store)
    trail = cursors.trail(READER, STREAM)
    if not trail or holds(store, STREAM, trail[0]):
        return trail[0] if trail else Place(0)
    kept = next((place for place in trail if holds(store, STREAM, place)), Place(0))
    cursors.rewind(READER, STREAM, kept)
    return kept


def _line(fleet: Fleet, alert: Alert, more: int) -> bytes:
    """What the command reads: one JSON object."""
    home = {"home": fleet.config.name, "root": str(fleet.root), "more": more}
    return json.dumps(alert.as_json() | home).encode() + b"\n"
