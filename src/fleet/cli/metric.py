"""Outcomes from the command line: metric record, metric show."""

from typing import TYPE_CHECKING

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import LIMIT, Command, Group, moment
from fleet.cli.inputs import argument
from fleet.cli.output import Item, local, page, say_items, say_objects, say_written
from fleet.cli.session import Session, pass_session

if TYPE_CHECKING:
    from datetime import tzinfo

    from fleet.metrics import Announced
    from fleet.records import Record

ITEMS = 50
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@click.group("metric", cls=Group, short_help=COMMANDS["metric"].line)
def metric_command() -> None:
    """Numbers of what was made: views of a draft, clicks of a campaign."""


@metric_command.command(
    "record",
    cls=Command,
    examples=[
        "fleet metric record draft-17 views 1200",
        "fleet metric record draft-17 views 900 --at 03:00 --id draft-17/views/2026-11-30",
    ],
)
@click.argument("subject")
@click.argument("name")
@click.argument("value")
@click.option("--at", metavar="WHEN", help="When it was measured: 3h (ago), 03:00, a date.")
@click.option("--id", "key", metavar="KEY", help="The same KEY twice is one record.")
@AS_JSON
@pass_session
def record_command(
    session: Session,
    *,
    subject: str,
    name: str,
    value: str,
    at: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Record a number of SUBJECT, as the event that announced it named it.

    NAME is the metric: views, clicks, click-rate. Record totals, not differences: of one metric
    the newest measured value counts.
    """
    from fleet.metrics import number

    about = argument(subject)
    measured = number(argument(value))
    fleet = session.fleet
    record = fleet.metrics.record(
        fleet.author,
        about,
        argument(name),
        measured,
        at=moment(session, at, "--at"),
        key=key,
    )
    line = f"recorded {record.ref}: {about} {name} {measured:g}"
    if record.body["announced"] is None:
        line += f" ({_unknown(session, about)})"
    written = {"ref": record.ref, "seq": record.seq, "id": record.id}
    say_written(session, as_json=as_json, fields=written, line=line)


@metric_command.command(
    "show",
    cls=Command,
    examples=[
        "fleet metric show",
        "fleet metric show draft-17",
        "fleet metric show --agent content-engine --name views",
    ],
)
@click.argument("subject", required=False)
@click.option("--name", metavar="NAME", help="Only this metric.")
@click.option("--agent", metavar="AGENT", help="Only what this agent announced.")
@click.option("--since", metavar="WHEN", help="Measured since 3h ago, 03:00, a date.")
@click.option("--limit", type=LIMIT, help=f"At most so many (default {ITEMS}).")
@AS_JSON
@pass_session
def show_command(
    session: Session,
    *,
    subject: str | None,
    name: str | None,
    agent: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """The newest value of each subject and metric; with SUBJECT every one of its values.

    Newest last.
    """
    from fleet.metrics import metric_json

    fleet = session.fleet
    most = page(session, limit, ITEMS, as_json=as_json)
    about = None if subject is None else argument(subject)
    first = moment(session, since, "--since")
    found = fleet.metrics.listing(
        about, name=name, names=_names(session, agent), since=first, limit=most + 1
    )
    if agent is not None and not found:
        from fleet.identity import require_agent_name

        require_agent_name(agent, fleet.config.agents)  # one of the past is found, a typo is said
    shown = found[-most:]
    if as_json:
        say_objects(session, (metric_json(record, link) for record, link in shown))
        return
    rest = ""
    if len(found) > most:
        from fleet.cli.hints import again

        same = {"--name": name, "--agent": agent, "--since": since, "--limit": 10 * most}
        words = ["metric", "show", *([subject] if subject else [])]
        rest = again(session, words, same | ({"--json": True} if session.in_run else {}))
    zone = session.zone
    say_items(session, [_item(record, link, zone) for record, link in shown], rest)


def _item(record: "Record", link: "Announced | None", zone: "tzinfo") -> Item:
    """`metrics#5 · 2026-11-30 06:10 · draft-17 views 1200 · collector`, and what announced it."""
    body = record.body
    number = f"{body['subject']} {body['name']} {body['value']}"
    who = str(body.get("from_agent"))
    head = " · ".join([record.ref, local(str(body["measured"]), zone), number, who])
    return Item(head, f"{link.ref} {link.type} by {link.agent}" if link else "unlinked", record.ref)


def _names(session: Session, agent: str | None) -> tuple[str, ...]:
    """The agent's name and those that it had; () for None."""
    return session.fleet.config.names_of(agent) if agent else ()


def _unknown(session: Session, subject: str) -> str:
    """What to say of a subject that nobody announced."""
    from fleet.text import suggest

    near = suggest(subject, session.fleet.metrics.subjects())
    return "unlinked: no event announced it" + (f", {near}" if near else "")
