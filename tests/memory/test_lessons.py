"""Lessons: what is kept, what makes room, what is the same, what is only repeated."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.memory.items import empty
from fleet.memory.rules import PLACES, step
from fleet.records import Record
from people import in_run

IMPORTANCE = st.sampled_from(["low", "medium", "high"])


def lesson(seq: int, text: str, importance: str) -> Record:
    """A record that adds a lesson."""
    body: dict[str, object] = {"op": "lesson", "text": text, "importance": importance, "run": None}
    return Record("memory-log/a", seq, "", "2026-11-30T10:00:00.000+00:00", body)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 70), IMPORTANCE), min_size=40, max_size=120))
def test_caps_hold_and_starve_nobody(added: list[tuple[int, str]]) -> None:
    """Any mixture keeps 50, the newest 15 medium and 10 low ones among them, and loses none."""
    state, gone = empty(), []
    live = state["sections"]["lessons"]
    for seq, (number, importance) in enumerate(added, 1):
        text = f"{importance} {number}"
        gone += [left.item for left in step(state, lesson(seq, text, importance))]
        assert len(live) <= 50
        assert live[-1]["text"] == text, "what was learned now is kept"
    assert sum(one["count"] for one in (*live, *gone)) == len(added)
    for importance, places in PLACES.items():
        texts = [f"{one} {number}" for number, one in added if one == importance]
        newest = list(dict.fromkeys(reversed(texts)))[:places]
        assert set(newest) <= {one["text"] for one in live}


def test_unused_places_are_free_to_others(world: Any) -> None:
    """Without low and medium ones 50 high are kept; a low one takes one place of theirs."""
    world.many(60, "high")
    assert world.texts("high") == [f"high {n}" for n in range(10, 60)]

    world.learn("a small thing", "low")

    assert (len(world.texts("high")), world.texts("low")) == (49, ["a small thing"])


def test_a_full_house_makes_room_within_the_importance(world: Any) -> None:
    """With 25 high, 15 medium and 10 low a new one replaces the oldest of its own importance."""
    for importance, count in (("high", 25), ("medium", 15), ("low", 10)):
        world.many(count, importance)

    gone = [world.learn(f"new {one}", one).left for one in ("low", "medium", "high")]

    assert [[one.item["text"] for one in left] for left in gone] == [
        ["low 0"],
        ["medium 0"],
        ["high 0"],
    ]


@pytest.mark.parametrize(
    "again", ["Short lines WIN", "short  lines\twin", "Short lines win!", " short lines win. "]
)
def test_the_same_in_other_letters_is_one_lesson(world: Any, again: str) -> None:
    """Case, white space and punctuation at the end make no other lesson; it counts, and rises."""
    world.learn("Short lines win", "low")
    before = world.section()[0]

    change = world.learn(again, "high")

    (one,) = world.section()
    assert (change.how, change.item["id"], one["count"]) == ("merged", "L1", 2)
    assert (one["importance"], one["text"]) == ("high", "Short lines win")
    assert one["learned_at"] == before["learned_at"] < one["last_at"]


def test_a_merged_lesson_is_fresh_again(world: Any) -> None:
    """What is learned again is the newest: others make room for the next one."""
    world.many(50, "high")
    world.learn("high 0", "low")

    left = world.learn("one more", "high").left

    assert [one.item["text"] for one in left] == ["high 1"]


@pytest.mark.parametrize("noun", ["lesson", "strength", "weakness", "research"])
def test_what_the_prompt_says_is_not_learned(world: Any, noun: str) -> None:
    """Words that stand in the run's own prompt are no news, broken lines and marks or not."""
    world.told(
        "r9", "- Cursor cut\n  | Pro to **$20**: see @\u200bpricing", "Write to sarah@x.example"
    )
    author = in_run("outreach", "r9")

    def add(text: str) -> Any:
        if noun == "lesson":
            return world.memory.learn(author, text)
        if noun == "research":
            return world.memory.research(author, text, source="here")
        return world.memory.trait(author, noun, text)

    repeated = [add(text) for text in ("cursor CUT pro to $20", "Write to Sarah@x.example!")]
    new = [add(text) for text in ("Cursor cut", "cut pro to $20 again", "ursor cut pro")]

    assert {one.how for one in repeated} == {"repeated"}
    assert {one.record for one in repeated} == {None}
    assert [one.how for one in new] == ["added"] * 3


def test_a_lesson_that_was_shown_is_not_counted_again(world: Any) -> None:
    """An own lesson in the prompt, whole or clipped, is known: nothing is written, no count."""
    world.learn("Short subject lines get more answers")
    world.learn("Long mails are not read by anybody")
    head = world.store.head("memory-log/outreach")
    world.told("r9", "outreach/L1 · short subject lines get more answers\noutreach/L2 · Long ma…")

    known = [
        world.learn("Short subject lines get more answers!", run="r9"),
        world.learn("Long mails are not read by anybody", run="r9"),
    ]

    assert [(one.how, one.item["id"]) for one in known] == [("known", "L1"), ("known", "L2")]
    assert [one["count"] for one in world.section()] == [1, 1]
    assert world.store.head("memory-log/outreach") == head


def test_a_run_without_files_learns(world: Any) -> None:
    """When the run's folder is gone, or there never was one, everything is news."""
    assert world.learn("Short subject lines win", run="r-gone").how == "added"
