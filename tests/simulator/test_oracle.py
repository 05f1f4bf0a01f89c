"""The oracle finds what an engine that is broken on purpose does; of a whole one it says nothing.

So does the test of the decisions alone: a rule that is gone fails both.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fleet.config.model import Budget, HomeConfig
from fleet.runner import engine, launch, money
from fleet.runner.decide import decide
from fleet.runner.slots import Slots
from fleet.runner.state import START, Decision
from fleet.runs import Verdict
from fleet.simulator import oracle
from fleet.simulator.courses import Course
from fleet.simulator.faults import HOUR, Fault
from fleet.simulator.launcher import Imagined
from fleet.simulator.play import Play
from fleet.simulator.trouble import befall
from plays import home, hourly

BEGIN = datetime(2027, 6, 1, 0, 30, tzinfo=UTC)
ASLEEP = Fault(2 * HOUR, "suspend", "", 8 * HOUR)


class Steady:
    """Every run takes so many seconds and costs 40 cents."""

    def __init__(self, seconds: float) -> None:
        self._course = Course(seconds, Verdict("ok", cost_usd=0.4, tokens_in=1, tokens_out=1))

    def course(self, *_: object) -> Course:
        """See `Courses`."""
        return self._course

    def gated(self, *_: object) -> str:
        """See `Courses`."""
        return ""


def two(root: Path, **fields: object) -> HomeConfig:
    """Two agents that are due each hour, for one place."""
    said: dict[str, object] = {
        "schedule": hourly(), "budget": Budget(per_run=0.5), "catch_up": 24 * HOUR,
        "timeout": 3 * HOUR,
    }  # fmt: skip
    return home(root, {"a": said, "b": said}, **{"concurrency": 1, **fields})


def played(config: HomeConfig, *faults: Fault, seconds: float = 120.0) -> Play:
    """Twelve hours of it."""
    play = Play(config, BEGIN, Steady(seconds), seed=1)
    befall(play, faults)
    play.run(12 * HOUR)
    return play


def broken(monkeypatch: pytest.MonkeyPatch, change: Callable[[Decision], Decision | None]) -> None:
    """Let the engine do with each decision what `change` makes of it; None: forget it."""

    def wrong(*args: Any) -> list[Decision]:
        return [one for said in decide(*args) if (one := change(said)) is not None]

    monkeypatch.setattr(engine, "decide", wrong)


def test_a_whole_engine_breaks_nothing(tmp_path: Path) -> None:
    """Twelve hours with a long sleep and a queue: no fault, and every slot is on record."""
    play = played(two(tmp_path), ASLEEP)

    assert oracle.faults(play) == []
    assert {name: len(some) for name, some in oracle.slots_due(play).items()} == {"a": 12, "b": 12}


def test_a_slot_that_is_not_opened_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watermark moves on and one slot is dropped: it is named."""
    notice = Slots.notice

    def forgetful(self: Slots, *args: Any) -> Any:
        found = notice(self, *args)
        lost = [slot for slot in found if slot.name.startswith("2027-06-01T03")]
        if lost:
            self._close(args[0].id, lost)
        return [slot for slot in found if slot not in lost]

    monkeypatch.setattr(Slots, "notice", forgetful)

    found = oracle.faults(played(two(tmp_path)))

    assert [line.partition(" ")[0] for line in found] == ["a", "b"]
    assert all("2027-06-01T03:00:00+00:00: nothing says" in line for line in found)


def test_a_slot_that_is_refused_in_silence_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots that are closed without a record are silent."""
    monkeypatch.setattr(
        Slots, "settle", lambda self, agent, some: self._close(agent, [one.slot for one in some])
    )

    assert oracle.faults(played(two(tmp_path), ASLEEP))


def test_a_launcher_that_starts_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine never hears of a slot again that its launcher lost: the fire is missing."""
    monkeypatch.setattr(Imagined, "start", lambda *_: True)
    monkeypatch.setattr(
        Slots, "started", lambda self, agent, slot, _run: self._close(agent, [slot])
    )

    assert oracle.faults(played(two(tmp_path)))


def test_two_runs_of_one_slot_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that anybody may take, and that is never closed, is started again."""
    monkeypatch.setattr(Slots, "take", lambda *_: True)
    monkeypatch.setattr(Slots, "started", lambda *_: None)
    monkeypatch.setattr(engine.Engine, "_drop", lambda *_: None)

    assert any("runs started" in line for line in oracle.faults(played(two(tmp_path))))


def test_more_runs_than_places_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine and a reservation that know no cap are found."""
    monkeypatch.setattr(launch, "_take_place", lambda *_: None)
    real = engine.gather
    monkeypatch.setattr(
        engine, "gather", lambda *args: (replace(real(*args)[0], free=9), real(*args)[1])
    )

    assert any("runs alive" in line for line in oracle.faults(played(two(tmp_path))))


def test_money_beyond_the_budget_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day in which more was reserved than the budget has is found."""
    monkeypatch.setattr(money, "bounds", lambda *_: iter(()))
    monkeypatch.setattr(engine, "decide", lambda config, *args: decide(
        config._replace(budget=Budget()), *args
    ))  # fmt: skip

    found = oracle.faults(played(two(tmp_path, budget=Budget(per_day=3.0))))

    assert found
    assert all(line.startswith("the fleet: $") for line in found)


def test_a_burst_after_a_stall_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that forgets to coalesce starts one agent several times after a sleep."""
    broken(monkeypatch, lambda one: None if one.result == "coalesced" else one)

    found = oracle.faults(played(two(tmp_path), ASLEEP))

    assert any("after one stall" in line for line in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: None if one.result == "skipped_overlap" else one, "and a place was free"),
        (lambda one: replace(one, result="x") if one.result == START else one, "x is no result"),
    ],
)
def test_decisions_that_get_lost_are_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Decision], Decision | None],
    said: str,
) -> None:
    """Slots that wait without a reason, or with one that nobody knows, are found."""
    broken(monkeypatch, change)

    found = oracle.faults(played(two(tmp_path, concurrency=3), seconds=1.5 * HOUR))

    assert any(said in line for line in found)
