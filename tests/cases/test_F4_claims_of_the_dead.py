"""A claim ends with its time or its run, and not before."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from calls import Actor, call
from conftest import Fleet
from fleet import processes
from fleets import Scripted, until

KEY = "lead:sarah@acme.com"


def holding(ttl: str, seconds: float) -> "subprocess.Popen[bytes]":
    """Outreach's process that holds KEY while its command lasts, renewing it."""
    program = f"import time; time.sleep({seconds})"
    words = ["--as", "outreach", "claim", KEY, "--ttl", ttl, "--", sys.executable, "-c", program]
    return subprocess.Popen(
        [sys.executable, "-m", "fleet", *words], env=os.environ.copy(), start_new_session=True
    )


def test_who_renews_is_not_robbed(home: Path, fleet: Fleet) -> None:
    """F4: an owner that lives and renews keeps its claim for many times its length."""
    owner = holding("1s", 4)
    assert until(lambda: fleet("claims", "--json").stdout)

    refused = fleet("--as", "reply-handler", "claim", KEY, "--wait", "2s")
    alive = owner.poll() is None

    assert (refused.returncode, alive) == (6, True)
    assert "HELD by outreach" in refused.stderr
    assert owner.wait(30) == 0


def test_the_claim_of_a_killed_owner_is_free_after_its_time(home: Path, fleet: Fleet) -> None:
    """F4: kill -9 of the owner: its key is free once it expired, to who waits for it."""
    owner = holding("2s", 60)
    assert until(lambda: fleet("claims", "--json").stdout)
    os.killpg(owner.pid, signal.SIGKILL)
    owner.wait()

    taken = fleet("--as", "reply-handler", "claim", KEY, "--wait", "20s", "--json")

    assert taken.returncode == 0
    assert json.loads(taken.stdout)["token"] == 2
    assert fleet("--as", "outreach", "renew", KEY).returncode == 6


def test_the_claims_of_a_killed_run_are_free(tmp_path: Path) -> None:
    """F4: run and keeper killed: the next start settles the run and gives back what it held."""
    home = Scripted(tmp_path / "home")
    home.agent("dead", f"fleet claim {KEY}; fleet claim kept:x --keep 1h; touch up; sleep 60")
    next_one = Actor(home, "next")
    terminal = home.start("run", "dead")
    assert until((home.root / "work" / "dead" / "up").exists, 40)
    (run,) = home.runs()
    terminal.kill()
    terminal.wait()
    processes.send_all(home.alive(run.id), signal.SIGKILL)  # one may take the next along
    assert until(lambda: not home.alive(run.id))

    taken, kept = next_one.does(call("claim", KEY), call("claim", "kept:x"))

    assert (taken.code, kept.code) == (0, 6)
    assert "HELD by dead" in kept.err
    assert home.runs("dead")[0].outcome in {"killed", "crashed"}


def test_a_finished_run_leaves_nothing_held(tmp_path: Path) -> None:
    """F4: however a run ends, also by its own failure, its claims go with it; kept ones stay."""
    home = Scripted(tmp_path / "home")
    claims = "fleet claim a; fleet claim b --ttl 20s; fleet claim c --keep 1h; "
    for name, end in (("well", "echo done"), ("badly", "exit 3"), ("by-signal", "kill -9 $$")):
        home.agent(name, f"cat > /dev/null; {claims} {end}")
        home.call("run", name)

        live = {(claim.key, claim.holder) for claim in home.fleet.claims.live()}
        assert live == {("c", name)}
        home.call("--as", name, "release", "c")


def test_nobody_claims_without_a_name(tmp_path: Path) -> None:
    """F4: a process of a run that lost its token, or whose run has ended, claims nothing."""
    home = Scripted(tmp_path / "home")
    home.agent("worker", "cat > /dev/null; env > vars; echo done")
    home.call("run", "worker")
    lines = (home.root / "work" / "worker" / "vars").read_text().splitlines()
    own = dict(line.split("=", 1) for line in lines if line.startswith("FLEET_"))
    nameless = {name: value for name, value in own.items() if name != "FLEET_RUN_TOKEN"}

    for env in (own, nameless):
        refused = home.call("claim", KEY, env=env)
        assert refused.returncode == 5, refused
    assert home.fleet.claims.live() == []
