"""A run's keeper as others see it: whether it lives, how it is told to stop. It judges nothing."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fleet import processes
from fleet.masking import mask
from fleet.ops.leftovers import escaped
from fleet.records import Body
from fleet.whereabouts import identity
from fleet.wiring import Fleet

STOP_FILE = "stop.json"  # in a run folder: who had it stopped, and why
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
    return not keeper_alive(fleet, live.run)


def keeper_alive(fleet: Fleet, run: str) -> bool:
    """Whether the keeper of `run` lives: pid, start time and boot as it wrote them.

    A run that is on record before its keeper is: while its launcher lives it counts as alive, and
    a keeper that has started and has not written them yet is given time. In a copy of the folder
    the keeper is another home's, so here it does not live.
    """
    folder = fleet.config.run_folder(run)
    deadline = time.monotonic() + KEEPER_STARTS
    if not is_its_own(folder):
        return False
    while "pid" not in (alive := read_json(folder / "alive.json")):
        if (folder / "exit.json").exists():
            return False
        if _lives(alive.get("launcher")):
            return True
        if not left_of(fleet, run) or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return _lives(alive)


def is_its_own(folder: Path) -> bool:
    """Whether the run folder is the one its keeper was given, and no copy of it; moved, it is."""
    said = read_json(folder / "alive.json").get("folder")
    return said is None or said == identity(folder)


def left_of(fleet: Fleet, run: str) -> set[int]:
    """Every process of the run that is this home's to end; a copy has runs of the same ids.

    They say which home they are of. One that was moved since is known by its run folder; so are
    those without the run's id, which its keeper noted.
    """
    folder = fleet.config.run_folder(run)
    said = read_json(folder / "alive.json").get("folder")
    moved = said is not None and said == identity(folder)
    marked = processes.with_run_id(run, home=None if moved else str(fleet.config.root))
    return marked | escaped(folder)


def launching(folder: Path) -> Body:
    """What `alive.json` in `folder` says until the keeper replaces it: this process starts one."""
    pid = os.getpid()
    start, boot = processes.start_time(pid), processes.boot_id()
    return {"launcher": {"pid": pid, "start": start, "boot": boot}, "folder": identity(folder)}


def stop_keeper(fleet: Fleet, run: str, why: str) -> bool:
    """Tell the run's keeper to stop it; False when there is none.

    `why`, one line, becomes the run's reason; of several the first stands.
    """
    folder = fleet.config.run_folder(run)
    # Where it cannot be written, the run's reason names the signal.
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(folder / STOP_FILE, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump({"reason": mask(why)}, file)
    deadline = time.monotonic() + KEEPER_STARTS
    while keeper_alive(fleet, run) and time.monotonic() < deadline:
        alive = read_json(folder / "alive.json")
        if "pid" in alive:
            return processes.send(*_who(alive), signal.SIGTERM)
        time.sleep(0.05)  # it is being launched
    return False


def _lives(said: object) -> bool:
    return isinstance(said, dict) and processes.is_alive(*_who(said))


def _who(said: Body) -> tuple[int, int, str]:
    return whole(said.get("pid")), whole(said.get("start")), str(said.get("boot"))


def read_json(path: Path) -> Body:
    """The object in a run folder's file; empty when there is no such file, or it is not whole."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int:
    """`value` as a number, 0 when it is none."""
    return value if isinstance(value, int) else 0
