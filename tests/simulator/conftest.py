"""The home that the simulator's tests play."""

import pytest

from fleet import homes
from fleet.config.model import HomeConfig
from fleet.wiring import open_fleet


@pytest.fixture(scope="session")
def growth(tmp_path_factory: pytest.TempPathFactory) -> HomeConfig:
    """The growth fleet, not paused and never short of disk; with a gate and a tight limit."""
    root = tmp_path_factory.mktemp("growth") / "home"
    homes.copy("growth", root)
    config = open_fleet(root, env={}).config
    tight: dict[str, dict[str, object]] = {
        "reddit-scout": {"gate": ("./is-there-news",)}, "outreach": {"max_runs_per_day": 5},
    }  # fmt: skip
    agents = {
        name: agent._replace(**tight.get(name, {}))  # type: ignore[arg-type]
        for name, agent in config.agents.items()
    }
    limits = config.limits._replace(min_free=0)
    return config._replace(paused=False, limits=limits, agents=agents)
