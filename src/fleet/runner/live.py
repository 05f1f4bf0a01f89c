"""A run's keeper as others see it: whether it lives, how it is told to stop. It judges nothing."""

import json
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from fleet import processes
from fleet.records import Body
from fleet.wiring import Fleet

KEEPER_STARTS = 5.0  # seconds that a new keeper gets to write alive.json


@dataclass(slots=True)
class Live:
    """A run whose keeper was alive when last seen.

    Attributes:
        run: its id.
        agent: whose run it is.
        keeper: the process when it is a child of this one, None when it was adopted.
        told: whether it was told to stop.
    """

    run: str
    agent: str
    keeper: subprocess.Popen[bytes] | None = None
    told: bool = False


def is_over(fleet: Fleet, live: Live) -> bool:
    """Whether the run's keeper is gone or has written its last word."""
    if live.keeper is not None:
        return live.keeper.poll() is not None
    return not keeper_alive(fleet.config.run_folder(live.run), live.run)


def keeper_alive(folder: Path, run: str) -> bool:
    """Whether the keeper of `run` lives: pid, start time and boot as it wrote them.

    One that was launched an instant ago and has not written them yet is given time.
    """
    deadline = time.monotonic() + KEEPER_STARTS
    while not (alive := read_json(folder / "alive.json")):
        starting = not (folder / "exit.json").exists() and processes.with_run_id(run)
        if not starting or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return processes.is_alive(whole(alive["pid"]), whole(alive["start"]), str(alive["boot"]))


def stop_keeper(fleet: Fleet, run: str) -> bool:
    """Tell the run's keeper to stop it; False when there is none."""
    folder = fleet.config.run_folder(run)
    if not keeper_alive(folder, run):
        return False
    alive = read_json(folder / "alive.json")
    return processes.send(
        whole(alive["pid"]), whole(alive["start"]), str(alive["boot"]), signal.SIGTERM
    )


def read_json(path: Path) -> Body:
    """The object in a run folder's file; empty when it is not there, or not whole."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int:
    """`value` as a number, 0 when it is none."""
    return value if isinstance(value, int) else 0
