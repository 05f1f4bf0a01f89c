"""Whatever goes wrong, no slot is silent, doubled, over the cap or over the budget."""

import pytest

import opinions
from fleet.config.model import HomeConfig
from fleet.simulator import oracle
from fleet.simulator.faults import KINDS
from plays import troubled

WEEK = 7.0


@pytest.mark.parametrize("seed", range(10))
def test_three_bad_days(growth: HomeConfig, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """All faults of a week within three days of the growth fleet: nothing is to be found.

    Neither by the oracle in what happened, nor by a second opinion in any decision.
    """
    objections = opinions.listen(monkeypatch)

    play = troubled(growth, seed, 3.0)

    assert objections == []
    assert oracle.faults(play) == []
    assert {fault.kind for fault in play.told.faults} == set(KINDS)
    assert len(play.launcher.started) > 60


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(200))
def test_a_bad_week(growth: HomeConfig, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """200 weeks of the growth fleet, each with its own faults: 0 silent slots."""
    objections = opinions.listen(monkeypatch)

    play = troubled(growth, 1000 + seed, WEEK)

    assert objections == []
    assert oracle.faults(play) == []
    assert sum(map(len, oracle.slots_due(play).values())) > 200
