"""A home whose agents are the real CLI, with the stub for a model; its environment is its own."""

import json
from collections.abc import Sequence
from pathlib import Path

from fleet.runner.probes.messages_stub import Asked, MessagesStub, Play, Turn
from fleets import Scripted


def play(agent: str, *turns: Turn) -> Play:
    """What every run of `agent` does: one of fleet's first lines names whose run it is."""
    return Play(turns, match=f"Task for {agent}, run ")


class RealFleet(Scripted):
    """A small home; `call` and `fleets.running` see no variable of whoever runs the tests."""

    def __init__(
        self, root: Path, cli: Path, stub: MessagesStub, *, concurrency: int = 4, extra: str = ""
    ) -> None:
        self.stub = stub
        super().__init__(
            root,
            concurrency=concurrency,
            extra=f"claude: {{path: {json.dumps(str(cli))}}}\n{extra}",
        )

    def environ(self) -> dict[str, str]:
        """A clean environment that leads the CLI to the stub."""
        home = self.root.parent / "user"
        home.mkdir(exist_ok=True)
        own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        return own | {"PYTHONWARNINGS": "error"} | self.stub.environ()

    def claude(self, name: str, *lines: str, schedule: str = "null") -> Path:
        """An agent that is the CLI; `lines` are more of its YAML, or other values."""
        fields = {
            "description": name,
            "schedule": schedule,
            "prompt": "base.md.j2",
            "model": "claude-haiku-4-5",
            "interests": "[note]",
            "channels": "[strategy]",
            "start": "all",
            "timeout": "60s",
            "grace": "3s",
            **dict(line.split(": ", 1) for line in lines),
        }
        text = "".join(f"{field}: {value}\n" for field, value in fields.items())
        return self.put(f"agents/{name}.yaml", text)

    def work(self, agent: str) -> Path:
        """The agent's own folder, made."""
        folder = self.root / "work" / agent
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def asked(self, run: str) -> Sequence[Asked]:
        """What the model was asked in a run, in order; the CLI's session has the run's id."""
        return [one for one in self.stub.asked if one.session == run]
