"""Sections keep their tokens, and say what they leave out and how to see it."""

from collections.abc import Callable
from typing import Any

import pytest

from fleet.config.model import SectionBudget, Vital
from fleet.context.how_to import build as how_to
from fleet.context.section import BOUNDS, allot
from fleet.cursors import BROADCAST
from fleet.identity import SYSTEM
from fleet.text import tokens
from people import OPERATOR, in_run

Text = Callable[..., str]


@pytest.mark.parametrize("cap", [900, 1500, 3000, 6000])
def test_the_total_is_never_above_the_cap(world: Any, cap: int) -> None:
    """3,000 unread messages and 100 fat events stay under any cap, with true counts."""
    for number in range(100):
        world.reply(number, note="words " * 100)
    for number in range(3000):
        world.talk.post(OPERATOR, "strategy", f"message {number}")

    context = world.build(world.within(cap))

    assert sum(one.tokens for one in context.sections) <= cap
    assert tokens(context.context_md) <= cap + 20
    events = context.manifest["facts"]["events"][BROADCAST]
    assert events
    assert f"{100 - len(events)} more wait" in context.context_md
    messages = [ref for ref in context.shown if ref.startswith("strategy#")]
    assert f"{3000 - len(messages)} of them not shown" in context.context_md


def test_awareness_is_always_under_500_tokens(world: Any, section: Text) -> None:
    """With many collaborators, long reports and fat events it stays dense."""
    others = tuple(f"agent-{number}" for number in range(30))
    for number, name in enumerate(others):
        world.runs.report(in_run(name, f"run-{number}"), "processed many long replies " * 30)
    for number in range(20):
        world.reply(number, note="words " * 200)
    world.run()

    text = section("awareness", world.agent(collaborators=others))

    assert tokens(text) < 500
    assert text.startswith("## Awareness\nSystem: ok")


def test_awareness_says_how_others_fared(world: Any, section: Text) -> None:
    """Vitals, and for each collaborator outcome, age and report; who never ran is said so."""
    vital = Vital("Replies (24h)", "reply-received", 86400.0)
    world.config = world.config._replace(vitals=(vital,))
    world.reply()
    world.run(agent="reply-handler", text="processed 12 replies")
    world.clock.advance(7200)

    text = section("awareness", world.agent(collaborators=("reply-handler", "competitor-watch")))

    assert "System: ok | Replies (24h): 1" in text
    assert "  [reply-handler] ok | 2h ago | processed 12 replies" in text
    assert "  [competitor-watch] has not run yet" in text


def test_a_collaborator_that_runs_now_shows_what_it_last_did(world: Any, section: Text) -> None:
    """A run in progress hides the last report only when it has reported itself."""
    world.run(agent="reply-handler", text="processed 12 replies")
    world.runs.start(SYSTEM, "reply-handler", "r-now", slot="hand:1")
    assert "processed 12 replies" in section("awareness")

    world.runs.report(in_run("reply-handler", "r-now"), "halfway")
    assert "running | 0s ago | halfway" in section("awareness")


def test_recent_events_leave_out_what_the_events_section_shows(world: Any, section: Text) -> None:
    """New events stand in one place; after they were consumed the 8 latest are awareness."""
    for number in range(10):
        world.reply(number)
    assert "Recent events" not in section("awareness")

    world.run()
    text = section("awareness")

    assert [f"events#{seq} reply-received" in text for seq in range(1, 11)] == [False] * 2 + [
        True
    ] * 8


def test_the_agent_sees_its_last_run(world: Any, section: Text) -> None:
    """Outcome, report and plan of the newest run that ended; a first run is called one."""
    assert "This is your first run." in section("you")
    world.run("crashed", text="mailed 4 leads", next="ask mike")

    text = section("you")

    assert "ended 0s ago: crashed" in text
    assert "You reported: mailed 4 leads" in text
    assert "You meant to do next: ask mike" in text


def test_a_long_message_is_clipped_with_the_way_to_read_it(world: Any, section: Text) -> None:
    """A body over the limit ends with how much is missing and the command that shows it."""
    world.post("x" * 5000)

    text = section("channels")

    assert "4301 more characters: fleet read strategy --thread strategy#1 --json" in text


def test_a_huge_event_is_shown_with_its_reference_at_least(world: Any, section: Text) -> None:
    """A payload of 60 KiB is cut, never in the way of the events behind it."""
    world.reply(1, note="x" * 60_000)
    world.reply(2)

    text = section("events")

    assert "characters)" in text
    assert "events#2 · reply-received" in text
    assert tokens(text) < 1500


def test_reactions_and_answers_stand_in_the_header(world: Any, section: Text) -> None:
    """A message's header says what it answers and how others reacted."""
    world.post("first")
    world.post("second", reply_to="strategy#1")
    world.talk.react(in_run("competitor-watch"), "strategy#2", "agree")

    assert "answers strategy#1 · 1 agree: second" in section("channels")


def test_the_operators_bounds_hold(world: Any) -> None:
    """`max_items` and `max_tokens` of a section are obeyed, the rest is counted."""
    for number in range(20):
        world.reply(number)
    budget = {"events": SectionBudget(max_items=3), "channels": SectionBudget(max_tokens=120)}
    for _ in range(9):
        world.post("some words that cost a little")

    context = world.build(world.within(6000, **budget))
    by_name = {one.name: one for one in context.sections}

    assert (by_name["events"].items, by_name["events"].left_out) == (3, 17)
    assert by_name["channels"].tokens <= 120


def test_nothing_to_say_is_short(world: Any) -> None:
    """A quiet home costs an agent few tokens besides the how-to."""
    context = world.build("competitor-watch")

    assert "None wait." in context.context_md
    assert sum(one.tokens for one in context.sections if one.name != "how_to") < 120


def test_floors_come_first_then_priorities() -> None:
    """Each section gets its floor before another one grows; nothing is above the total."""
    needs = {"events": 9000, "channels": 9000, "you": 500, "awareness": 400, "how_to": 600}

    grants = allot(needs, 4000, {})
    tight = allot(needs, 800, {})

    assert sum(grants.values()) == 4000
    assert all(grants[name] >= min(needs[name], BOUNDS[name].floor) for name in needs)
    assert tight == {"events": 300, "you": 150, "channels": 200, "awareness": 100, "how_to": 50}
    assert allot(needs, 100_000, {"events": 700})["events"] == 700


def test_the_how_to_fits_700_tokens_with_many_types() -> None:
    """Types of interest are named before others, and too many end with how to list them."""
    types = [f"some-event-type-{number}" for number in range(200)]

    small = how_to("outreach", ["b"], ["a", "b"], 700)
    large = how_to("outreach", types[150:152], types, 700)

    assert "Types: b, a." in small.text
    assert (
        "Types: some-event-type-150, some-event-type-151, 198 more: fleet schema list" in large.text
    )
    assert large.cost <= 700
    assert how_to("outreach", [], types, 100).text.startswith("## Your team")
    assert how_to("outreach", [], types, 10).text == ""
