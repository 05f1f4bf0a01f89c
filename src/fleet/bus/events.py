"""What an event's record holds, whom it is for, and what waits; no log is read or written here."""

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from fleet.cursors import ADDRESSED, BROADCAST
from fleet.errors import Usage
from fleet.records import Body, Place, Record, Sieve, parse_ref
from fleet.schemas.own import OWN

if TYPE_CHECKING:
    from fleet.config.model import Agent

STREAM = "events"
LANES = (ADDRESSED, BROADCAST)  # in the order in which a prompt shows them
ALWAYS_WAKE = frozenset(OWN)
"""Types that wake their addressee whatever its file says, and count nothing against hops."""
COUNT_LIMIT = 10_000  # waiting events counted in a lane; this many means "or more"


class Pending(NamedTuple):
    """What waits for one agent, cut to a limit.

    Attributes:
        shown: to be shown: those addressed to it, then those of interest, each oldest first.
        waiting: by lane, how many wait beyond those shown (up to about `COUNT_LIMIT`).
        redelivered: a run that was shown one of `shown` has failed.
        alone: `shown` is one event that failed too often to share a prompt.
        scanned: by lane, how far its log was looked through.
        left_out: by lane, the number of the first event that waits and is not in `shown`.
        trimmed: how many events were trimmed before the agent saw them.
    """

    shown: tuple[Record, ...]
    waiting: dict[str, int]
    redelivered: bool
    alone: bool
    scanned: dict[str, Place]
    left_out: dict[str, int]
    trimmed: int = 0


def event_json(record: Record, retracted: str | None = None) -> Body:
    """What `--json` prints of an event, with the reason if it was retracted."""
    body = record.body
    return {
        "ref": record.ref,
        "seq": record.seq,
        "id": record.id,
        "at": record.at,
        "type": body.get("type"),
        "from_agent": body.get("from_agent"),
        "to_agent": body.get("to_agent"),
        "payload": body.get("payload"),
        "cause": body.get("cause"),
        "hops": body.get("hops"),
        "subject": body.get("subject"),
        "again": body.get("again"),
        "retracted": retracted,
    }


def is_event(record: Record) -> bool:
    """Whether the record is an event, and not a mark of fleet's own or a newer operation."""
    return record.body.get("op") == "event"


def is_gone(record: Record, without: AbstractSet[int]) -> bool:
    """Whether the event, or the one that it gives to an agent again, is numbered in `without`."""
    again = record.body.get("again")
    return record.seq in without or (again is not None and seq_of(str(again)) in without)


def is_fact(record: Record) -> bool:
    """Whether the record counts as an event of its type: one that came back was counted before."""
    return is_event(record) and record.body.get("again") is None


def lane_of(record: Record) -> str:
    """The lane in which its reader meets the event."""
    return BROADCAST if record.body.get("to_agent") is None else ADDRESSED


def sieve_of(lane: str, agent: str, interests: tuple[str, ...]) -> Sieve:
    """What the lane of `agent` lets through; the rest of the test is left to `is_for`."""
    if lane == ADDRESSED:
        return Sieve({"to_agent": frozenset({agent})})
    return Sieve({"type": frozenset(interests), "to_agent": frozenset({None})})


def is_for(record: Record, reader: "Agent") -> bool:
    """Whether `reader` is to be shown the record: an event to it, or of interest and not its own.

    What it emitted under a former name is its own.
    """
    body = record.body
    if not is_event(record):
        return False
    if body.get("to_agent") is not None:
        return body["to_agent"] == reader.id
    own = body.get("from_agent") in {reader.id, *reader.formerly}
    return body.get("type") in reader.interests and not own


def seq_of(ref: str) -> int:
    """The number in `events#97` (or in a bare `97`).

    Raises:
        Usage: it is no reference of an event.
    """
    stream, seq = parse_ref(ref if "#" in ref else f"{STREAM}#{ref}", "events#97")
    if stream != STREAM:
        raise Usage(f"'{ref}' is no reference of an event", "write it like events#97")
    return seq
