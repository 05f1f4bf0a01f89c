"""Deletes the files of runs that `retention` in fleet.yaml keeps no longer, while the runner runs.

It works beside the loop, a little at a time; a backup or a trim that goes on is left alone, and
the next look comes after it. Which files go is decided in `ops.retention`.
"""

import threading
import time
from contextlib import suppress
from datetime import datetime

from fleet.errors import FleetError
from fleet.ops.retention import Sweep
from fleet.wiring import Fleet

EVERY = 600.0  # seconds between two sweeps
AGAIN = 30.0  # and after one that had more to do than it had time
FIRST = 60.0  # seconds after the start: whoever starts has other things to do
WITHIN = 5.0  # seconds that one sweep deletes at most; a backup waits so long
PAUSE = 0.02  # seconds that it leaves to the loop now and then


class Sweeper:
    """The chore; one sweep at a time, in a thread."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._next = time.monotonic() + FIRST
        self._sizes: dict[str, int] = {}  # by run, of those that have ended

    def look(self, fleet: Fleet, now: datetime) -> None:  # noqa: ARG002 - every chore's shape
        """Begin to sweep if it is time to."""
        if time.monotonic() < self._next or (self._thread and self._thread.is_alive()):
            return
        self._next = time.monotonic() + EVERY
        # A daemon: what it is about to delete is whole, or finished by the next one.
        self._thread = threading.Thread(target=self._sweep, args=(fleet.reopened(),), daemon=True)
        self._thread.start()

    def _sweep(self, fleet: Fleet) -> None:
        with suppress(FleetError, OSError):
            sweep = Sweep(fleet.remembering(), self._sizes, lambda: time.sleep(PAUSE))
            with fleet.maintained(shared=False):
                swept = sweep.delete(WITHIN)
            if swept.left and swept.runs:
                self._next = time.monotonic() + AGAIN
