"""Errors that teach: the corrected line for what a person or a model typed. Imported only then."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command
from fleet.cli.output import soon
from fleet.cli.session import Session
from fleet.errors import Held
from fleet.text import suggest

WORDS = {
    "publish": "emit", "signal": "emit", "event": "events", "message": "post", "say": "post",
    "write": "post", "channel": "channels", "messages": "read", "answer": "reply", "who": "whoami",
    "schemas": "schema", "types": "schema", "locks": "claims", "start": "up", "log": "logs",
    "idle": "report", "upgrade": "version", "lint": "check", "validate": "check",
}  # fmt: skip

_PLAIN = re.compile(r"[\w@%+=:,./-][\w@%+=:,./#-]*", re.ASCII)  # a # inside a word is no comment


def line(*words: str) -> str:
    """A command line to copy: quoted as a shell needs it."""
    return " ".join(["fleet", *map(_as_typed, words)])


def _as_typed(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)


def again(session: Session, words: Sequence[str], options: Mapping[str, object]) -> str:
    """The line that asks on: `words`, each option that has a value, and whose home and who asks."""
    who = {"--home": session.home, "--as": session.as_agent}
    return line(*_options(who), *words, *_options(options))


def _options(said: Mapping[str, object]) -> Iterator[str]:
    for name, value in said.items():
        for one in value if isinstance(value, tuple) else (value,):
            if one is True:
                yield name
            elif one is not None and one is not False:
                yield from (name, str(one))


def unknown_command(word: str, rest: Sequence[str]) -> str:
    """What to type instead of the command `word`."""
    if near := WORDS.get(word):
        return f"say {line(near, *rest)}"
    return suggest(word, list(COMMANDS)) or "fleet --help lists all"


def usage_line(fault: click.ClickException, argv: Sequence[str]) -> str:
    """One sentence for a fault that click found, with the corrected line or an example."""
    message = fault.format_message().strip().rstrip(".")
    ctx: click.Context | None = getattr(fault, "ctx", None)
    if isinstance(fault, click.NoSuchOption):
        message = f"there is no option {fault.option_name}"
        if fault.possibilities:
            fixed = [_renamed(word, fault.option_name, fault.possibilities[0]) for word in argv]
            return f"{message}: say {line(*fixed)}"
    if ctx and isinstance(ctx.command, Command):
        if "unexpected extra argument" in message and (whole := _quoted(ctx, argv)):
            return f"a text with spaces needs quotes: say {line(*whole)}"
        if ctx.command.examples:
            return f"{_plain(message)}: for example {ctx.command.examples[0]}"
    return f"{_plain(message)}: fleet --help lists the commands"


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:]


def _renamed(word: str, old: str, new: str) -> str:
    name, equals, value = word.partition("=")
    return new + equals + value if name == old else word


def _quoted(ctx: click.Context, argv: Sequence[str]) -> list[str] | None:
    """The line with the last words joined into the text they were meant to be."""
    arguments = [p for p in ctx.command.params if isinstance(p, click.Argument)]
    if not arguments or arguments[-1].name != "text":
        return None
    at = list(argv).index(str(ctx.info_name)) if ctx.info_name in argv else -1
    words = argv[at + 1 :] if at >= 0 else ()
    if not words or any(word.startswith("-") for word in words):
        return None
    first = len(arguments) - 1
    return [*argv[: at + 1], *words[:first], " ".join(words[first:])]


def held_line(fault: Held, zone: tzinfo) -> str:
    """What an agent needs to know about a claim it did not get, in the home's time."""
    until = soon(fault.until, zone)
    return f"HELD by {fault.holder} until {until}: leave it, do something else ({fault.what})"
