"""What an agent learns, from the command line: lesson, goal, research, strength, weakness."""

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command, Group
from fleet.cli.inputs import argument, text_of
from fleet.cli.memory import AS_JSON, FILE, say_change
from fleet.cli.session import Session, pass_session


class _Lessons(Group):
    """`fleet lesson success TEXT` is `fleet lesson add TEXT --category success`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names."""
        from fleet.memory.items import CATEGORIES

        if args[0] in CATEGORIES:
            args = ["add", *args[1:], "--category", args[0]]
        return super().resolve_command(ctx, args)


# Lessons ------------------------------------------------------------------------------------------


@click.group("lesson", cls=_Lessons, short_help=COMMANDS["lesson"].line)
def lesson_command() -> None:
    """What you learned about your own work; the next runs are told the best of it."""


@lesson_command.command(
    "add",
    cls=Command,
    examples=[
        "fleet lesson add 'Case studies triple replies' --category success --importance high"
    ],
)
@click.argument("text", required=False)
@click.option(
    "--category",
    metavar="C",
    default="observation",
    help="success, failure, observation (default) or improvement.",
)
@click.option("--importance", metavar="I", default="medium", help="low, medium (default) or high.")
@FILE
@AS_JSON
@pass_session
def lesson_add_command(
    session: Session,
    *,
    text: str | None,
    category: str,
    importance: str,
    file: str | None,
    as_json: bool,
) -> None:
    """Add a lesson; one that you have already is counted, not added. TEXT `-` reads stdin."""
    words = text_of(session, text, file, "fleet lesson add 'TEXT' --importance high")
    change = session.fleet.memory.learn(
        session.fleet.author, words, category=category.lower(), importance=importance.lower()
    )
    say_change(session, change, as_json=as_json)


# Goals --------------------------------------------------------------------------------------------


@click.group("goal", cls=Group, short_help=COMMANDS["goal"].line)
def goal_command() -> None:
    """What you want to reach over many runs, and how far you are."""


@goal_command.command("add", cls=Command, examples=["fleet goal add 'Ten replies a week'"])
@click.argument("text", required=False)
@FILE
@AS_JSON
@pass_session
def goal_add_command(
    session: Session, *, text: str | None, file: str | None, as_json: bool
) -> None:
    """Add a goal."""
    words = text_of(session, text, file, "fleet goal add 'TEXT'")
    say_change(session, session.fleet.memory.goal(session.fleet.author, words), as_json=as_json)


@goal_command.command(
    "progress", cls=Command, examples=["fleet goal progress G3 'four so far' --value 4"]
)
@click.argument("item")
@click.argument("text", required=False)
@click.option("--value", type=float, metavar="N", help="The same as a number.")
@FILE
@AS_JSON
@pass_session
def goal_progress_command(
    session: Session,
    *,
    item: str,
    text: str | None,
    value: float | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Note how far a goal is."""
    words = text_of(session, text, file, f"fleet goal progress {item} 'TEXT'")
    change = session.fleet.memory.progress(session.fleet.author, item, words, value=value)
    say_change(session, change, as_json=as_json)


@goal_command.command("achieve", cls=Command, examples=["fleet goal achieve G3"])
@click.argument("item")
@AS_JSON
@pass_session
def goal_achieve_command(session: Session, *, item: str, as_json: bool) -> None:
    """The goal is reached."""
    change = session.fleet.memory.achieve(session.fleet.author, item)
    say_change(session, change, as_json=as_json)


@goal_command.command(
    "abandon", cls=Command, examples=["fleet goal abandon G9 --reason 'the list ran dry'"]
)
@click.argument("item")
@click.option("--reason", metavar="T", default="", help="Why.")
@AS_JSON
@pass_session
def goal_abandon_command(session: Session, *, item: str, reason: str, as_json: bool) -> None:
    """The goal is given up."""
    author = session.fleet.author
    change = session.fleet.memory.abandon(author, item, reason=argument(reason))
    say_change(session, change, as_json=as_json)


# Research -----------------------------------------------------------------------------------------


@click.group("research", cls=Group, short_help=COMMANDS["research"].line)
def research_command() -> None:
    """What you found out, and where."""


@research_command.command(
    "add",
    cls=Command,
    examples=["fleet research add 'Cursor has no team plan' --source https://cursor.com/pricing"],
)
@click.argument("text", required=False)
@click.option("--source", metavar="S", required=True, help="Where: a page, a file, a reference.")
@FILE
@AS_JSON
@pass_session
def research_add_command(
    session: Session, *, text: str | None, source: str, file: str | None, as_json: bool
) -> None:
    """Add a finding with its source."""
    words = text_of(session, text, file, "fleet research add 'TEXT' --source S")
    fleet = session.fleet
    change = fleet.memory.research(fleet.author, words, source=argument(source))
    say_change(session, change, as_json=as_json)


# Strengths and weaknesses -------------------------------------------------------------------------


@click.group("strength", cls=Group, short_help=COMMANDS["strength"].line)
def strength_command() -> None:
    """What you are good at: others see it when they look for somebody."""


@click.group("weakness", cls=Group, short_help=COMMANDS["weakness"].line)
def weakness_command() -> None:
    """What you are bad at: others see it when they look for somebody."""


def _add_trait(group: click.Group, noun: str, example: str) -> None:
    @group.command("add", cls=Command, examples=[example])
    @click.argument("text", required=False)
    @click.option("--lesson", "lessons", metavar="L", multiple=True, help="A lesson behind it.")
    @FILE
    @AS_JSON
    @pass_session
    def add_command(
        session: Session,
        *,
        text: str | None,
        lessons: tuple[str, ...],
        file: str | None,
        as_json: bool,
    ) -> None:
        fleet = session.fleet
        words = text_of(session, text, file, f"fleet {noun} add 'TEXT' --lesson L12")
        change = fleet.memory.trait(fleet.author, noun, words, lessons=lessons)
        say_change(session, change, as_json=as_json)

    add_command.help = f"Add a {noun}, with the lessons that it stands on."


def _drop(group: click.Group, noun: str, example: str) -> None:
    @group.command("drop", cls=Command, examples=[example])
    @click.argument("item")
    @AS_JSON
    @pass_session
    def drop_command(session: Session, *, item: str, as_json: bool) -> None:
        change = session.fleet.memory.drop(session.fleet.author, noun, item)
        say_change(session, change, as_json=as_json)

    drop_command.help = f"Take a {noun} out; the archive keeps it."


_add_trait(strength_command, "strength", "fleet strength add 'Subject lines' --lesson L12")
_add_trait(weakness_command, "weakness", "fleet weakness add 'Long mails' --lesson L12")
_drop(lesson_command, "lesson", "fleet lesson drop L13")
_drop(research_command, "research", "fleet research drop R7")
_drop(strength_command, "strength", "fleet strength drop S5")
_drop(weakness_command, "weakness", "fleet weakness drop W6")
