"""What one command costs from nothing: CPU against the bare interpreter of a clean environment."""

import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import homes
from measuring import HERE, cpu_of
from table import Row

from fleet.identity import issue_token
from fleet.records import new_id

ROUNDS = 30
WARM = 2  # rounds before them: caches are written, files become old enough for their stamps
GATES = {"post": "<= 6", "emit": "<= 6", "claim": "<= 6", "hook": "<= 3"}


def rows(folder: Path) -> Iterator[Row]:
    """The write commands in a run and by a person, the hook; click alone beside them."""
    python = _install(folder / "clean")
    fleet = homes.growth(folder / "cold")
    bin_folder = str(python.parent)
    outside = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(folder)}
    outside |= {"LANG": "C.UTF-8", "FLEET_HOME": str(fleet.root)}
    hook = _hook(python)
    taken: dict[str, list[float]] = {}
    for turn in range(WARM + ROUNDS):
        run = new_id(fleet.store.now().wall)
        token = issue_token(fleet.store, run, "outreach", "", 600.0, 0)
        inside = outside | {"FLEET_RUN_ID": run, "FLEET_RUN_TOKEN": token}
        for name, argv, env, stdin in (
            ("python", [str(python), "-c", "pass"], outside, b""),
            ("click", [str(python), "-c", "import click"], outside, b""),
            *_commands(f"{bin_folder}/fleet", turn, inside, "in a run"),
            *_commands(f"{bin_folder}/fleet", turn, outside, "by a person"),
            ("hook", hook, outside, _ASKED),
        ):
            taken.setdefault(name, []).append(cpu_of(argv, env, stdin))
    medians = {name: statistics.median(times[WARM:]) for name, times in taken.items()}
    bare = medians.pop("python")
    for name, seconds in medians.items():
        peer = f"python -c pass: {bare * 1000:.1f} ms"
        gate = GATES.get(name.partition(" ")[0], "")
        label = "click alone, imported" if name == "click" else f"cold {name}, CPU"
        yield Row(label, f"{seconds * 1000:.1f} ms", peer, seconds / bare, gate)


def _commands(
    program: str, turn: int, env: Mapping[str, str], where: str
) -> Iterator[tuple[str, list[str], Mapping[str, str], bytes]]:
    email = f"email=a{turn}@b.example"
    calls = {
        "post": ["post", "strategy", f"round {turn}: reply rate up after the shorter subject"],
        "emit": ["emit", "reply-received", email, "classification=interested"],
        "claim": ["claim", f"account:{turn} {where}"],
    }
    for name, words in calls.items():
        yield f"{name} {where}", [program, *words], env, b""


_ASKED = json.dumps(
    {
        "session_id": "0",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "fleet post strategy 'reply rate up 30 %'", "description": ""},
    }
).encode()


def _hook(python: Path) -> list[str]:
    """The hook as a run's settings name it, by the clean environment's own fleet."""
    code = "import fleet.hook; print(fleet.hook.__file__)"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return [*shlex.split(f"{shlex.quote(str(python))} -I -S"), found.stdout.strip()]


def _install(target: Path) -> Path:
    """The interpreter of a new environment that holds the wheel of this tree and what it needs."""
    wheels = target / "wheels"
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(HERE.parent)]
    _quietly(build)
    _quietly([sys.executable, "-m", "venv", str(target / "venv")])
    python = target / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    _quietly([*install, *map(str, wheels.glob("*.whl"))])
    return python


def _quietly(argv: list[str]) -> None:
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}:\n{done.stdout}{done.stderr}")
