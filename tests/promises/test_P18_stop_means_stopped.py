"""P18: after a stop everything that a run started is gone within the grace period plus 2 s."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleets import Scripted, Up, until

GRACE = 3
# Each of these leaves a `sleep` behind that does not want to end; none of them waits.
ESCAPES = {
    "deaf": "sh -c 'trap \"\" INT TERM HUP; MARK; true' &",
    "session": "setsid sh -c 'trap \"\" INT TERM HUP; MARK; true' &",
    "orphan": "(setsid sh -c 'MARK' &) &",
    "nohup": "nohup sh -c 'MARK' > /dev/null 2>&1 &",
    "unmarked": "env -i /usr/bin/setsid /bin/sh -c 'trap \"\" INT TERM; MARK; true' &",
    "unmarked-orphan": "(env -i /usr/bin/setsid /bin/sh -c 'MARK' > /dev/null 2>&1 &) &",
    "stopped": "sh -c 'kill -STOP $$; MARK' & sh -c 'MARK' &",
    "forks": "sh -c 'while :; do MARK & wait; done' &",
}


def seconds(home: Scripted) -> str:
    """How long the sleeps of this home last: a number that nobody else has."""
    return f"300.{abs(hash(str(home.root))) % 10**9}"


def left(home: Scripted) -> list[int]:
    """Every process of the system that sleeps so long, however it came there."""
    word = seconds(home).encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes()
        except OSError:
            continue
        if word in argv:
            found.append(int(path.parent.name))
    return found


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Scripted]:
    """One agent for each way to escape, due at once."""
    home = Scripted(tmp_path / "home", concurrency=len(ESCAPES))
    mark = f"sleep {seconds(home)}"
    for name, script in ESCAPES.items():
        begin = "trap '' INT TERM; " if name == "deaf" else ""
        whole = f"{begin}{script} cat > /dev/null; {mark}".replace("MARK", mark)
        home.agent(name, whole, f"grace: {GRACE}s", schedule="{every: 1s}")
    yield home
    for pid in left(home):
        os.kill(pid, signal.SIGKILL)


def terminate(home: Scripted, up: Up) -> None:
    """SIGTERM to the runner."""
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(30) == 0, up.said()


def command(home: Scripted, up: Up) -> None:
    """`fleet stop`."""
    assert home.call("stop").returncode == 0
    assert up.process.wait(30) == 0, up.said()


def halt(home: Scripted, up: Up) -> None:
    """`fleet halt --all`, with no runner any more."""
    up.kill()
    assert home.call("halt", "--all", "--reason", "stop").returncode == 0


@pytest.mark.parametrize("stop", [terminate, command, halt])
def test_everything_is_gone_in_time(home: Scripted, stop: Callable[[Scripted, Up], None]) -> None:
    """Eight runs, each with a child that does all it can to stay: none is left, all on record."""
    up = Up(home)
    assert until(lambda: up.said().count(" started ") >= len(ESCAPES), 40), up.said()
    assert until(lambda: len(left(home)) > len(ESCAPES) * 2, 20), left(home)

    began = time.monotonic()
    stop(home, up)
    took = time.monotonic() - began

    assert left(home) == []
    assert took < GRACE + 2, f"it took {took:.1f} s"
    assert {run.outcome for run in home.runs()} == {"killed"}
    assert home.fleet.claims.live() == []


def test_a_run_by_hand_that_is_interrupted_leaves_nothing(home: Scripted) -> None:
    """Ctrl-C at `fleet run` is a stop of that run: within its grace and 2 s nothing is left."""
    terminal = home.start("run", "session")
    assert until(lambda: len(left(home)) >= 2)

    began = time.monotonic()
    terminal.send_signal(signal.SIGINT)

    assert terminal.wait(30) == 8
    assert time.monotonic() - began < GRACE + 2
    assert left(home) == []
