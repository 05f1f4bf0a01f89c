"""A bus over the memory store, and a way to take its events back."""

from pathlib import Path

import pytest

from rigs import Rig


@pytest.fixture
def rig(home: Path) -> Rig:
    """A fresh bus with the types of the small home."""
    return Rig(home)
