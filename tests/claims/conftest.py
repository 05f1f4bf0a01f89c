"""Claims over a store whose clock moves by hand."""

import pytest

from clocks import FakeClock
from fleet.claims import Claims
from fleet.stores.ram import RamCache, RamStore


@pytest.fixture
def clock() -> FakeClock:
    """A clock that moves by hand."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> RamStore:
    """An empty store on that clock."""
    return RamStore(clock)


@pytest.fixture(params=[True, False], ids=["cached", "uncached"])
def claims(store: RamStore, request: pytest.FixtureRequest) -> Claims:
    """The claims in that store, with and without a cache for their lists."""
    return Claims(store, RamCache() if request.param else None)
