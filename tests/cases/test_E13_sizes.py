"""Records and lines that are too large."""

import subprocess
import sys
from pathlib import Path

import pytest

from calls import call, many
from fleets import Scripted

LIMIT_MB = 200
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], check=False).returncode
print(f":{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
sys.exit(code)
"""
"""Begins small: what a process had at most counts what its parent had when it started it."""


@pytest.mark.parametrize("kib", [63, 64, 65, 1024])
def test_a_payload_over_the_cap_is_refused(scripted: Scripted, kib: int) -> None:
    """E13: a record of more than 64 KiB is refused by every door with exit 3, and the cap named."""
    scripted.agent("worker", "true")
    text = "x" * (kib * 1024)
    (scripted.root / "big.md").write_text(text)
    data = f'{{"n": "{text}"}}'

    emitted, field, posted, filed = many(
        scripted.root,
        [
            call("emit", "note", "--data", "-", stdin=data),
            call("emit", "note", "--data", "@big.md"),
            call("post", "strategy", "-", stdin=text),
            call("post", "strategy", "--file", "big.md"),
        ],
        {"FLEET_HOME": str(scripted.root)},
    )

    assert emitted.code == (0 if kib < 64 else 3), emitted
    assert (field.code, posted.code, filed.code) == (3, 3, 3)
    assert all("KiB" in done.err or "bytes" in done.err for done in (posted, filed))
    logs = list((scripted.root / "state").rglob("0*.jsonl"))
    assert sum(path.stat().st_size for path in logs) <= 64 * 1024


def test_a_huge_line_in_the_log_costs_no_memory(scripted: Scripted) -> None:
    """E13: with a line of 50 MB in the log every command reads, writes and verifies in 200 MB."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    assert scripted.call("emit", "note", "n=before").returncode == 0
    (path,) = (scripted.root / "state" / "events").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"x": "' + b"x" * (50 << 20) + b'"}\n')

    for argv, wanted in [
        (("emit", "note", "n=after"), 0),
        (("events",), 0),
        (("context", "worker"), 0),
        (("status",), 0),
        (("run", "worker"), 0),
        (("verify",), 8),
        (("doctor",), 0),
    ]:
        code, megabytes, out = _measured(scripted.root, *argv)
        assert (code, megabytes < LIMIT_MB) == (wanted, True), (argv, code, megabytes)
        if argv[0] == "events":
            assert ("before" in out, "after" in out) == (True, True)

    (run,) = scripted.runs()
    assert run.delivered == ("events#1", "events#3")


def _measured(root: Path, *argv: str) -> tuple[int, int, str]:
    """Exit code, most memory in MB, and output of one command."""
    command = [sys.executable, "-m", "fleet", "--home", str(root), *argv]
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    out, _, kib = done.stdout.rpartition(":")
    return done.returncode, int(kib) // 1024, out
