"""What stands in a run's folder, as hashes: its record keeps them, so that a change is noticed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

TOLD = ("context.md", "prompt.md")  # what the agent was told, and what it was to do
MADE = (*TOLD, "settings.json", "manifest.json")  # before the run starts
LEFT = ("stdout.jsonl", "stderr.log", "reads.jsonl", "exit.json")  # when it has ended


def hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file of `folder` that is there, 64 hex digits, by name."""
    found: dict[str, str] = {}
    for name in names:
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
