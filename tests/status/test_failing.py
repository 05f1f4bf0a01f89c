from pathlib import Path

from fleet.status import health, status
from fleets import Scripted


def test_an_agent_that_is_switched_off_worries_nobody(tmp_path: Path) -> None:
    """Its last run failed, and nothing of it will run: the fleet is well without it."""
    home = Scripted(tmp_path / "home")
    home.agent("carl", "exit 3")
    assert home.call("run", "carl").returncode == 8
    assert health(home.fleet.seen) == "degraded"

    home.agent("carl", "exit 3", "enabled: false")

    (carl,) = status(home.fleet.seen)["agents"]
    assert (carl["state"], carl["failing"], carl["last_outcome"]) == ("disabled", False, "crashed")
    assert health(home.fleet.seen) == "ok"
