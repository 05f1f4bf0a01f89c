"""A registry over the small home, with its cache at hand."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.schemas import Registry
from fleet.stores.ram import RamCache


@pytest.fixture
def cache() -> RamCache:
    """An empty cache."""
    return RamCache()


@pytest.fixture
def registry(home: Path, cache: RamCache) -> Registry:
    """The types of the small home."""
    return Registry(home, cache)


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`settle()` makes every file old enough for its times to be believed."""

    def later() -> None:
        now = time.time
        monkeypatch.setattr("fleet.schemas.files.time.time", lambda: now() + 3600)

    return later
