"""What `fleet up` takes while nothing is due."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import homes
from table import Row

STARTED, SECONDS = 3.0, 30.0
MEMORY, CPU = 120, 1.0  # MiB, per cent of one core


def rows(folder: Path) -> Iterator[Row]:
    """The growth home with every schedule a year away."""
    fleet = homes.growth(folder / "idle")
    for file in (fleet.root / "agents").glob("*.yaml"):
        lines = file.read_text("utf-8").splitlines()
        kept = [line for line in lines if not line.startswith("schedule:")]
        file.write_text("\n".join([*kept, 'schedule: "0 0 29 2 *"', ""]), "utf-8")
    argv = [sys.executable, "-m", "fleet", "--home", str(fleet.root), "up"]
    runner = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        _wait_for_greeting(runner)
        time.sleep(STARTED)
        before = _cpu(runner.pid)
        time.sleep(SECONDS)
        share = 100 * (_cpu(runner.pid) - before) / SECONDS
        memory = _rss(runner.pid) / (1 << 20)
    finally:
        runner.terminate()
        runner.communicate(timeout=30)
    agents = len(fleet.config.agents)
    what = f"fleet up, {agents} idle agents"
    yield Row(f"{what}: RSS", f"{memory:.0f} MiB", "", None, f"<= {MEMORY}", memory)
    yield Row(f"{what}: CPU", f"{share:.2f} % of a core", "", None, f"<= {CPU:g}", share)


def _wait_for_greeting(runner: "subprocess.Popen[bytes]") -> None:
    assert runner.stdout is not None
    said = runner.stdout.readline()
    if not said.startswith(b"up: "):
        raise RuntimeError(f"fleet up did not start: {said.decode()}")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])
