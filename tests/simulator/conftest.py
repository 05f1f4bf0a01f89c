"""The home that the simulator's tests play."""

import pytest

from fleet import homes
from fleet.config.model import HomeConfig
from fleet.wiring import open_fleet


@pytest.fixture(scope="session")
def growth(tmp_path_factory: pytest.TempPathFactory) -> HomeConfig:
    """The growth fleet, which is not paused and never short of disk."""
    root = tmp_path_factory.mktemp("growth") / "home"
    homes.copy("growth", root)
    config = open_fleet(root, env={}).config
    return config._replace(paused=False, limits=config.limits._replace(min_free=0))
