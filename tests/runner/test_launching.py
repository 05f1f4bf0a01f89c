"""Between its record and its keeper a run belongs to whoever launches it."""

import os
import subprocess
import sys
import textwrap

import pytest

from fleet.runner import by_hand, launch, settle
from fleets import Scripted


def test_a_run_that_is_being_launched_is_not_taken_for_dead(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that looks for dead runs at that moment leaves it alone, and it ends well."""
    scripted.agent("worker", "echo done")
    spawn = launch._spawn
    seen: list[str] = []

    def looked_at(*argv: object) -> object:
        seen.extend(run.id for run in settle.reconcile(scripted.fleet))
        return spawn(*argv)  # type: ignore[arg-type]

    monkeypatch.setattr(launch, "_spawn", looked_at)

    run = by_hand.run_by_hand(scripted.fleet, "worker")

    assert (run.outcome, seen) == ("ok", [run.id])


def test_a_run_whose_launcher_died_is_settled_at_once(scripted: Scripted) -> None:
    """A launcher that dies between record and keeper leaves a run that the next one settles."""
    scripted.agent("worker", "echo done")
    dies = """
        import os, sys
        from pathlib import Path
        from fleet.runner import by_hand, launch
        from fleet.wiring import open_fleet
        launch._spawn = lambda *_: os._exit(9)
        by_hand.run_by_hand(open_fleet(Path(sys.argv[1]), env={}), "worker")
    """
    argv = [sys.executable, "-c", textwrap.dedent(dies), str(scripted.root)]
    assert subprocess.run(argv, env=os.environ, check=False, timeout=30).returncode == 9

    assert settle.reconcile(scripted.fleet) == []

    (run,) = scripted.runs()
    assert (run.outcome, run.reason) == ("killed", "the runner ended before it was launched")
    assert scripted.call("run", "worker").returncode == 0
