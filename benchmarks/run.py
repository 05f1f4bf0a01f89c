"""`make bench`: one table of fleet beside its peers, each ratio from numbers of this very call.

A script, no test: it asserts nothing about time and exits 0 whatever it finds. With words it
prints only the groups that they name.
"""

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import appending
import cold
import contexts
import digests
import engine
import idle
import memories
import reading
import statuses
from table import Row, print_head, print_row

import audit

GROUPS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "cold": cold.rows,
    "append": appending.rows,
    "digest": digests.rows,
    "idle": idle.rows,
    "engine": engine.rows,
    "read": reading.rows,
    "context": contexts.rows,
    "audit": audit.rows,
    "memory": memories.rows,
    "status": statuses.rows,
}


def main(words: list[str]) -> None:
    unknown = [word for word in words if word not in GROUPS]
    if unknown:
        sys.exit(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}")
    begin = time.monotonic()
    print(f"{_machine()}; load {_load()}", flush=True)
    print_head(_say)
    folder = Path(tempfile.mkdtemp(prefix="fleet-bench-"))
    try:
        for name in words or GROUPS:
            for row in GROUPS[name](folder):
                print_row(_say, row)
    finally:
        shutil.rmtree(folder)
    print(f"{time.monotonic() - begin:.0f} s; load {_load()}")


def _say(line: str) -> None:
    print(line, flush=True)


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


if __name__ == "__main__":
    main(sys.argv[1:])
