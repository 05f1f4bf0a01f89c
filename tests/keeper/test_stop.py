"""Stop means stopped: nothing that a run started outlives it, however it went away."""

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable

import pytest

from fleet import processes
from keeper.kept import STUBBORN, Kept, escapee, kill, until

Keep = Callable[..., Kept]


def test_told_to_stop_everything_is_gone_in_time(keep: Keep) -> None:
    """A command, a child and an escaped grandchild that ignore signals: gone in grace + 2 s."""
    stubborn = STUBBORN.format(name="child")
    kept = keep(
        f"{escapee('escaped')} sh -c {shlex.quote(stubborn)} & {STUBBORN.format(name='command')}",
        grace=1.5,
    )
    for name in ("escaped", "child", "command"):
        kept.wait_for(name)
    assert len(kept.left()) >= 3

    began = time.monotonic()
    kept.process.terminate()
    said = kept.exit()

    assert time.monotonic() - began < 1.5 + 2
    assert kept.left() == set()
    assert (said["ended_by"], said["reason"]) == ("stopped", "its keeper got SIGTERM")
    assert said["signal"] == signal.SIGKILL


def test_the_ladder_is_int_term_kill(keep: Keep) -> None:
    """The command hears INT first, TERM after a third of the grace period, and may still leave."""
    script = (
        "trap 'echo INT' INT; trap 'echo TERM; exit 7' TERM; touch up; while :; do sleep 0.1; done"
    )
    kept = keep(script, grace=6)
    kept.wait_for("up")

    began = time.monotonic()
    kept.process.send_signal(signal.SIGINT)
    said = kept.exit()

    assert kept.out() == "INT\nTERM\n"
    assert (said["ended_by"], said["returncode"], said["signal"]) == ("stopped", 7, None)
    assert 2 <= time.monotonic() - began < 4


def test_who_leaves_at_once_is_not_waited_for(keep: Keep) -> None:
    """A command that ends at INT ends the stop, whatever the grace period."""
    kept = keep("trap 'exit 0' INT; touch up; while :; do sleep 0.05; done", grace=60)
    kept.wait_for("up")

    kept.process.terminate()

    assert kept.exit(5)["returncode"] == 0


def test_leftovers_of_a_normal_end_are_swept(keep: Keep) -> None:
    """A process that escaped its session and ignores signals does not outlive exit 0."""
    kept = keep(escapee("escaped") + "echo done")

    said = kept.exit()

    assert (said["ended_by"], said["returncode"], kept.out()) == ("exit", 0, "done\n")
    assert said["swept"] >= 1
    assert kept.left() == set()


def test_what_dropped_the_mark_is_found_by_descent(keep: Keep) -> None:
    """A daemon with an empty environment falls to the keeper as its child, and is swept."""
    kept = keep(escapee("pid", environ="env -i"))

    said = kept.exit()

    pid = int((kept.folder / "cwd" / "pid").read_text())
    assert processes.find(pid) is None
    assert said["swept"] >= 1


def test_a_keeper_that_dies_takes_its_command_along(keep: Keep) -> None:
    """`kill -9` of the keeper ends the command at once; what escaped is found by its mark."""
    kept = keep(f"{escapee('escaped')} {STUBBORN.format(name='command')}")
    kept.wait_for("escaped")
    kept.wait_for("command")
    said = kept.alive()

    kill(said["pid"])
    kept.process.wait()

    boot = said["boot"]
    assert until(lambda: not processes.is_alive(said["child_pid"], said["child_start"], boot), 2)
    assert kept.left()
    _, left = processes.kill_all(lambda: processes.with_run_id(kept.run), within=5)
    assert (left, kept.left()) == (set(), set())
    assert not (kept.folder / "exit.json").exists()


def test_a_closed_terminal_does_not_end_a_run(keep: Keep) -> None:
    """SIGHUP reaches neither the keeper's work nor, by inheritance, the command's own handling."""
    kept = keep("touch up; until test -e go; do sleep 0.05; done; kill -HUP $$")
    kept.wait_for("up")

    kept.process.send_signal(signal.SIGHUP)
    (kept.folder / "cwd" / "go").touch()
    said = kept.exit()

    assert (said["ended_by"], said["signal"]) == ("exit", signal.SIGHUP)


def test_the_command_runs_in_a_session_of_its_own(keep: Keep) -> None:
    """A signal to the keeper's group does not reach the command."""
    kept = keep("touch up; exec sleep 60")
    kept.wait_for("up")
    said = kept.alive()

    assert os.getsid(said["pid"]) == said["pid"]
    assert os.getsid(said["child_pid"]) == said["child_pid"]


@pytest.mark.parametrize("pause", [0.03, 0.06, 0.09, 0.12, 0.2])
def test_a_stop_during_the_start_leaves_nothing(keep: Keep, pause: float) -> None:
    """A stop that comes at any moment of the start leaves no process of the run."""
    kept = keep("exec sleep 60")
    time.sleep(pause)  # the moment is what is tried, not a condition

    kept.process.terminate()
    kept.process.communicate(timeout=10)

    assert kept.left() == set()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_its_launcher_held_back_is_heard(keep: Keep, sig: signal.Signals) -> None:
    """Sent to a keeper that cannot listen yet, a blocked stop ends the run with exit.json."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [sig])
    try:
        kept = keep("exec sleep 60")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)

    kept.process.send_signal(sig)

    assert kept.exit()["ended_by"] == "stopped"
    assert kept.left() == set()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_after_the_result_is_a_success(keep: Keep, sig: int) -> None:
    """What gave its result has done its work: a stop that comes then says `after_result`."""
    kept = keep('echo \'{"type": "result"}\'; touch up; exec sleep 60', format="claude")
    kept.wait_for("up")

    kept.process.send_signal(sig)

    assert kept.exit()["ended_by"] == "after_result"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere none is noted")
def test_who_dropped_the_mark_is_noted_for_those_after_a_killed_keeper(keep: Keep) -> None:
    """What escaped by `setsid env -i` stands in `escaped.json` while it lives, and only then."""
    kept = keep(escapee("pid", environ="env -i") + "touch up; exec sleep 60")
    kept.wait_for("up")
    pid = int((kept.folder / "cwd" / "pid").read_text())
    note = kept.folder / "escaped.json"
    assert until(lambda: note.exists() and pid in processes.still(json.loads(note.read_bytes())))
    written = note.stat().st_mtime_ns
    assert kept.left(), "the command carries the mark"
    assert not kept.left() & {one for one, _ in json.loads(note.read_bytes())["processes"]}

    kill(kept.process.pid)
    kept.process.wait()

    assert until(lambda: kept.left() == set())
    assert note.stat().st_mtime_ns == written
    killed, left = processes.kill_all(
        lambda: processes.still(json.loads(note.read_bytes())), within=5
    )
    assert (pid in killed, left) == (True, set())
