"""Events from the command line: emit, events, ack."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fleet.cli.grammar import LIMIT, ahead, command, moment, number_of
from fleet.cli.inputs import argument, decoded, file_bytes, stdin_bytes
from fleet.cli.output import (
    Item,
    flush,
    going_on,
    local,
    page,
    reasons_of,
    retracted_mark,
    say_done,
    say_items,
    say_objects,
    say_written,
    upto,
)
from fleet.cli.session import Session, pass_session
from fleet.errors import Rejected, Usage
from fleet.strictjson import dumps, loads

if TYPE_CHECKING:
    from fleet.records import Body, Record

EVENTS = "events"
ITEMS = 50
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@command(
    "emit",
    examples=[
        "fleet emit reply-received email=sarah@acme.com classification=interested",
        "fleet emit pricing-change competitor=Cursor 'oldPrice=$40' 'newPrice=$20' source=blog",
        'fleet emit reply-received --data \'{"email": "a@b.co", "classification": "interested"}\'',
        "fleet emit task-created --data @task.json --id task-17",
        "fleet emit reply-received email=sarah@acme.com classification=later --in 3d",
    ],
)
@click.argument("event_type", metavar="TYPE")
@click.argument("fields", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--data", metavar="JSON|@F|-", help="The payload: JSON, a file, or standard input.")
@click.option("--payload", "data_too", metavar="JSON", hidden=True)
@click.option("--to", metavar="AGENT", help="For this agent only.")
@click.option("--id", "key", metavar="KEY", help="The same KEY twice is one record.")
@click.option("--cause", metavar="REF", help="The event this one follows from.")
@click.option("--in", "when", metavar="WHEN", help="Not before: 3d, 03:00, a date.")
@AS_JSON
@pass_session
def emit_command(
    session: Session,
    *,
    event_type: str,
    fields: tuple[str, ...],
    data: str | None,
    data_too: str | None,
    to: str | None,
    key: str | None,
    cause: str | None,
    when: str | None,
    as_json: bool,
) -> None:
    """Append a fact of a TYPE that `fleet schema list` shows.

    Values are text unless the type's schema says otherwise. Standard input (`-`) may be JSON or
    lines like `key: value`.
    """
    plain, objects = _split(fields, [text for text in (data, data_too) if text is not None])
    payload = _payload(session, event_type, plain, objects)
    fleet = session.fleet
    if when is not None:
        due = ahead(session, when, "--in")
        options: dict[str, Any] = {"due": due, "when": when, "to": to, "key": key, "cause": cause}
        _say_waiting(
            session, fleet.later.emit(fleet.author, event_type, payload, **options), as_json=as_json
        )
        return
    record = fleet.bus.emit(fleet.author, event_type, payload, to=to, key=key, cause=cause)
    line = f"emitted {record.ref}" + (f" to {record.body['to_agent']}" if _to(record) else "")
    written = {"ref": record.ref, "seq": record.seq, "id": record.id}
    say_written(session, as_json=as_json, fields=written, line=line)


@command(
    "events",
    examples=[
        "fleet events --type pricing-change --where competitor=Cursor",
        "fleet events --for outreach",
        "fleet events --after 97 --json",
    ],
)
@click.option("--for", "for_agent", metavar="AGENT", help="What waits for this agent.")
@click.option("--type", "event_type", metavar="TYPE", help="Only this type.")
@click.option("--where", metavar="KEY=VALUE", multiple=True, help="Only with this value.")
@click.option("--after", metavar="REF", help="Only higher numbers, oldest first.")
@click.option("--before", metavar="REF", help="Only lower numbers.")
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant.")
@click.option("--until", metavar="WHEN", help="As --since.")
@click.option("--limit", type=LIMIT, help=f"At most so many (default {ITEMS}).")
@click.option("-f", "follow", is_flag=True, help="Go on with what is emitted from now on.")
@AS_JSON
@pass_session
def events_command(
    session: Session,
    *,
    for_agent: str | None,
    event_type: str | None,
    where: tuple[str, ...],
    after: str | None,
    before: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """The newest events, newest last; from a place on with --after or --since, oldest first."""
    bus = session.fleet.bus
    most = page(session, limit, ITEMS, as_json=as_json)
    pairs = dict(_pair(text) for text in where)
    start = number_of(after, EVENTS)
    first, last = moment(session, since, "--since"), moment(session, until, "--until")
    head = session.fleet.store.head(EVENTS)
    asked: dict[str, Any] = {
        "after": start,
        "since": first,
        "until": last,
        "before": number_of(before, EVENTS),
        "type": event_type,
        "where": pairs,
        "limit": most + 1,
        "retracted": not session.as_an_agent,
    }
    found = _by_value(session, asked) if pairs and for_agent is None else None
    if found is None:
        floor = session.fleet.runs.last_ok_advance(for_agent) if for_agent else None
        found = bus.events(for_agent=for_agent, floor=floor, **asked)
    if event_type and not found:
        session.fleet.schemas.get(event_type)  # a type of the past is found, a typo is said
    forward = start is not None or since is not None or for_agent is not None
    shown = found[:most] if forward else found[-most:]
    rest = ""
    if len(found) > most:
        from fleet.cli.hints import again

        same = {"--for": for_agent, "--type": event_type, "--where": where, "--limit": limit}
        place = going_on(shown, first, last, after, before, forward=forward)
        rest = again(session, ["events"], {**same, **place})
    _say_events(session, shown, rest, as_json=as_json)
    if follow:
        seen = shown[-1].seq if rest and forward else upto(head, shown)
        _follow(session, seen, event_type, for_agent, pairs, as_json=as_json)


@command("ack", examples=["fleet ack events#97"])
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@pass_session
def ack_command(session: Session, *, refs: tuple[str, ...]) -> None:
    """Consume only up to the events you name, if this run succeeds: later ones come again."""
    fleet = session.fleet
    for ref in refs:
        record = fleet.bus.narrow(fleet.author, ref)
        say_done(f"this run will consume its events up to {record.ref} and no further")


# What was typed -----------------------------------------------------------------------------------


def _split(fields: Sequence[str], objects: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The KEY=VALUE fields by name, and the whole payloads: `-` and `{…}` count as --data."""
    wholes = [*objects, *(text for text in fields if text == "-" or text.startswith("{"))]
    if len(wholes) > 1:
        raise Usage("two payloads", "give one --data, and KEY=VALUE fields beside it")
    plain: dict[str, str] = {}
    for text in fields:
        if text == "-" or text.startswith("{"):
            continue
        name, value = _pair(text)
        if name in plain:
            raise Usage(f"the field {name} is there twice", "name each field once")
        plain[name] = value
    return plain, wholes


