"""The section on the agent itself: who it is, its last run, its plan, what it still holds, asked.

What others do is not said here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.context.data import REF, Fields, mark
from fleet.context.section import Built, Scene, cost
from fleet.runs import Run
from fleet.text import clip
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.claims import Claim
    from fleet.questions import Question

NAME = "you"
HEADER = "what you reported in your last run, what you asked, and claims that you still hold"
QUESTIONS = 3  # open ones that are told, the newest
CLIP = 200  # characters of a question
LIMITS = (1200, 400, 120, 0)  # characters of report and plan, tried until everything fits


@dataclass(frozen=True, slots=True)
class Past:
    """What is left of earlier runs: the newest one that ended, and claims kept beyond it.

    `claims` are those that may be told, `more` counts the others. `asked` are its questions that
    wait for an answer, the oldest first.
    """

    last: Run | None
    claims: tuple["Claim", ...]
    more: int = 0
    asked: tuple["Question", ...] = ()


def build(scene: Scene, past: Past, budget: int) -> Built:
    """The section within `budget` tokens; the first line is always there."""
    top = [f"## You are {scene.agent.id}", scene.line(scene.agent.description)]
    top.append(f"It is {scene.clock}.")
    if past.last is None:
        top.append("This is your first run.")
    else:
        top.append(_outcome(scene, past.last))
    for limit in LIMITS:
        lines = _said(scene, past.last, limit) + _asked(scene, past, limit)
        lines += _held(scene, past, told=bool(limit))
        text = "\n".join([*top, *([scene.fenced(HEADER, lines)] if lines else [])])
        if cost(text) <= budget:
            break
    shown = past.claims if limit else ()
    items = tuple(_item(scene, claim) for claim in shown)
    return Built(NAME, text, items, len(past.claims) + past.more - len(shown))


def _outcome(scene: Scene, run: Run) -> str:
    reason = f" ({scene.line(clip(run.reason, 200))})" if run.reason else ""
    word = f"{run.outcome}{', idle' if run.idle else ''}{reason}"
    if run.retracted is not None:
        word += f"; it was retracted: {scene.line(run.retracted)}"
    return f"Your last run {mark(REF, run.ref)} ended {scene.ago(run.ended or run.started)}: {word}"


def _said(scene: Scene, run: Run | None, limit: int) -> list[str]:
    if run is None or not limit:
        return []
    told = (("You reported", run.report), ("You meant to do next", run.next))
    return [f"{name}: {scene.body(clip(text, limit))}" for name, text in told if text]


def _asked(scene: Scene, past: Past, limit: int) -> list[str]:
    """`You asked questions#3 2h ago, no answer yet: mail these 300?`."""
    newest = past.asked[-QUESTIONS:] if limit else ()
    lines = [
        f"You asked {mark(REF, one.record.ref)} {scene.ago(one.record.at)}, no answer yet: "
        + scene.line(clip(one.text, min(limit, CLIP)))
        for one in newest
    ]
    left = len(past.asked) - len(lines)
    return [*lines, *([f"{counted(left, 'more question')} without an answer"] if left else [])]


def _held(scene: Scene, past: Past, *, told: bool) -> list[str]:
    lines = [
        f"You hold {scene.line(claim.key)} until {scene.local(claim.expires)}"
        + (f": {scene.line(clip(claim.note, 100))}" if claim.note else "")
        for claim in past.claims
        if told
    ]
    left = len(past.claims) + past.more - len(lines)
    return [*lines, *([f"{left} more claims: fleet claims"] if left else [])]


def _item(scene: Scene, claim: "Claim") -> Fields:
    said = {"key": scene.line(claim.key), "expires": claim.expires, "note": scene.line(claim.note)}
    return Fields("claim", said)
