"""Goals, plans, research, strengths and weaknesses: what they hold, and what is refused."""

from typing import Any

import pytest

from fleet.errors import NotAllowed, Rejected, Unknown, Usage
from fleet.identity import SYSTEM
from fleet.memory.items import KINDS, NOTES
from memory.conftest import LOG
from people import OPERATOR, in_run

OUTREACH = in_run("outreach")
PERSON = OPERATOR._replace(name="outreach")


def test_a_goal_has_progress_and_an_end(world: Any) -> None:
    """Notes and numbers over time, the newest kept and the others counted; then achieved."""
    memory = world.memory
    memory.goal(OUTREACH, "Ten replies a week")
    for number in range(NOTES + 2):
        memory.progress(OUTREACH, "G1", f"{number} so far", value=float(number))
    (goal,) = world.section("goals")
    assert [note["value"] for note in goal["progress"]] == [2, 3, 4, 5, 6]
    assert (goal["state"], goal["earlier"]) == ("active", 2)

    assert memory.achieve(OUTREACH, "outreach/G1").item["state"] == "achieved"

    with pytest.raises(Rejected, match="achieved"):
        memory.progress(OUTREACH, "G1", "more")
    assert memory.goal(OUTREACH, "ten replies a week").how == "added", "an old goal is no twin"
    gone = memory.abandon(OUTREACH, "G10", reason="the list ran dry").item
    assert (gone["state"], gone["reason"]) == ("abandoned", "the list ran dry")


def test_an_eleventh_plan_archives_the_one_left_alone_longest(world: Any) -> None:
    """The plan with the oldest last note goes, whenever it was made, and is named."""
    memory = world.memory
    for number in range(10):
        memory.plan(OUTREACH, f"plan {number}")
    memory.note(OUTREACH, "P1", "still on it")

    left = memory.plan(OUTREACH, "plan 10").left

    assert [one.item["id"] for one in left] == ["P2"]
    assert [plan["id"] for plan in world.section("plans")][-2:] == ["P1", "P12"]
    archive = memory.archive("outreach")
    assert [(one["id"], one["why"], one["section"]) for one in archive.items] == [
        ("P2", "full", "plans")
    ]


def test_every_section_is_bounded_and_archives(world: Any) -> None:
    """Twice as many of everything as there is room for: caps hold, the rest is in the archive."""
    nouns = [kind.noun for kind in KINDS if kind.noun != "lesson"]
    for number in range(60):
        world.put(*({"op": noun, "text": f"{number}", "finding": f"{number}"} for noun in nouns))
        if number % 2:
            world.put({"op": "achieve", "target": f"G{world.store.head(LOG) - 2}"})

    live = {kind.section: len(world.section(kind.section)) for kind in KINDS}
    caps = {"lessons": 0, "strengths": 15, "weaknesses": 15, "research": 30, "plans": 10}
    assert live == {**caps, "goals": 14 + 10}
    assert world.memory.archive("outreach").total == 5 * 60 - sum(live.values())


def test_strengths_name_the_lessons_behind_them(world: Any) -> None:
    """Lessons that are or were its own; said again, the lessons are joined; then dropped."""
    world.many(51, "high")
    memory = world.memory
    memory.trait(OUTREACH, "strength", "Subject lines", lessons=["L51", "outreach/l1"])

    with pytest.raises(Unknown, match="L99"):
        memory.trait(OUTREACH, "strength", "Subject lines", lessons=["L99"])
    again = memory.trait(OUTREACH, "strength", "subject lines.", lessons=["L2"])

    assert again.item["lessons"] == ["L51", "L1", "L2"]
    dropped = memory.drop(OUTREACH, "strength", "S52")
    assert [one.why for one in dropped.left] == ["dropped"]
    assert world.section("strengths") == []


def test_the_same_finding_elsewhere_is_another(world: Any) -> None:
    """A finding of the same source is counted, of another source it stands beside it."""
    for source in ("page", "PAGE ", "mail"):
        world.memory.research(OUTREACH, "Cursor has no team plan", source=source)

    assert [(one["source"], one["count"]) for one in world.section("research")] == [
        ("page", 2),
        ("mail", 1),
    ]


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ("G9", Unknown),
        ("L1", Usage),
        ("x", Usage),
        ("G", Usage),
        ("/G1", Usage),
        ("reply-handler/G1", NotAllowed),
        ("G" + "1" * 40, Usage),
    ],
)
def test_an_item_is_named_or_refused(world: Any, item: str, fault: type[Exception]) -> None:
    """No such item, one of another kind, no item at all, another agent's: each says so."""
    world.memory.goal(OUTREACH, "Ten replies")

    with pytest.raises(fault):
        world.memory.achieve(OUTREACH, item)

    assert world.section("goals")[0]["state"] == "active"


@pytest.mark.parametrize("text", ["", "  \n", "x" * 601, "\x00" * 101, "\ud800"])
def test_texts_are_bounded(world: Any, text: str) -> None:
    """Blank, too long (as JSON) or no Unicode: refused, nothing is written."""
    with pytest.raises(Rejected):
        world.learn(text)

    assert world.store.head("memory-log/outreach") == 0


@pytest.mark.parametrize("words", [{"category": "sucess"}, {"importance": "highest"}])
def test_words_are_those_that_there_are(world: Any, words: dict[str, str]) -> None:
    """Another category or importance is refused with the right one."""
    with pytest.raises(Rejected, match=r"success|high"):
        world.memory.learn(OUTREACH, "x", **words)


def test_only_its_agent_writes_a_memory(world: Any) -> None:
    """A person acts for an agent by name; as himself, or as fleet, nobody learns."""
    assert world.memory.learn(PERSON, "Short lines win").record.body["by"] == OPERATOR.by

    for author in (OPERATOR, SYSTEM):
        with pytest.raises(NotAllowed, match="--as AGENT"):
            world.memory.learn(author, "x")


def test_an_agent_without_a_memory_has_an_empty_one(world: Any) -> None:
    """It has all sections, and nothing is in them."""
    state = world.memory.state("reply-handler")

    assert {len(state[kind.section]) for kind in KINDS} == {0}
    assert (state["seq"], state["updated"]) == (0, None)
