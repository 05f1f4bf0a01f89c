"""A bus over the memory store, with the small fleet's types."""

from pathlib import Path

import pytest

from rigs import Rig


@pytest.fixture
def rig(home: Path) -> Rig:
    """A fresh bus with the types of the small home."""
    return Rig(home)
