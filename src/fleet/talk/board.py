"""What hangs in a channel now: its newest messages, its pins and the reactions, as a fold.

The log keeps every message; the board only says which are at hand without reading back.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypedDict, cast

from fleet.folds import fold
from fleet.ports import Cache, Store
from fleet.records import Place, Record
from fleet.retractions import Retractions
from fleet.talk.messages import (
    Message,
    Row,
    add_reaction,
    message_of,
    row_of,
    stream_of,
)
from fleet.unseen import TRIMMED


class State(TypedDict):
    """The fold's state; numbers are text where they are keys of an object."""

    total: int
    unknown: int
    rows: dict[str, Row]
    recent: list[int]
    pins: list[int]


@dataclass(frozen=True, slots=True)
class Board:
    """A channel at one moment.

    Attributes:
        channel: its id.
        messages: the newest `keep` of the channel and every pinned one, oldest first.
        pins: numbers of the pinned messages, the one that was pinned first at the beginning.
        total: how many messages the log holds.
        unknown: records with an operation that this version does not know; they were skipped.
        complete_after: every message with a higher number is in `messages`.
        place: how far the log was read.
        retracted: numbers of the channel's records that were taken back: none is in the above.
    """

    channel: str
    messages: tuple[Message, ...]
    pins: tuple[int, ...]
    total: int
    unknown: int
    complete_after: int
    place: Place
    retracted: frozenset[int]

    def find(self, seq: int) -> Message | None:
        """The message with this number when it is on the board."""
        return next((message for message in self.messages if message.seq == seq), None)


def board(store: Store, cache: Cache, channel: str, keep: int) -> Board:
    """The board of a channel that keeps `keep` messages besides its pins."""

    def step(state: State, record: Record) -> None:
        _step(state, record, keep)

    stream = stream_of(channel)
    folded = fold(store, cache, stream, "board", f"2/{keep}", _empty, step)
    state, gone = folded.state, Retractions(store, cache).of(stream)
    rows = sorted(state["rows"].values(), key=lambda row: row["seq"])
    pins = [seq for seq in state["pins"] if seq not in gone]
    return Board(
        channel=channel,
        messages=tuple(
            message_of(channel, row, pinned=row["seq"] in pins, gone=gone)
            for row in rows
            if row["seq"] not in gone
        ),
        pins=tuple(pins),
        total=state["total"],
        unknown=state["unknown"],
        complete_after=0 if state["total"] <= keep else state["recent"][0] - 1,
        place=folded.place,
        retracted=gone,
    )


def _empty() -> State:
    return {"total": 0, "unknown": 0, "rows": {}, "recent": [], "pins": []}


def _step(state: State, record: Record, keep: int) -> None:
    operation = record.body.get("op")
    if operation == "post":
        _post(state, record, keep)
    elif operation == "react":
        if row := state["rows"].get(str(record.body.get("target"))):
            add_reaction(row, record)
    elif operation == "pin":
        _pin(state, record)
    elif operation == "unpin":
        _unpin(state, record.body.get("target"))
    elif operation != TRIMMED:
        state["unknown"] += 1


def _post(state: State, record: Record, keep: int) -> None:
    state["total"] += 1
    state["rows"][str(record.seq)] = row_of(record)
    state["recent"].append(record.seq)
    if record.body.get("pin") is True:
        state["pins"].append(record.seq)
    for old in state["recent"][:-keep]:
        state["recent"].remove(old)
        if old not in state["pins"]:
            del state["rows"][str(old)]


def _pin(state: State, record: Record) -> None:
    """A pin of a message that is no longer at hand brings the message along as `message`."""
    target, carried = record.body.get("target"), record.body.get("message")
    if not isinstance(target, int) or target in state["pins"]:
        return
    if str(target) not in state["rows"]:
        if not isinstance(carried, dict):
            return
        state["rows"][str(target)] = cast("Row", dict(carried))
    state["pins"].append(target)


def _unpin(state: State, target: object) -> None:
    if not isinstance(target, int) or target not in state["pins"]:
        return
    state["pins"].remove(target)
    if target not in state["recent"]:
        del state["rows"][str(target)]


def overlaid(
    channel: str, records: list[Record], later: list[Record], gone: AbstractSet[int]
) -> list[Message]:
    """Messages that are not on the board, with what `later` records did to them, but for `gone`."""
    rows = {record.seq: row_of(record) for record in records}
    pins = {record.seq for record in records if record.body.get("pin") is True}
    for record in later:
        target = record.body.get("target")
        operation = record.body.get("op")
        if not isinstance(target, int) or target not in rows:
            continue
        if operation == "react":
            add_reaction(rows[target], record)
        elif operation == "pin":
            pins.add(target)
        elif operation == "unpin":
            pins.discard(target)
    return [message_of(channel, row, pinned=seq in pins, gone=gone) for seq, row in rows.items()]
