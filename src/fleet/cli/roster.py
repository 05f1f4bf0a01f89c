"""Agents and channels from the command line: new, set, rename, retire."""

from collections.abc import Sequence
from pathlib import Path

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command, Group
from fleet.cli.output import say_done
from fleet.cli.session import Session, pass_session
from fleet.errors import Usage

AGENT, CHANNEL = "agent", "channel"
FIELDS = click.argument("fields", metavar="FIELD=VALUE…", nargs=-1, required=True)


@click.group(AGENT, cls=Group, short_help=COMMANDS[AGENT].line)
def agent_command() -> None:
    """Edit the agents' files: comments and every other byte stay, all is checked before."""


@click.group(CHANNEL, cls=Group, short_help=COMMANDS[CHANNEL].line)
def channel_command() -> None:
    """Edit the channels' files: comments and every other byte stay, all is checked before."""


@agent_command.command(
    "new",
    cls=Command,
    examples=["fleet agent new seo-scout 'description=Watches our rankings' 'schedule=0 7 * * *'"],
)
@click.argument("name")
@FIELDS
@pass_session
def new_agent_command(session: Session, *, name: str, fields: tuple[str, ...]) -> None:
    """A new agent, with a template of its own to fill in. A description is required."""
    _new(session, AGENT, name, fields)


@channel_command.command(
    "new",
    cls=Command,
    examples=["fleet channel new pricing name=Pricing 'purpose=What moves prices' members=all"],
)
@click.argument("name")
@FIELDS
@pass_session
def new_channel_command(session: Session, *, name: str, fields: tuple[str, ...]) -> None:
    """A new channel. A name, a purpose and its members are required."""
    _new(session, CHANNEL, name, fields)


def _new(session: Session, kind: str, name: str, fields: Sequence[str]) -> None:
    from fleet.ops import roster

    fleet = session.fleet
    files = roster.add(fleet, fleet.author, kind, name, _pairs(fields))
    say_done(f"there is a new {kind} {name}: wrote {', '.join(files)}")


@agent_command.command(
    "set", cls=Command, examples=["fleet agent set outreach model=opus budget.per_day=5"]
)
@click.argument("name")
@FIELDS
@pass_session
def set_agent_command(session: Session, *, name: str, fields: tuple[str, ...]) -> None:
    """Set fields of its file: `budget.per_day=5` inside another, `quiet=null` to take one back."""
    _set(session, AGENT, name, fields)


@channel_command.command("set", cls=Command, examples=["fleet channel set strategy keep=200"])
@click.argument("name")
@FIELDS
@pass_session
def set_channel_command(session: Session, *, name: str, fields: tuple[str, ...]) -> None:
    """Set fields of its file."""
    _set(session, CHANNEL, name, fields)


def _set(session: Session, kind: str, name: str, fields: Sequence[str]) -> None:
    from fleet.ops import roster

    fleet = session.fleet
    files = roster.put(fleet, fleet.author, kind, name, _pairs(fields))
    say_done(f"wrote {files[0]}" if files else f"{name} says that already")


@agent_command.command(
    "rename", cls=Command, examples=["fleet agent rename trend-scout github-scout"]
)
@click.argument("old")
@click.argument("new")
@pass_session
def rename_agent_command(session: Session, *, old: str, new: str) -> None:
    """Call it something else: memory, places and folder go along, history keeps the old name."""
    _rename(session, AGENT, old, new)


@channel_command.command(
    "rename", cls=Command, examples=["fleet channel rename competitive-intel rivals"]
)
@click.argument("old")
@click.argument("new")
@pass_session
def rename_channel_command(session: Session, *, old: str, new: str) -> None:
    """Call it something else: its messages stay, and their references go on."""
    _rename(session, CHANNEL, old, new)


def _rename(session: Session, kind: str, old: str, new: str) -> None:
    from fleet.ops import roster

    fleet = session.fleet
    files = roster.rename(fleet, fleet.author, kind, old, new)
    say_done(f"{old} is {new} now: {_done(session.root, files)}")
    _say_told(session, old)


@agent_command.command("retire", cls=Command, examples=["fleet agent retire win-back"])
@click.argument("name")
@pass_session
def retire_agent_command(session: Session, *, name: str) -> None:
    """Take its file and every mention of it away; what it did stays as history."""
    _retire(session, AGENT, name)


@channel_command.command("retire", cls=Command, examples=["fleet channel retire content-collab"])
@click.argument("name")
@pass_session
def retire_channel_command(session: Session, *, name: str) -> None:
    """Take its file and every mention of it away; what was said stays as history."""
    _retire(session, CHANNEL, name)


def _retire(session: Session, kind: str, name: str) -> None:
    from fleet.ops import roster

    fleet = session.fleet
    files = roster.retire(fleet, fleet.author, kind, name)
    say_done(f"{name} is retired, its history stays: {_done(session.root, files)}")
    _say_told(session, name)


def _done(root: Path, files: Sequence[str]) -> str:
    """`wrote a, b; removed c`: what became of the files."""
    wrote = [file for file in files if (root / file).exists()]
    removed = [file for file in files if file not in wrote]
    parts = (("wrote", wrote), ("removed", removed))
    return "; ".join(f"{word} {', '.join(names)}" for word, names in parts if names)


def _say_told(session: Session, name: str) -> None:
    from fleet.ops import roster

    if told := roster.told_by(session.root, name):
        say_done(f"still speaking of {name}, edit by hand: {', '.join(told)}")


def _pairs(fields: Sequence[str]) -> dict[str, str]:
    """What was typed as FIELD=VALUE, the value as it would stand in the file."""
    pairs = [field.partition("=") for field in fields]
    for name, equals, _ in pairs:
        if not equals or not name.replace("_", "").replace(".", "").isalnum():
            raise Usage(f"'{name}' is no FIELD=VALUE", "write it like model=opus")
    return {name: value for name, _, value in pairs}
