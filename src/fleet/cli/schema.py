"""Event types from the command line: schema list, schema show."""

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command, Group
from fleet.cli.output import Item, say_items, say_json, table
from fleet.cli.session import Session, pass_session

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@click.group("schema", cls=Group, short_help=COMMANDS["schema"].line)
def schema_command() -> None:
    """Types of events and the fields each must have."""


@schema_command.command("list", cls=Command, examples=["fleet schema list"])
@AS_JSON
@pass_session
def list_command(session: Session, *, as_json: bool) -> None:
    """Every type that can be emitted, with what must be given and what it says."""
    schemas = session.fleet.schemas
    types = schemas.sound()
    if as_json:
        for kind in types:
            say_json(
                {
                    "type": kind.name,
                    "description": kind.description,
                    "required": list(kind.required),
                    "properties": dict(kind.properties),
                }
            )
        return
    rows = [[kind.name, ", ".join(kind.required), kind.description] for kind in types]
    items = [Item(row) for row in table(rows)] if rows else []
    say_items(session, items)


@schema_command.command("show", cls=Command, examples=["fleet schema show pricing-change"])
@click.argument("event_type", metavar="TYPE")
@AS_JSON
@pass_session
def show_command(session: Session, *, event_type: str, as_json: bool) -> None:
    """One type: its JSON Schema with --json, else its fields and a line to copy."""
    from fleet.cli.hints import line
    from fleet.schemas.own import OWN

    kind = session.fleet.schemas.get(event_type)
    if as_json:
        say_json(kind.source)
        return
    lines = []
    for name, json_type in kind.properties.items():
        must = "required" if name in kind.required else "optional"
        lines.append(f"{name}  {json_type}, {must}")
    if kind.x_claim:
        lines.append(f"emitting takes the claim {kind.x_claim}")
    if kind.x_to:
        lines.append(f"it goes to the agent named by {kind.x_to}")
    if kind.x_subject:
        lines.append(f"it announces {kind.x_subject}: fleet metric record takes numbers for it")
    copied = OWN.get(kind.name) or line("emit", kind.name, *(f"{n}=..." for n in kind.required))
    say_items(session, [Item(f"{kind.name}: {kind.description}", "\n".join(lines)), Item(copied)])
