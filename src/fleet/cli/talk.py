"""Channels from the command line: post, reply, read, react, pin, unpin, channels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import LIMIT, command, moment, number_of
from fleet.cli.inputs import text_of
from fleet.cli.output import (
    Item,
    flush,
    going_on,
    local,
    page,
    retracted_mark,
    say_error,
    say_items,
    say_json,
    say_objects,
    say_written,
    table,
    upto,
)
from fleet.cli.session import Session, pass_session
from fleet.errors import Usage
from fleet.records import parse_ref

if TYPE_CHECKING:
    from fleet.records import Record
    from fleet.talk import Message

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
KEY = click.option("--id", "key", metavar="KEY", help="The same KEY twice is one record.")
READ_ITEMS = 50


@command(
    "post",
    examples=[
        "fleet post strategy 'Cursor cut Pro to $20: worth a comparison?'",
        "fleet post strategy - <<'EOT'",
        "Any text, `backticks` and $(dollars) too.",
        "EOT",
        "fleet post strategy --file notes.md --pin",
    ],
)
@click.argument("channel")
@click.argument("text", required=False)
@click.option("--file", metavar="F", help="Read the text from a file.")
@click.option("--reply-to", metavar="REF", help="The message it answers.")
@click.option("--pin", is_flag=True, help="Keep it in sight.")
@KEY
@AS_JSON
@pass_session
def post_command(
    session: Session,
    *,
    channel: str,
    text: str | None,
    file: str | None,
    reply_to: str | None,
    pin: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Add a message to a channel you are a member of. TEXT `-` reads standard input."""
    if text is None and file is None and not _is_channel(session, channel):
        raise Usage(f"'{channel}' is no channel", _yours(session, channel))
    channel = _id_of(session, channel)
    words = text_of(session, text, file, f"fleet post {channel} 'TEXT'")
    record = session.fleet.talk.post(
        session.fleet.author, channel, words, reply_to=reply_to, pin=pin, key=key
    )
    say_posted(session, record, channel, as_json=as_json)


