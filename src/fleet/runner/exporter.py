"""Writes `state/export/fleet.prom` now and then, for whatever collects metrics on this machine.

It works beside the loop and never holds it up; what stands in the file is `status.openmetrics`.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from fleet.errors import FleetError
from fleet.runner.pace import Pace
from fleet.runs.tally import tally
from fleet.status import status
from fleet.status.openmetrics import Facts, Passes, down, text
from fleet.wiring import Fleet

EVERY = 15.0  # seconds between two writings
SHARE = 50  # times as long as a writing took there is none: a large home costs no more than 2 %
LAST = 5.0  # seconds that the last writing may take
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Exporter:
    """The chore; one writing at a time, in a thread."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._closing = False

    def look(self, fleet: Fleet, now: datetime) -> None:  # noqa: ARG002 - every chore's shape
        """Begin to write if it is time to."""
        if time.monotonic() < self._next or (self._thread and self._thread.is_alive()):
            return
        self._next = time.monotonic() + EVERY
        passes = Passes(self._pace.passes, self._pace.seconds)
        self._thread = threading.Thread(
            target=self._write, args=(fleet.reopened(), passes), daemon=True
        )
        self._thread.start()

    def close(self, fleet: Fleet) -> None:
        """The runner ends, and the file says so."""
        self._closing = True
        if self._thread is not None:
            self._thread.join(LAST)
        _put(fleet, down(fleet.store.now().wall))

    def _write(self, fleet: Fleet, passes: Passes) -> None:
        begin = time.monotonic()
        with suppress(FleetError):  # what cannot be read is said by `status` and by the loop
            said = _text(fleet.remembering(), passes)
            if not self._closing:
                _put(fleet, said)
        took = time.monotonic() - begin
        self._next = max(self._next, time.monotonic() + SHARE * took)


def _text(fleet: Fleet, passes: Passes) -> str:
    state = status(fleet.seen)
    names = fleet.config.names_of
    tallies = {one: tally(fleet.store, fleet.cache, names(one)) for one in fleet.config.agents}
    taken = len(fleet.claims.live("cap:"))
    free = max(0, fleet.config.concurrency - taken)
    return text(state, Facts(tallies, free, passes, fleet.store.now().wall))


def _put(fleet: Fleet, said: str) -> None:
    """Replace the file as a whole; a disk that is full leaves the old one, whose age tells."""
    path = fleet.places.export
    temporary = f"{path.name}.tmp"
    with suppress(OSError):
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700)
        with _folder(path.parent) as folder:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            handle = os.open(temporary, _FLAGS, 0o600, dir_fd=folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(said)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """A descriptor of a folder that is no link: nothing here leads out of the state."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)
