"""How words become a command: texts that begin with `-`, examples in the help, durations, who may.

Nothing here knows a command by name.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from fleet.cli.commands import (
    BEFORE,
    COMMANDS,
    INSTEAD,
    LATER_OPTIONS,
    PEOPLES,
    TOLERANT,
    is_operators,
)
from fleet.cli.session import Session
from fleet.errors import Usage

if TYPE_CHECKING:
    from datetime import datetime


class OwnHelp:
    """`-h` and `--help` in our words: for its own click asks gettext, which loads `locale`."""

    _help_option: click.Option | None

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002 - click's shape
        """The option, made once: click relies on its identity."""
        if self._help_option is None:
            self._help_option = click.Option(
                ["-h", "--help"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_help,
                help="Show this and exit.",
            )
        return self._help_option


def _show_help(ctx: click.Context, _param: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


class Group(OwnHelp, click.Group):
    """Several commands under one word; without one of them it says which there are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse the bare word.

        Raises:
            Usage: nothing follows it.
            NotAllowed: a run asks for what only a person may do.
        """
        if not args and not ctx.resilient_parsing:
            _admit(ctx)
            raise Usage(f"{ctx.command_path} needs one word more", self._choices(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names.

        Raises:
            Usage: there is none of that name.
            NotAllowed: a run asks for what only a person may do.
        """
        if self.get_command(ctx, args[0]) is None:
            _admit(ctx)
            raise Usage(f"there is no '{ctx.command_path} {args[0]}'", self._choices(ctx))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the code; in a run only what a run may call."""
        session = ctx.find_object(Session)
        group = " ".join(ctx.command_path.split()[1:])
        in_run = bool(session and session.in_run)
        return [name for name in self.commands if not (in_run and f"{group} {name}" in PEOPLES)]

    def _choices(self, ctx: click.Context) -> str:
        """`say fleet schema list, or fleet schema show pricing-change`: an example of each."""
        return f"say {', or '.join(self.examples_below(ctx))}"

    def examples_below(self, ctx: click.Context) -> list[str]:
        """One of each command below this word."""
        lines: list[str] = []
        for name in self.list_commands(ctx):
            command = self.commands[name]
            below = click.Context(command, parent=ctx, info_name=name)
            if isinstance(command, Group):
                lines += command.examples_below(below)
            elif isinstance(command, Command):
                lines.append(command.examples[0])
        return lines

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One example of each command, exactly as it is typed."""
        _write_examples(formatter, self.examples_below(ctx))


def _write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def _admit(ctx: click.Context) -> None:
    """Let the caller in, with a home of broken files where the command may do with one.

    Raises:
        NotAllowed: a run asks for what only a person may do.
    """
    session = ctx.find_object(Session)
    words = ctx.command_path.split()[1:]
    name = " ".join(words)
    if session and is_operators(name):
        from fleet.identity import require_person

        require_person(session.env, f"fleet {name}", INSTEAD.get(name, ""))
    if session and not TOLERANT.isdisjoint({words[0], name}):
        session.strict = False


