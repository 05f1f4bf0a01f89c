"""Events that were set aside, from the command line: deadletters list, deadletters retry."""

from typing import TYPE_CHECKING

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command, Group
from fleet.cli.output import Item, local, say_items, say_objects, say_written
from fleet.cli.session import Session, pass_session
from fleet.strictjson import dumps
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.bus.deadletters import DeadLetter

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


class _Letters(Group):
    """`fleet deadletters` alone is `fleet deadletters list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the bare word, and options without a command, for the list."""
        asks_help = args[:1] in (["-h"], ["--help"])
        if not asks_help and (not args or args[0].startswith("-")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("deadletters", cls=_Letters, short_help=COMMANDS["deadletters"].line)
def deadletters_command() -> None:
    """Events that five runs of an agent failed on: it goes on without them."""


@deadletters_command.command(
    "list", cls=Command, examples=["fleet deadletters", "fleet deadletters list --all"]
)
@click.option("--all", "everything", is_flag=True, help="Also those that came back.")
@AS_JSON
@pass_session
def list_command(session: Session, *, everything: bool, as_json: bool) -> None:
    """Events that were set aside and can come back, the oldest first."""
    found = session.fleet.deadletters.listing(everything=everything)
    if as_json:
        say_objects(session, (one.as_json() for one in found))
        return
    items = [Item(_head(session, one), _text(one), one.record.ref) for one in found]
    say_items(session, items, none="no event is set aside")


@deadletters_command.command(
    "retry",
    cls=Command,
    examples=["fleet deadletters retry deadletters#3", "fleet deadletters retry events#95"],
)
@click.argument("ref")
@AS_JSON
@pass_session
def retry_command(session: Session, *, ref: str, as_json: bool) -> None:
    """Give a set-aside event to its agent once more, addressed to it alone."""
    fleet = session.fleet
    event = fleet.deadletters.retry(fleet.author, ref)
    line = f"{event.body['to_agent']} is given {event.body['again']} again, as {event.ref}"
    written = {"ref": event.ref, "seq": event.seq, "id": event.id}
    say_written(session, as_json=as_json, fields=written, line=line)


def _head(session: Session, one: "DeadLetter") -> str:
    """`deadletters#3 · 2026-11-30 06:10 · outreach · events#97 reply-received · 5 attempts`."""
    kind = one.event.body.get("type") if one.event else "gone"
    attempts = one.record.body.get("attempts")
    count = counted(attempts, "attempt") if isinstance(attempts, int) else ""
    parts = [one.record.ref, local(one.record.at, session.zone), one.agent, f"{one.about} {kind}"]
    parts += [count] if count else []
    parts += [f"came back as {one.retried}"] if one.retried else []
    parts += [f"retracted: {one.retracted}"] if one.retracted is not None else []
    return " · ".join(parts)


def _text(one: "DeadLetter") -> str:
    return dumps(one.event.body.get("payload")) if one.event else ""
