"""Watches for another version of the CLI: who asks it, which run goes first, what that run shows.

A version that is not the accepted one is probed once, then agents of the CLI start one at a time
until a run has shown that it works. Asking and probing is done by this module as a program of its
own, `python -I -m fleet.runner.cliwatch HOME`, which the runner starts and does not wait for.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from fleet.alerts import raise_alert
from fleet.errors import Conflict
from fleet.ops import claude_cli
from fleet.ops.claude_cli import KNOWN, Known, known_of
from fleet.ports import Store
from fleet.records import Body, rfc3339, wall_of
from fleet.runner.errand import Errand
from fleet.runner.launchers import claude, environment
from fleet.runs import Run
from fleet.units import counted
from fleet.wiring import Fleet, open_fleet

EVERY = 2.0  # seconds between two looks at the CLI's file
AGAIN = 60.0  # seconds until it is asked again when who was to ask came to nothing
LIMIT = 120.0  # seconds for asking and probing, more than both may take
UNANSWERED = 600.0  # the same when the CLI did not say its version
HELD = timedelta(minutes=10)  # from the end of a run that showed that the CLI does not work
FIX = "fleet doctor --claude probes it; to go back name the older program in claude: path"

WORKS = frozenset(
    {
        *("ok", "ok_with_denials", "incomplete", "empty", "max_turns", "budget", "timeout"),
        "prompt_too_long",
    }
)
"""Outcomes of a CLI that does its part, whatever its agent did."""
BROKEN = frozenset({"config", "launch_failed", "crashed", "stalled"})
"""Outcomes that may be the CLI's own fault; the others say nothing about it."""


class Canary(NamedTuple):
    """What a new version of the CLI asks of those who launch its agents.

    Attributes:
        why: "" or one line why its agents start one at a time.
        free: whether one of them may start now.
    """

    why: str = ""
    free: bool = True


def canary_of(fleet: Fleet) -> Canary:
    """Whether agents of the CLI have to let one run go first, as things stand."""
    one = claude_cli.known(fleet.store)
    if one is None:
        return Canary()
    # Not where this process finds it: whoever asks at a terminal may have another PATH.
    if fleet.config.claude.path != one.name or claude_cli.stamp(one.path) not in {one.stamp, ""}:
        return Canary("the CLI is another file now, it is asked for its version", free=False)
    if not one.is_new:
        return Canary()
    called = _called(one)
    if not one.probed:
        return Canary(f"{called} is probed before its first run", free=False)
    if one.held and fleet.store.now().wall < wall_of(one.held):
        when = _local(fleet, one.held)
        return Canary(f"a run of {called} failed, the next one starts at {when}", free=False)
    free = not any(_is_its(fleet, one, run) for run in fleet.runs.open())
    return Canary(f"{called} is new, agents worked with {one.accepted}: one run first", free=free)


def _is_its(fleet: Fleet, one: Known, run: Run) -> bool:
    """Whether the open `run` was started with the version that has to show that it works."""
    agent = fleet.config.agents.get(run.agent)
    claudes = agent is not None and agent.launch == "claude"
    return claudes and run.started >= one.at


def after(fleet: Fleet, run: Run) -> None:
    """Take from an ended run what it shows about a new version of the CLI; repeatable, by anybody.

    A run that works makes its version the accepted one. One that does not holds the others back
    for a while, and a person is told.
    """
    one = claude_cli.known(fleet.store) if run.cli is not None else None
    if one is None or not one.is_new or run.cli != one.version or run.ended is None:
        return
    if run.outcome in WORKS:
        _change(fleet.store, lambda body: _accepted(body, one.version))
    elif run.outcome in BROKEN and (until := _held_until(run)) > one.held:
        _change(fleet.store, lambda body: body | {"held": until})
        raise_alert(
            fleet.store,
            kind="cli-broken",
            subject=run.agent,
            what=f"the first run of {_called(one)} ended badly: {run.outcome}, {run.reason}",
            done=f"agents of the CLI wait, the next one starts at {_local(fleet, until)}",
            fix=FIX,
            key=f"cli-broken/{run.id}",
        )


def _accepted(body: Body, version: str) -> Body:
    return body | {"accepted": version, "held": ""} if body.get("version") == version else body


def _held_until(run: Run) -> str:
    return rfc3339((datetime.fromisoformat(str(run.ended)) + HELD).timestamp())