class Command(OwnHelp, click.Command):
    """A command whose texts may begin with `-` and whose help ends with examples to copy.

    Args:
        examples: whole lines, as one would type them.
        tail: what follows a bare `--` is another program's command line, given to the callback
            as `command`.
    """

    def __init__(
        self, *args: object, examples: Sequence[str] = (), tail: bool = False, **kwargs: object
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.examples = tuple(examples)
        self.tail = tail

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Sort options from texts before click sees them: it would take `- a list` for options."""
        rest: list[str] = []
        if self.tail and "--" in args:
            at = args.index("--")
            args, rest = args[:at], args[at + 1 :]
        try:
            options, texts = self._sorted(ctx, args)
            left = super().parse_args(ctx, [*options, "--", *texts])
        except click.UsageError:
            _admit(ctx)  # who may not call it need not learn how
            raise
        if self.tail:
            ctx.params["command"] = tuple(rest)
        return left

    def invoke(self, ctx: click.Context) -> object:
        """Run it, unless a run asks for what only a person may do."""
        _admit(ctx)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's shape
        """The examples, exactly as they are typed."""
        _write_examples(formatter, self.examples)

    def _sorted(self, ctx: click.Context, args: Sequence[str]) -> tuple[list[str], list[str]]:
        takes_value = self._options(ctx)
        options: list[str] = []
        texts: list[str] = []
        words = iter(args)
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                texts.extend(words)
            elif name in takes_value and (word == name or name.startswith("--")):
                options.append(word)
                if word == name and takes_value[name]:
                    options.append(self._value_of(ctx, name, next(words, None)))
            else:
                self._refuse_typo(ctx, word, list(takes_value))
                texts.append(word)
        return options, texts

    def _value_of(self, ctx: click.Context, name: str, value: str | None) -> str:
        """The word behind an option; click would take the `--` that ends the options for it."""
        if value is None:
            param = next(one for one in self.get_params(ctx) if name in one.opts)
            shape = f"{name} {param.make_metavar(ctx)}"
            raise click.BadOptionUsage(name, f"{name} needs a value: {shape}", ctx)
        return value

    def _options(self, ctx: click.Context) -> dict[str, bool]:
        """Every word that is an option here, and whether a value follows it."""
        return {
            name: not (param.is_flag or param.count)
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }

    def _refuse_typo(self, ctx: click.Context, word: str, known: list[str]) -> None:
        """An unknown `--word` is a text, unless it is nearly an option or nothing takes texts."""
        name = word.partition("=")[0]
        if not name.startswith("-") or not name.replace("-", "").isalnum():
            return
        near = _near(name, known)
        takes_texts = any(isinstance(param, click.Argument) for param in self.params)
        elsewhere = (*BEFORE, *LATER_OPTIONS.get(str(ctx.info_name), ()))
        if near or not takes_texts or name in elsewhere:
            raise click.NoSuchOption(name, possibilities=near, ctx=ctx)


def _near(option: str, known: Sequence[str]) -> list[str]:
    """Options that are typed nearly so; the dashes that all have in common are no likeness."""
    from difflib import get_close_matches

    names = {name.lstrip("-"): name for name in known}
    return [names[name] for name in get_close_matches(option.lstrip("-"), names, n=1, cutoff=0.65)]


class Duration(click.ParamType[float]):
    """`90s`, `30m`, `6h`, `7d`: becomes seconds."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        from fleet.units import parse_duration

        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as fault:
            self.fail(str(fault), param, ctx)


DURATION = Duration()
LIMIT = click.IntRange(1, 1_000_000)


def command(
    name: str, *, examples: Sequence[str], tail: bool = False
) -> Callable[[Callable[..., object]], Command]:
    """Make a function the command `name`; its docstring is the help, its line comes from the table.

    The docstring must not describe parameters; options carry their own help.
    """

    def made(function: Callable[..., object]) -> Command:
        return click.command(
            name, cls=Command, examples=examples, tail=tail, short_help=COMMANDS[name].line
        )(function)

    return made


def moment(session: Session, text: str | None, option: str) -> "float | None":
    """Seconds since the epoch of what `option` says, in the home's time zone; None for None.

    Raises:
        Usage: it is no moment.
    """
    if text is None:
        return None
    return moment_of(session, text, option).timestamp()


def moment_of(session: Session, text: str, option: str) -> "datetime":
    """The instant that `text` names, aware, in the home's time zone.

    Raises:
        Usage: it is no moment.
    """
    from datetime import UTC, datetime

    from fleet.units import parse_moment

    now = datetime.fromtimestamp(session.fleet.store.now().wall, UTC)
    try:
        return parse_moment(text, now=now, zone=session.zone)
    except ValueError as fault:
        raise Usage(f"{option}: {fault}") from None


def ahead(session: Session, text: str, option: str) -> float:
    """Seconds since the epoch of an instant ahead, `3d` or `03:00`, in the home's time zone.

    Raises:
        Usage: it is no moment.
    """
    from datetime import UTC, datetime

    from fleet.units import parse_ahead

    now = datetime.fromtimestamp(session.fleet.store.now().wall, UTC)
    try:
        return parse_ahead(text, now=now, zone=session.zone).timestamp()
    except ValueError as fault:
        raise Usage(f"{option}: {fault}") from None


def number_of(reference: str | None, stream: str) -> int | None:
    """The number in `97` or `events#97`, of the stream with that short name; None for None.

    Raises:
        Usage: neither a number nor a reference into `stream`.
    """
    if reference is None:
        return None
    from fleet.records import parse_ref

    example = f"{stream}#97, or just 97"
    name, seq = parse_ref(reference if "#" in reference else f"{stream}#{reference}", example)
    if name != stream:
        raise Usage(f"'{reference}' is no reference into {stream}", f"write it like {example}")
    return seq
