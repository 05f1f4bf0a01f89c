"""Whatever goes wrong, no slot is silent, doubled, over the cap or over the budget."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

import opinions
from fleet.config.model import Agent, HomeConfig, Schedule
from fleet.runs import Verdict
from fleet.simulator import oracle
from fleet.simulator.courses import Course, Invented
from fleet.simulator.faults import KINDS
from fleet.simulator.play import Play
from fleet.stores.ram import RamCache, RamStore
from plays import SPRING, home, troubled

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


class Failing(Invented):
    """Runs that crash after ten seconds."""

    def course(self, agent: Agent, rng: Random) -> Course:
        """See `Courses`."""
        del agent, rng
        return Course(10.0, Verdict("crashed", "exit 1", cost_usd=0.0))


def test_who_fails_on_and_on_is_held_and_then_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each five minutes a crash: five runs, three more between growing waits, then nobody."""
    objections = opinions.listen(monkeypatch)
    config = home(tmp_path, {"a": {"schedule": (Schedule(every=300.0),)}})
    play = Play(config, SPRING, Failing(config), seed=1)

    play.run(4 * 3600)

    found = Counter(str(one["result"]) for one in oracle.fires(play))
    assert objections == []
    assert oracle.faults(play) == []
    assert found == {"started": 8, "breaker_open": 14, "paused": 26}


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(200))
def test_a_bad_week(growth: HomeConfig, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """200 weeks of the growth fleet, each with its own faults: 0 silent slots."""
    objections = opinions.listen(monkeypatch)

    play = troubled(growth, 1000 + seed, WEEK)

    assert objections == []
    assert oracle.faults(play) == []
    assert sum(map(len, oracle.slots_due(play).values())) > 200


def test_a_store_that_checks_nothing_plays_the_same(
    growth: HomeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What plays leave out to be fast, masks and encodings of documents, decides nothing."""
    quick = troubled(growth, 3, 1.5)
    monkeypatch.setattr(
        "fleet.simulator.play.in_memory", lambda clock: (RamStore(clock), RamCache())
    )
    checked = troubled(growth, 3, 1.5)

    assert quick.launcher.started == checked.launcher.started
    assert quick.told.lines == checked.told.lines