def learn(fleet: Fleet, *, again: bool = False) -> Known | None:
    """Ask the CLI for its version if its file is another one than before, and note what it says.

    A version that is not the accepted one is told to a person, once. Takes up to
    `claude_cli.ANSWER` seconds; None where there is no CLI and never was.

    Args:
        fleet: the home.
        again: ask also one that did not answer before.
    """
    program = claude.program(fleet.config, fleet.env)
    one, file = claude_cli.known(fleet.store), claude_cli.stamp(program)
    seen = {"name": fleet.config.claude.path, "path": program, "stamp": file}
    if file and (not _is_known(one, seen) or (again and one is not None and not one.version)):
        version = claude_cli.ask(program, environment.allowed(fleet.env)).version
        at = rfc3339(fleet.store.now().wall)
        told = seen | {"version": version}
        one = known_of(_change(fleet.store, lambda body: _learned(body, told, at)))
    if one and one.is_new:
        raise_alert(
            fleet.store,
            kind="cli-changed",
            subject="claude",
            what=f"{one.path} is {_called(one)} now, agents worked with {one.accepted}",
            done="it is probed, then one agent's run goes first and the others wait for its end",
            fix=FIX,
            key=f"cli-changed/{one.at}",
        )
    return one


def _is_known(one: Known | None, seen: dict[str, str]) -> bool:
    return one is not None and {"name": one.name, "path": one.path, "stamp": one.stamp} == seen


def learn_by_hand(fleet: Fleet) -> None:
    """`learn`, before a person's run; another program than the runner's is the person's affair."""
    one = claude_cli.known(fleet.store)
    if one is None or one.path == claude.program(fleet.config, fleet.env):
        learn(fleet)


def _learned(body: Body, seen: dict[str, str], at: str) -> Body:
    """The document after the CLI was asked; the first version that there ever was is accepted."""
    before = known_of(body) if body else None
    if before and before.version == seen["version"]:
        return body | seen
    accepted = (before.accepted if before else "") or seen["version"]
    return {**seen, "at": at, "accepted": accepted, "probed": False, "held": ""}


def _change(store: Store, step: Callable[[Body], Body]) -> Body:
    """Replace the document by what `step` makes of it; returns that."""
    while True:
        body, version = store.get(KNOWN)
        fresh = step(body or {})
        if fresh == body:
            return fresh
        with suppress(Conflict):
            store.put(KNOWN, fresh, expect=version)
            return fresh


def _called(one: Known) -> str:
    return f"claude {one.version}" if one.version else "a claude that does not say its version"


def _local(fleet: Fleet, at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone(ZoneInfo(fleet.config.timezone)):%H:%M}"


class CliWatch:
    """The chore: when the CLI's file is another one, or has to be probed, starts who does that.

    What keeps that from being done goes to `echo`, a line each time.
    """

    def __init__(self, echo: Callable[[str], None]) -> None:
        self._echo = echo
        self._asking: Errand | None = None
        self._next = 0.0

    def look(self, fleet: Fleet, _now: datetime) -> None:
        """Begin to ask or to probe if there is something to; call it as often as you like."""
        if self._asking is not None:
            if not self._asking.over():
                return
            self._next = time.monotonic() + self._pause(fleet, self._asking.fault)
            self._asking = None
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        if _is_due(fleet):
            words = (sys.executable, "-I", "-m", "fleet.runner.cliwatch", str(fleet.root))
            self._asking = Errand(fleet, words, LIMIT)

    def close(self, _fleet: Fleet) -> None:
        """The runner ends: probes are broken off, and nothing of them is left."""
        if self._asking is not None:
            self._asking.terminate()
            self._asking.close()

    def _pause(self, fleet: Fleet, fault: str) -> float:
        if fault:
            self._echo(f"the CLI could not be asked for its version: {fault}")
            return AGAIN
        one = claude_cli.known(fleet.store)
        return EVERY if one and one.version else UNANSWERED


def _is_due(fleet: Fleet) -> bool:
    agents = fleet.config.agents.values()
    if not any(agent.enabled and agent.launch == "claude" for agent in agents):
        return False
    program = claude.program(fleet.config, fleet.env)
    file, one = claude_cli.stamp(program), claude_cli.known(fleet.store)
    if not file:
        return False
    seen = {"name": fleet.config.claude.path, "path": program, "stamp": file}
    return not _is_known(one, seen) or (one is not None and (not one.version or _is_unprobed(one)))


def _is_unprobed(one: Known) -> bool:
    return one.is_new and not one.probed


def main(argv: list[str]) -> None:
    """Ask the CLI of the home in `argv`, and probe a version that is new; SIGTERM breaks it off."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    fleet = open_fleet(Path(argv[0]), env=os.environ)
    one = learn(fleet, again=True)
    if one and _is_unprobed(one):
        _probe(fleet, one)


def _probe(fleet: Fleet, one: Known) -> None:
    """Probe it, tell a person what failed, and let its first run go."""
    from fleet.runner.probes import probe

    failed = [found.what for found in probe(fleet.config, fleet.env) if found.severity == "error"]
    if failed:
        raise_alert(
            fleet.store,
            kind="cli-probes",
            subject="claude",
            what=f"{counted(len(failed), 'probe')} of {_called(one)} failed: {failed[0]}",
            done="one agent's run goes first all the same, the others wait for its end",
            fix=FIX,
            key=f"cli-probes/{one.at}",
        )
    _change(
        fleet.store,
        lambda body: body | {"probed": True} if body.get("at") == one.at else body,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
