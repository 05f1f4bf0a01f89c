"""A forecast says what the records and the files make likely; a play of it says the same."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from fleet.config.model import Agent, Budget, HomeConfig, Schedule, WakeOn
from fleet.runs import Verdict
from fleet.simulator.advice import advice
from fleet.simulator.courses import Course, Emitted
from fleet.simulator.forecast import Forecast, forecast
from fleet.simulator.past import USUAL
from fleet.simulator.play import Play
from fleet.simulator.report import report
from fleet.wiring import Fleet
from plays import DAY, home, hourly

BEGIN = datetime(2027, 6, 1, tzinfo=UTC)
EVERY_2H = (Schedule(every=7200.0),)


class Told:
    """Runs of `scout` are idle 7 of 12 times, `teller` tells `hearer` each time."""

    def __init__(self) -> None:
        self._count = 0

    def course(self, agent: Agent, rng: Random) -> Course:
        """See `Courses`."""
        del rng
        idle = agent.id == "scout" and self._count % 12 < 7
        self._count += agent.id == "scout"
        verdict = Verdict("ok", cost_usd=0.25, tokens_in=900, tokens_out=100, idle=idle)
        emits = (Emitted("news", "hearer"),) if agent.id == "teller" else ()
        return Course(120.0, verdict, emits)

    def gated(self, *_: object) -> str:
        """See `Courses`."""
        return ""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Six days of four agents."""
    day = (Schedule(cron="0 8 * * *"),)
    agents: dict[str, dict[str, object]] = {
        "scout": {"schedule": EVERY_2H, "budget": Budget(per_run=1.0, per_day=3.3)},
        "teller": {"schedule": day},
        "hearer": {"wake_on": WakeOn(addressed=True, cooldown=60.0)},
        "sleeper": {"schedule": hourly(), "quiet": (0, 12 * 60)},
    }
    play = Play(home(tmp_path_factory.mktemp("home"), agents), BEGIN, Told(), seed=1)
    play.run(6 * DAY)
    return play


def asked(fleet: Fleet, play: Play, days: float = 4.0) -> Forecast:
    """The forecast from the end of the play."""
    return forecast(fleet, play.clock.now, days)


def test_what_was_says_what_will_be(known: Play) -> None:
    """Runs, wakes, dollars and tokens of the next four days are those of the last six."""
    found = {one.agent.id: one for one in asked(known.person, known).agents}

    assert found["scout"].slots == 47
    assert found["scout"].runs == pytest.approx(40, abs=3)  # two of twelve pass its budget
    assert (found["scout"].cost_each, found["scout"].cost_known) == (0.25, True)
    assert found["teller"].as_json() | {"runs": 4.0, "cost": 1.0, "tokens": 4000} == (
        found["teller"].as_json()
    )
    assert (found["hearer"].slots, round(found["hearer"].wakes)) == (0, 4)
    assert found["sleeper"].runs == pytest.approx(12 * 4, abs=1)  # one is at their end
    assert found["sleeper"].held == {"quiet_hours": 47}


def test_the_days_add_up_and_the_budget_is_named(known: Play) -> None:
    """The dollars of the days are those of the agents; a budget that is passed is advised of."""
    tight = known.person.configured(_cheaper(known.fleet.config))

    found = asked(tight, known)

    assert sum(map(found.cost_of, found.costs)) == pytest.approx(
        sum(one.cost for one in found.agents)
    )
    lines = advice(found)
    assert any(line.startswith("the fleet's budget.per_day is reached on") for line in lines)
    assert any(line.startswith("scout: budget.per_day is reached on") for line in lines)


def _cheaper(config: HomeConfig) -> HomeConfig:
    scout = config.agents["scout"]._replace(budget=Budget(per_day=1.0))
    return config._replace(budget=Budget(per_day=1.5), agents={**config.agents, "scout": scout})


