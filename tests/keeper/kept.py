"""A keeper in a process of its own, as the tests see it, and programs that are hard to end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleet import processes


def until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether the condition came true in time; looks every 20 ms."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Kept:
    """A keeper that runs in a process of its own."""

    def __init__(self, folder: Path, run: str, environ: dict[str, str]) -> None:
        self.folder = folder
        self.run = run
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-m", "fleet.keeper", str(folder)],
            env=environ | {"FLEET_RUN_ID": run},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def alive(self) -> dict[str, Any]:
        """`alive.json` once the command has started."""
        path = self.folder / "alive.json"
        assert until(lambda: path.exists() and json.loads(path.read_bytes())["child_pid"])
        return dict(json.loads(path.read_bytes()))

    def wait_for(self, name: str) -> None:
        """Until the script has made the file `name` in its working folder."""
        assert until((self.folder / "cwd" / name).exists), f"{name} never came"

    def exit(self, seconds: float = 20.0) -> dict[str, Any]:
        """`exit.json` after the keeper's own end."""
        _, complaint = self.process.communicate(timeout=seconds)
        assert (self.process.returncode, complaint) == (0, b"")
        return dict(json.loads((self.folder / "exit.json").read_bytes()))

    def out(self) -> str:
        """What the command wrote to its standard output."""
        return (self.folder / "stdout.jsonl").read_text()

    def left(self) -> set[int]:
        """Processes that carry the run's id, the keeper aside."""
        return processes.with_run_id(self.run) - {self.process.pid}

    def end(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        processes.kill_all(self.left, within=5)


STUBBORN = "trap '' INT TERM HUP; echo $$ > {name}; while :; do sleep 0.05; done"
"""A shell program that ignores every polite signal and says its pid in the file `name`."""


def escapee(name: str, *, environ: str = "") -> str:
    """A shell line that starts a stubborn program in a session of its own and waits for its file.

    With `environ="env -i"` it carries no mark of the run either.
    """
    program = STUBBORN.format(name=name).replace("$", "\\$")
    start = f'{environ} setsid sh -c "{program}" >/dev/null 2>&1 </dev/null &'
    return f"({start}); until test -s {name}; do sleep 0.02; done;"


def kill(pid: int) -> None:
    """`kill -9`."""
    os.kill(pid, signal.SIGKILL)
