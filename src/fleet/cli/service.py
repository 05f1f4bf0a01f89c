"""The runner as a service, from the command line: install-service."""

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.output import flush, say, say_done, say_error
from fleet.cli.session import Session, pass_session
from fleet.errors import EndedBadly, Usage

if TYPE_CHECKING:
    from fleet.runner.service import Planned


@command(
    "install-service", examples=["fleet install-service --print", "fleet install-service --yes"]
)
@click.option("--print", "only_print", is_flag=True, help="Show it and write nothing.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
@click.option("--start", is_flag=True, help="Also do what starts it, now and at every boot.")
@pass_session
def install_service_command(session: Session, *, only_print: bool, yes: bool, start: bool) -> None:
    """Write a service of your user's that runs `fleet up` on this home, and say how it starts.

    A systemd user unit, on macOS a launchd agent. It is shown first; saying it again changes what
    the home changed. After a crash the runner is started again and takes over what goes on; a stop
    ends every run.
    """
    from fleet.runner import service

    fleet = session.fleet
    planned = service.plan(fleet, session.env)
    if only_print:
        for line in planned.text.splitlines():
            say(line)
        _say_notes(session)
        return
    if service.is_written(planned):
        say_done(f"{planned.path} says all of this already. Next:")
    else:
        if not _may_write(planned, yes=yes):
            say_done("nothing was written")
            return
        service.write(planned)
        say_done(f"wrote {planned.path}. Next:")
    _say_notes(session)
    for note in service.twins(planned):
        say_error(f"note: {note}")
    for words in planned.commands:
        say(f"  {_line(words)}")
        if start:
            _do(words)
    say(f"  {planned.hint}")


def _say_notes(session: Session) -> None:
    from fleet.runner import service

    for note in service.notes(session.fleet, session.env):
        say_error(f"note: {note}")


def _may_write(planned: "Planned", *, yes: bool) -> bool:
    """Show it, and ask; nobody is asked where nobody sits.

    Raises:
        Usage: there is no terminal, and `--yes` was not said.
    """
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        what = f"nobody can be asked whether to write {planned.path}"
        raise Usage(what, "say fleet install-service --yes; --print shows it")
    for line in planned.text.splitlines():
        say(line)
    flush()
    return click.confirm(f"write {planned.path}?", err=True)


def _do(words: tuple[str, ...]) -> None:
    """Run one of the commands that start it.

    Raises:
        EndedBadly: it failed, or there is no such program; what it said is in the message.
    """
    flush()
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as fault:
        raise EndedBadly(f"{words[0]} cannot be started: {os.strerror(fault.errno or 0)}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise EndedBadly(f"{_line(words)} failed (exit {done.returncode})", said)


def _line(words: tuple[str, ...]) -> str:
    import shlex

    return shlex.join(words)
