"""Calls of `fleet` in number: many in one process, or by an agent inside a real run."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import warm
from fleets import Scripted

EACH = """
import io, json, os, sys, traceback
from pathlib import Path
from fleet.cli.app import run

own, own_cwd = dict(os.environ), os.getcwd()

def each(calls):
    streams = sys.stdin, sys.stdout, sys.stderr
    for call in calls:
        os.environ.clear()
        os.environ.update({k: v for k, v in (own | call["env"]).items() if v is not None})
        os.chdir(call["cwd"] or own_cwd)
        sys.stdin = io.TextIOWrapper(io.BytesIO(call["stdin"].encode()))
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in "oe")
        try:
            code = run(call["argv"])
        except BaseException:
            traceback.print_exc()
            code = 1
        texts = [file.buffer.getvalue().decode() for file in (sys.stdout, sys.stderr)]
        sys.stdin, sys.stdout, sys.stderr = streams
        yield [code, *texts]
    os.chdir(own_cwd)
"""
MANY = EACH + "print(json.dumps(list(each(json.load(sys.stdin)))))"
ACT = (
    EACH
    + """
Path("prompt.txt").write_bytes(sys.stdin.buffer.read())
done = list(each(json.loads(Path("todo.json").read_text())))
Path("done.json").write_text(json.dumps(done))
print("done")
"""
)


@dataclass(frozen=True)
class Call:
    """One command line: its words, standard input, changed environment (None removes), folder."""

    argv: Sequence[str]
    stdin: str = ""
    env: Mapping[str, str | None] = field(default_factory=dict)
    cwd: str | None = None


def call(*argv: str, stdin: str = "", cwd: Path | None = None, **env: str | None) -> Call:
    """`call("post", "strategy", "hi", FLEET_AGENT="x")`."""
    return Call(argv, stdin, env, str(cwd) if cwd else None)


class Done(NamedTuple):
    """What a call answered."""

    code: int
    out: str
    err: str


def many(
    cwd: Path, calls: Sequence[Call], env: Mapping[str, str | None] | None = None
) -> list[Done]:
    """Each call through the real command line, all in one process; exit 1 is a bug's traceback."""
    full = {**os.environ, **(env or {})}
    done = warm.run(
        [],
        env={name: value for name, value in full.items() if value is not None},
        cwd=cwd,
        stdin=json.dumps([asdict(one) for one in calls]).encode(),
        timeout=100,
        code=MANY,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [Done(*one) for one in json.loads(done.stdout)]


class Actor:
    """An agent that does, in a real run and a process of its own, the calls that a test gives it.

    `lines` are more of its YAML, as in `Scripted.agent`.
    """

    def __init__(self, home: Scripted, name: str, *lines: str) -> None:
        self.home, self.name = home, name
        self.cwd = home.root / "work" / name
        home.agent(name, "", f"command: {json.dumps([sys.executable, '-c', ACT])}", *lines)

    def does(self, *calls: Call) -> list[Done]:
        """One `fleet run`, which must end well; what each call answered."""
        self.cwd.mkdir(parents=True, exist_ok=True)
        (self.cwd / "todo.json").write_text(json.dumps([asdict(one) for one in calls]))
        done = self.home.call("run", self.name)
        assert done.returncode == 0, done.stdout + done.stderr
        return [Done(*one) for one in json.loads((self.cwd / "done.json").read_text())]

    @property
    def prompt(self) -> str:
        """What its last run got on standard input."""
        return (self.cwd / "prompt.txt").read_text()


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes; folders and other things with none."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        if path.is_file() and not path.is_symlink()
        else b""
        for path in folder.rglob("*")
    }
