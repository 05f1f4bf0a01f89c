"""One run of the CLI against the stub, planned and kept as every run is, in a folder of its own.

That folder is no home: nothing is recorded. What the run left is read when it is asked for.
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from fleet import processes
from fleet.config.model import Agent, Claude, HomeConfig
from fleet.runner.launchers import plan
from fleet.runner.probes.messages_stub import MessagesStub
from fleet.runs.judge import judge_claude
from fleet.runs.outcome import Verdict

FIRST_LINE = "This is a run of fleet.\n"
PATIENCE = 15.0  # seconds beyond its own limits in which a run's keeper has to be done
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Trial:
    """A started run in a clean environment with a key that opens nothing.

    Args:
        cli: the CLI's program.
        stub: what answers in the model's place.
        root: an existing folder in which all files of the run will be, its HOME among them.
        agent: the name of whose run it is.
        context: what the agent is told.
        prompt: what it is to do.
        environ: more of the environment it is launched from.
        fleet_bin: the folder of the `fleet` that it finds; None finds this installation's.
        hooks: hooks beside fleet's own, by event, in the form of the CLI's settings.
        after_result: seconds that it may stay when its result is there; None: as every run.
        said: fields of the agent with other values.
    """

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
        fleet_bin: Path | None = None,
        hooks: Mapping[str, list[object]] | None = None,
        after_result: float | None = None,
        **said: Any,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.root = root
        self.work = root / "work" / agent
        self.config = HomeConfig(root, "v1", claude=Claude(path=str(cli)))
        self.folder = self.config.run_folder(self.id)
        who = Agent(agent, f"agents/{agent}.yaml", "d", "p.md.j2", self.work, timeout=60)
        self.agent = who._replace(**said)
        made = plan(
            self.agent,
            self.config,
            run=self.id,
            folder=self.folder,
            context_md=context,
            prompt_md=FIRST_LINE + prompt,
            environ={"PATH": SYSTEM_PATH, "HOME": str(root)} | stub.environ() | dict(environ or {}),
            token=f"{self.id}.{'0' * 64}",
            fleet_bin=fleet_bin,
        )
        for folder in (self.work, self.folder, *made.folders):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = dict(made.files)
        files["settings.json"] = _with_hooks(files["settings.json"], hooks or {})
        order = made.order(self.id, self.agent)
        if after_result is not None:
            order["after_result"] = after_result
        files["keeper.json"] = json.dumps(order).encode()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        self.keeper = subprocess.Popen(
            [sys.executable, "-I", "-m", "fleet.keeper", str(self.folder)],
            env=made.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait(self) -> None:
        """Until its keeper is done; one that keeps no limits is ended."""
        with suppress(subprocess.TimeoutExpired):
            self.keeper.wait(self.agent.timeout + self.agent.grace + PATIENCE)
        self.end()

    @cached_property
    def exit(self) -> dict[str, Any]:
        """`exit.json`, after the end.

        Raises:
            OSError: its keeper did not get to write the file.
        """
        self.wait()
        return dict(json.loads((self.folder / "exit.json").read_text()))

    @cached_property
    def verdict(self) -> Verdict:
        """How the run is judged from what it left; waits for its end as `exit` does."""
        return judge_claude(self.exit, self.folder / "stdout.jsonl", self.folder / "stderr.log")

    def result(self) -> dict[str, Any]:
        """The CLI's last `result` line after the end, empty when it gave none."""
        _ = self.exit
        found = [line for line in self.lines() if line.get("type") == "result"]
        return found[-1] if found else {}

    def lines(self) -> list[dict[str, Any]]:
        """Every JSON object that the CLI has printed so far."""
        said = []
        for line in (self.folder / "stdout.jsonl").read_bytes().splitlines():
            with suppress(ValueError):
                said.append(json.loads(line))
        return [value for value in said if isinstance(value, dict)]

    def left(self) -> set[int]:
        """Processes that still carry the run's id, the keeper aside."""
        return processes.with_run_id(self.id) - {self.keeper.pid}

    def end(self) -> None:
        """Leave no process behind, whatever has become of it."""
        if self.keeper.poll() is None:
            os.kill(self.keeper.pid, 9)
        self.keeper.wait()
        processes.kill_all(self.left, within=5)


def _with_hooks(settings: bytes, more: Mapping[str, list[object]]) -> bytes:
    """The CLI's settings with `more` hooks behind those of the same event."""
    said = json.loads(settings)
    for event, hooks in more.items():
        said["hooks"][event] = [*said["hooks"].get(event, []), *hooks]
    return json.dumps(said).encode()
