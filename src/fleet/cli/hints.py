"""Errors that teach: the corrected line for what a person or a model typed. Imported only then."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo

import click

from fleet.cli.commands import ALIASES, BEFORE, COMMANDS, LATER, LATER_OPTIONS, is_operators
from fleet.cli.grammar import Command
from fleet.cli.output import soon
from fleet.cli.session import Session
from fleet.errors import Held, Rejected, Unknown, Usage
from fleet.text import clip, suggest

REMEMBER = {"remember", "memorize", "memorise", "learn", "note"}
"""What models type to keep something: they are told the six words for it."""

FOR_PEOPLE = {
    "map": "fleet check names what its maps forgot",
}
"""What a person can say instead of a command that is not in this version."""

MESSAGE = 200  # characters of what click says, which repeats what was typed
LONGEST = 400  # characters of a line that is worth copying
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


def taught(fault: Usage | Unknown | Rejected, session: Session | None) -> str:
    """The line of a fault: what happened, and the line that the caller meant where one can tell."""
    better = _meant(session) if session else ""
    return f"{fault.what}: say {better}" if better else str(fault)


def _meant(session: Session) -> str:
    """The line that `session.words` meant, "" when nobody can tell or copy it."""
    from fleet.cli.meant import meant

    words = meant(session)
    better = line(*words) if words else ""
    return better if len(better) <= LONGEST and better.isprintable() else ""


def unknown_command(session: Session | None, word: str) -> Usage:
    """The refusal of the command `word`: what is near, in a run only of what a run may."""
    in_run = bool(session and session.in_run)
    if word in REMEMBER:
        from fleet.cli.memory import SIX

        return Usage("a memory has six sections", SIX)
    if word in LATER:
        instead = LATER[word] or ("" if in_run else FOR_PEOPLE.get(word, ""))
        return Usage(f"'{word}' is not in this version", instead or "fleet --help lists what is")
    known = [name for name in COMMANDS if not (in_run and is_operators(name))]
    return Usage(f"there is no command '{word}'", suggest(word, known) or "fleet --help lists all")


def usage_line(fault: click.ClickException, session: Session) -> str:
    """One sentence for a fault that click found, with the corrected line or an example."""
    argv = session.words
    message = clip(fault.format_message().strip().rstrip("."), MESSAGE)
    message = message[:1].lower() + message[1:]
    ctx: click.Context | None = getattr(fault, "ctx", None)
    name = str(ctx.info_name) if ctx else ""
    option = fault.option_name if isinstance(fault, click.NoSuchOption) else ""
    if option in LATER_OPTIONS.get(name, ()):
        return f"{option} is not in this version: fleet {name} --help has what is"
    if option in BEFORE and name in argv:
        fixed = _moved(argv, option, name, dropped=session.in_run)
        return f"{option} stands before the command: say {line(*fixed)}"
    message = f"there is no option {option}" if option else message
    if better := _meant(session):
        return f"{message}: say {better}"
    if isinstance(fault, click.NoSuchOption) and fault.possibilities:
        fixed = [_renamed(word, option, fault.possibilities[0]) for word in argv]
        return f"{message}: say {line(*fixed)}"
    if ctx and isinstance(ctx.command, Command):
        if "unexpected extra argument" in message and (whole := _quoted(ctx, argv)):
            return f"a text with spaces needs quotes: say {line(*whole)}"
        return f"{message}: for example {_example(ctx.command, message)}"
    return f"{message}: fleet --help lists the commands"


def _example(command: Command, message: str) -> str:
    """An example with the option that `message` is about, or the first."""
    options = re.findall(r"--[a-z]+", message)
    having = (line for line in command.examples if any(name in line for name in options))
    return next(having, command.examples[0])


def _moved(argv: Sequence[str], option: str, command: str, *, dropped: bool) -> list[str]:
    """The line with `option` and its value before the command, or (in a run) without it."""
    at = list(argv).index(command)
    before, after = list(argv[:at]), list(argv[at:])
    place = next(i for i, word in enumerate(after) if word.partition("=")[0] == option)
    width = 1 if option == "--debug" or "=" in after[place] else 2
    taken = [] if dropped else after[place : place + width]
    return [*before, *taken, *after[:place], *after[place + width :]]


def _renamed(word: str, old: str, new: str) -> str:
    name, equals, value = word.partition("=")
    return new + equals + value if name == old else word


def _quoted(ctx: click.Context, argv: Sequence[str]) -> list[str] | None:
    """The line with the last words joined into the text they were meant to be."""
    arguments = [p for p in ctx.command.params if isinstance(p, click.Argument)]
    if not arguments or arguments[-1].name != "text":
        return None
    at = next((i for i, w in enumerate(argv) if ALIASES.get(w, w) == ctx.info_name), len(argv))
    words = argv[at + 1 :]
    if not words or any(word.startswith("-") for word in words):
        return None
    first = len(arguments) - 1
    name = str(ctx.info_name)  # and not its alias
    return [*argv[:at], name, *words[:first], " ".join(words[first:])]


def held_line(fault: Held, zone: tzinfo) -> str:
    """What an agent needs to know about a claim it did not get, in the home's time."""
    until = soon(fault.until, zone)
    return f"HELD by {fault.holder} until {until}: leave it, do something else ({fault.what})"
