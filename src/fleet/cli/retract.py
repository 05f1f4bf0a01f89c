"""Undo from the command line: retract."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.inputs import argument
from fleet.cli.output import say, say_json
from fleet.cli.session import Session, pass_session
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.audit.retract import Taken

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@command(
    "retract",
    examples=[
        "fleet retract outreach~1 --reason 'read the wrong page' --dry-run",
        "fleet retract events#97 --reason 'the price was in euros'",
    ],
)
@click.argument("ref", metavar="RUN|REF")
@click.option("--reason", metavar="TEXT", required=True, help="Agents that saw it are told this.")
@click.option("--dry-run", is_flag=True, help="Only say what would go, and who would be told.")
@AS_JSON
@pass_session
def retract_command(
    session: Session, *, ref: str, reason: str, dry_run: bool, as_json: bool
) -> None:
    """Take back what a run wrote, or one record; whoever was shown it is told.

    Nothing is deleted: it is hidden from agents and counts. What a run learned and claims goes too,
    what it completed in the world stays done. Repeating it writes nothing new.
    """
    from fleet.audit.retract import retract

    fleet = session.fleet
    taken = retract(fleet, fleet.author, ref, reason=argument(reason), dry_run=dry_run)
    if as_json:
        say_json(taken.as_json(dry_run=dry_run))
        return
    for line in _lines(taken, dry_run=dry_run):
        say(line)


def _lines(taken: "Taken", *, dry_run: bool) -> list[str]:
    name = f"run {taken.ref} of {taken.agent}" if taken.run else taken.ref
    if not taken.targets:
        first = f"nothing new: {name} was retracted before: {taken.reason}"
    else:
        first = f"{'would retract' if dry_run else 'retracted'} {name}: {taken.reason}"
    parts = (
        ("taken back", _kinds(taken)),
        ("taken back before", len(taken.before) if taken.targets and taken.before else ""),
        ("memory", ", ".join(taken.memory)),
        ("released", ", ".join(taken.claims)),
        ("pins as before", ", ".join(pin.ref for pin in taken.pins)),
        ("told in their next context", _told(taken)),
    )
    return [first, *(f"  {label}: {said}" for label, said in parts if said)]


def _kinds(taken: "Taken") -> str:
    """`12 events, 10 messages, 1 direct message, the report`."""
    counts: dict[str, int] = {}
    for target in taken.targets:
        kind = "event" if target.stream == "events" else target.what
        counts[kind] = counts.get(kind, 0) + 1
    report = ["the report"] if counts.pop("run", 0) and taken.reported else []
    return ", ".join([*(counted(count, kind) for kind, count in counts.items()), *report])


def _told(taken: "Taken") -> str:
    return ", ".join(
        f"{agent} ({'its run' if refs == [taken.run] else counted(len(refs), 'record')})"
        for agent, refs in taken.tell.items()
    )
