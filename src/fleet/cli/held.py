"""`fleet claim KEY -- CMD`: a command that runs while its claim is held, and no longer."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.cli.output import say_error
from fleet.cli.session import Session
from fleet.errors import FleetError, NotAllowed, Usage

if TYPE_CHECKING:
    from fleet.claims import Claim

DEFAULT_TTL = 1800.0  # seconds
RENEWALS = 3  # within one ttl: two may fail
NOT_FOUND = 127


def allowed(session: Session, command: Sequence[str]) -> list[str]:
    """The argv to execute: as typed for a person, as `may_run` says it for a run.

    Raises:
        NotAllowed: the agent's file does not list it, or it is a shadow run's.
        Usage: there is no such program.
    """
    fleet = session.fleet
    agent = fleet.config.agents.get(fleet.author.name)
    if fleet.author.run is None or agent is None:
        return _found(command, Path.cwd())
    if fleet.author.shadow:
        raise NotAllowed(
            f"{agent.id} is in shadow mode and may not run {command[0]}",
            "say in your report what you would have run",
        )
    for entry in agent.may_run:
        words = shlex.split(entry)
        if list(command[: len(words)]) == words:
            return _found(command, agent.cwd)
    listed = ", ".join(agent.may_run) or "nothing"
    raise NotAllowed(
        f"{agent.id} may not run {command[0]} through fleet", f"its may_run lists {listed}"
    )


def run_held(session: Session, claim: "Claim", argv: Sequence[str], ttl: float | None) -> int:
    """Run `argv` while renewing `claim`; its exit code, 128 + N when signal N killed it.

    Exit 0 completes the claim; whatever happens, it is released. When it is lost, the command is
    stopped: what it does is no longer exclusive. What cannot be released changes no exit code.
    """
    code = 1
    try:
        code = _renewing(session, claim, argv, (ttl or DEFAULT_TTL) / RENEWALS)
    finally:
        _give_back(session, claim, completed=code == 0)
    return code


def _give_back(session: Session, claim: "Claim", *, completed: bool) -> None:
    fleet = session.fleet
    try:
        fleet.claims.release(fleet.author, claim.key, completed=completed, for_command=True)
    except FleetError as fault:
        done = "; that it was completed is not on record" if completed else ""
        say_error(f"warning: {claim.key} could not be given back: {fault.what}{done}")


def _renewing(session: Session, claim: "Claim", argv: Sequence[str], pause: float) -> int:
    fleet = session.fleet
    env = {**session.env, "FLEET_CLAIM_TOKEN": str(claim.token)}
    with subprocess.Popen(argv, env=env) as process:
        previous = signal.signal(signal.SIGTERM, lambda _n, _f: process.terminate())
        try:
            while True:
                try:
                    return _code(process.wait(pause))
                except subprocess.TimeoutExpired:
                    lasts = pause * RENEWALS
                    fleet.claims.renew(fleet.author, claim.key, ttl=lasts, for_command=True)
                except KeyboardInterrupt:
                    # The terminal told the command too: its own exit code is the answer.
                    continue
        except FleetError as fault:
            say_error(f"{claim.key} is lost, stopping {argv[0]}: {fault}")
            process.terminate()
            raise
        finally:
            signal.signal(signal.SIGTERM, previous)


def _code(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


def _found(command: Sequence[str], cwd: Path) -> list[str]:
    """The command with its program as a path: a relative one is relative to `cwd`."""
    name = command[0]
    program = str(cwd / name) if "/" in name else shutil.which(name)
    if program is None or not os.access(program, os.X_OK):
        raise Usage(
            f"there is no program {name}", f"looked for it in {cwd if '/' in name else 'PATH'}"
        )
    return [program, *command[1:]]
