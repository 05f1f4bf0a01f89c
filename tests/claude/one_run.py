"""One run of the real CLI against the stub: planned and kept as the runner does it, without one."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from claude.messages_stub import MessagesStub
from fleet import processes
from fleet.config.model import Agent, Claude, HomeConfig
from fleet.runner.launchers import plan
from fleet.runs.judge import judge_claude
from fleet.runs.outcome import Verdict

FIRST_LINE = "This is a run of fleet.\n"


def until(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class OneRun:
    """A started run; what it left is read when it is asked for."""

    def __init__(
        self,
        cli: Path,
        stub: MessagesStub,
        root: Path,
        *,
        agent: str = "outreach",
        context: str = "# You are outreach\n",
        prompt: str = "Do your work.\n",
        environ: Mapping[str, str] | None = None,
        fleet_bin: Path,
        **said: Any,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.root = root
        self.work = root / "work" / agent
        self.config = HomeConfig(root, "v1", claude=Claude(path=str(cli)))
        self.folder = self.config.run_folder(self.id)
        who = Agent(agent, f"agents/{agent}.yaml", "d", "p.md.j2", self.work, timeout=60)
        who = who._replace(**said)
        made = plan(
            who,
            self.config,
            run=self.id,
            folder=self.folder,
            context_md=context,
            prompt_md=FIRST_LINE + prompt,
            environ={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root)}
            | stub.environ()
            | dict(environ or {}),
            token=f"{self.id}.{'0' * 64}",
            fleet_bin=fleet_bin,
        )
        for folder in (self.work, self.folder, *made.folders):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, content in made.files.items():
            (self.folder / name).write_bytes(content)
        (self.folder / "keeper.json").write_text(json.dumps(made.order(self.id, who)))
        self.keeper = subprocess.Popen(
            [sys.executable, "-I", "-m", "fleet.keeper", str(self.folder)],
            env=made.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @cached_property
    def exit(self) -> dict[str, Any]:
        """`exit.json`, after the end."""
        self.keeper.wait(timeout=100)
        return dict(json.loads((self.folder / "exit.json").read_text()))

    @cached_property
    def verdict(self) -> Verdict:
        """How the run is judged from what it left."""
        return judge_claude(self.exit, self.folder / "stdout.jsonl", self.folder / "stderr.log")

    def result(self) -> dict[str, Any]:
        """The CLI's last `result` line."""
        assert self.exit
        lines = (self.folder / "stdout.jsonl").read_text().splitlines()
        found = [value for value in map(json.loads, lines) if value["type"] == "result"]
        return dict(found[-1])

    def left(self) -> set[int]:
        """Processes that still carry the run's id, the keeper aside."""
        return processes.with_run_id(self.id) - {self.keeper.pid}

    def end(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self.keeper.poll() is None:
            os.kill(self.keeper.pid, 9)
        self.keeper.wait()
        processes.kill_all(self.left, within=5)
