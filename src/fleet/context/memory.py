"""The section of what the agent keeps from run to run, the most valuable first.

It has the same budget after a week and after a year: what a memory holds is bounded, and what of it
stands here is chosen by worth, each group with a share that no other can take.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from fleet.context.data import REF, Fields, mark
from fleet.context.section import Built, Scene, cost
from fleet.memory import KINDS, Item, item_ref
from fleet.text import clip

NAME = "memory"
TOKENS = 1200  # unless the agent's file says otherwise
TITLE = "## Your memory"
HEADER = "what you noted in earlier runs, each with its id"
LONGEST = (400, 160, 60)  # characters of one text, tried until something of every group fits
MONTH = 30 * 86400.0  # seconds after which a lesson is worth half
COUNTED = 5  # repetitions that make a lesson worth more
WORTH = {"high": 3.0, "medium": 2.0, "low": 1.0}


class Group(NamedTuple):
    """Items of one section under a title, the most valuable first.

    Attributes:
        title: what stands above them.
        share: of the budget, kept for them.
        items: as the memory holds them, with `ref`.
    """

    title: str
    share: float
    items: Sequence[Item]


def build(scene: Scene, kept: Mapping[str, object], budget: int) -> Built:
    """The section within `budget` tokens, "" for a memory that is empty or has no room."""
    groups = _groups(scene, kept)
    everything = sum(len(group.items) for group in groups)
    if not everything:
        return Built(NAME, "")
    chosen: list[int] = []
    limit = LONGEST[0]
    bounds = scene.agent.context.sections.get(NAME)
    most = bounds.max_items if bounds and bounds.max_items is not None else everything
    for limit in LONGEST:
        chosen = _fitting(scene, groups, budget, limit, most)
        if all(chosen) or sum(chosen) == most:
            break
    count = sum(chosen)
    if not count:
        return Built(NAME, "")
    text = "\n".join(_around(scene, _lines(scene, groups, chosen, limit), everything - count))
    shown = [one for group, many in zip(groups, chosen, strict=True) for one in group.items[:many]]
    return Built(NAME, text, tuple(_fields(scene, one) for one in shown), everything - count)


# What is worth how much ---------------------------------------------------------------------------


def _groups(scene: Scene, kept: Mapping[str, object]) -> list[Group]:
    """Those that hold anything, in the order in which they are shown."""
    newest = {kind.section: _newest(kept, kind.section) for kind in KINDS}
    goals = [goal for goal in newest["goals"] if goal["state"] == "active"]
    lessons = sorted(newest["lessons"], key=lambda one: _worth(scene, one), reverse=True)
    groups = [
        Group("Goals", 0.2, goals),
        Group("Plans", 0.2, newest["plans"]),
        Group("Lessons", 0.4, lessons),
        Group("Good at", 0.05, newest["strengths"]),
        Group("Bad at", 0.05, newest["weaknesses"]),
        Group("Found out", 0.1, newest["research"]),
    ]
    return [group for group in groups if group.items]


def _newest(kept: Mapping[str, object], section: str) -> list[Item]:
    """The items of a section, each with its reference."""
    items, log = cast("list[Item]", kept[section]), str(kept["log"])
    return [{**item, "ref": mark(REF, item_ref(log, item["id"]))} for item in items[::-1]]


def _worth(scene: Scene, lesson: Item) -> float:
    """Importance, times how often it was learned, halved with every month since it last was."""
    then = datetime.fromisoformat(lesson["last_at"])
    age = max(0.0, (scene.now - then).total_seconds())
    weight = WORTH.get(lesson["importance"], 1.0) * min(lesson["count"], COUNTED)
    return float(weight * 0.5 ** (age / MONTH))


# What fits ----------------------------------------------------------------------------------------


def _fitting(
    scene: Scene, groups: Sequence[Group], budget: int, limit: int, most: int
) -> list[int]:
    """How many items of each group fit: first within its share, then in what is left."""
    left = budget - sum(map(cost, _around(scene, [""], 1))) - sum(cost(g.title) for g in groups)
    chosen = [0] * len(groups)
    shares = [int(left * group.share) for group in groups]
    for rooms in (shares, [left] * len(groups)):
        for at, group in enumerate(groups):
            room = min(left, rooms[at])
            for item in group.items[chosen[at] :]:
                price = cost(_line(scene, item, limit))
                if price > room or sum(chosen) == most:
                    break
                room, left = room - price, left - price
                chosen[at] += 1
    return chosen


def _around(scene: Scene, lines: Sequence[str], left: int) -> list[str]:
    rest = [f"{left} more: fleet memory show"] if left else []
    return [TITLE, scene.fenced(HEADER, lines), *rest]


def _lines(scene: Scene, groups: Sequence[Group], chosen: Sequence[int], limit: int) -> list[str]:
    lines: list[str] = []
    for group, many in zip(groups, chosen, strict=True):
        if many:
            lines.append(f"{group.title}:")
            lines += [_line(scene, item, limit) for item in group.items[:many]]
    return lines


# Lines --------------------------------------------------------------------------------------------


def _line(scene: Scene, item: Item, limit: int) -> str:
    """`outreach/L12 · high success · 3 times · 5d ago · text`."""
    parts = [item["ref"]]
    if "importance" in item:
        parts.append(scene.line(f"{item['importance']} {item['category']}"))
    if item.get("count", 1) > 1:
        parts.append(f"{item['count']} times")
    parts += [scene.ago(item["last_at"]), _text(scene, item, limit)]
    return " · ".join(parts)


def _text(scene: Scene, item: Item, limit: int) -> str:
    if "finding" in item:
        source = clip(item["source"], limit // 2)
        return scene.body(f"{clip(item['finding'], limit)} ({source})")
    said = scene.body(clip(item["text"], limit))
    notes = item.get("progress") or item.get("notes")
    if notes:
        value = f" ({notes[-1]['value']})" if "value" in notes[-1] else ""
        said += scene.body(f" — last: {clip(notes[-1]['text'], limit // 2)}{value}")
    if item.get("lessons"):
        said += f" (from {scene.line(', '.join(item['lessons']))})"
    return said


def _fields(scene: Scene, item: Item) -> Fields:
    """An item for templates: its reference, kind, text and when it was last touched."""
    told: dict[str, Any] = {
        "ref": item["ref"],
        "id": item["id"],
        "text": scene.line(item.get("text") or item["finding"]),
        "age": scene.ago(item["last_at"]),
        "at": item["last_at"],
    }
    return Fields("memory", told)
