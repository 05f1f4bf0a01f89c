"""What the proofs of the promises stand on: a home of scripted agents."""

from pathlib import Path

import pytest

from fleets import Scripted


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """A home without agents; a test adds its own."""
    return Scripted(tmp_path / "home")
