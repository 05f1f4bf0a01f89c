"""The program `fleet`: finds the command, runs it, and turns every fault into a line and a code."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, cast

import click

from fleet.cli.commands import ALIASES, COMMANDS, OPERATOR_HEADINGS, TOGETHER, is_operators
from fleet.cli.grammar import OwnHelp
from fleet.cli.output import say_error
from fleet.cli.session import Session
from fleet.errors import BadHome, FleetError, Held, Rejected, Unknown, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTED = 130
TRY_AGAIN = 75


class Fleet(OwnHelp, click.Group):
    """Every command by name, imported when it is called; `--help` imports none of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a line without a word, as any other line that makes no sense.

        Raises:
            Usage: nothing was typed.
        """
        if not args and not ctx.resilient_parsing:
            raise Usage("fleet needs a command", "fleet --help lists them")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names that are shown: in a run only what a run may call."""
        session = ctx.find_object(Session) or Session(None, None, os.environ)
        return [name for name in COMMANDS if not (session.in_run and is_operators(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's shape
        """The command of that name or alias; None when there is none."""
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = import_module(f"fleet.cli.{COMMANDS[name].module}")
        found: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names.

        Raises:
            Usage: no such command; with the nearest one.
        """
        name = ALIASES.get(args[0], args[0])
        command = self.get_command(ctx, name)
        if command is None:
            from fleet.cli.hints import unknown_command

            raise unknown_command(ctx.find_object(Session), args[0])
        return name, command, args[1:]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options and the table; a run may use none of them but `--help`."""
        session = ctx.find_object(Session) or Session(None, None, os.environ)
        if session.in_run:
            self.format_commands(ctx, formatter)
        else:
            super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, under its headings."""
        names = self.list_commands(ctx)
        for heading in dict.fromkeys(COMMANDS[name].heading for name in names):
            label = f"{heading} (operators)" if heading in OPERATOR_HEADINGS else heading
            with formatter.section(label):
                below = [name for name in names if COMMANDS[name].heading == heading]
                formatter.write_dl(_rows(below))


def _rows(names: Sequence[str]) -> list[tuple[str, str]]:
    """What a heading shows: a line for each command, one for two that belong together."""
    with_it = {first: second for second, first in TOGETHER.items() if second in names}
    return [
        (f"{name}, {with_it[name]}" if name in with_it else name, COMMANDS[name].line)
        for name in names
        if name not in TOGETHER
    ]


@click.group(
    cls=Fleet,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Coordinate a fleet of agents. `fleet COMMAND --help` has examples to copy.",
)
@click.option("--home", metavar="DIR", help="The home; else $FLEET_HOME, else the nearest above.")
@click.option("--as", "as_agent", metavar="AGENT", help="As an operator, act for this agent.")
@click.option("--debug", is_flag=True, help="Show the traceback of a bug.")
def fleet_command(*, debug: bool, **_where_and_who: str | None) -> None:
    """See `help` above; `_session` takes the other options."""
    if not debug:
        sys.excepthook = _say_bug


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; any other exception is a bug."""
    _prepare_streams()
    if instruction := os.environ.get("_FLEET_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(fleet_command, {}, "fleet", "_FLEET_COMPLETE", instruction)
    try:
        return _run(argv)
    except BrokenPipeError:
        # Whoever read us has seen enough; Python's own flush at exit must not say so again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _prepare_streams() -> None:
    """UTF-8 whatever the locale says, as state and JSON are; into nothing where closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - kept
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _run(argv: Sequence[str]) -> int:
    session: Session | None = None
    try:
        with fleet_command.make_context("fleet", list(argv)) as ctx:
            ctx.obj = session = _session(ctx.params, argv)
            fleet_command.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return _left_with(done.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except FleetError as fault:
        with suppress(OSError):
            sys.stdout.flush()
        for line in _lines_of(fault, session):
            say_error(line)
        return fault.exit_code
    except click.ClickException as fault:
        from fleet.cli.hints import usage_line

        say_error(usage_line(fault, session or Session(None, None, os.environ, argv)))
        return 2
    except OSError as fault:
        say_error(_plainly(fault))
        return TRY_AGAIN
    finally:
        if session and session.warning:
            say_error(session.warning)
    return 0


def _left_with(code: int) -> int:
    """`code`, which a program or a run that has ended decides: no full disk may change it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        say_error(f"not all could be printed: {_plainly(fault)}")
    return code


def _plainly(fault: OSError) -> str:
    return f"{fault.strerror or fault}" + (f": {fault.filename}" if fault.filename else "")


def _session(params: Mapping[str, object], argv: Sequence[str]) -> Session:
    """The session that the options before the command ask for.

    Raises:
        Usage: `--home` names nothing: a script whose variable is empty meant another home.
    """
    home, agent = params["home"], params["as_agent"]
    if home == "":
        raise Usage("--home is empty", "say fleet --home DIR, or leave it out")
    return Session(cast("str | None", home), cast("str | None", agent), os.environ, argv)


def _lines_of(fault: FleetError, session: Session | None) -> "Iterator[str]":
    if isinstance(fault, Held) and fault.until and session:
        from fleet.cli.hints import held_line

        yield held_line(fault, session.zone)
    elif isinstance(fault, (Usage, Unknown, Rejected)):
        from fleet.cli.hints import taught

        yield taught(fault, session)
    else:  # a fault of the world: no import may fail beside it
        yield str(fault)
    if isinstance(fault, BadHome):
        yield from map(str, fault.findings[1:])  # the first is in the sentence


def _say_bug(kind: type[BaseException], fault: BaseException, _trace: TracebackType | None) -> None:
    say_error(f"this is a bug: {kind.__name__}: {fault} (fleet --debug … shows where)")
