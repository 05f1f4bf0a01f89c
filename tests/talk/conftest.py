"""The channels of the small fleet over the memory store."""

import pytest

from clocks import FakeClock
from fleet.config.model import HomeConfig
from fleet.cursors import Cursors
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Talk
from people import CONFIG


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> RamStore:
    """An empty store."""
    return RamStore(clock)


@pytest.fixture
def cache() -> RamCache:
    """An empty cache."""
    return RamCache()


@pytest.fixture
def talk(store: RamStore, cache: RamCache) -> Talk:
    """The channels of `CONFIG`."""
    return opened(store, cache, CONFIG)


def opened(store: RamStore, cache: RamCache, config: HomeConfig) -> Talk:
    """Channels of another config over the same store."""
    return Talk(store, cache, config, Cursors(store))
