"""P19: no wait for a lock is unbounded: at the deadline exit 75, with the holder and the age."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from fleet.stores.files.layout import STRIPES
from fleets import Scripted, running, until

TESTS = Path(__file__).parent.parent
DEADLINE = 10  # seconds that a command waits for a lock


def stripe(key: str) -> str:
    """The lock file of a document."""
    kind = "claim" if key.startswith("claims/") else "document"
    return f"{kind}.{crc32(key.encode()) % STRIPES:02d}"


WRITES = {
    ("emit", "note", "n=1"): "log.events",
    ("post", "strategy", "hello"): "log.channels%2Fstrategy",
    ("claim", "lead:a"): stripe("claims/lead:a"),
    ("pause", "worker"): stripe("control/worker"),
    ("run", "worker"): stripe("claims/agent:worker"),
    ("skip", "worker", "--to", "now"): stripe("cursors/worker"),
}


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent, and something to skip."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    for _ in range(2):
        assert scripted.call("emit", "note", "n=1").returncode == 0
    return scripted


@pytest.fixture
def holders(home: Scripted) -> Iterator[dict[str, int]]:
    """A process for each lock that holds it with fleet's own code, and hangs: its pid."""
    state = str(home.root / "state")
    started = {
        name: subprocess.Popen(
            [sys.executable, "-m", "stores.worker", state, "hold", name, "120"],
            cwd=TESTS,
            stdout=subprocess.PIPE,
        )
        for name in set(WRITES.values())
    }
    for process in started.values():
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
    yield {name: process.pid for name, process in started.items()}
    for process in started.values():
        process.kill()
        process.communicate()


def test_every_kind_of_wait_ends_and_names_the_holder(
    home: Scripted, holders: dict[str, int]
) -> None:
    """Logs, claims, documents, a whole run: 75, one line, the holder's pid and for how long.

    Reading does not wait at all.
    """
    began = time.monotonic()
    calls = {
        argv: subprocess.Popen(
            [sys.executable, "-m", "fleet", "--home", str(home.root), *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for argv in WRITES
    }
    for argv in (("events",), ("status",), ("claims",), ("context", "worker")):
        assert home.call(*argv).returncode == 0
    assert time.monotonic() - began < DEADLINE

    for argv, lock in WRITES.items():
        out, err = calls[argv].communicate(timeout=60)
        assert (calls[argv].returncode, out) == (75, ""), (argv, err)
        assert err.count("\n") == 1
        assert re.search(rf"\b{holders[lock]}\b", err), (argv, err)
        assert re.search(r"\b\d+ ?(s|m) ago", err), (argv, err)
    assert time.monotonic() - began < DEADLINE * 3


def test_a_claim_that_is_waited_for_is_given_up_in_time(home: Scripted) -> None:
    """`claim --wait 1s` on a key that stays held ends after about a second with exit 6."""
    assert home.call("--as", "worker", "claim", "lead:b").returncode == 0
    began = time.monotonic()

    done = home.call("claim", "lead:b", "--wait", "1s")

    assert 1 <= time.monotonic() - began < 8
    assert done.returncode == 6
    assert "worker" in done.stderr


@pytest.mark.prove
def test_a_runner_goes_on_once_a_lock_is_free(home: Scripted) -> None:
    """A runner whose log is held by another says so, does not end, and goes on afterwards."""
    home.agent("worker", "cat > /dev/null; echo done", schedule="{every: 1s}")
    argv = [sys.executable, "-m", "stores.worker", str(home.root / "state"), "hold", "log.fires"]
    with running(home) as up:
        assert until(home.ended), up.said()
        holder = subprocess.Popen([*argv, "120"], cwd=TESTS, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert until(lambda: f"{holder.pid}" in up.said(), 40), up.said()
        holder.kill()
        holder.communicate()
        count = len(home.ended())
        assert until(lambda: len(home.ended()) > count + 1, 30), up.said()
        assert up.stop() == 0
