"""Messages out of a channel's log: a range, the newest, a thread, a digest's unread ones.

Membership is the caller's business; nothing here moves a lane.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from fleet.logs import between, newest, place_before, record_at
from fleet.ports import Cache, Store
from fleet.records import Record, Sieve, wall_of
from fleet.retractions import Retractions
from fleet.talk.board import Board, overlaid
from fleet.talk.messages import Digest, Message, seq_in, stream_of
from fleet.unseen import dropped

_POSTS = Sieve({"op": frozenset({"post"})})
_LATER = Sieve({"op": frozenset({"react", "pin", "unpin"})})


def digest(store: Store, board: Board, reader: Sequence[str], after: int, limit: int) -> Digest:
    """The digest of `board` for `reader`, which has read up to number `after`.

    Args:
        store: where its log is.
        board: the channel.
        reader: every name that the reader has or had, the one of today first.
        after: a number of its log.
        limit: unread messages that are shown at most.
    """
    pinned = [message for message in board.messages if message.pinned]
    at_hand = [
        message
        for message in board.messages
        if message.seq > after and message.from_agent not in reader
    ]
    unread = [message for message in at_hand if not message.pinned]
    shown = unread[max(0, len(unread) - limit) :]
    new = {message.seq for message in at_hand if message.pinned or message in shown}
    count = len(at_hand) + _older(store, board, reader, after)
    return Digest(
        channel=board.channel,
        messages=(*pinned, *shown),
        new=frozenset(new),
        unread=count,
        not_shown=count - len(new),
        upto=board.place,
        trimmed=dropped(store, stream_of(board.channel), reader[0], after, board.place.seq),
    )


def _older(store: Store, board: Board, reader: Sequence[str], after: int) -> int:
    """How many unread messages are no longer on the board."""
    if after >= board.complete_after:
        return 0
    older = between(store, stream_of(board.channel), after, board.complete_after, sieve=_POSTS)
    counted = {message.seq for message in board.messages} | board.retracted
    unread = (record for record in older if record.seq not in counted)
    return sum(record.body.get("from_agent") not in reader for record in unread)


def unseen(store: Store, channel: str, reader: Sequence[str], after: int, below: int) -> int:
    """How many posts of others stand above number `after` and below number `below`.

    `reader` is every name that the reader has or had.
    """
    posts = between(store, stream_of(channel), after, below - 1, sieve=_POSTS)
    return sum(post.body.get("from_agent") not in reader for post in posts)


def newest_posts(  # noqa: PLR0917 - a range of a log, and what of it is wanted
    store: Store,
    channel: str,
    limit: int,
    until: float | None,
    before: int | None,
    without: AbstractSet[int],
) -> list[Record]:
    """The newest `limit` posts below number `before`, oldest first, not after `until` (epoch).

    Those numbered in `without` are left out.
    """
    stream = stream_of(channel)
    upper = _upper(store, stream, until, before)

    def stands(record: Record) -> bool:
        return _is_post(record) and record.seq not in without

    return newest(store, stream, upper, limit, stands, _POSTS)


def posts_from(  # noqa: PLR0917 - a range of a log, by numbers and by times
    store: Store,
    channel: str,
    after: int,
    since: float | None,
    until: float | None,
    before: int | None,
) -> Iterator[Record]:
    """Every post numbered between `after` and `before`, stamped in [since, until], oldest first."""
    stream = stream_of(channel)
    if since is not None:
        after = max(after, place_before(store, stream, since).seq)
    for record in between(store, stream, after, _upper(store, stream, until, before), sieve=_POSTS):
        if since is None or wall_of(record.at) >= since:
            yield record


def _upper(store: Store, stream: str, until: float | None, before: int | None) -> int:
    by_time = (
        store.head(stream) if until is None else place_before(store, stream, until + 0.001).seq
    )
    return by_time if before is None else min(by_time, before - 1)


def _is_post(record: Record) -> bool:
    return record.body.get("op") == "post"


def first_of_thread(store: Store, channel: str, record: Record) -> set[int]:
    """The numbers on the way up from `record` to its thread's first message, itself included.

    A parent that is missing, or that was passed already, ends the way.
    """
    passed = {record.seq}
    above: Record | None = record
    while above is not None:
        seq = seq_in(channel, above.body.get("reply_to"))
        if seq is None or seq in passed:
            break
        above = record_at(store, stream_of(channel), seq)
        if above is not None and _is_post(above):
            passed.add(seq)
        else:
            break
    return passed


def thread_members(store: Store, channel: str, record: Record) -> set[int]:
    """The numbers of all posts of the thread that `record` belongs to."""
    stream = stream_of(channel)
    members = first_of_thread(store, channel, record)
    for post in between(store, stream, min(members) - 1, store.head(stream), sieve=_POSTS):
        if post.seq in members or seq_in(channel, post.body.get("reply_to")) in members:
            members.add(post.seq)
    return members


def messages_of(store: Store, board: Board, posts: list[Record]) -> list[Message]:
    """The messages of `posts` as they stand now, retracted ones too, with their reactions."""
    at_hand = {message.seq: message for message in board.messages}
    old = [post for post in posts if post.seq not in at_hand]
    if old:
        stream = stream_of(board.channel)
        later = list(between(store, stream, old[0].seq, store.head(stream), sieve=_LATER))
        found = overlaid(board.channel, old, later, board.retracted)
        at_hand |= {message.seq: message for message in found}
    return [at_hand[post.seq] for post in posts]


def marked(store: Store, cache: Cache, board: Board, messages: list[Message]) -> list[Message]:
    """The messages, those of them that were retracted with the reason."""
    if board.retracted.isdisjoint(message.seq for message in messages):
        return messages
    why, stream = Retractions(store, cache).reason_of, stream_of(board.channel)
    return [message._replace(retracted=why(stream, message.seq)) for message in messages]
