"""One store after the other for each test of the contract; the id is the store's name."""

from pathlib import Path

import pytest

from clocks import FakeClock
from contract.engines import ENGINES, Engine
from fleet.ports import Store


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each store in turn."""
    found = request.param
    assert isinstance(found, Engine)
    return found


@pytest.fixture
def shared(engine: Engine) -> Engine:
    """Only stores that processes can share; the others are skipped by name."""
    if not engine.shared:
        pytest.skip(f"the store {engine.name} cannot be shared between processes")
    return engine


@pytest.fixture
def clock() -> FakeClock:
    """The store's clock."""
    return FakeClock()


@pytest.fixture
def store(engine: Engine, tmp_path: Path, clock: FakeClock) -> Store:
    """A new, empty store."""
    return engine.open(tmp_path, clock)
