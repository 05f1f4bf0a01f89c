"""`fleet forecast`: the real program over a home on the disk."""

import json
from pathlib import Path

import pytest

from conftest import Fleet
from fleet import homes


@pytest.fixture
def growth(tmp_path: Path) -> Path:
    """The growth fleet, paused, that never ran."""
    homes.copy("growth", tmp_path / "growth")
    return tmp_path / "growth"


def written(root: Path) -> dict[str, bytes]:
    """Every file of the home but those that may be deleted at any time."""
    files = (path for path in root.rglob("*") if path.is_file())
    kept = {str(path.relative_to(root)): path for path in files}
    return {
        name: path.read_bytes() for name, path in kept.items() if not name.startswith("state/cache")
    }


def test_it_fits_a_screen_and_writes_nothing(growth: Path, fleet: Fleet) -> None:
    """A paused home without history: played or not, at most 40 lines, and no file is another."""
    before = written(growth)

    plain = fleet("--home", str(growth), "forecast")
    played = fleet("--home", str(growth), "forecast", "--simulate", "--days", "2", "--seed", "4")

    assert written(growth) == before
    for done in (plain, played):
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) <= 40
        assert (
            "nothing is on record yet: runs take 3m and cost what they are reserved" in done.stdout
        )
        assert "not counted: fleet.yaml says paused: true" in done.stdout
        assert "- reply-handler: budget.per_day is reached on" in done.stdout
    assert "played with seed 4:" in played.stdout
    assert "reply-handler: " in played.stdout.partition("played")[2]


def test_its_json_has_its_shape(growth: Path, fleet: Fleet, shaped) -> None:
    """One object with every agent; the play is null unasked."""
    words = ["--home", str(growth), "forecast", "--days", "1.5", "--json"]
    (plain,) = shaped("forecast", fleet(*words).stdout)
    (played,) = shaped("forecast", fleet(*words, "--simulate").stdout)

    assert plain["simulated"] is None
    assert played["simulated"]["seed"] == 1
    assert len(plain["agents"]) == 15
    assert plain["slots"] == sum(agent["slots"] for agent in plain["agents"])
    assert {agent["id"] for agent in played["simulated"]["agents"]} == {
        agent["id"] for agent in plain["agents"]
    }


@pytest.mark.parametrize("words", [["--days", "0"], ["--days", "93"], ["--days", "nan"]])
def test_impossible_days_are_refused(growth: Path, fleet: Fleet, words: list[str]) -> None:
    """No days, too many and no number: exit 2."""
    assert fleet("--home", str(growth), "forecast", *words).returncode == 2


def test_a_pause_is_named_and_does_not_count(home: Path, fleet: Fleet) -> None:
    """What holds agents back now is named, and does not count."""
    fleet("pause", "outreach", "--reason", "new mail provider")

    (said,) = (json.loads(line) for line in fleet("forecast", "--json").stdout.splitlines())

    assert any("outreach is paused by" in line for line in said["held"])
    assert next(one for one in said["agents"] if one["id"] == "outreach")["runs"] > 80
