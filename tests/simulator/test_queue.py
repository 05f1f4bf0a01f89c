"""The queue before the places: nobody is lost, nobody waits for nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.simulator.queue import Collision, collisions, turns
from plays import home

NOON = datetime(2027, 6, 1, 12, tzinfo=UTC)
NAMES = "abcdef"
SLOTS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(NAMES)), max_size=30)


def at(minutes: float) -> datetime:
    """So long after noon."""
    return NOON + timedelta(minutes=minutes)


@settings(max_examples=60, deadline=None)
@given(SLOTS, st.integers(1, 4), st.lists(st.integers(1, 15), min_size=6, max_size=6))
def test_places_are_never_taken_twice_and_nobody_waits_for_nothing(
    slots: list[tuple[int, str]], places: int, minutes: list[int]
) -> None:
    """Each slot gets one turn, `places` run at once at most, who waits finds all of them taken."""
    config = home(Path("/x"), {name: {} for name in NAMES}, concurrency=places)
    lasts = dict(zip(NAMES, minutes, strict=True))
    due = sorted((at(minute), name) for minute, name in slots)

    found = list(turns(config, due, {name: 60.0 * most for name, most in lasts.items()}))

    assert sorted((one.due, one.agent) for one in found) == due
    spans = [(one.begins, one.begins + timedelta(minutes=lasts[one.agent])) for one in found]
    for one in found:
        alive = sum(begin <= one.begins < end for begin, end in spans)
        assert alive <= places
        if one.begins > one.due:
            before = one.begins - timedelta(seconds=1)
            assert sum(begin <= before < end for begin, end in spans) == places


def test_the_urgent_go_first_and_crowds_are_named(tmp_path: Path) -> None:
    """Of three that are due together for one place the high priority goes first, the low last."""
    agents: dict[str, dict[str, object]] = {
        "a": {"priority": "low"}, "b": {}, "c": {"priority": "high"},
    }  # fmt: skip
    config = home(tmp_path, agents, concurrency=1)
    slots = [(at(0), "a"), (at(0), "b"), (at(0), "c"), (at(30), "a")]

    found = list(turns(config, slots, dict.fromkeys("abc", 120.0)))

    assert [(one.agent, one.begins) for one in found] == [
        ("c", at(0)), ("b", at(2)), ("a", at(4)), ("a", at(30)),
    ]  # fmt: skip
    assert collisions(config, found) == [Collision(at(0), ("c", "b", "a"), 240.0)]
