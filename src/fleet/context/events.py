"""The section of waiting events: oldest first, cut only at its newest end."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleet.bus import COUNT_LIMIT, Pending, lane_of
from fleet.context.data import EVENT, Fields, line_of, mark, safe
from fleet.context.section import Built, Scene, cost
from fleet.cursors import ADDRESSED
from fleet.records import Record

NAME = "events"
HEADER = "events that agents emitted, each with its reference, type, author, age and fields"
PAYLOADS = (1200, 400, 120, 0)  # characters of a payload, tried until the first event fits
ALONE = (
    "Runs that were shown this event failed, so it stands alone. Handle it with care; if it cannot"
    " be handled, say so in your report."
)
AGAIN = "Redelivered: a run that was shown them failed. Look first what of it is done already."


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for the agent, and how often each event failed."""

    pending: Pending
    attempts: Mapping[int, int]


def build(scene: Scene, waiting: Waiting, budget: int) -> Built:
    """The section within `budget` tokens, with the oldest event if any fits."""
    pending = waiting.pending
    if not pending.shown:
        return Built(NAME, "\n".join(["## Events for you", "None wait.", *_trimmed(waiting)]))
    shown, limit = _fitting(scene, waiting, budget)
    lines = [_line(scene, waiting, record, limit) for record in shown]
    left = sum(pending.waiting.values()) + len(pending.shown) - len(shown)
    text = "\n".join(_around(scene, waiting, lines, left))
    items = tuple(_item(scene, waiting, record) for record in shown)
    return Built(NAME, text, items, left)


def _fitting(scene: Scene, waiting: Waiting, budget: int) -> tuple[list[Record], int]:
    """As many events as fit, and how long their fields may be: whole lines before many lines."""
    fitting: list[Record] = []
    for limit in PAYLOADS:
        fitting = _those_that_fit(scene, waiting, budget, limit)
        if fitting:
            return fitting, limit
    return fitting, 0


def _those_that_fit(scene: Scene, waiting: Waiting, budget: int, limit: int) -> list[Record]:
    """Each lane from its oldest event on, the addressed lane first."""
    left = budget - sum(map(cost, _around(scene, waiting, [""], 1)))
    shown: list[Record] = []
    full: set[str] = set()
    for record in waiting.pending.shown:
        lane = lane_of(record)
        price = cost(_line(scene, waiting, record, limit))
        if lane in full or price > left:
            full.add(lane)
            continue
        left -= price
        shown.append(record)
    return shown


def _around(scene: Scene, waiting: Waiting, lines: list[str], left: int) -> list[str]:
    note = ALONE if waiting.pending.alone else AGAIN if waiting.pending.redelivered else ""
    rest = f"{_many(left)} more wait: fleet events --for {scene.agent.id}"
    return [
        "## Events for you",
        *([note] if note else []),
        *([scene.fenced(HEADER, lines)] if lines else []),
        *([rest] if left else []),
        *_trimmed(waiting),
    ]


def _trimmed(waiting: Waiting) -> list[str]:
    count = waiting.pending.trimmed
    return (
        [f"{count} more were trimmed before you saw them: an operator has them."] if count else []
    )


def _many(count: int) -> str:
    return f"over {COUNT_LIMIT}" if count >= COUNT_LIMIT else str(count)


def _line(scene: Scene, waiting: Waiting, record: Record, limit: int) -> str:
    body = record.body
    parts = [mark(EVENT, record.ref), str(body.get("type")), str(body.get("from_agent"))]
    parts.append(scene.ago(record.at))
    parts += ["to you"] if lane_of(record) == ADDRESSED else []
    parts += ["redelivered"] if _is_again(waiting, record) else []
    if limit:
        parts.append(line_of(body.get("payload"), scene.nonce, limit))
    else:
        parts.append(f"fields left out, see fleet events --after {record.seq - 1} --limit 1 --json")
    return " · ".join(parts)


def _is_again(waiting: Waiting, record: Record) -> bool:
    """Whether a run that was shown it failed, also as what it was before a person gave it back."""
    return bool(waiting.attempts.get(record.seq)) or record.body.get("again") is not None


def _item(scene: Scene, waiting: Waiting, record: Record) -> Fields:
    body = record.body
    said = {
        "ref": mark(EVENT, record.ref),
        "seq": record.seq,
        "type": str(body.get("type")),
        "from_agent": str(body.get("from_agent")),
        "to_agent": body.get("to_agent"),
        "at": record.at,
        "age": scene.ago(record.at),
        "redelivered": _is_again(waiting, record),
        "payload": safe(body.get("payload"), scene.nonce),
    }
    return Fields("event", said)
