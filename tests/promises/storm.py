"""Writers under random `kill -9`, and what they said before they died."""

import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Self

from fleet.records import Record

TESTS = Path(__file__).parent.parent


def without_holes(records: Sequence[Record]) -> bool:
    """Whether numbers follow each other from 1, but for those that a `gap` record leaves out."""
    numbers = [0, *(record.seq for record in records)]
    return all(
        number == before + 1 or (number > before and record.body["op"] == "gap")
        for before, number, record in zip(numbers, numbers[1:], records, strict=False)
    )


class Nursery:
    """Writers on one home, forked by a process of their own; gone when the block ends."""

    def __init__(self, home: Path, out: Path) -> None:
        self._out = out
        self._alive: list[int] = []
        self._count = 0
        self.kills = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "promises.nursery", str(home), str(out)],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._process.communicate(timeout=60)

    def start(self, verb: str, count: int = 1) -> None:
        """So many more writers."""
        for _ in range(count):
            self._count += 1
            self._alive.append(self._ask(f"start {verb} {self._count}"))

    def storm(self, verb: str, *, writers: int, kills: int, life: float, seed: int) -> None:
        """Always `writers` of them, one after the other killed and replaced; at last all killed.

        `life` is how many seconds each lives on average.
        """
        rng = random.Random(seed)
        self.start(verb, writers)
        for _ in range(kills - writers):
            time.sleep(rng.random() * 2 * life / writers)
            self._kill(self._alive.pop(rng.randrange(writers)))
            self.start(verb)
        self.end()

    def end(self) -> None:
        """Kill all of them."""
        while self._alive:
            self._kill(self._alive.pop())

    def bury(self) -> None:
        """Kill those that a power cut has left."""
        while self._alive:
            self._ask(f"kill {self._alive.pop()}")

    def said(self) -> list[list[str]]:
        """The words of each whole line that a writer has said."""
        texts = [path.read_text() for path in self._out.parent.glob(f"{self._out.name}.*")]
        lines = [line for text in texts for line in text.splitlines(keepends=True)]
        return [line.split() for line in lines if line.endswith("\n")]

    def _kill(self, pid: int) -> None:
        ended = self._ask(f"kill {pid}")
        assert ended == -SIGKILL, f"a writer ended by itself: {ended}"
        self.kills += 1

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        return int(self._process.stdout.readline())
