"""Channels, of many and of two: agents and people post, answer, react and pin; members only.

Reading moves no lane; what a run has read counts when it succeeded, see `digest`.
What only readers need is imported where it is used: `post` is on the hot path.
"""

from typing import TYPE_CHECKING

from fleet.errors import Rejected, Unknown
from fleet.logs import has_key, record_at
from fleet.records import Body, Draft, Record
from fleet.talk.brakes import Brakes
from fleet.talk.direct import direct_name
from fleet.talk.members import Members
from fleet.talk.messages import (
    KINDS,
    MAX_TEXT,
    Digest,
    Message,
    Reaction,
    carry,
    check_text,
    message_json,
    message_ref,
    stream_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.config.model import Channel, HomeConfig
    from fleet.cursors import Cursors
    from fleet.identity import Author
    from fleet.ports import Cache, Store
    from fleet.talk.board import Board

__all__ = ["KINDS", "MAX_TEXT", "Digest", "Message", "Reaction", "Talk", "message_json"]


class Talk:
    """The channels of one home.

    Every method that names a channel or a message may raise `Unknown`, there is none, and
    `NotAllowed`, the author is an agent and no member; the operator may go anywhere.
    """

    def __init__(
        self, store: "Store", cache: "Cache", config: "HomeConfig", cursors: "Cursors"
    ) -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._cursors = cursors
        self._members = Members(store, config)
        self._brakes = Brakes(store, cache, config)

    # Writing ---------------------------------------------------------------------------------

    def post(
        self,
        author: "Author",
        channel: str,
        text: str,
        *,
        reply_to: str | None = None,
        pin: bool = False,
        key: str | None = None,
    ) -> Record:
        """Add a message, durable when it returns.

        Args:
            author: who says it; its run's limits apply.
            channel: where.
            text: at most `MAX_TEXT` bytes of UTF-8, kept as it is.
            reply_to: reference of the message it answers, in the same channel.
            pin: pin it at once.
            key: the caller's id: repeated with the same message it is the first record again.

        Raises:
            Rejected: blank, too long, not valid Unicode, one pin too many, an answer across
                channels or to what was retracted, or `key` stands for another message.
            TryAgain: the run's posts or the thread's turns are used up.
        """
        here = self._members.open(author, channel)
        self._members.require_reader(here.id)
        check_text(text)
        parent = self._post(here.id, reply_to) if reply_to is not None else None
        thread = self._thread(here.id, parent) if parent else None
        counted = self._brakes.counted(author, here.id, text, thread)
        if not has_key(self._store, stream_of(here.id), key):  # else it was let in already
            if parent:
                self._require_kept(here.id, parent)
            mine = self._own(author) if author.run is not None else ()
            counted |= self._brakes.check(author, here.id, counted, mine)
            if pin:
                self._check_pins(here)
        body: Body = {
            "op": "post",
            "from_agent": author.name,
            "text": text,
            "reply_to": parent.ref if parent else None,
            "pin": pin,
            "run": author.run,
            **counted,
        }
        return self._append(author, here.id, body, key, ("from_agent", "text", "reply_to", "pin"))

    def send(self, author: "Author", to: str, text: str, *, key: str | None = None) -> Record:
        """Add a message to the channel of two that the author has with `to`.

        Args:
            author: who says it.
            to: an agent, or `operator`, a person at the terminal.
            text: as in `post`.
            key: as in `post`.

        Raises:
            Unknown: nobody has that name.
            Rejected: it is the author's own, or as in `post`.
            TryAgain: as in `post`.
        """
        self._members.require_addressee(author.name, to)
        return self.post(author, direct_name(author.name, to), text, key=key)

    def react(self, author: "Author", ref: str, kind: str) -> Record:
        """Say `agree`, `disagree` or `important` to a message; once for each agent and kind.

        Raises:
            Rejected: another kind.
        """
        channel, seq = self._message(author, ref)
        if kind not in KINDS:
            near = _nearest(kind, KINDS) or f"say {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            raise Rejected(f"{kind!r} is no reaction", near)
        body: Body = {
            "op": "react",
            "from_agent": author.name,
            "target": seq,
            "kind": kind,
            "run": author.run,
        }
        key = f"react/{author.name}/{seq}/{kind}"
        return self._append(author, channel, body, key, ("from_agent", "target", "kind"))

    def pin(self, author: "Author", ref: str) -> Message:
        """Pin a message: it stays in every digest until unpinned. Repeating it writes nothing.

        Raises:
            Rejected: the channel has as many pins as it may have; the oldest is named.
        """
        channel, seq = self._message(author, ref)
        at_hand = self.board(channel)
        message = self.get(author, ref)
        if message.pinned:
            return message
        self._check_pins(self._members.named(channel))
        body: Body = {"op": "pin", "from_agent": author.name, "target": seq, "run": author.run}
        if at_hand.find(seq) is None:
            body["message"] = carry(message)
        self._append(author, channel, body, None, None)
        return message._replace(pinned=True)

    def unpin(self, author: "Author", ref: str) -> Message:
        """Take a pin back; the message stays in the log. Repeating it writes nothing."""
        channel, seq = self._message(author, ref)
        message = self.get(author, ref)
        if message.pinned:
            body: Body = {"op": "unpin", "from_agent": author.name, "target": seq}
            self._append(author, channel, body | {"run": author.run}, None, None)
        return message._replace(pinned=False)

    def carry_pins(self, author: "Author", channel: str, below: int) -> list[Record]:
        """Repeat the pins of messages below number `below`, so that trimming loses none.

        Repeating it changes nothing.
        """
        here = self._members.open(author, channel)
        carried: list[Record] = []
        for message in self.board(here.id).messages:
            if message.pinned and message.seq < below:
                body: Body = {
                    "op": "pin",
                    "from_agent": author.name,
                    "target": message.seq,
                    "run": author.run,
                    "message": carry(message),
                }
                key = f"carry/{message.seq}/{below}"
                carried.append(self._append(author, here.id, body, key, ("target",)))
        return carried

    # Reading ---------------------------------------------------------------------------------

    def channels(self, author: "Author") -> list["Channel"]:
        """The channels that the author may read and post in, by id."""
        return self._members.channels(author)

    def directs(self, author: "Author") -> list["Channel"]:
        """The channels of two that the author is in and in which something was said, by id."""
        return self._members.directs(author.name)

    def get(self, author: "Author", ref: str) -> Message:
        """One message, whole; a retracted one for people only."""
        from fleet.talk import reading

        channel, seq = self._message(author, ref, retracted=not self._members.is_agent(author))
        at_hand = self.board(channel)
        found = at_hand.find(seq)
        if found is None:
            post = self._post(channel, ref)
            found = reading.messages_of(self._store, at_hand, [post])[0]
        return reading.marked(self._store, self._cache, at_hand, [found])[0]

    def read(
        self,
        author: "Author",
        channel: str,
        *,
        unread_after: int | None = None,
        since_seq: int | None = None,
        thread: str | None = None,
        since: float | None = None,
        until: float | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[Message]:
        """At most `limit` messages that fit everything given, oldest first. Moves no lane.

        A person may read a retired channel, too.

        The newest ones without any of `unread_after`, `since_seq` and `since`; with one of them
        the oldest from there, so that one can page on, however old they are. Retracted ones are
        for people only, and say so.

        Args:
            author: who reads.
            channel: where.
            unread_after: only above this number and not the author's own.
            since_seq: only above this number (what `-f` follows).
            thread: only the thread of this message.
            since: not stamped before (epoch seconds).
            until: not stamped after (epoch seconds).
            before: only below this number.
            limit: how many.
        """
        from collections import deque
        from itertools import islice

        from fleet.talk import reading

        here = self._members.open(author, channel, past=True)
        at_hand = self.board(here.id)
        without = at_hand.retracted if self._members.is_agent(author) else frozenset[int]()
        forward = any(given is not None for given in (unread_after, since_seq, since))
        if thread is None and not forward:
            posts = reading.newest_posts(self._store, here.id, limit, until, before, without)
        else:
            after = max(unread_after or 0, since_seq or 0)
            whole = self._thread_of(here.id, thread) if thread is not None else None
            own = self._config.names_of(author.name) if unread_after is not None else ()
            found = (
                post
                for post in reading.posts_from(self._store, here.id, after, since, until, before)
                if post.seq not in without
                if post.body["from_agent"] not in own
                if whole is None or post.seq in whole
            )
            posts = list(islice(found, limit) if forward else deque(found, limit))
        messages = reading.messages_of(self._store, at_hand, posts)
        return reading.marked(self._store, self._cache, at_hand, messages)

    def board(self, channel: str) -> "Board":
        """The channel as it stands now, for fleet itself: it asks for no author."""
        from fleet.talk.board import board

        keep = self._members.named(channel, past=True).keep
        return board(self._store, self._cache, channel, keep)

    def is_retired(self, channel: str) -> bool:
        """Whether it is a channel that only a person may read, and nobody post to."""
        return self._members.is_retired(channel)

    def digest(self, agent: str, channel: str, after: int, limit: int) -> Digest:
        """What `agent`, which has read up to number `after`, is told of the channel.

        Every pinned message, then the newest `limit` unread ones. Changes nothing; whoever acts
        on its `upto` makes the log durable first.
        """
        from fleet.talk import reading

        self._members.admit(self._members.named(channel), agent)
        here = self.board(channel)
        return reading.digest(self._store, here, self._config.names_of(agent), after, limit)

    def inbox(
        self, reader: str, channels: "Iterable[str]", places: "Mapping[str, int]", limit: int
    ) -> list[Digest]:
        """What others wrote to `reader` in `channels` of two: the digests with something unread.

        Changes nothing, like `digest`.

        Args:
            reader: an agent, or `operator`.
            channels: each with `reader` in it.
            places: by channel, the number up to which it was read; 0 for those that are not there.
            limit: messages of one channel, the newest.
        """
        found = (
            self.digest(reader, channel, places.get(channel, 0), limit)
            for channel in channels
            if self._store.head(stream_of(channel)) > places.get(channel, 0)
        )
        return [one for one in found if one.unread or one.trimmed]

    # Rights and limits -----------------------------------------------------------------------

    def _own(self, author: "Author") -> list[str]:
        return [one.id for one in (*self.channels(author), *self.directs(author))]

    def _message(self, author: "Author", ref: str, *, retracted: bool = False) -> tuple[str, int]:
        """Channel and number of a message that the author may see.

        Raises:
            Rejected: it was taken back, unless `retracted` ones are wanted.
        """
        channel, seq = message_ref(ref)
        here = self._members.open(author, channel)
        if not retracted and seq in self.board(here.id).retracted:
            raise _retracted(ref)
        gone = record_at(self._store, stream_of(here.id), seq) is None
        if gone and self.board(here.id).find(seq):
            return here.id, seq  # trimmed, but a pin carries it
        return here.id, self._post(here.id, ref).seq

    def _post(self, channel: str, ref: str) -> Record:
        """The `post` record that `ref` names in `channel`."""
        named, seq = message_ref(ref)
        if self._members.named(named, past=True).id != channel:
            raise Rejected(f"{ref} is not in {channel}", f"answer it in {named}")
        record = record_at(self._store, stream_of(channel), seq)
        if record is None or record.body.get("op") != "post":
            raise Unknown(f"there is no message {ref}", f"fleet read {channel}")
        return record

    def _require_kept(self, channel: str, parent: Record) -> None:
        """Refuse an answer to what was taken back (`Rejected`)."""
        from fleet.retractions import Retractions

        if parent.seq in Retractions(self._store, self._cache).of(stream_of(channel)):
            raise _retracted(parent.ref)

    def _thread(self, channel: str, parent: Record) -> str:
        """Reference of the first message of the thread that `parent` belongs to."""
        named = parent.body.get("thread")
        if isinstance(named, str):
            return named
        from fleet.talk import reading

        passed = reading.first_of_thread(self._store, channel, parent)
        return f"{channel}#{min(passed)}"

    def _thread_of(self, channel: str, ref: str) -> set[int]:
        """The numbers of all messages of the thread that `ref` belongs to."""
        from fleet.talk import reading

        return reading.thread_members(self._store, channel, self._post(channel, ref))

    def _check_pins(self, channel: "Channel") -> None:
        pins = self.board(channel.id).pins
        if len(pins) >= channel.max_pins:
            raise Rejected(
                f"{channel.id} has {len(pins)} pinned messages, its max_pins",
                f"unpin the oldest first: fleet unpin {channel.id}#{pins[0]}",
            )

    def _append(
        self,
        author: "Author",
        channel: str,
        body: Body,
        key: str | None,
        same: tuple[str, ...] | None,
    ) -> Record:
        if author.by is not None:
            body["by"] = author.by
        draft = Draft(body, key=key, same=("op", *same) if same else None)
        return self._store.append(stream_of(channel), [draft])[0]


def _retracted(ref: str) -> Rejected:
    return Rejected(f"{ref} was retracted", "do not rely on it, and leave it")


def _nearest(name: str, known: tuple[str, ...]) -> str:
    from fleet.text import suggest

    return suggest(name, known)
