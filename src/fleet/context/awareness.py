"""The section on others: the system's health, collaborators' last runs, recent events of interest.

Always under 500 tokens; its numbers come from folds, never from a search backwards.
"""

from dataclasses import dataclass

from fleet.context.data import REF, Fields, invisible, line_of, mark
from fleet.context.section import Built, Scene, cost
from fleet.records import Record
from fleet.runs import Run
from fleet.text import clip

NAME = "awareness"
HEADER = "what collaborators reported about their runs, and recent events"
EVENTS = 8  # the latest relevant ones
REPORTS = (120, 60, 0)  # characters of a report, tried until all collaborators fit
PAYLOAD = 120  # characters of an event's fields


@dataclass(frozen=True, slots=True)
class World:
    """What is known about the others.

    Attributes:
        health: the word for the system's state.
        vitals: (label, count) in the order of fleet.yaml.
        collaborators: by agent its newest run, or None; in the order of the agent's file.
        recent: events of interest, oldest first.
    """

    health: str
    vitals: tuple[tuple[str, int], ...]
    collaborators: dict[str, Run | None]
    recent: tuple[Record, ...]


def build(scene: Scene, world: World, budget: int, elsewhere: frozenset[str]) -> Built:
    """The section within `budget` tokens, without the events whose references are `elsewhere`."""
    vitals = "".join(f" | {scene.line(label)}: {count}" for label, count in world.vitals)
    top = f"## Awareness\nSystem: {world.health}{vitals}"
    left = budget - cost(top) - cost(scene.fenced(HEADER, [])) - cost("Recent events:")
    others: list[tuple[str, Fields]] = []
    for limit in REPORTS:
        others = _fitting([_other(scene, *one, limit) for one in world.collaborators.items()], left)
        if len(others) == len(world.collaborators):
            break
    left -= sum(cost(line) for line, _ in others)
    recent = [record for record in world.recent if record.ref not in elsewhere][-EVENTS:]
    newest = _fitting([_event(scene, record) for record in reversed(recent)], left)
    lines = [line for line, _ in others]
    if newest:
        lines += ["Recent events:", *(line for line, _ in reversed(newest))]
    text = top + ("\n" + scene.fenced(HEADER, lines) if lines else "")
    left_out = len(world.collaborators) - len(others) + len(recent) - len(newest)
    return Built(NAME, text, tuple(fields for _, fields in [*others, *reversed(newest)]), left_out)


def _fitting(rows: list[tuple[str, Fields]], budget: int) -> list[tuple[str, Fields]]:
    """The first rows that fit together."""
    kept: list[tuple[str, Fields]] = []
    for row in rows:
        budget -= cost(row[0])
        if budget < 0:
            break
        kept.append(row)
    return kept


def _other(scene: Scene, agent: str, run: Run | None, limit: int) -> tuple[str, Fields]:
    """`[reply-handler] ok | 2h ago | processed 12 replies`.

    What a run says that was no success is called unproven: its word that it is done is no more.
    """
    if run is None:
        said = {"agent": agent, "outcome": None, "age": None, "report": "", "ref": None}
        return f"  [{agent}] has not run yet", Fields("collaborator", said)
    outcome = run.outcome or "running"
    when = scene.ago(run.ended or run.started)
    report = scene.line(clip(run.report, limit)) if limit else ""
    unproven = report and run.row is not None and not run.row.advances
    report = f"unproven: {report}" if unproven else report
    line = f"  [{agent}] {outcome} | {when}" + (" | retracted" if run.retracted else "")
    line += f" | {report}{invisible(REF, run.ref)}" if report else ""
    said = {
        "agent": agent,
        "outcome": outcome,
        "age": when,
        "report": scene.line(run.report),
        "ref": mark(REF, run.ref),
    }
    return line, Fields("collaborator", said)


def _event(scene: Scene, record: Record) -> tuple[str, Fields]:
    """`  events#96 contact-made: email="sarah@acme.com" (outreach, 1h ago)`."""
    kind, author = str(record.body.get("type")), str(record.body.get("from_agent"))
    payload = line_of(record.body.get("payload"), scene.nonce, PAYLOAD)
    ref = mark(REF, record.ref)
    line = f"  {ref} {kind}: {payload} ({author}, {scene.ago(record.at)})"
    said = {"ref": ref, "type": kind, "from_agent": author, "age": scene.ago(record.at)}
    return line, Fields("recent event", said)