def _pair(text: str) -> tuple[str, str]:
    name, found, value = argument(text).partition("=")
    if not found or not name or name.startswith("--"):  # an option that there is not
        raise Usage(f"'{text}' is no KEY=VALUE", "say name=value, in one pair of quotes: 'a=b c'")
    return name, value


def _payload(
    session: Session, event_type: str, fields: Mapping[str, str], wholes: Sequence[str]
) -> "Body":
    """The payload of all that was typed; a field may not contradict the whole."""
    body: Body = {}
    for text in wholes:
        body, lines = _whole(session, text)
        fields = {**lines, **fields} if not set(lines) & set(fields) else _twice(lines, fields)
    if both := set(body) & set(fields):
        raise Usage(f"the field {min(both)} is there twice", "name each field once")
    return {**body, **session.fleet.schemas.coerce(event_type, fields)}


def _twice(lines: Mapping[str, str], fields: Mapping[str, str]) -> dict[str, str]:
    raise Usage(f"the field {min(set(lines) & set(fields))} is there twice", "name each field once")


def _whole(session: Session, text: str) -> tuple["Body", dict[str, str]]:
    """A payload given as JSON, or the `key: value` lines that stand in its place."""
    if text == "-":
        source, data = "standard input", decoded(stdin_bytes(), "standard input")
    elif text.startswith("@"):
        source, data = text[1:], decoded(file_bytes(session, text[1:]), text[1:])
    else:
        source, data = "--data", argument(text)
    if text.startswith(("-", "@")) and not data.lstrip().startswith("{"):
        return {}, _lines(data, source)
    value = loads(data)
    if not isinstance(value, dict):
        raise Rejected(f"{source} is no JSON object", 'a payload is like {"email": "a@b.example"}')
    return value, {}


