"""A keeper with a small shell script as its command: real processes, real files."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[..., Kept]]:
    """`keep("sh script", b"input", …)` starts a keeper; other keywords go into keeper.json."""
    started: list[Kept] = []

    def start(
        script: str,
        *stdin: bytes,
        environ: dict[str, str] | None = None,
        under: Path = tmp_path,
        **order: Any,
    ) -> Kept:
        folder = under / f"run-{len(started)}"
        (folder / "cwd").mkdir(parents=True)
        names = [f"in-{number}.md" for number in range(len(stdin))]
        for name, content in zip(names, stdin, strict=True):
            (folder / name).write_bytes(content)
        said = {
            "run": str(uuid.uuid4()),
            "argv": ["/bin/sh", "-c", script],
            "cwd": str(folder / "cwd"),
            "stdin": names,
            "timeout": 60,
            "idle_timeout": 60,
            "grace": 3,
            **order,
        }
        (folder / "keeper.json").write_text(json.dumps(said))
        kept = Kept(folder, said["run"], {"PATH": os.environ["PATH"], **(environ or {})})
        started.append(kept)
        return kept

    yield start
    for kept in started:
        kept.end()


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
