"""The section on outcomes: what the agent made, how it did, and what sorts of it did better.

It states samples and their sizes and draws no conclusion: the numbers are few, and others' words.
"""

import json
from collections.abc import Sequence

from fleet.context.data import REF, Fields, invisible, mark, safe
from fleet.context.section import Built, Scene, cost
from fleet.metrics.digest import ENOUGH, Contrast, Digest, Group, Made, Score
from fleet.text import clip
from fleet.units import counted, format_duration

NAME = "metrics"
TITLE = "## How what you made did"
HEADER = "what you announced, and what others measured of it"
SAMPLES = (
    "Judged {after} after its announcement, against your own median of that type (1.0x; n things,"
    " none below {enough}). Small samples: a difference may be chance. Weigh it, it is no order."
)
TOGETHER = 5  # lines on all things together at most
SCORES = 3  # metrics of one subject
FIELDS, VALUE = 70, 32  # characters of a subject's fields together, of each value
LONG, LONGEST = 1e4, 1e9  # numbers between are printed whole
LABEL = 60  # characters of a subject's name or a sort's


def build(scene: Scene, outcomes: Digest | None, budget: int) -> Built:
    """The section within `budget` tokens: empty for an agent that gets none or made nothing."""
    if outcomes is None or not (outcomes.made or outcomes.unmeasured):
        return Built(NAME, "")
    if not outcomes.made:
        things = counted(outcomes.unmeasured, "thing")
        return Built(NAME, f"{TITLE}\nYou announced {things}, nothing is measured yet.")
    left = budget - sum(map(cost, _around(scene, outcomes, [], len(outcomes.made))))
    together = [*_usual(scene, outcomes), *(_sorts(scene, one) for one in outcomes.contrasts)]
    together = _fitting(together[:TOGETHER], left)
    left -= sum(map(cost, together))
    lines = _fitting([_line(scene, made) for made in outcomes.made], left)
    out = len(outcomes.made) - len(lines)
    text = "\n".join(_around(scene, outcomes, [*together, *lines], out))
    items = tuple(_item(scene, made) for made in outcomes.made[: len(lines)])
    return Built(NAME, text if together or lines else "", items, out)


def _fitting(lines: Sequence[str], budget: int) -> list[str]:
    """The first lines that fit together."""
    kept: list[str] = []
    for line in lines:
        budget -= cost(line)
        if budget < 0:
            break
        kept.append(line)
    return kept


def _around(scene: Scene, outcomes: Digest, lines: Sequence[str], out: int) -> list[str]:
    rest = [f"{out} more: fleet metric show --agent {scene.agent.id}"] if out else []
    rest += [f"{outcomes.unmeasured} without numbers yet"] if outcomes.unmeasured else []
    return [
        TITLE,
        SAMPLES.format(after=format_duration(outcomes.horizon), enough=ENOUGH),
        scene.fenced(HEADER, lines),
        *(["; ".join(rest)] if rest else []),
    ]


def _line(scene: Scene, made: Made) -> str:
    """`events#97 content-ready draft-17 · title="…" · 5d ago · views 1200 metrics#88, 2.4x …`."""
    said = made.announced
    fields = _fields(made)
    parts = [
        f"{mark(REF, said.ref)} {scene.line(said.type)} {scene.line(clip(said.subject, LABEL))}",
        *([scene.line(fields)] if fields else []),
        scene.ago(said.at),
        *(["too early"] if made.early else []),
        *(_score(score, early=made.early) for score in made.scores[:SCORES]),
    ]
    more = len(made.scores) - SCORES
    return " · ".join([*parts, *([f"{more} more metrics"] if more > 0 else [])])


def _fields(made: Made) -> str:
    """The first fields of the payload that say something else than the subject's name."""
    said = ""
    for name, value in made.announced.fields.items():
        if value == made.announced.subject:
            continue
        cut = clip(value, VALUE) if isinstance(value, str) else value
        more = f"{name}={json.dumps(cut, ensure_ascii=False)}"
        if len(said) + len(more) > FIELDS:
            break
        said += f" {more}" if said else more
    return said


def _score(score: Score, *, early: bool) -> str:
    said = f"{score.name} {_number(score.measured.value)} {mark(REF, score.measured.ref)}"
    if early:
        return f"{said} so far"
    if score.late:
        return f"{said}, measured too late to compare"
    return f"{said}, {_times(score.ratio)}" if score.ratio else said


def _usual(scene: Scene, outcomes: Digest) -> list[str]:
    """`content-ready: your median views 300 (n=7), clicks n=2: too few`, a line for each type."""
    by_type: dict[str, list[str]] = {}
    for one in outcomes.usual:
        said = (
            f"{one.metric} n={len(one.refs)}: too few to compare"
            if one.median is None
            else f"{one.metric} {_number(one.median)} (n={len(one.refs)})"
        )
        by_type.setdefault(one.type, []).append(said + _behind(one.refs))
    return [
        f"{scene.line(kind)}: your median {', '.join(said[:SCORES])}"
        for kind, said in by_type.items()
    ]


def _sorts(scene: Scene, one: Contrast) -> str:
    """`content-ready by contentType: "deep-dive" has 4.1x the views of "listicle" (…)`."""
    best, worst = _label(scene, one.best), _label(scene, one.worst)
    said = (
        f"has {_times(one.ratio)} the {one.metric} of"
        if one.ratio
        else f"has more {one.metric} than"
    )
    medians = f"medians {_number(one.best.median)} and {_number(one.worst.median)}"
    sizes = f"n={len(one.best.refs)} and {len(one.worst.refs)}"
    sort = f"{scene.line(one.type)} by {scene.line(clip(one.field, LABEL))}"
    behind = _behind((*one.best.refs, *one.worst.refs))
    return f"{sort}: {best} {said} {worst} ({medians}, {sizes}){behind}"


def _behind(refs: Sequence[str]) -> str:
    """The numbers that a line is made of: who is shown the line is shown them."""
    return "".join(invisible(REF, ref) for ref in refs)


def _label(scene: Scene, group: Group) -> str:
    return scene.line(json.dumps(clip(group.value, LABEL), ensure_ascii=False))


def _number(value: float) -> str:
    """Four digits of it at least, without an exponent up to a billion."""
    return f"{value:.0f}" if LONG <= abs(value) < LONGEST else f"{value:.4g}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2g}x"


def _item(scene: Scene, made: Made) -> Fields:
    scores = {score.name: score for score in made.scores}
    said = {
        "ref": mark(REF, made.announced.ref),
        "subject": scene.line(made.announced.subject),
        "type": scene.line(made.announced.type),
        "age": scene.ago(made.announced.at),
        "early": made.early,
        "payload": safe(made.announced.fields, scene.nonce),
        "values": Fields("values", {name: one.measured.value for name, one in scores.items()}),
        "ratios": Fields("ratios", {name: one.ratio for name, one in scores.items()}),
    }
    return Fields("outcome", said)
