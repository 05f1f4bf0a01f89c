"""The section on the team: who is there, good at what, doing what; a line for each agent.

For agents that give work to others (`team: true`). Those whose words fit what waits come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fleet.context.data import REF, Fields, invisible, mark
from fleet.context.section import Built, Scene, cost
from fleet.team import Match, Mate, Trait
from fleet.text import clip

NAME = "team"
TITLE = "## Who is there"
HEADER = (
    "who is there: state of the newest run, what the agent is for, what it found itself good and"
    " weak at, what it reported; those first whose words fit what waits for you"
)
LIMITS = (120, 80, 55, 40, 25)  # characters of each part of a line, tried until all fit
TRAITS = 2  # strengths and weaknesses of one agent, the newest


@dataclass(frozen=True, slots=True)
class Others:
    """The other agents, the best match first, and how many more were not looked at."""

    matches: tuple[Match, ...] = ()
    more: int = 0


def build(scene: Scene, others: Others, budget: int) -> Built:
    """The section within `budget` tokens, "" without other agents or room for one of them."""
    matches = others.matches
    lines: list[str] = []
    kept = 0
    for limit in LIMITS:
        lines = [_line(scene, match.mate, limit) for match in matches]
        kept = _fitting(scene, lines, budget)
        if kept == len(lines):
            break
    left = len(matches) - kept + others.more
    if not kept:
        return Built(NAME, "", (), left)
    text = "\n".join(_around(scene, lines[:kept], left))
    return Built(NAME, text, tuple(map(partial(_item, scene), matches[:kept])), left)


def _fitting(scene: Scene, lines: Sequence[str], budget: int) -> int:
    """How many of the first lines fit."""
    left = budget - sum(map(cost, _around(scene, [], len(lines))))
    for kept, line in enumerate(lines):
        left -= cost(line)
        if left < 0:
            return kept
    return len(lines)


def _around(scene: Scene, lines: Sequence[str], left: int) -> list[str]:
    more = f"{left} more: fleet agents" if left else "Who could do it: fleet agents --can TEXT"
    return [TITLE, scene.fenced(HEADER, lines), more]


def _line(scene: Scene, mate: Mate, limit: int) -> str:
    said = partial(_said, scene, limit)
    parts = [mate.agent.id, _state(scene, mate), said(mate.agent.description)]
    for word, traits in (("good at", mate.strengths), ("weak at", mate.weaknesses)):
        if traits:
            parts.append(f"{word}: {'; '.join(_trait(scene, limit, t) for t in traits[:TRAITS])}")
    if mate.report:
        parts.append(f"reported: {said(mate.report)}{_shown_runs(mate)}")
    return " | ".join(parts)


def _state(scene: Scene, mate: Mate) -> str:
    if mate.run is None:
        return "has not run yet"
    if mate.run.open:
        return f"running, began {scene.ago(mate.run.started)}"
    return f"{mate.run.outcome} {scene.ago(mate.run.ended or mate.run.started)}"


def _said(scene: Scene, limit: int, text: str) -> str:
    return scene.line(clip(text, limit))


def _trait(scene: Scene, limit: int, trait: Trait) -> str:
    return _said(scene, limit, trait.text) + invisible(REF, trait.ref)


def _shown_runs(mate: Mate) -> str:
    """The mark of the run whose report is told."""
    run = next((run for run in (mate.run, mate.before) if run and run.report), None)
    return invisible(REF, run.ref) if run else ""


def _item(scene: Scene, match: Match) -> Fields:
    mate = match.mate
    said = {
        "agent": mate.agent.id,
        "state": _state(scene, mate),
        "description": scene.line(mate.agent.description),
        "strengths": tuple(scene.line(one.text) for one in mate.strengths),
        "weaknesses": tuple(scene.line(one.text) for one in mate.weaknesses),
        "report": scene.line(mate.report),
        "ref": mark(REF, mate.run.ref) if mate.run else None,
        "score": match.score,
    }
    return Fields("agent", said)