@command(
    "reply",
    examples=[
        "fleet reply strategy#412 'Yes, drafting it'",
        "fleet reply strategy#412 '-1 from me: too early'",
    ],
)
@click.argument("ref")
@click.argument("text", required=False)
@click.option("--file", metavar="F", help="Read the text from a file.")
@KEY
@AS_JSON
@pass_session
def reply_command(
    session: Session,
    *,
    ref: str,
    text: str | None,
    file: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Answer a message, in its channel. TEXT `-` reads standard input."""
    channel = _id_of(session, _channel_of(ref))
    words = text_of(session, text, file, f"fleet reply {ref} 'TEXT'")
    record = session.fleet.talk.post(session.fleet.author, channel, words, reply_to=ref, key=key)
    say_posted(session, record, channel, as_json=as_json)


@command(
    "read",
    examples=[
        "fleet read strategy --unread",
        "fleet read strategy --thread strategy#412",
        "fleet read strategy --since 3h --json",
    ],
)
@click.argument("channel")
@click.option("--unread", is_flag=True, help="Only what you have not been shown.")
@click.option("--thread", metavar="REF", help="Only the thread this message belongs to.")
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant.")
@click.option("--until", metavar="WHEN", help="As --since.")
@click.option("--after", metavar="REF", help="Only messages with a higher number, oldest first.")
@click.option("--before", metavar="REF", help="Only messages with a lower number.")
@click.option("--limit", type=LIMIT, help=f"At most so many (default {READ_ITEMS}).")
@click.option("-f", "follow", is_flag=True, help="Go on with what is posted from now on.")
@AS_JSON
@pass_session
def read_command(
    session: Session,
    *,
    channel: str,
    thread: str | None,
    since: str | None,
    until: str | None,
    after: str | None,
    before: str | None,
    limit: int | None,
    unread: bool,
    follow: bool,
    as_json: bool,
) -> None:
    """Messages of a channel, newest last. Reading consumes nothing."""
    fleet = session.fleet
    channel = _id_of(session, channel)
    most = page(session, limit, READ_ITEMS, as_json=as_json)
    first, last = moment(session, since, "--since"), moment(session, until, "--until")
    head = fleet.store.head(f"channels/{channel}")
    found = fleet.talk.read(
        fleet.author,
        channel,
        unread_after=_seen(session, channel) if unread else None,
        since_seq=number_of(after, channel),
        thread=thread,
        since=first,
        until=last,
        before=number_of(before, channel),
        limit=most + 1,
    )
    forward = unread or after is not None or since is not None
    shown = found[:most] if forward else found[-most:]
    rest = ""
    if len(found) > most:
        from fleet.cli.hints import again

        same = {"--unread": unread, "--thread": thread, "--limit": limit}
        place = going_on(shown, first, last, after, before, forward=forward)
        rest = again(session, ["read", channel], {**same, **place})
    say_messages(session, shown, rest, as_json=as_json)
    say_retired(session, channel)
    if follow:
        seen = shown[-1].seq if rest and forward else upto(head, shown)
        _follow(session, channel, seen, thread, as_json=as_json)


@command("react", examples=["fleet react strategy#412 agree"])
@click.argument("ref")
@click.argument("kind", metavar="agree|disagree|important")
@AS_JSON
@pass_session
def react_command(session: Session, *, ref: str, kind: str, as_json: bool) -> None:
    """Say agree, disagree or important to a message: better than a post that says "noted"."""
    record = session.fleet.talk.react(session.fleet.author, ref, kind)
    _say_done(session, record, f"{kind} to {ref}", as_json=as_json)


@command("pin", examples=["fleet pin strategy#412"])
@click.argument("ref")
@AS_JSON
@pass_session
def pin_command(session: Session, *, ref: str, as_json: bool) -> None:
    """Keep a message in sight of every member, whatever its age."""
    message = session.fleet.talk.pin(session.fleet.author, ref)
    _say_done(session, message, f"pinned {ref}", as_json=as_json)


@command("unpin", examples=["fleet unpin strategy#412"])
@click.argument("ref")
@AS_JSON
@pass_session
def unpin_command(session: Session, *, ref: str, as_json: bool) -> None:
    """Let a pinned message age like any other."""
    message = session.fleet.talk.unpin(session.fleet.author, ref)
    _say_done(session, message, f"unpinned {ref}", as_json=as_json)


@command("channels", examples=["fleet channels"])
@AS_JSON
@pass_session
def channels_command(session: Session, *, as_json: bool) -> None:
    """Channels you may read and post to; last those of two that you are in."""
    talk, author = session.fleet.talk, session.fleet.author
    channels = [*talk.channels(author), *talk.directs(author)]
    if as_json:
        for channel in channels:
            say_json(
                {
                    "id": channel.id,
                    "alias": channel.alias or None,
                    "name": channel.name,
                    "purpose": channel.purpose,
                    "members": "all" if channel.members is None else sorted(channel.members),
                }
            )
        return
    rows = [[f"{c.id} ({c.alias})" if c.alias else c.id, c.purpose] for c in channels]
    items = [Item(row) for row in table(rows)] if channels else []
    say_items(session, items)


# What was written ---------------------------------------------------------------------------------


def say_posted(session: Session, record: "Record", channel: str, *, as_json: bool) -> None:
    """The answer to a message that was added to `channel`: its reference, and who reads it next."""
    line = f"posted {record.ref}"
    if session.one_line and not as_json and not session.fleet.staged:
        from fleet.cli.reader import next_reader

        line += next_reader(session, channel)
    fields = {"ref": record.ref, "seq": record.seq, "id": record.id}
    say_written(session, as_json=as_json, fields=fields, line=line)


def _say_done(session: Session, about: "Record | Message", line: str, *, as_json: bool) -> None:
    fields = {"ref": about.ref, "seq": about.seq, "id": about.id}
    say_written(session, as_json=as_json, fields=fields, line=line)


# What is read -------------------------------------------------------------------------------------


def say_messages(
    session: Session,
    shown: Sequence["Message"],
    rest: str,
    *,
    none: str = "nothing",
    as_json: bool,
) -> None:
    """Print messages; `rest` is the command that shows those that are left out."""
    if as_json:
        from fleet.talk import message_json

        say_objects(session, map(message_json, shown))
        return
    zone = session.zone
    items = [
        Item(_head(message, local(message.at, zone)), message.text, message.ref)
        for message in shown
    ]
    say_items(session, items, rest, none=none)


def say_retired(session: Session, channel: str) -> None:
    """Say of a retired channel that it is one."""
    if session.fleet.talk.is_retired(channel):
        say_error(f"{channel} is retired: this is its history, nobody posts there any more")


def _head(message: "Message", at: str) -> str:
    """`strategy#412 · outreach · 2026-11-30 14:32 · answers strategy#400 · pinned · 2 agree`."""
    counts: dict[str, int] = {}
    for reaction in message.reactions:
        counts[reaction["kind"]] = counts.get(reaction["kind"], 0) + 1
    parts = [message.ref, message.from_agent, at]
    parts += [f"answers {message.reply_to}"] if message.reply_to else []
    parts += ["pinned"] if message.pinned else []
    said = " · ".join([*parts, *(f"{count} {kind}" for kind, count in sorted(counts.items()))])
    return said + retracted_mark(message.retracted)


def _follow(
    session: Session, channel: str, seen: int, thread: str | None, *, as_json: bool
) -> None:
    """Print what is posted above number `seen`, until interrupted."""
    fleet = session.fleet
    stream = f"channels/{channel}"
    while True:
        flush()
        if not fleet.store.wait({stream: seen}, 60.0):
            continue
        head = fleet.store.head(stream)
        fresh = fleet.talk.read(
            fleet.author, channel, since_seq=seen, thread=thread, limit=head - seen
        )
        seen = upto(head, fresh)
        say_messages(session, fresh, "", none="", as_json=as_json)


def _seen(session: Session, channel: str) -> int:
    """The number up to which the calling agent's digests have shown this channel."""
    author = session.fleet.author.name
    if author not in session.fleet.config.agents:
        raise Usage("--unread is about an agent", f"say fleet --as AGENT read {channel} --unread")
    return places_of(session, author).get(channel, 0)


def places_of(session: Session, agent: str) -> "dict[str, int]":
    """By channel, the number up to which the agent's runs have been shown it."""
    from fleet.cursors import read_of_channels

    fleet = session.fleet
    return read_of_channels(fleet.bus.lanes(agent, fleet.runs.last_ok_advance(agent)))


def _id_of(session: Session, name: str) -> str:
    """The id of the channel that is called `name` now; every other name is its own."""
    found = session.fleet.config.channel_named(name)
    return found.id if found else name


def _is_channel(session: Session, channel: str) -> bool:
    from fleet.talk.direct import pair_of

    return session.fleet.config.channel_named(channel) is not None or pair_of(channel) is not None


def _yours(session: Session, text: str) -> str:
    """Which channels there are for the caller, and the line he meant."""
    from fleet.cli.hints import line

    yours = [channel.id for channel in session.fleet.talk.channels(session.fleet.author)]
    if not yours:
        return "you are a member of none"
    return f"yours are {', '.join(yours)}: say {line('post', yours[0], text)}"


def _channel_of(ref: str) -> str:
    """The channel of a message's reference."""
    return parse_ref(ref, "strategy#412")[0]
