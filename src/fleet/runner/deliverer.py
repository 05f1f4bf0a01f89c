"""Delivers what is due: events and reminders that waited for their time, answers nobody told yet.

What becomes of each, and that it happens once, is for `bus.later` and `questions`; here is when.
"""

import threading
import time
from contextlib import suppress
from datetime import datetime

from fleet.bus.later import STREAM as LATER
from fleet.errors import FleetError
from fleet.questions import STREAM as QUESTIONS
from fleet.wiring import Fleet

RETRY = 5.0  # seconds between two tries of what the store refuses


def deliver(fleet: Fleet) -> float | None:
    """Tell what is due now; when something is due next (epoch seconds), None for nothing.

    Raises:
        TryAgain: the store refused; whatever is left is delivered the next time.
    """
    fleet.questions.tell()
    fleet.later.deliver()
    return fleet.later.next_due()


class Deliverer:
    """Looks whether something is due at every pass, and delivers beside the loop.

    A look costs the heads of two logs. Delivering searches a key in the events, which takes longer
    the more there are.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._heads: tuple[int, int] | None = None
        self._next: float | None = None
        self._not_before = 0.0

    @property
    def busy(self) -> bool:
        """Whether it delivers at this moment."""
        return self._thread is not None and self._thread.is_alive()

    def look(self, fleet: Fleet, now: datetime) -> None:
        """Begin to deliver if something is due or new; call it as often as you like."""
        heads = (fleet.store.head(LATER), fleet.store.head(QUESTIONS))
        due = self._next is not None and self._next <= now.timestamp()
        if self.busy or (heads == self._heads and not due) or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + RETRY
        self._thread = threading.Thread(
            target=self._deliver, args=(fleet.reopened(), heads), daemon=True
        )
        self._thread.start()

    def _deliver(self, fleet: Fleet, heads: tuple[int, int]) -> None:
        with suppress(FleetError, OSError):  # what is left is due at the next look, too
            following = deliver(fleet)
            self._heads, self._next, self._not_before = heads, following, 0.0
