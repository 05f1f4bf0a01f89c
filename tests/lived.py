"""Runs that are over, with their records and files, made at once: for what comes long after."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fleet.records import Draft, new_id
from fleets import Scripted

DAY = 86_400.0


def lived(
    home: Scripted, agent: str, days: Iterable[float], outcome: str | None = "ok", size: int = 100
) -> list[str]:
    """Runs of `agent` that began so many days ago; with `outcome` None they have no end."""
    fleet = home.fleet
    wall = fleet.store.now().wall
    runs = [new_id(wall - ago * DAY) for ago in days]
    drafts: list[Draft] = []
    for run in runs:
        drafts.append(Draft({"op": "started", "run": run, "agent": agent, "slot": "hand:x"}))
        if outcome:
            drafts.append(Draft({"op": "ended", "run": run, "agent": agent, "outcome": outcome}))
    for first in range(0, len(drafts), 500):
        fleet.store.append(f"runs/{agent}", drafts[first : first + 500])
    for run in runs:
        files_of(home, run, size)
    return runs


def files_of(home: Scripted, run: str, size: int = 100) -> Path:
    """The run's folder with so many bytes in it."""
    folder = home.root / "state" / "run" / run
    folder.mkdir(parents=True)
    (folder / "stdout.jsonl").write_bytes(b"x" * size)
    return folder


def transcript(home: Scripted, agent: str, run: str, size: int = 100) -> Path:
    """The CLI's file about the run, with one of a subagent below it."""
    project = home.root / "state" / "claude" / agent / "projects" / "-home"
    below = project / run / "subagents"
    below.mkdir(parents=True)
    (below / "agent-a.jsonl").write_bytes(b"x" * size)
    path = project / f"{run}.jsonl"
    path.write_bytes(b"x" * size)
    return path


def kept(home: Scripted) -> Sequence[str]:
    """The runs that have a folder, whatever else lies there."""
    return sorted(path.name for path in (home.root / "state" / "run").iterdir())
