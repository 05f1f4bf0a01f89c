"""What shadow runs staged, from the command line: shadow list, accept, drop."""

import json
from typing import TYPE_CHECKING, cast

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import Command, Group
from fleet.cli.output import Item, local, say_done, say_error, say_items, say_json, table
from fleet.cli.session import Session, pass_session
from fleet.errors import Rejected
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.records import Body, Record

AFTER = "change the files and accept it again, or fleet shadow drop"
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@click.group("shadow", cls=Group, short_help=COMMANDS["shadow"].line)
def shadow_command() -> None:
    """What agents in `mode: shadow` would have written waits here for a person."""


@shadow_command.command("list", cls=Command, examples=["fleet shadow list"])
@click.argument("run", required=False)
@AS_JSON
@pass_session
def list_command(session: Session, *, run: str | None, as_json: bool) -> None:
    """Runs whose writes wait; with RUN every write of it, as what would be added."""
    if run is not None:
        _show(session, run, as_json=as_json)
        return
    waiting = session.fleet.shadow.waiting()
    if as_json:
        for one in waiting:
            say_json({"run": one.run, "agent": one.agent, "at": one.at, "writes": one.writes})
        return
    zone = session.zone
    rows = table(
        [one.run, one.agent, local(one.at, zone), counted(one.writes, "write")] for one in waiting
    )
    say_items(session, [Item(row) for row in rows] if waiting else [])


def _show(session: Session, ref: str, *, as_json: bool) -> None:
    shadow = session.fleet.shadow
    run = session.fleet.runs.find(ref)
    staged, decided = shadow.staged(run.id), shadow.decision(run.id)
    if as_json:
        word = decided.body["op"] if decided else None
        for record in staged:
            say_json({"ref": record.ref, "at": record.at, **_written(record), "decided": word})
        return
    first = [Item(_decision(session, decided))] if decided else []
    say_items(
        session,
        [*first, *(Item(f"+ {_head(one)}{_due(session, one)}", _text(one)) for one in staged)],
    )


def _decision(session: Session, record: "Record") -> str:
    """`dropped by operator, 2026-11-30 06:10: spam`."""
    by, reason = record.body.get("by"), record.body.get("reason")
    who = by if isinstance(by, str) else "operator"
    said = f"{record.body['op']} by {who}, {local(record.at, session.zone)}"
    return f"{said}: {reason}" if reason else said


def _written(record: "Record") -> "Body":
    return {name: record.body[name] for name in ("stream", "body", "given", "claim")}


def _head(record: "Record") -> str:
    """`competitive-intel: post`, `events: pricing-change`: the log, and what would be added."""
    said = cast("Body", record.body["body"])
    what = said.get("type") or said.get("name") or said.get("op")
    target = said.get("reply_to") or said.get("target") or said.get("subject")
    more = f" to {target}" if target else ""
    return f"{str(record.body['stream']).removeprefix('channels/')}: {what}{more}"


def _due(session: Session, record: "Record") -> str:
    due = cast("Body", record.body["body"]).get("due")
    return f" · due {local(str(due), session.zone)}" if due else ""


def _text(record: "Record") -> str:
    said = cast("Body", record.body["body"])
    if isinstance(said.get("text"), str):
        return str(said["text"])
    own = {"op", "type", "from_agent", "run", "cause", "hops", "to_agent", "thread"}
    shown = said.get("payload") or {k: v for k, v in said.items() if k not in own and v is not None}
    return json.dumps(shown, ensure_ascii=False)


@shadow_command.command("accept", cls=Command, examples=["fleet shadow accept outreach"])
@click.argument("run")
@pass_session
def accept_command(session: Session, *, run: str) -> None:
    """Write what the run staged, as if it had written it; nothing if today's files refuse any."""
    from fleet.ops import shadows

    fleet = session.fleet
    found = fleet.runs.find(run)
    done = shadows.accept(fleet, fleet.author, found)
    if done.faults:
        for fault in done.faults:
            say_error(fault)
        faulty = counted(len(done.faults), "write")
        raise Rejected(f"nothing was written, {faulty} of run {found.ref} cannot be", AFTER)
    if done.before:
        said = _decision(session, done.before)
        say_done(f"nothing is new: the writes of run {found.ref} were {said}")
    else:
        written = ", ".join(one.ref for one in done.made)
        say_done(f"accepted {counted(len(done.made), 'write')}: {written}")


@shadow_command.command("drop", cls=Command, examples=["fleet shadow drop outreach --reason spam"])
@click.argument("run")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever looks.")
@pass_session
def drop_command(session: Session, *, run: str, reason: str) -> None:
    """Leave what the run staged unwritten, for good."""
    from fleet.ops import shadows

    fleet = session.fleet
    dropped = shadows.drop(fleet, fleet.author, fleet.runs.find(run), reason)
    say_done(f"dropped {counted(dropped, 'write')}: nobody was told of them")
