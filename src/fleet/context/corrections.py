"""The section of corrections: what the agent was shown, or wrote, and what was taken back since.

It is delivered like an event: oldest first, cut only at its newest end, and passed by a run that
showed it and succeeded.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from fleet.context.data import REF, Fields, line_of, mark
from fleet.context.section import Built, Scene, cost
from fleet.logs import between, place_at, record_at
from fleet.ports import Store
from fleet.records import Place, Record
from fleet.retractions import RUNS, STREAM
from fleet.runs import Run
from fleet.runs.run import SHORT_ID
from fleet.text import clip

NAME = "corrections"
HEADER = "what was taken back, each with its retraction's reference, author, age and reason"
MOST = 100  # shown at most: their references must fit into the run's record
CLIP = 40  # characters of what was taken back: enough to know it, too few to learn it again
NOWHERE = Place(0)
SHORT_REASON = 80  # characters of the reason where the first line does not fit


@dataclass(frozen=True, slots=True)
class Correction:
    """One retraction that an agent is told.

    Attributes:
        record: of the log `retractions`.
        run: the run in which the agent was shown the target; "" when it wrote it.
        began: how the target began, as its author wrote it: an event's fields or a text.
    """

    record: Record
    run: str
    began: object


@dataclass(frozen=True, slots=True)
class Waiting:
    """What an agent is to be told, oldest first.

    Attributes:
        corrections: at most `MOST` of them.
        next_left: number of the first one that is not among them, None when all are.
        left_out: how many are not.
        upto: how far the log was looked through.
    """

    corrections: tuple[Correction, ...] = ()
    next_left: int | None = None
    left_out: int = 0
    upto: Place = NOWHERE


def waiting(store: Store, names: Sequence[str], after: Place, recent: Sequence[Run]) -> Waiting:
    """What the agent that has, or had, one of `names` is to be told of what follows `after`.

    `recent` are its newest runs: one that was going on while the retraction was written may be in
    no list of those to be told, and yet it was shown the target, or had read it.
    """
    head = store.head(STREAM)
    if head <= after.seq:
        return Waiting(upto=after)
    seen = {ref: run.id for run in reversed(recent) for ref in (*run.shown, *run.read)}
    found = [
        (record, run)
        for record in between(store, STREAM, after.seq, head)
        if (run := _told_in(record, names, seen)) is not None
    ]
    return Waiting(
        tuple(Correction(record, run, _began(store, record)) for record, run in found[:MOST]),
        found[MOST][0].seq if len(found) > MOST else None,
        max(0, len(found) - MOST),
        place_at(store, STREAM, head),
    )


def _told_in(record: Record, names: Sequence[str], seen: Mapping[str, str]) -> str | None:
    """The run in which the agent was shown the target, "" if it wrote it; None: not to be told."""
    body = record.body
    if body.get("op") != "retract":
        return None
    tell, shown_in = body.get("tell"), body.get("shown_in")
    if (author := body.get("author")) in names:
        return "" if isinstance(tell, list) and author in tell else None
    if isinstance(shown_in, dict) and (
        found := [shown_in[one] for one in names if one in shown_in]
    ):
        return str(found[0])
    target = str(body.get("target"))
    is_run = str(body.get("stream")).startswith(RUNS)
    return seen.get(target[:SHORT_ID] if is_run else target)


def _began(store: Store, record: Record) -> object:
    stream, number = str(record.body.get("stream")), record.body.get("number")
    if stream.startswith(RUNS) or not isinstance(number, int):
        return None
    target = record_at(store, stream, number)
    return (target.body.get("payload") or target.body.get("text")) if target else None


def place_after(store: Store, told: Waiting, shown: AbstractSet[str]) -> Place | None:
    """Where the lane goes if the run succeeds that was shown `shown`; None: it stays."""
    refs = [one.record.ref for one in told.corrections]
    unseen = next((one.record.seq for one in told.corrections if one.record.ref not in shown), None)
    first_left = told.next_left if unseen is None else unseen
    if first_left is None:
        return told.upto
    return place_at(store, STREAM, first_left - 1) if refs[0] in shown else None


# The text --------------------------------------------------------------------------------------


def build(scene: Scene, told: Waiting, budget: int) -> Built:
    """The section within `budget` tokens, the oldest correction in any case."""
    if not told.corrections:
        return Built(NAME, "")
    left = budget - sum(map(cost, _around(scene, [""], told.left_out + len(told.corrections))))
    lines: list[str] = []
    for one in told.corrections:
        line = _line(scene, one)
        if cost(line) > left:
            if not lines:
                lines.append(_line(scene, one, short=True))
            break
        lines.append(line)
        left -= cost(line)
    left_out = told.left_out + len(told.corrections) - len(lines)
    text = "\n".join(_around(scene, lines, left_out))
    items = tuple(_item(scene, one) for one in told.corrections[: len(lines)])
    return Built(NAME, text, items, left_out)


def _around(scene: Scene, lines: list[str], left_out: int) -> list[str]:
    return [
        "## Corrections: do not rely on these any more",
        scene.fenced(HEADER, lines),
        *([f"{left_out} more come in your next run."] if left_out else []),
    ]


def _line(scene: Scene, one: Correction, *, short: bool = False) -> str:
    """`retractions#2: events#97 pricing-change (competitor-watch, 2h ago) was retracted by …`."""
    body = one.record.body
    reason = str(body.get("reason"))
    said = scene.line(clip(reason, SHORT_REASON) if short else reason)
    line = (
        f"{mark(REF, one.record.ref)}: {_what(scene, one)} was retracted by"
        f" {scene.line(str(body.get('by')))}: {said}; {_how(scene, one)}; do not rely on it"
    )
    began = "" if short else _clipped(scene, one.began)
    return line + (f"; it began: {began}" if began else "")


def _what(scene: Scene, one: Correction) -> str:
    body = one.record.body
    what, target = str(body.get("what")), str(body.get("target"))
    name = f"run {target[:SHORT_ID]}" if what == "run" else f"{target} {what}"
    author, written = str(body.get("author")), str(body.get("written"))
    return f"{scene.line(name)} ({scene.line(author)}, {scene.ago(written)})"


def _how(scene: Scene, one: Correction) -> str:
    is_run = one.record.body.get("what") == "run"
    if not one.run:
        return "what you wrote and learned in it is taken back" if is_run else "you wrote it"
    shown = f"you were shown {'its report' if is_run else 'it'} in run"
    return f"{shown} {scene.line(one.run[:SHORT_ID])}"


def _clipped(scene: Scene, began: object) -> str:
    if isinstance(began, Mapping):
        return line_of(began, scene.nonce, CLIP)
    return scene.line(clip(began, CLIP)) if isinstance(began, str) else ""


def _item(scene: Scene, one: Correction) -> Fields:
    body = one.record.body
    said = {
        "ref": mark(REF, one.record.ref),
        "target": scene.line(str(body.get("target"))),
        "what": scene.line(str(body.get("what"))),
        "author": scene.line(str(body.get("author"))),
        "age": scene.ago(str(body.get("written"))),
        "by": scene.line(str(body.get("by"))),
        "reason": scene.line(str(body.get("reason"))),
        "run": scene.line(one.run) or None,
    }
    return Fields("correction", said)
