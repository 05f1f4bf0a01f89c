"""What the tests of reported cases stand on."""

from pathlib import Path

import pytest

from fleets import Scripted
from wallclock import WallClock


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """A home without agents; a test adds its own."""
    return Scripted(tmp_path / "home")


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    """A wall clock that a test can set, for processes with `clock.env`."""
    return WallClock(tmp_path / "clock")
