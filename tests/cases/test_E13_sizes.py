"""Records, lines and folders that are too large."""

import subprocess
import sys
from pathlib import Path

import pytest

from calls import call, many
from fleet.runner.launchers.shape import OUTPUT_CAP
from fleets import Scripted
from lived import kept, lived

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


def test_the_files_of_runs_stay_within_their_limits(scripted: Scripted) -> None:
    """E13: of 1,000 runs the newest are kept, within each limit, failed ones for twice the time.

    Each is of 2 KiB, one ended well each hour and one badly each day. No record goes.
    """
    scripted.agent("worker", "true")
    hours = {run: ago for ago, run in _runs(scripted, "worker", 990, "ok", 1 / 24)}
    days = {run: 24 * ago / 2 for ago, run in _runs(scripted, "second", 10, "crashed", 1)}
    by_age = sorted(hours | days, key=(hours | days).__getitem__)

    for said, left in (("runs: 7d", 178), ("run_bytes: 256KiB", 128), ("run_count: 100", 100)):
        scripted.put("fleet.yaml", f"name: test\nretention: {{{said}}}\n")
        assert scripted.call("trim", "--keep", "999d").returncode == 0
        assert kept(scripted) == sorted(by_age[:left])
    assert len(scripted.runs()) == 1000


def _runs(
    home: Scripted, agent: str, count: int, outcome: str, apart: float
) -> list[tuple[float, str]]:
    """So many runs so many days apart, with how many times that ago each began."""
    ago = [n - 0.1 for n in range(count, 0, -1)]
    runs = lived(home, agent, [n * apart for n in ago], outcome, size=2048)
    return list(zip(ago, runs, strict=True))


def test_a_line_of_70_mb_is_cut(scripted: Scripted) -> None:
    """E13: a run whose output is one line of 70 MB leaves no more than the cap, in 200 MB."""
    scripted.agent("worker", "cat > /dev/null; head -c 70000000 /dev/zero | tr '\\0' x")

    _, megabytes, _ = _measured(scripted.root, "run", "worker")
    _, for_logs, shown = _measured(scripted.root, "logs", "worker")

    (run,) = scripted.runs()
    folder = scripted.root / "state" / "run" / run.id
    assert sum(path.stat().st_size for path in folder.iterdir()) < OUTPUT_CAP + 65_536
    assert max(megabytes, for_logs) < LIMIT_MB
    assert "xxxx" in shown


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
