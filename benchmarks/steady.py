"""Whether `fleet up` stays as it is: memory, descriptors and children of one that works for long.

    python benchmarks/steady.py [--minutes 30]

The growth fleet, its agents played by the stand-in, each due every 20 s. It is no part of `make
bench`, since it takes half an hour; it exits 1 when the runner grew. Linux only (/proc).
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from fleet.demo.stage import stage
from fleet.processes import table
from fleet.wiring import open_fleet

EVERY = 20  # seconds between two slots of an agent
SAMPLE = 10.0  # seconds between two looks
WARM = 5.0  # minutes until caches are full; of a shorter try a third
GROWTH = 1.05  # times the memory after that


class Sample(NamedTuple):
    """The runner at one moment.

    Attributes:
        minute: since it started.
        rss: MiB.
        descriptors: how many it has open.
        threads: how many it has.
        children: how many live.
        zombies: the pids of those that ended and that it has not waited for.
    """

    minute: float
    rss: float
    descriptors: int
    threads: int
    children: int
    zombies: frozenset[int]


class Verdict(NamedTuple):
    """What the samples say; each claim with whether it holds."""

    claims: Sequence[tuple[str, bool]]

    @property
    def well(self) -> bool:
        """Whether all of them hold."""
        return all(holds for _, holds in self.claims)


def home(folder: Path) -> Path:
    """The growth fleet of the demo, every agent due every `EVERY` seconds, one after another."""
    stage(folder, fast=False)
    files = sorted((folder / "agents").glob("*.yaml"))
    for number, file in enumerate(files):
        offset = number * EVERY / len(files)
        schedule = f"schedule: {{every: {EVERY}s, offset: {offset:.1f}s}}"
        text = file.read_text("utf-8")
        file.write_text(re.sub("^schedule:.*$", schedule, text, flags=re.MULTILINE), "utf-8")
    return folder


def sampled(pid: int, minutes: float) -> Iterator[Sample]:
    """The runner every `SAMPLE` seconds for so long."""
    began = time.monotonic()
    while (minute := (time.monotonic() - began) / 60) < minutes:
        yield sample(pid, minute)
        time.sleep(SAMPLE)


def sample(pid: int, minute: float) -> Sample:
    """The process `pid` now; what cannot be read ends the try."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    said = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", status, re.MULTILINE))
    children = [one for one in table().values() if one.parent == pid]
    return Sample(
        minute,
        int(said["VmRSS"]) / 1024,
        len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208 - names are all it takes
        int(said["Threads"]),
        sum(not one.zombie for one in children),
        frozenset(one.pid for one in children if one.zombie),
    )


def judged(samples: Sequence[Sample], warm: float) -> Verdict:
    """Compare the first fifth after `warm` minutes with the last one.

    A run that begins or ends opens and closes a few descriptors: the fewest count. A child that
    just ended is a zombie for a moment: one that is it in two samples is never waited for.
    """
    after = [one for one in samples if one.minute >= warm]
    part = max(1, len(after) // 5)
    first, last = after[:part], after[-part:]
    grew = mean(one.rss for one in last) / mean(one.rss for one in first)
    had, has = (min(one.descriptors for one in some) for some in (first, last))
    stuck = [a.zombies & b.zombies for a, b in pairwise(samples)]
    left = len(frozenset().union(*stuck))
    return Verdict(
        [
            (
                f"memory after minute {warm:g}: {100 * (grew - 1):+.1f} %, at most +5 %",
                grew <= GROWTH,
            ),
            (f"descriptors: {had} and {has}, equal", had == has),
            (f"zombies that stayed: {left}, none", not left),
        ]
    )


def main() -> int:
    """Run it; 0 when the runner stayed as it was."""
    parser = argparse.ArgumentParser(description="Whether fleet up stays as it is.")
    parser.add_argument("--minutes", type=float, default=30.0)
    minutes = parser.parse_args().minutes
    warm = min(WARM, minutes / 3)
    with tempfile.TemporaryDirectory(prefix="steady-") as folder:
        root = home(Path(folder) / "home")
        samples, code = measured(root, minutes)
        runs = open_fleet(root, env={}).runs.list(None, 1_000_000)
    verdict = judged(samples, warm)
    outcomes = Counter(run.outcome for run in runs)
    ended = code == 0 and None not in outcomes
    claims = [*verdict.claims, (f"it ended with {code}, every run has an outcome", ended)]
    print(f"runs: {dict(outcomes)}")
    for claim, holds in claims:
        print(f"{'met   ' if holds else 'MISSED'} {claim}")
    return 0 if verdict.well and ended else 1


def measured(root: Path, minutes: float) -> tuple[list[Sample], int]:
    """The samples of a runner on `root`, and what it exited with when it was told to stop."""
    argv = [sys.executable, "-m", "fleet", "--home", str(root), "up"]
    with (root.parent / "up.log").open("wb") as log:
        runner = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    samples: list[Sample] = []
    print(
        f"{'minute':>6} {'RSS MiB':>8} {'descriptors':>11} {'threads':>7} {'children':>8} zombies"
    )
    try:
        for one in sampled(runner.pid, minutes):
            samples.append(one)
            if len(samples) % 6 == 1:
                shown = f"{one.minute:6.1f} {one.rss:8.1f} {one.descriptors:11} {one.threads:7}"
                print(f"{shown} {one.children:8} {len(one.zombies):7}", flush=True)
    finally:
        runner.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.wait(60)
        runner.kill()
    return samples, runner.wait()


if __name__ == "__main__":
    sys.exit(main())
