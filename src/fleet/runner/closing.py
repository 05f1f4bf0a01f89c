"""Closes alerts whose cause is over, as far as fleet itself can see that; it raises none."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from fleet.alerts import Alert, open_ones, seen_to
from fleet.errors import TryAgain
from fleet.identity import SYSTEM, Author
from fleet.runner.situation import Asked, gather
from fleet.runner.slots import Slots
from fleet.status import low_disk
from fleet.wiring import Fleet

EVERY = 5.0  # seconds between two looks of the runner


class Closer:
    """The chore."""

    def __init__(self) -> None:
        self._next = 0.0

    def look(self, fleet: Fleet, now: datetime) -> None:  # noqa: ARG002 - every chore's shape
        """Look whether something is over, if it is time to."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            close_over(fleet)


def close_over(fleet: Fleet, author: Author = SYSTEM) -> None:
    """Close every open alert whose cause is over, as seen to by `author`; may be repeated.

    One of which that cannot be known, or written, now stays open.
    """
    for alert in open_ones(fleet.store, fleet.cache):
        is_over = RULES.get(alert.kind)
        with suppress(TryAgain):
            if is_over is not None and is_over(fleet, alert):
                about = (alert.kind, alert.subject)
                seen_to(fleet.store, fleet.cache, *about, author.name, author.by)


def _logs_in(fleet: Fleet, alert: Alert) -> bool:
    return not fleet.accounts.of(alert.subject).blocked


def _has_no_limit(fleet: Fleet, alert: Alert) -> bool:
    return fleet.accounts.of(alert.subject).limited_until is None


def _is_resumed(fleet: Fleet, alert: Alert) -> bool:
    return not fleet.controls.of(alert.subject).paused


def _has_succeeded(fleet: Fleet, alert: Alert) -> bool:
    last = fleet.runs.last_ended(alert.subject)
    return last is not None and last.row is not None and last.row.advances


def _has_room(fleet: Fleet, alert: Alert) -> bool:  # noqa: ARG001 - every rule's shape
    return not low_disk(fleet.config)


def _was_before_today(fleet: Fleet, alert: Alert) -> bool:
    today = fleet.ledger.local_date(_now(fleet))
    raised = fleet.ledger.local_date(datetime.fromisoformat(alert.at))
    return raised < today


def _is_looked_after(fleet: Fleet, alert: Alert) -> bool:
    """Whether all that a decision needs can be read, and no slot waits that is due."""
    now, name = _now(fleet), alert.subject
    slots = Slots(fleet.store).open(name)
    _, faults = gather(fleet, Asked({name: slots}), now)
    return not faults and all(slot.due > now for slot in slots)


def _now(fleet: Fleet) -> datetime:
    return datetime.fromtimestamp(fleet.store.now().wall, UTC)


RULES: Mapping[str, Callable[[Fleet, Alert], bool]] = {
    "auth": _logs_in,
    "breaker": _is_resumed,
    "budget": _was_before_today,
    "budget-warning": _was_before_today,
    "failing": _has_succeeded,
    "held-back": _is_looked_after,
    "hindered": _has_succeeded,
    "limit": _has_no_limit,
    "low-disk": _has_room,
}
"""By kind, whether the cause of an alert is over."""
