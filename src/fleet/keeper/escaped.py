"""Notes which of a run's processes carry no mark of it, for whoever ends them without the keeper.

A process with an environment of its own is known as the run's by its descent alone, and only
while its keeper lives: it is noted by pid and start time. Nothing is ended here.
"""

import contextlib
import os
import time
from pathlib import Path

from fleet import processes
from fleet.keeper import files

EVERY = 2.0  # seconds between two looks: what is born in between and escapes may stay unseen
MOST = 1000  # processes that are noted; a run with more of them hides them on purpose


class Escaped:
    """What `escaped.json` of one run says; `look()` is all there is to call."""

    def __init__(self, folder: Path, run: str) -> None:
        self._folder = folder
        self._run = run
        self._looked = float("-inf")
        self._noted: set[tuple[int, int]] = set()

    def look(self) -> None:
        """Note what is there now; looks every `EVERY` seconds, and writes when it changed."""
        now = time.monotonic()
        if now - self._looked < EVERY:
            return
        self._looked = now
        found = {(one.pid, one.start) for one in processes.unmarked(os.getpid(), self._run)}
        # The kernel's list of children may miss one at times: who was noted stays while it lives.
        found |= {one for one in self._noted - found if processes.start_time(one[0]) == one[1]}
        found = set(sorted(found)[:MOST])
        if found != self._noted:
            with contextlib.suppress(OSError):  # a full disk: tried again at the next look
                files.write_escaped(self._folder, sorted(found))
                self._noted = found
