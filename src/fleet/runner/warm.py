"""Keeps the audit's index near the logs while the runner runs, so that an incident finds it warm.

It works beside the loop and never holds it up; what goes wrong here costs a later question time.
"""

import threading
import time
from contextlib import suppress
from datetime import datetime

from fleet.audit.index import Index
from fleet.errors import FleetError
from fleet.wiring import Fleet

EVERY = 60.0  # seconds between two fillings


class Warmer:
    """Fills the index now and then, one filling at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._next = time.monotonic() + EVERY

    @property
    def busy(self) -> bool:
        """Whether it fills the index at this moment."""
        return self._thread is not None and self._thread.is_alive()

    def look(self, fleet: Fleet, now: datetime) -> None:  # noqa: ARG002 - its own clock
        """Begin to fill the index of `fleet` if it is time to; call it as often as you like."""
        if time.monotonic() < self._next or self.busy:
            return
        self._next = time.monotonic() + EVERY
        # A daemon: a runner that is told to stop waits for no cache, and half a batch is no batch.
        self._thread = threading.Thread(target=_fill, args=(fleet.reopened(),), daemon=True)
        self._thread.start()


def _fill(fleet: Fleet) -> None:
    with suppress(FleetError, OSError), Index(fleet) as index:
        index.refresh()
