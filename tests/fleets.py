"""A home whose agents are shell scripts, and a real `fleet up` over it."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import warm
from fleet import processes
from fleet.records import Record
from fleet.runner import lead
from fleet.runs import Run
from fleet.wiring import Fleet, open_fleet

TYPE = (
    '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "note",'
    ' "description": "A note", "type": "object", "required": ["n"],'
    ' "properties": {"n": {"type": "string"}}, "additionalProperties": true}\n'
)
BASE = (
    "{% block context %}{{ you }}\n{{ awareness }}\n{{ corrections }}\n{{ events }}\n"
    "{{ channels }}\n{% endblock %}{% block task %}Work.{% endblock %}\n"
)


def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether the condition came true in time; looks every 30 ms."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


class Scripted:
    """A home under `root`; each agent is a shell script that runs with the prompt on its stdin."""

    def __init__(self, root: Path, *, concurrency: int = 4, extra: str = "") -> None:
        self.root = root
        self.put(
            "fleet.yaml",
            "name: test\ntimezone: UTC\npaused: false\nlimits: {min_free: 1MiB}\n"
            f"concurrency: {concurrency}\n{extra}",
        )
        self.put("schemas/note.json", TYPE)
        self.put("channels/strategy.yaml", "name: Strategy\npurpose: All\nmembers: all\n")
        self.put("prompts/base.md.j2", BASE)

    @classmethod
    def at(cls, root: Path) -> Self:
        """The home that is at `root` already."""
        home = cls.__new__(cls)
        home.root = root
        return home

    def copied_to(self, root: Path) -> Self:
        """A copy at `root` that is from now on the one whose agents run."""
        shutil.copytree(self.root, root)
        copy = self.at(root)
        lead.settle_in(copy.fleet, take_over=True)
        return copy

    def put(self, name: str, text: str) -> Path:
        """Write one of the operator's files."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def agent(self, name: str, script: str, *lines: str, schedule: str = "null") -> None:
        """An agent that runs `script` by sh; `lines` are more of its YAML, or other values."""
        fields = {
            "description": name,
            "schedule": schedule,
            "prompt": "base.md.j2",
            "launch": "command",
            "command": json.dumps(["/bin/sh", "-c", script]),
            "interests": "[note]",
            "channels": "[strategy]",
            "start": "all",
            "timeout": "30s",
            "grace": "3s",
            **dict(line.split(": ", 1) for line in lines),
        }
        text = "".join(f"{field}: {value}\n" for field, value in fields.items())
        self.put(f"agents/{name}.yaml", text)

    def environ(self) -> dict[str, str]:
        """What every command on this home has in its environment."""
        return dict(os.environ)

    @property
    def fleet(self) -> Fleet:
        """The home, opened anew."""
        return open_fleet(self.root, env={})

    def runs(self, agent: str | None = None) -> list[Run]:
        """All its runs, newest first."""
        return list(self.fleet.runs.list(agent, 10_000))

    def ended(self, agent: str | None = None) -> list[Run]:
        """Those that have an outcome."""
        return [run for run in self.runs(agent) if run.outcome]

    def fires(self) -> list[Record]:
        """Every record about a slot."""
        records = self.fleet.store.read("fires", 0, 100_000).records
        return [record for record in records if "slot" in record.body]

    def alive(self, run: str) -> set[int]:
        """Every process that carries the run's id."""
        return processes.with_run_id(run)

    def call(
        self, *argv: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """One `fleet` command by the operator."""
        done = warm.run(
            ["--home", str(self.root), *argv], env=self.environ() | dict(env or {}), cwd=Path.cwd()
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def start(self, *argv: str) -> "warm.Process":
        """One `fleet` command in another terminal, whose output nobody reads."""
        with Path(os.devnull).open("r+b") as nothing:
            return warm.start(["--home", str(self.root), *argv], self.environ(),
                              (nothing.fileno(),) * 3)  # fmt: skip

    def together(self, *calls: Sequence[str]) -> "list[subprocess.CompletedProcess[bytes]]":
        """Commands that begin at once; what each said and ended with."""
        words = [["--home", str(self.root), *call] for call in calls]
        return warm.together(words, env=self.environ(), cwd=Path.cwd())


class Up:
    """A `fleet up` in a process of its own."""

    def __init__(self, home: Scripted, *argv: str, env: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.log = home.root.parent / f"up-{time.monotonic_ns()}.log"
        full = home.environ() | dict(env or {})
        words = ["--home", str(home.root), "up", *argv]
        with self.log.open("wb") as file, Path(os.devnull).open("rb") as nothing:
            self.process = warm.start(words, full, (nothing.fileno(), file.fileno(), file.fileno()))

    def said(self) -> str:
        """What it printed so far."""
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        """Until it has printed `text`."""
        assert until(lambda: text in self.said() or self.process.poll() is not None, seconds), (
            f"{text!r} never came:\n{self.said()}"
        )
        assert text in self.said(), self.said()

    def kill(self) -> None:
        """What a power cut of this one process would be."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = 20.0) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


@contextmanager
def running(home: Scripted, *argv: str, env: Mapping[str, str] | None = None) -> Iterator[Up]:
    """A runner that is gone, with everything it started, when the block ends."""
    up = Up(home, *argv, env=env)
    try:
        up.wait_for("up: ")
        yield up
    finally:
        if up.process.poll() is None:
            up.process.kill()
        up.process.wait()
        for run in home.runs():
            processes.kill_all(lambda run=run: processes.with_run_id(run.id), within=5)
