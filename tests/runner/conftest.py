"""What the runner's tests stand on."""

from pathlib import Path

import pytest

from fleets import Scripted


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """A home without agents; a test adds its own."""
    return Scripted(tmp_path / "home")