def _lines(data: str, source: str) -> dict[str, str]:
    """`key: value` lines; empty ones are skipped."""
    fields: dict[str, str] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        name, found, value = line.partition(":")
        name = name.strip()
        if not found or not name or name in fields:
            fault = "names a field twice" if name in fields else "is no `key: value`"
            raise Rejected(f"line {number} of {source} {fault}", "write JSON, or key: value lines")
        fields[name] = value.strip()
    if not fields:
        raise Rejected(f"{source} is empty", "write JSON, or key: value lines")
    return fields


# What is read -------------------------------------------------------------------------------------


def _by_value(session: Session, asked: dict[str, Any]) -> "list[Record] | None":
    """The events that the index finds by their values; None when the log has to be read."""
    from fleet.audit.index import Index
    from fleet.audit.where import events

    with Index(session.fleet) as index:
        return events(session.fleet, index, **asked)


def _say_events(
    session: Session,
    shown: Sequence["Record"],
    rest: str,
    *,
    none: str = "nothing",
    as_json: bool,
) -> None:
    gone = {} if session.as_an_agent else reasons_of(session, shown)
    if as_json:
        from fleet.bus import event_json

        say_objects(session, (event_json(record, gone.get(record.seq)) for record in shown))
        return
    zone = session.zone
    items = [
        Item(
            _head(record, local(record.at, zone)) + retracted_mark(gone.get(record.seq)),
            _body(record),
            record.ref,
        )
        for record in shown
    ]
    say_items(session, items, rest, none=none)


def _say_waiting(session: Session, record: "Record", *, as_json: bool) -> None:
    """The answer to an `emit --in`."""
    from fleet.cli.ask import due_of, later_written

    to = f" to {_to(record)}" if _to(record) else ""
    line = f"noted {record.ref} · emitted{to} {due_of(session, record)}"
    say_written(session, as_json=as_json, fields=later_written(record), line=line)


def _to(record: "Record") -> str:
    return str(record.body.get("to_agent") or "")


def _head(record: "Record", at: str) -> str:
    """`events#97 · 2026-11-30 06:10 · pricing-change · competitor-watch → outreach`."""
    author = str(record.body.get("from_agent"))
    to = f" → {_to(record)}" if _to(record) else ""
    return " · ".join([record.ref, at, str(record.body.get("type")), author + to])


def _body(record: "Record") -> str:
    return dumps(record.body.get("payload"))


def _follow(
    session: Session,
    seen: int,
    event_type: str | None,
    for_agent: str | None,
    where: Mapping[str, str],
    *,
    as_json: bool,
) -> None:
    """Print what is emitted from now on, until interrupted."""
    fleet = session.fleet
    while True:
        flush()
        if not fleet.store.wait({EVENTS: seen}, 60.0):
            continue
        head = fleet.store.head(EVENTS)
        fresh = fleet.bus.events(
            after=seen,
            type=event_type,
            for_agent=for_agent,
            where=where,
            limit=head - seen,
            retracted=not session.as_an_agent,
        )
        seen = upto(head, fresh)
        _say_events(session, fresh, "", none="", as_json=as_json)
