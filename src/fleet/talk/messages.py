"""A message as people and agents see it, and the records it is made of; nothing is read here."""

from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypedDict

from fleet.errors import Rejected, Usage
from fleet.records import Body, Place, Record, parse_ref, ref_of

MAX_TEXT = 16 * 1024  # bytes of a message's text as UTF-8
KINDS = ("agree", "disagree", "important")


class Reaction(TypedDict):
    """What an agent thinks of a message: one of `KINDS`, at an RFC 3339 instant, record `seq`."""

    agent: str
    kind: str
    at: str
    seq: int


class Message(NamedTuple):
    """A text in a channel.

    Attributes:
        channel: the channel's id.
        seq: its number there.
        id: its record's id.
        at: RFC 3339 instant.
        from_agent: who wrote it.
        text: what it says, as written: data of another author.
        reply_to: reference of the message it answers, which may be missing; None for none.
        pinned: whether it is pinned now.
        reactions: in the order in which they came, one for each agent and kind.
        retracted: why it was taken back, None when it was not.
    """

    channel: str
    seq: int
    id: str
    at: str
    from_agent: str
    text: str
    reply_to: str | None
    pinned: bool
    reactions: tuple[Reaction, ...]
    retracted: str | None = None

    @property
    def ref(self) -> str:
        """`competitive-intel#412`."""
        return f"{self.channel}#{self.seq}"


class Digest(NamedTuple):
    """What an agent is told of a channel.

    Attributes:
        channel: its id.
        messages: the pinned ones, then the newest unread ones, each oldest first.
        new: numbers of those in `messages` that are unread.
        unread: how many messages of others came after the agent's place.
        not_shown: how many of them are not in `messages`.
        upto: the place that the agent's lane passes to when its run succeeds.
        trimmed: how many messages of others were trimmed before it read them.
    """

    channel: str
    messages: tuple[Message, ...]
    new: frozenset[int]
    unread: int
    not_shown: int
    upto: Place
    trimmed: int = 0


class Row(TypedDict):
    """A message as the board's fold holds it."""

    seq: int
    id: str
    at: str
    from_agent: str
    text: str
    reply_to: str | None
    reactions: list[Reaction]


def message_json(message: Message) -> Body:
    """What `--json` prints of a message."""
    return {
        "ref": message.ref,
        "seq": message.seq,
        "id": message.id,
        "at": message.at,
        "channel": message.channel,
        "from_agent": message.from_agent,
        "text": message.text,
        "reply_to": message.reply_to,
        "pinned": message.pinned,
        "reactions": [dict(reaction) for reaction in message.reactions],
        "retracted": message.retracted,
    }


def row_of(record: Record) -> Row:
    """The row of a `post` record, without what came later."""
    reply_to = record.body.get("reply_to")
    return {
        "seq": record.seq,
        "id": record.id,
        "at": record.at,
        "from_agent": str(record.body.get("from_agent", "")),
        "text": str(record.body.get("text", "")),
        "reply_to": str(reply_to) if reply_to is not None else None,
        "reactions": [],
    }


def carry(message: Message) -> Body:
    """What a pin says of a message that the board or the log no longer has."""
    known = message_json(message)
    return {
        name: known[name]
        for name in ("seq", "id", "at", "from_agent", "text", "reply_to", "reactions")
    }


def message_of(channel: str, row: Row, *, pinned: bool, gone: AbstractSet[int]) -> Message:
    """The message in a row, without the reactions that were taken back (`gone`)."""
    return Message(
        channel=channel,
        seq=row["seq"],
        id=row["id"],
        at=row["at"],
        from_agent=row["from_agent"],
        text=row["text"],
        reply_to=row["reply_to"],
        pinned=pinned,
        reactions=tuple(one for one in row["reactions"] if one.get("seq") not in gone),
    )


def add_reaction(row: Row, record: Record) -> None:
    """Add what a `react` record says; the second of one agent and kind changes nothing."""
    agent, kind = str(record.body.get("from_agent")), str(record.body.get("kind"))
    if all((old["agent"], old["kind"]) != (agent, kind) for old in row["reactions"]):
        said = Reaction(agent=agent, kind=kind, at=record.at, seq=record.seq)
        row["reactions"].append(said)


def stream_of(channel: str) -> str:
    """The log of a channel, which is also the name of its lane."""
    return f"channels/{channel}"


def message_ref(ref: str) -> tuple[str, int]:
    """Channel and number of `competitive-intel#412`.

    Raises:
        Usage: it is no reference.
    """
    return parse_ref(ref, "strategy#412")


def seq_in(channel: str, ref: object) -> int | None:
    """The number that `ref` names in `channel`; None when it names nothing there."""
    if not isinstance(ref, str):
        return None
    try:
        named, seq = message_ref(ref)
    except Usage:
        return None
    return seq if ref_of(stream_of(named), seq) == ref and named == channel else None


def check_text(text: str) -> None:
    """Refuse what is no message.

    Raises:
        Rejected: blank, over `MAX_TEXT`, or not valid Unicode.
    """
    if not text.strip():
        raise Rejected("a message without text", "say something, or give it with --file")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Rejected("the text holds half a surrogate pair", "send valid UTF-8") from None
    if size > MAX_TEXT:
        raise Rejected(
            f"the message has {size} bytes, the limit is {MAX_TEXT}",
            "post a summary and name the file that holds the rest",
        )
