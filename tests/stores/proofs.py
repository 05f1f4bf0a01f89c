"""What several proofs of this folder share."""

import subprocess  # noqa: TC003 - a type alias is read at run time
from collections.abc import Callable
from pathlib import Path

Worker = Callable[..., "subprocess.Popen[str]"]
FIRST = "00000000000000000001.jsonl"


def segment(state: Path, stream: str = "events") -> Path:
    """The first segment of `stream`."""
    return state / stream / FIRST


def printed(process: "subprocess.Popen[str]") -> list[list[str]]:
    """The words of the whole lines that a worker printed until its end."""
    assert process.stdout is not None
    # Not `communicate`: with a timeout it passes by what an earlier `readline` has buffered.
    text = process.stdout.read()
    process.wait(60)
    return [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]


def forget_mark(state: Path, stream: str = "events") -> None:
    """As if no writer had come to note how far `stream` is: a killed one leaves a tail so."""
    (state / "locks" / f"log.{stream}").write_bytes(b"")
