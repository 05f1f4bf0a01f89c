"""One store after the other for the ledger, with a clock that a test moves."""

from pathlib import Path

import pytest

from clocks import FakeClock
from contract.engines import ENGINES, Engine
from fleet.ports import Store


@pytest.fixture
def clock() -> FakeClock:
    """The store's clock."""
    return FakeClock()


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Store:
    """Each store in turn, new and empty."""
    engine = request.param
    assert isinstance(engine, Engine)
    return engine.open(tmp_path, clock)
