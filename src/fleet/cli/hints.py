"""Errors that teach: the corrected line for what a person or a model typed. Imported only then."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo

import click

from fleet.cli.commands import BEFORE, COMMANDS, LATER, LATER_OPTIONS, is_operators
from fleet.cli.grammar import Command
from fleet.cli.output import soon
from fleet.cli.session import Session
from fleet.errors import FleetError, Held, Usage
from fleet.text import suggest

WORDS = {
    "publish": "emit", "signal": "emit", "event": "events", "say": "post",
    "write": "post", "channel": "channels", "messages": "read", "answer": "reply", "who": "whoami",
    "schemas": "schema", "types": "schema", "locks": "claims", "start": "up", "log": "logs",
    "plan": "memory plan",
    "undo": "retract", "idle": "report", "upgrade": "version", "lint": "check", "validate": "check",
}  # fmt: skip

REMEMBER = {"remember", "memorize", "memorise", "learn", "note"}
"""What models type to keep something: they are told the six words for it."""

FOR_PEOPLE = {
    "alerts": "fleet status shows the newest",
    "deadletters": "fleet status shows their alerts, fleet events --after N --limit 1 one event",
    "map": "fleet check names what its maps forgot",
}
"""What a person can say instead of a command that is not in this version."""

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


def unknown_command(session: Session | None, word: str, rest: Sequence[str]) -> Usage:
    """The refusal of the command `word`: what to type instead, in a run only what a run may."""
    in_run = bool(session and session.in_run)
    known = [name for name in COMMANDS if not (in_run and is_operators(name))]
    near = WORDS.get(word)
    if near == "post" and session and _begins_with_an_agent(session, rest):
        near = "send"
    if word in REMEMBER:
        from fleet.cli.memory import SIX

        return Usage("a memory has six sections", SIX)
    if word in LATER:
        return _later(word, f"'{word}' is", in_run=in_run)
    what = f"there is no command '{word}'"
    if near and near.partition(" ")[0] in known:
        return Usage(what, f"say {line(*near.split(), *rest)}")
    return Usage(what, suggest(word, known) or "fleet --help lists all")


def _later(word: str, subject: str, *, in_run: bool) -> Usage:
    instead = LATER[word] or ("" if in_run else FOR_PEOPLE.get(word, ""))
    return Usage(f"{subject} not in this version", instead or "fleet --help lists what is")


def _begins_with_an_agent(session: Session, rest: Sequence[str]) -> bool:
    try:
        return bool(rest) and rest[0] in session.fleet.config.agents
    except FleetError:
        return False


def usage_line(fault: click.ClickException, argv: Sequence[str], *, in_run: bool) -> str:
    """One sentence for a fault that click found, with the corrected line or an example."""
    message = fault.format_message().strip().rstrip(".")
    ctx: click.Context | None = getattr(fault, "ctx", None)
    if isinstance(fault, click.NoSuchOption):
        name = str(ctx.info_name) if ctx else ""
        if fault.option_name in LATER_OPTIONS.get(name, ()):
            return f"{fault.option_name} is not in this version: fleet {name} --help has what is"
        if fault.option_name in BEFORE and name in argv:
            fixed = _moved(argv, fault.option_name, name, dropped=in_run)
            return f"{fault.option_name} stands before the command: say {line(*fixed)}"
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


def _moved(argv: Sequence[str], option: str, command: str, *, dropped: bool) -> list[str]:
    """The line with `option` and its value before the command, or (in a run) without it."""
    at = list(argv).index(command)
    before, after = list(argv[:at]), list(argv[at:])
    place = next(i for i, word in enumerate(after) if word.partition("=")[0] == option)
    width = 1 if option == "--debug" or "=" in after[place] else 2
    taken = [] if dropped else after[place : place + width]
    return [*before, *taken, *after[:place], *after[place + width :]]


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
