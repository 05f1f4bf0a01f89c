"""How time, CPU and memory are taken; always in turn with the peer, so that noise meets both."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def cpu_of(argv: Sequence[str], env: Mapping[str, str], stdin: bytes = b"") -> float:
    """Seconds of CPU, user and system, that one call of `argv` took; it must exit with 0."""
    process = subprocess.Popen(
        argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(stdin)
    process.stdin.close()
    said = process.stderr.read()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{argv[:4]} exited with {process.returncode}: {said.decode()}")
    return used.ru_utime + used.ru_stime


def alternately(
    calls: Sequence[Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """The median seconds of each of `calls`, made in turn `rounds` times after one unmeasured.

    By `clock`: CPU of this process, which a busy machine distorts least; or `time.perf_counter`
    where waiting for the disk is what counts.
    """
    taken: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, times in zip(calls, taken, strict=True):
            begin = clock()
            call()
            if turn:
                times.append(clock() - begin)
    return [statistics.median(times) for times in taken]


def start(module: str, *words: str) -> "subprocess.Popen[bytes]":
    """Begin `module` of this folder in a process of its own; `answer` takes what it prints."""
    argv = [sys.executable, str(HERE / f"{module}.py"), *words]
    return subprocess.Popen(argv, stdout=subprocess.PIPE)


def answer(process: "subprocess.Popen[bytes]") -> Any:
    """The JSON value that a process from `start` printed."""
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args!r} exited with {process.returncode}")
    return json.loads(said)


def in_child(module: str, *words: str) -> Any:
    """What `module` of this folder prints in a process of its own, from JSON."""
    return answer(start(module, *words))


def peak_rss() -> int:
    """The most bytes this process has had in memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of `values` do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
