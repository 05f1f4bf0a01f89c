"""A wall clock that a test sets while real processes read it; uptime stays the machine's own."""

import time
from datetime import datetime
from pathlib import Path

PATCH = """
import os, time
_real, _file = time.time, os.environ["TEST_CLOCK"]
def _wall():
    with open(_file) as file:
        offset, stopped = file.read().split()
    return float(stopped) or _real() + float(offset)
time.time = _wall
"""


class WallClock:
    """The clock of every Python process that is started with `env`, but for isolated ones."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(PATCH)
        self._file = folder / "offset"
        self.env = {"PYTHONPATH": str(folder), "TEST_CLOCK": str(self._file)}
        self._write(0.0, 0.0)

    def set(self, moment: datetime) -> None:
        """It is `moment` now, and time goes on from there."""
        self._write(moment.timestamp() - time.time(), 0.0)

    def stop(self, moment: datetime) -> None:
        """It stays `moment`, whatever time passes."""
        self._write(0.0, moment.timestamp())

    def _write(self, offset: float, stopped: float) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{offset!r} {stopped!r}")
        new.replace(self._file)
