"""The facts about processes are true also for odd names, zombies and reused numbers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet import processes
from keeper.kept import until

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries a run's id."""
    process = subprocess.Popen(SLEEP, env={"FLEET_RUN_ID": "run-1", "OTHER": "FLEET_RUN_ID=run-2"})
    yield process
    process.kill()
    process.wait()


def test_a_run_is_found_by_its_whole_id(sleeper: subprocess.Popen[bytes]) -> None:
    """Neither a longer id, nor the same text in another variable, is the run's mark."""
    assert until(lambda: processes.with_run_id("run-1") == {sleeper.pid})
    assert processes.with_run_id("run-") == set()
    assert processes.with_run_id("run-2") == set()


def test_neither_oneself_nor_an_ancestor_is_found() -> None:
    """A process that asks from inside a run finds the others of it, not itself or its parents."""
    ask = "from fleet import processes; print(processes.with_run_id('run-9'))"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ask!r}], check=True)"

    done = subprocess.run(
        [sys.executable, "-c", inner],
        env={**os.environ, "FLEET_RUN_ID": "run-9"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "set()\n"


def test_a_zombie_is_not_alive(sleeper: subprocess.Popen[bytes]) -> None:
    """A process that ended and was not waited for is no living one and nobody's descendant."""
    start = processes.start_time(sleeper.pid)
    assert processes.is_alive(sleeper.pid, start, processes.boot_id())
    assert sleeper.pid in processes.descendants(os.getpid())

    sleeper.kill()

    assert until(lambda: not processes.is_alive(sleeper.pid, start, processes.boot_id()))
    assert sleeper.pid not in processes.descendants(os.getpid())
    assert processes.start_time(sleeper.pid) == start


def test_a_signal_goes_to_that_process_or_to_none(sleeper: subprocess.Popen[bytes]) -> None:
    """With another start time or boot the number names somebody else, who is left alone."""
    start, boot = processes.start_time(sleeper.pid), processes.boot_id()
    assert start is not None

    assert not processes.send(sleeper.pid, start + 1, boot, 9)
    assert not processes.send(sleeper.pid, start, "other", 9)
    assert not processes.send(0, None, boot, 9)
    assert sleeper.poll() is None
    assert processes.send(sleeper.pid, start, boot, 9)
    assert sleeper.wait() == -9


def test_a_name_with_parentheses_and_spaces_is_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A process may call itself `) 1 2 (` and the facts about it stay right."""
    program = tmp_path_factory.mktemp("odd") / ") Z 1 (x"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        found = processes.find(process.pid)
        assert found is not None
        assert (found.parent, found.zombie) == (os.getpid(), False)
    finally:
        process.kill()
        process.wait()


def test_a_process_without_its_first_thread_is_alive() -> None:
    """One whose other threads work on is no zombie, whatever its state letter says."""
    program = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        assert until(lambda: b") Z " in Path(f"/proc/{process.pid}/stat").read_bytes())
        start = processes.start_time(process.pid)
        assert processes.is_alive(process.pid, start, processes.boot_id())
    finally:
        process.kill()
        process.wait()


def test_the_dead_have_no_facts() -> None:
    """A number that no process has gives None, False and empty sets, never an error."""
    process = subprocess.Popen(["true"])
    process.wait()

    assert processes.find(process.pid) is None
    assert processes.start_time(process.pid) is None
    assert not processes.is_alive(process.pid, None, processes.boot_id())
    assert processes.descendants(process.pid) == set()
    assert processes.ancestors(process.pid) == set()


def test_killing_goes_on_until_nothing_is_found() -> None:
    """What is born between two rounds is killed as well, and all that was killed is named."""
    started = [subprocess.Popen(SLEEP)]

    def found() -> set[int]:
        if len(started) < 4 and started[-1].poll() is not None:
            started.append(subprocess.Popen(SLEEP))
        return {process.pid for process in started if process.poll() is None}

    killed, left = processes.kill_all(found, within=20)

    assert killed == {process.pid for process in started}
    assert len(started) == 4
    assert left == set()
    assert [process.wait() for process in started] == [-9] * 4


def test_killing_gives_up_in_time() -> None:
    """What will not go is returned after the time that was given."""
    pid = subprocess.Popen(SLEEP)
    try:
        _, left = processes.kill_all(lambda: {pid.pid}, within=0.1)
        assert left == {pid.pid}
    finally:
        pid.wait()


def test_who_is_noted_is_ended_only_if_it_is_the_same_still(
    sleeper: subprocess.Popen[bytes],
) -> None:
    """Another start time, another boot, or anything that is no note names nobody."""
    start, boot = processes.start_time(sleeper.pid), processes.boot_id()
    assert start is not None

    assert processes.still({"boot": boot, "processes": [[sleeper.pid, start]]}) == {sleeper.pid}
    assert processes.still({"boot": boot, "processes": [[sleeper.pid, start + 1]]}) == set()
    assert processes.still({"boot": "another", "processes": [[sleeper.pid, start]]}) == set()
    me = os.getpid(), os.getppid()
    own = [[one, processes.start_time(one)] for one in me]
    assert not processes.still({"boot": boot, "processes": own}) & set(me)
    for odd in (None, [], {"boot": boot}, {"boot": boot, "processes": [sleeper.pid, [], "x", {}]}):
        assert processes.still(odd) == set()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere none is noted")
def test_descendants_without_the_mark_are_found_at_any_depth() -> None:
    """A child of a child with an empty environment is found, one that carries the mark is not."""
    inner = "env -i sleep 60 & FLEET_RUN_ID=run-7 sleep 60 & echo $!; wait"
    child = subprocess.Popen(
        ["/bin/sh", "-c", f"/bin/sh -c '{inner}'; true"],
        env={"FLEET_RUN_ID": "run-7", "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        marked = int((child.stdout or sys.stdin).readline())
        found = lambda: [  # noqa: E731 - asked again until the shell has become `sleep`
            one for one in processes.unmarked(os.getpid(), "run-7") if one.group == child.pid
        ]
        assert until(lambda: len(found()) == 1)
        assert marked not in {one.pid for one in found()}
        (bare,) = found()
        assert Path(f"/proc/{bare.pid}/cmdline").read_bytes() == b"sleep\x0060\0"
    finally:
        os.killpg(child.pid, 9)
        child.communicate()
