"""Budgets that are read, shown and never enforced."""

import json
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from fakeclaude import claude_agent, fake_claude
from fleets import Scripted, running, until
from wallclock import WallClock

WAITS = "touch started; while [ ! -e go ]; do sleep 0.02; done; echo done"


def budget(home: Scripted, line: str) -> None:
    """One more line of fleet.yaml."""
    path = home.root / "fleet.yaml"
    path.write_text(path.read_text() + line + "\n")


def refusals(home: Scripted) -> list[tuple[object, object]]:
    """Agent and detail of each slot that a budget refused."""
    fires = [fire.body for fire in home.fires()]
    return [(one["agent"], one["detail"]) for one in fires if one["result"] == "over_budget"]


def money(home: Scripted) -> dict[str, object]:
    """What `status` says of it."""
    said = json.loads(home.call("status", "--json").stdout)["money"]
    assert isinstance(said, dict)
    return said


@pytest.mark.parametrize("by_hand", [True, False], ids=["run", "run beside up"])
def test_three_runs_at_once_do_not_share_what_two_need(scripted: Scripted, by_hand: bool) -> None:
    """F11: 1.00 a day and 0.40 a run: two run at once, the third is refused, with a record."""
    budget(scripted, "budget: {per_day: 1.00}")
    for name in ("one", "two", "three"):
        schedule = "{every: 1s}" if name == "three" and not by_hand else "null"
        scripted.agent(name, WAITS, "budget: {per_run: 0.40}", schedule=schedule)
    alive = [scripted.start("run", name) for name in ("one", "two")]
    folders = [scripted.root / "work" / name for name in ("one", "two")]
    assert until(lambda: all((folder / "started").exists() for folder in folders))

    with ExitStack() as stack:
        if by_hand:
            done = scripted.call("run", "three")
            assert (done.returncode, "over_budget" in done.stderr) == (75, True)
        else:
            up = stack.enter_context(running(scripted))
            assert until(lambda: refusals(scripted)), up.said()
        during = money(scripted)
        for folder in folders:
            (folder / "go").touch()
        assert [one.wait(20) for one in alive] == [0, 0]

    assert {run.agent for run in scripted.runs()} == {"one", "two"}
    (agent, detail), *_ = refusals(scripted)
    assert agent == "three"
    assert "$0.80 of $1.00" in str(detail)
    assert (during["cost_today"], during["reserved"], during["budget"]) == (0.0, 0.8, 1.0)


def test_a_cost_that_nobody_told_is_the_reservation(scripted: Scripted) -> None:
    """F11: a command and a CLI that was cut off say no cost: each counts what was reserved."""
    fake_claude(scripted, "result = None; print('{}')")
    claude_agent(scripted, "cut", "budget: {per_run: 0.40, per_day: 1.00}")
    scripted.agent("plain", "echo done", "budget: {per_day: 1.00}")

    codes = [scripted.call("run", name).returncode for name in ("cut", "plain") * 3]

    assert codes == [8, 0, 8, 0, 75, 75]
    said = json.loads(scripted.call("status", "--json").stdout)["agents"]
    assert {one["id"]: one["cost_today"] for one in said} == {"cut": 0.8, "plain": 1.0}
    assert [run.cost_usd for run in scripted.runs()] == [None] * 4
    shown = scripted.call("status").stdout
    assert "today $1.80, of it $1.80 reserved for 4 runs of unknown cost" in shown


def test_a_cost_that_was_told_frees_the_rest(scripted: Scripted) -> None:
    """F11: runs that cost a tenth of their reservation go on until what they cost is too much."""
    fake_claude(scripted, "result['total_cost_usd'] = 0.20")
    claude_agent(scripted, "worker", "budget: {per_run: 0.40, per_day: 1.00}")

    codes = [scripted.call("run", "worker").returncode for _ in range(6)]

    assert codes == [0, 0, 0, 0, 75, 75]
    assert money(scripted)["cost_today"] == pytest.approx(0.8)


def test_tokens_have_a_budget_too(scripted: Scripted) -> None:
    """F11: `tokens_per_day` holds for an agent and for all, for those that pay by subscription."""
    fake_claude(scripted, "result['usage'] = {'input_tokens': 300, 'output_tokens': 100}")
    budget(scripted, "budget: {tokens_per_day: 1500}")
    claude_agent(scripted, "small", "budget: {tokens_per_day: 900}")
    claude_agent(scripted, "other")

    done = [scripted.call("run", name) for name in ("small", "other") * 3]

    assert [one.returncode for one in done] == [0, 0, 0, 75, 75, 75]
    assert "raise budget.tokens_per_day in fleet.yaml, or wait" in done[3].stderr
    assert "raise budget.tokens_per_day in agents/small.yaml, or wait" in done[4].stderr
    assert ("small", "small used 800 of 900 tokens today, and a run may use 400") in refusals(
        scripted
    )
    assert money(scripted)["tokens_today"] == 1200


def test_a_new_local_day_resets(scripted: Scripted, clock: WallClock) -> None:
    """F11: what is used up at 23:59 is free at 00:00 of the home's zone, not of UTC's."""
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text().replace("UTC", "America/New_York"))
    scripted.agent("worker", "echo done", "budget: {per_run: 0.60, per_day: 1.00}")
    midnight = datetime(2026, 3, 9, 4, tzinfo=UTC)  # the end of a day of 23 hours
    codes = []
    for moment in (-timedelta(hours=23), -timedelta(seconds=5), timedelta(seconds=1)):
        clock.stop(midnight + moment)
        codes.append(scripted.call("run", "worker", env=clock.env).returncode)

    assert codes == [0, 75, 0]


def test_a_run_that_was_lost_still_counts(scripted: Scripted) -> None:
    """F11: after `kill -9` of `fleet run` its run goes on and keeps its reservation, no more."""
    budget(scripted, "budget: {per_day: 1.00}")
    for name in ("lost", "next"):
        scripted.agent(name, WAITS, "budget: {per_run: 0.60}")
    terminal = scripted.start("run", "lost")
    folder = scripted.root / "work" / "lost"
    assert until((folder / "started").exists)
    terminal.kill()
    terminal.wait()

    during = scripted.call("run", "next")
    (folder / "go").touch()
    run = scripted.runs("lost")[0].id
    assert until((scripted.root / "state" / "run" / run / "exit.json").exists)
    with running(scripted) as up:
        assert until(lambda: scripted.ended("lost")), up.said()
        up.stop()

    assert during.returncode == 75
    assert (money(scripted)["cost_today"], money(scripted)["reserved"]) == (0.6, 0.0)
