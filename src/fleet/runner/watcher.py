"""Rings the runner's bell when something is written to a folder; the only door of watchfiles.

What was written is for others to read. Where the system cannot watch nothing is lost: the loop
looks each second anyway.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

STEP = 100  # milliseconds between two looks at what the system told
GROUPED = 200  # milliseconds that changes which follow each other are one
AGAIN_AFTER = 60.0  # seconds after which a folder that could not be watched is tried again
ENDS = 2.0  # seconds within which the thread has ended when it is told to


class Watcher:
    """Watches one folder in a thread of its own, once it is there."""

    def __init__(self, folder: Path, ring: Callable[[], None]) -> None:
        self._folder = folder
        self._ring = ring
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._next = 0.0

    @property
    def watches(self) -> bool:
        """Whether changes are told at this moment."""
        return self._thread is not None and self._thread.is_alive()

    def look(self) -> None:
        """Begin to watch if it does not; call it as often as you like."""
        if self.watches or monotonic() < self._next or not self._folder.is_dir():
            return
        self._next = monotonic() + AGAIN_AFTER
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ring no more."""
        self._stop.set()
        if self._thread:
            self._thread.join(ENDS)

    def _watch(self) -> None:
        # It cannot in many ways: too many watches, a folder that goes, a system it is not made for.
        with suppress(OSError, RuntimeError, ImportError):
            from watchfiles import watch  # beside the loop: it takes as long as many passes

            changes = watch(
                self._folder,
                watch_filter=None,
                debounce=GROUPED,
                step=STEP,
                stop_event=self._stop,
                raise_interrupt=False,
                force_polling=False,
                recursive=False,
            )
            for _ in changes:
                self._ring()
