"""Answers and reminders with real processes that are killed, started again, and race each other."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleets import Scripted, running, until
from wallclock import WallClock

YES_NO = ["yes", "no"]


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home with three agents that do nothing."""
    home = Scripted(tmp_path / "home")
    for name in ("worker", "second", "third"):
        home.agent(name, "cat > /dev/null; echo done")
    return home


def keys(home: Scripted) -> Counter[str | None]:
    """How often each key stands in the events."""
    return Counter(record.key for record in home.fleet.store.read("events", 0, 9999).records)


def ops(home: Scripted, stream: str) -> Counter[str]:
    """How often each operation stands in a log."""
    return Counter(str(r.body["op"]) for r in home.fleet.store.read(stream, 0, 9999).records)


def killed_answers(home: Scripted, rounds: int) -> None:
    """Each round a person's answer is killed a little later, and then given again."""
    worker = home.fleet.author._replace(name="worker")
    for number in range(rounds):
        asked = home.fleet.questions.ask(worker, f"{number}?", YES_NO)
        process = home.start("answer", asked.ref, "yes")
        time.sleep(0.15 * number / rounds)  # where it is killed, not what is waited for
        process.kill()
        process.wait()
        again = home.call("answer", asked.ref, "yes")
        assert again.returncode in {0, 3}, again.stderr


@pytest.mark.parametrize("rounds", [5, pytest.param(200, marks=pytest.mark.prove)])
def test_an_answer_survives_its_killing_and_comes_once(home: Scripted, rounds: int) -> None:
    """`kill -9` of `fleet answer` at any moment, then said again: one answer, one event each."""
    killed_answers(home, rounds)

    assert keys(home) == Counter({f"questions#{seq}": 1 for seq in asked(home)})
    assert ops(home, "questions") == {"asked": rounds, "answered": rounds, "told": rounds}
    assert home.call("answer").stdout == home.call("alerts").stdout == ""


def asked(home: Scripted) -> list[int]:
    """The number of each question."""
    records = home.fleet.store.read("questions", 0, 9999).records
    return [record.seq for record in records if record.body["op"] == "asked"]


def test_an_answer_that_nobody_gives_again_is_told_by_the_runner(home: Scripted) -> None:
    """Where the one who answered died before he told the agent, a runner does."""
    fleet = home.fleet
    question = fleet.questions.ask(fleet.author._replace(name="worker"), "mail?", YES_NO)
    fleet.questions.answer(fleet.author, fleet.questions.get(question.ref), "yes")
    assert keys(home) == {}

    with running(home):
        assert until(lambda: keys(home) == {"questions#1": 1})


def test_a_reminder_outlives_runners(home: Scripted, tmp_path: Path) -> None:
    """Killed before it is due, and away when it is: the next runner delivers, and no later one."""
    clock = WallClock(tmp_path / "clock")
    start = datetime.now(UTC)
    done = home.call("--as", "worker", "remind", "2h", "look at the numbers")
    assert done.returncode == 0

    with running(home, env=clock.env) as up:
        early = keys(home)
        up.kill()
    clock.set(start + timedelta(hours=3))
    for _ in range(2):
        with running(home, env=clock.env) as up:
            assert until(lambda: keys(home) == {"later#1": 1})
            up.stop()

    assert early == {}
    assert ops(home, "later") == {"later": 1, "delivered": 1}


def test_who_delivers_at_once_delivers_once(home: Scripted) -> None:
    """A runner and three runs by hand find twenty reminders due: twenty events."""
    fleet = home.fleet
    worker = fleet.author._replace(name="worker")
    due = fleet.store.now().wall + 0.6
    for number in range(20):
        fleet.later.remind(worker, str(number), due=due)

    with running(home):
        assert until(lambda: time.time() > due)
        home.together(["run", "worker"], ["run", "second"], ["run", "third"])
        assert until(lambda: ops(home, "later")["delivered"] == 20)

    assert keys(home) == Counter({f"later#{seq}": 1 for seq in range(1, 21)})
    assert ops(home, "later") == {"later": 20, "delivered": 20}


def test_an_answer_and_a_reminder_wake_an_agent_that_nothing_else_wakes(home: Scripted) -> None:
    """Without a schedule and without `wake_on` it runs because of them, and is told them."""
    with running(home):
        home.call("--as", "worker", "ask", "mail these 300?")
        home.call("--as", "second", "remind", "1s", "look at the numbers")
        home.call("answer", "questions#1", "yes")
        assert until(lambda: home.ended("worker") and home.ended("second"))

    for agent in ("worker", "second"):
        (run,) = home.ended(agent)
        assert run.slot.startswith("wake:")
        assert run.delivered
