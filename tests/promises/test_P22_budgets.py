"""P22: budgets are enforced before launch, with reservations for what is running."""

import json
import os
from pathlib import Path

import pytest

import warm
from fleet.ledger import Sum
from fleets import Scripted, running, until

DIES = """
import json, os, signal, sys
from pathlib import Path
from fleet.stores.files import FilesStore

verb, name, when, last = sys.stdin.readline().split()
counted = [0]

def dies(real):
    def write(self, target, *args, **kept):
        here = real.__name__ == verb and target.startswith(name)
        counted[0] += here
        if here and counted[0] == int(last) and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(self, target, *args, **kept)
        if here and counted[0] == int(last) and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return write

FilesStore.put, FilesStore.append = dies(FilesStore.put), dies(FilesStore.append)
from fleet.__main__ import main
main()
"""


def by_records(home: Scripted) -> Sum:
    """What the records of all ended runs say that they cost, unknown ones their reservation."""
    total = Sum()
    for agent in home.fleet.runs.agents():
        for record in home.fleet.store.read(f"runs/{agent}", 0, 10_000).records:
            if record.body["op"] == "ended":
                cost = record.body["cost_usd"]
                held = record.body.get("reserved")
                assert isinstance(held, dict)
                dollars = held["cost"] if cost is None else cost
                total = total.plus(Sum(1, float(str(dollars)), 0, int(cost is None)))
    return total


def money(home: Scripted) -> dict[str, object]:
    """What `status` says of today."""
    said = json.loads(home.call("status", "--json").stdout)["money"]
    assert isinstance(said, dict)
    return said


def test_all_that_starts_shares_one_budget(tmp_path: Path) -> None:
    """P22: four agents of `fleet up` and people's `fleet run` get five runs of 0.10 out of 0.50."""
    home = Scripted(tmp_path / "home", concurrency=8, extra="budget: {per_day: 0.50}\n")
    names = ["one", "two", "three", "four", "five", "six"]
    for name in names:
        schedule = "{every: 1s}" if name in names[:4] else "null"
        home.agent(name, "echo done", "budget: {per_run: 0.10}", schedule=schedule)

    with running(home) as up:
        done = home.together(*[["run", name] for name in names[4:] * 2])
        assert until(lambda: len(home.ended()) == 5), up.said()
        known = len(home.fires())
        assert until(lambda: len(home.fires()) >= known + 4), up.said()
        up.stop()

    assert len(home.runs()) == 5
    assert by_records(home) == Sum(5, 0.5, 0, unknown=5)
    assert (money(home)["cost_today"], money(home)["reserved"]) == (0.5, 0.0)
    assert {one.returncode for one in done} <= {0, 6, 75}
    fires = [fire.body for fire in home.fires()]
    assert {one["result"] for one in fires} >= {"started", "over_budget"}
    assert home.call("run", "six").returncode == 75


@pytest.mark.parametrize(
    ("point", "runs"),
    [
        ("put ledger/ before 1", 0),
        ("put ledger/ after 1", 0),
        ("append runs/ before 1", 0),
        ("append runs/ after 1", 1),
        ("append runs/ before 2", 1),
        ("append runs/ after 2", 1),
        ("put ledger/ before 2", 1),
        ("put ledger/ after 2", 1),
    ],
)
def test_a_killed_launcher_loses_no_cost_and_keeps_no_money(
    scripted: Scripted, point: str, runs: int
) -> None:
    """P22: `kill -9` of `fleet run` around each step with money: the next one finds it in order."""
    _killed(scripted, point)

    code = scripted.call("run", "next").returncode

    assert code == 0
    said = money(scripted)
    assert len(scripted.ended()) == len(scripted.runs()) == runs + 1
    assert by_records(scripted) == Sum(runs + 1, round(0.4 * (runs + 1), 6), 0, runs + 1)
    assert (said["cost_today"], said["reserved"]) == (round(0.4 * (runs + 1), 6), 0.0)


def test_a_runner_takes_back_what_the_dead_reserved(scripted: Scripted) -> None:
    """P22: what a killed `fleet run` had reserved is free within a pass of `fleet up`."""
    _killed(scripted, "put ledger/ after 1")
    before = money(scripted)["reserved"]

    with running(scripted) as up:
        assert until(lambda: money(scripted)["reserved"] == 0.0), up.said()

    assert (before, scripted.runs()) == (0.4, [])


def _killed(scripted: Scripted, point: str) -> None:
    """A home with 1.00 a day and 0.40 a run, in which `fleet run` was killed at `point`."""
    path = scripted.root / "fleet.yaml"
    path.write_text(path.read_text() + "budget: {per_day: 1.00, per_run: 0.40}\n")
    for name in ("killed", "next"):
        scripted.agent(name, "echo done")
    killed = warm.run(
        ["--home", str(scripted.root), "run", "killed"],
        env=dict(os.environ), cwd=Path.cwd(), stdin=f"{point}\n".encode(), code=DIES,
    )  # fmt: skip
    assert killed.returncode == -9, killed.stderr
    assert until(lambda: all(_over(scripted, run.id) for run in scripted.runs()))


def _over(home: Scripted, run: str) -> bool:
    folder = home.root / "state" / "run" / run
    return (folder / "exit.json").exists() or not home.alive(run)


def test_a_cost_that_no_run_can_have_stops_nobody(tmp_path: Path) -> None:
    """P22: runs that say they cost 1e308 count as their reservations, and the next one starts."""
    home = Scripted(tmp_path / "home", extra="budget: {per_day: 1.00}\n")
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1,
              "result": "done", "total_cost_usd": 1e308}  # fmt: skip
    home.agent("liar", f"echo '{json.dumps(result)}'", "budget: {per_run: 0.20}")

    done = [home.call("run", "liar") for _ in range(3)]

    assert [one.returncode for one in done] == [0, 0, 0], done
    assert money(home)["cost_today"] == pytest.approx(0.6)
    assert by_records(home) == Sum(3, 0.6, 0, unknown=3)
    assert "its cost cannot be, and counts as unknown" in home.runs()[0].reason