def test_an_agent_that_wakes_in_vain_is_told_a_longer_interval(known: Play) -> None:
    """Seven of twelve wakes that find nothing: every four hours would do."""
    lines = advice(asked(known.person, known))

    assert "scout: 7 of 12 daily wakes found nothing (idle): every 4h would do" in lines
    assert not any(line.startswith(("teller", "hearer")) for line in lines)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "a: never due: it has no schedule and no wake_on"),
        ({"schedule": (Schedule(cron="0 0 29 2 *"),)}, "a: not due within 4 days"),
        ({"schedule": (Schedule(every=600.0),)},
         "a: timeout 20m is longer than its interval of 10m: a slow run skips its next slot"),
        ({"schedule": hourly(), "max_runs_per_day": 4}, "a: 24 slots a day, max_runs_per_day is 4"),
        ({"schedule": (Schedule(every=200.0),), "timeout": 200.0},
         "1 place would be busy 90% of the time: raise concurrency, or wake less"),
    ],
)  # fmt: skip
def test_what_the_files_say_is_advised_of(
    tmp_path: Path, fields: dict[str, object], line: str
) -> None:
    """Each thing that cannot go well by the files alone is told in one line."""
    play = Play(home(tmp_path, {"a": fields}, concurrency=1), BEGIN, Told(), seed=1)

    assert line in advice(asked(play.person, play))


def test_a_crowd_is_told_with_its_minute_and_its_wait(tmp_path: Path) -> None:
    """Fifteen agents at :00 for four places: how many, how often, how long the last one waits."""
    agents: dict[str, dict[str, object]] = {f"a{n:02}": {"schedule": hourly()} for n in range(15)}
    play = Play(home(tmp_path, agents, concurrency=4), BEGIN, Told(), seed=1)

    found = asked(play.person, play, 1.0)

    assert len(found.crowds) == 23
    assert {(len(one.agents), one.waits) for one in found.crowds} == {(15, 3 * USUAL)}
    assert any(
        line.startswith("15 agents are due at :00 (as at 01:00) for 4 places, 23 times, the last "
                        "waits 9m") for line in advice(found)
    )  # fmt: skip


def test_a_home_without_history_takes_what_is_reserved(tmp_path: Path) -> None:
    """Nothing on record: three minutes, the reservation, and it says so."""
    config = home(tmp_path, {"a": {"schedule": hourly(), "budget": Budget(per_run=0.75)}})
    play = Play(config, BEGIN, Told(), seed=1)

    said = report(play.person, play.clock.now, 1.0, seed=3)

    assert (said["history_days"], said["runs"], said["cost"]) == (0.0, 23.0, 17.25)
    assert said["simulated"]["started"] == 24  # type: ignore[index]


def test_a_play_agrees_with_the_forecast_and_with_itself(known: Play) -> None:
    """Played, the next days bring about the runs that were forecast; the same seed the same."""
    played = [report(known.person, known.clock.now, 2.0, seed=seed) for seed in (1, 1, 2)]
    first = played[0]["simulated"]

    assert first == played[1]["simulated"]
    assert played[2]["simulated"] != first
    assert first["started"] == pytest.approx(played[0]["runs"], rel=0.15)  # type: ignore[index]
    assert first["wakes"] == 2  # type: ignore[index]
    assert first["not_started"]["over_budget"] > 0  # type: ignore[index]


def test_a_play_says_who_waited_how_long(tmp_path: Path) -> None:
    """Three agents that are due together for one place: two wait, the last one for two runs."""
    agents: dict[str, dict[str, object]] = {name: {"schedule": hourly()} for name in "abc"}
    play = Play(home(tmp_path, agents, concurrency=1), BEGIN, Told(), seed=1)

    said: dict[str, object] = report(play.person, play.clock.now, 0.05, seed=1)["simulated"]  # type: ignore[assignment]

    assert (said["started"], said["waited"], said["busiest"]) == (3, 2, 1)
    assert said["longest_wait"] == {
        "agent": "c", "due": "2027-06-01T01:00:00+00:00", "seconds": 2 * USUAL,
    }  # fmt: skip
