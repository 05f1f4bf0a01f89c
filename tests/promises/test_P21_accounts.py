"""P21: a refused login stops its account and is told once; a usage limit parks it until it ends."""

import json
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.identity import SYSTEM
from fleet.records import new_id, rfc3339
from fleet.runner.slots import Slots
from fleet.runs import Verdict
from fleets import Scripted, running, until

SHARED = ("a", "b", "c")
TOGETHER = "touch ../$FLEET_AGENT.on; while [ ! -e ../go ]; do sleep 0.02; done; "
WELL = "test -e ../well && echo done && exit 0; "


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home in which `a`, `b` and `c` share the account `main`, and `d` has another."""
    extra = "accounts: {main: {agents: [a, b, c]}, other: {agents: [d]}}\n"
    home = Scripted(tmp_path / "home", extra=extra)
    for name in (*SHARED, "d"):
        home.agent(name, "echo done")
    return home


def all_at_once(home: Scripted) -> None:
    """Run the three that share an account, by three processes, so that they end together."""
    work = home.root / "work"
    runs = [home.start("run", name) for name in SHARED]
    assert until(lambda: all((work / f"{name}.on").exists() for name in SHARED))
    (work / "go").touch()
    assert [run.wait(20) for run in runs] == [8, 8, 8]


def alerts(home: Scripted) -> list[tuple[str, str, str]]:
    """Kind, subject and fix of every alert."""
    records = home.fleet.store.read("alerts", 0, 100).records
    return [tuple(str(one.body[name]) for name in ("kind", "subject", "fix")) for one in records]  # type: ignore[misc]


def test_runs_that_are_refused_together_block_their_account_once(home: Scripted) -> None:
    """P21: three processes settle three refused logins at one moment: one block, one alert.

    Nothing of the account starts, by a person neither; other accounts go on; `resume --account`
    lets it start again.
    """
    for name in SHARED:
        home.agent(name, f"{WELL}{TOGETHER}echo 'Not logged in · Please run /login'; exit 1")

    all_at_once(home)

    assert {run.outcome for run in home.runs()} == {"auth"}
    ((kind, subject, fix),) = alerts(home)
    assert (kind, subject) == ("auth", "main")
    assert "fleet resume --account main" in fix
    refused = home.call("run", "a")
    assert (refused.returncode, len(home.runs())) == (75, 3)
    assert "fleet resume --account main" in refused.stderr
    assert home.call("run", "d").returncode == 0
    (account,) = json.loads(home.call("status", "--json").stdout)["accounts"]
    assert (account["name"], account["state"], account["agents"]) == ("main", "blocked", [*SHARED])
    assert "account main (a, b, c): blocked: since" in home.call("status").stdout
    assert "account main is still blocked" in home.call("resume", "a").stdout

    (home.root / "work" / "well").touch()
    assert home.call("resume", "--account", "main").returncode == 0
    assert home.call("run", "a").returncode == 0


def test_limits_that_are_met_together_are_one_wait(home: Scripted) -> None:
    """P21: three processes settle three limits at one moment: one alert, and the latest end."""
    ends = {
        name: int(time.time()) + hours * 3600 for name, hours in zip(SHARED, (2, 5, 3), strict=True)
    }
    for name, end in ends.items():
        home.agent(name, f"{TOGETHER}echo 'Claude AI usage limit reached|{end}'; exit 1")

    all_at_once(home)

    assert {(run.outcome, run.advance == {}) for run in home.runs()} == {("rate_limited", True)}
    assert [one[:2] for one in alerts(home)] == [("limit", "main")]
    limited = home.fleet.accounts.of("main").limited_until
    assert limited is not None
    assert limited.timestamp() == max(ends.values())
    assert home.call("run", "a").returncode == 75
    state = json.loads(home.call("status", "--json").stdout)
    assert (state["accounts"][0]["state"], state["health"]) == ("limited", "down")
    assert not any(agent["failing"] for agent in state["agents"])


def test_a_runner_starts_nothing_of_a_held_account_until_it_is_resumed(home: Scripted) -> None:
    """P21: its slots wait or are refused, with the reason; others start; a resume needs no restart.

    The limit was met by a run whose settler died before it could park anything.
    """
    for name in (*SHARED, "d", "e"):
        home.agent(name, "echo done", schedule="{every: 1s}")
    fleet = home.fleet
    run = new_id(time.time())
    fleet.runs.start(SYSTEM, "a", run, slot="hand:x")
    limit = Verdict("rate_limited", "hit it", limit_until=time.time() + 3600)
    fleet.runs.finish("a", run, limit, ended=rfc3339(time.time()))
    home.call("pause", "--account", "other", "--reason", "too dear")

    def said(agent: str) -> set[object]:
        return {one.body["result"] for one in home.fires() if one.body["agent"] == agent}

    with running(home) as up:
        assert until(lambda: "waiting_for_limit" in said("a") and "paused" in said("d")), up.said()
        assert until(lambda: "started" in said("e")), up.said()
        assert not any("started" in said(name) for name in (*SHARED, "d"))
        assert home.call("resume", "--account", "main").returncode == 0
        assert home.call("resume", "--account", "other").returncode == 0
        assert until(lambda: all("started" in said(name) for name in (*SHARED, "d"))), up.said()
        up.stop()


def test_a_run_whose_keeper_was_killed_is_run_once_more_where_that_is_wanted(
    home: Scripted,
) -> None:
    """P21: `rerun_if_lost` opens a second attempt of a lost run's slot; a stopped run has none."""
    for name in ("a", "b"):
        home.agent(name, "echo x; sleep 60", "rerun_if_lost: true", "grace: 1s")
    fleet = home.fleet
    with running(home) as up:
        for name in ("a", "b"):
            Slots(fleet.store).open_retry(name, "2026-01-01T00:00:00+00:00", 1, datetime.now(UTC))
        assert until(lambda: len(fleet.runs.open()) == 2), up.said()
        lost, stopped = (fleet.runs.open(name)[0] for name in ("a", "b"))
        keeper = fleet.config.run_folder(lost.id) / "alive.json"
        assert until(lambda: "pid" in json.loads(keeper.read_text()))
        os.kill(json.loads(keeper.read_text())["pid"], signal.SIGKILL)
        home.call("halt", "b")
        assert until(lambda: len(home.ended()) == 2), up.said()
        up.stop()
    runs = {run.id: run for run in home.runs()}

    assert (runs[lost.id].outcome, runs[lost.id].lost) == ("killed", True)
    assert (runs[stopped.id].outcome, runs[stopped.id].lost) == ("killed", False)
    (retry,) = Slots(fleet.store).open("a")
    assert (retry.name, retry.attempt) == (lost.slot, 2)
    assert Slots(fleet.store).open("b") == []
