from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fleet.config.model import Agent, Budget, HomeConfig
from fleet.runner.decide import decide
from fleet.runner.state import AccountState, AgentState, Decision, Slot, State

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """So long after noon."""
    return NOON + timedelta(minutes=minutes)


def slot(minutes: float, noticed: float | None = None) -> Slot:
    """A slot of a schedule that is due so long after noon."""
    return Slot(at(minutes).isoformat(), at(minutes), at(minutes if noticed is None else noticed))


def wake(seq: int, minutes: float = 0.0) -> Slot:
    """A slot that an event opened."""
    return Slot(f"wake:{seq}", at(minutes), at(minutes), cause=f"events#{seq}")


HAND = Slot("hand:1", NOON, NOON)


def config(agents: Mapping[str, dict[str, Any]], **home: Any) -> HomeConfig:
    """A home with these agents and fields."""
    made = {
        name: Agent(name, f"agents/{name}.yaml", "", "p.j2", Path("/x"), **fields)
        for name, fields in agents.items()
    }
    return HomeConfig(Path("/home"), "1", agents=made, **home)


def one(
    *slots: Slot, now: float = 0.0, fields: dict[str, Any] | None = None,
    state: State | None = None, home: dict[str, Any] | None = None, **known: Any,
) -> list[Decision]:  # fmt: skip
    """What becomes of the slots of one agent, in their own order."""
    state = replace(state or State(), agents={"a": AgentState(slots=slots, **known)})
    decisions = decide(config({"a": fields or {}}, **(home or {})), state, at(now))
    return sorted(decisions, key=lambda decision: slots.index(decision.slot))


def test_one_due_slot_of_a_free_agent_starts() -> None:
    """The ordinary case: due, nothing in the way, start, and it is no catch-up."""
    (decision,) = one(slot(0))

    assert (decision.result, decision.caught_up) == ("start", False)


LIMITED = State(accounts={"fleet": AccountState(limited_until=at(90), why="until 13:30")})
BLOCKED = State(accounts={"fleet": AccountState(blocked="not logged in")})
SPENT = {"reserve": 0.4, "cost_today": 0.7}
NIGHT = {"quiet": (12 * 60 - 30, 12 * 60 + 30)}


@pytest.mark.parametrize(
    ("known", "state", "fields", "home", "result"),
    [
        ({"halted": "x"}, State(stopping=True, paused="x"), {}, {}, "stopping"),
        ({"halted": "x", "paused": "x"}, State(low_disk="x"), {}, {}, "halted"),
        ({}, State(paused="x", low_disk="x"), {}, {}, "paused"),
        ({}, State(), {"enabled": False}, {}, "paused"),
        ({"running": "r"}, State(low_disk="3 MiB"), {}, {}, "low_disk"),
        ({"running": "r"}, BLOCKED, {}, {}, "skipped_overlap"),
        ({"breaker": "5 in a row"}, BLOCKED, {}, {}, "auth_blocked"),
        ({"breaker": "5 in a row", "runs_today": 3}, LIMITED, {"max_runs_per_day": 3}, {},
         "breaker_open"),
        ({"breaker": "x", "breaker_until": at(1)}, State(), {}, {}, "breaker_open"),
        ({"breaker": "x", "breaker_until": at(0)}, State(), {}, {}, "start"),
        ({"runs_today": 3}, LIMITED, {"max_runs_per_day": 3}, {}, "daily_runs"),
        ({"runs_today": 2}, State(), {"max_runs_per_day": 3}, {}, "start"),
        (SPENT, LIMITED, {"budget": Budget(per_day=1.0)}, {}, "over_budget"),
        ({"reserve": 0.4, "cost_today": 0.6}, State(), {"budget": Budget(per_day=1.0)}, {},
         "start"),
        ({"tokens_today": 9, "reserve_tokens": 2}, State(),
         {"budget": Budget(tokens_per_day=10)}, {}, "over_budget"),
        (SPENT, State(cost_today=0.7), {}, {"budget": Budget(per_day=1.0)}, "over_budget"),
        ({}, State(tokens_today=10), {}, {"budget": Budget(tokens_per_day=10)}, "over_budget"),
        ({}, LIMITED, NIGHT, {}, "waiting_for_limit"),
        ({}, State(), NIGHT, {}, "quiet_hours"),
        ({}, State(), {"gate": ("true",)}, {}, "gate"),
        ({"gate": "exit 1"}, State(), {"gate": ("true",)}, {}, "gated"),
        ({"gate": ""}, State(), {"gate": ("true",)}, {}, "start"),
        ({}, State(free=0), {}, {}, "wait"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_the_reason(
    known: dict[str, Any], state: State, fields: dict[str, Any], home: dict[str, Any], result: str
) -> None:
    """Each thing that keeps an agent from starting is named, the strongest one first."""
    (decision,) = one(slot(0), fields=fields, state=state, home=home, **known)

    assert decision.result == result


def test_a_limit_and_quiet_hours_keep_the_slot_and_say_until_when() -> None:
    """What ends by itself defers the newest slot; older ones are coalesced into it."""
    limited = one(slot(-60), slot(0), state=LIMITED)
    quiet = one(slot(-20), slot(0), fields=NIGHT)

    assert [(d.result, d.defers, d.until) for d in limited] == [
        ("coalesced", False, None), ("waiting_for_limit", True, at(90)),
    ]  # fmt: skip
    assert [(d.result, d.defers, d.until) for d in quiet] == [
        ("coalesced", False, None), ("quiet_hours", True, at(30)),
    ]  # fmt: skip
    assert one(slot(0), now=90, state=LIMITED)[0].result == "start"
    assert one(slot(0), now=30, fields=NIGHT)[0].result == "start"


@pytest.mark.parametrize(
    ("quiet", "hour", "ends"),
    [
        ((22 * 60, 6 * 60), 23, 24 + 6),
        ((22 * 60, 6 * 60), 5, 6),
        ((22 * 60, 6 * 60), 22, 24 + 6),
        ((22 * 60, 6 * 60), 6, None),
        ((22 * 60, 6 * 60), 21, None),
        ((9 * 60, 17 * 60), 9, 17),
        ((9 * 60, 17 * 60), 17, None),
    ],
)
def test_quiet_hours_begin_and_end_on_the_wall_clock_of_the_home(
    quiet: tuple[int, int], hour: int, ends: int | None
) -> None:
    """Also over midnight and on the day on which the clock is changed: 06:00 is 06:00."""
    midnight = datetime(2027, 3, 27, 23, tzinfo=UTC)  # 00:00 in Berlin; 02:00 of it is skipped
    home = {"timezone": "Europe/Berlin"}
    summer = hour > 2
    now = midnight + timedelta(hours=hour - (1 if summer else 0))
    due = Slot(now.isoformat(), now, now)
    state = State(agents={"a": AgentState(slots=(due,))})

    (decision,) = decide(config({"a": {"quiet": quiet}}, **home), state, now)

    expected = None if ends is None else midnight + timedelta(hours=ends - 1)
    assert decision.until == expected


def test_what_waited_for_the_end_of_quiet_hours_meets_the_slot_at_their_end() -> None:
    """With jitter the quiet hours end as late as the agent wakes: two runs become one."""
    fields = NIGHT | {"jitter": 600.0}
    late = one(slot(-1), fields=fields)[0].until

    assert late is not None
    assert late > at(30)
    assert one(slot(-1), Slot(at(30).isoformat(), late, late), now=40, fields=fields)[1].result == (
        "start"
    )


def test_after_any_stall_an_agent_starts_at_most_once_and_every_slot_has_a_result() -> None:
    """Of many missed slots the newest runs, flagged as catch-up; the others name it."""
    slots = [slot(minutes, noticed=100) for minutes in range(0, 100, 10)]

    decisions = one(*slots, now=100)

    assert [d.result for d in decisions] == ["coalesced"] * 9 + ["start"]
    assert decisions[-1].caught_up
    assert all(slots[-1].name in d.detail for d in decisions[:-1])


def test_a_slot_older_than_catch_up_is_missed() -> None:
    """What nobody noticed for longer than `catch_up` does not run any more, and says so."""
    (decision,) = one(slot(0, noticed=31), now=31)

    assert decision.result == "missed"


def test_what_was_deferred_is_late_from_its_end_on() -> None:
    """A restart after the quiet hours catches up what waited for their end, for `catch_up` long."""
    held = replace(slot(-600, noticed=20), held=at(0))

    assert one(held, now=20)[0].result == "start"
    assert one(replace(held, noticed=at(31)), now=31)[0].result == "missed"


def test_catch_up_holds_to_the_second_beyond_a_grace() -> None:
    """`catch_up: 0s` starts what is noticed in time, and nothing half a minute late."""
    fields = {"catch_up": 0.0}

    assert one(slot(0, noticed=0.1), now=1, fields=fields)[0].result == "start"
    assert one(slot(0, noticed=0.5), now=1, fields=fields)[0].result == "missed"


def test_a_runner_that_stops_leaves_every_slot_to_the_next() -> None:
    """An orderly restart loses nothing: the slots stay open, and the reason is on record."""
    decisions = one(slot(0), slot(10), wake(3), now=10, state=State(stopping=True))

    assert {(d.result, d.defers, d.closes) for d in decisions} == {("stopping", True, False)}


def test_what_is_only_reserved_makes_a_slot_wait() -> None:
    """Runs that are alive may leave some of what they hold; what is spent is refused for good."""
    home = {"budget": Budget(per_day=2.0)}
    reserved = State(cost_today=1.8, reserved=1.8)
    spent = State(cost_today=1.8, reserved=0.0)

    (waits,) = one(slot(0), state=reserved, home=home, reserve=0.9)
    (closed,) = one(slot(0), state=spent, home=home, reserve=0.9)
    (hand,) = one(HAND, state=reserved, home=home, reserve=0.9)

    assert [(d.result, d.defers) for d in (waits, closed, hand)] == [
        ("over_budget", True), ("over_budget", False), ("over_budget", False),
    ]  # fmt: skip


def test_a_gate_that_refused_a_wake_is_asked_again() -> None:
    """Its event still waits, and no other slot would bring it; a slot of the schedule is closed."""
    gate = {"gate": ("false",)}

    (refused,) = one(wake(7), fields=gate, gate="exit 1")
    (waits,) = one(replace(wake(7), held=at(10)), fields=gate)
    (asked,) = one(replace(wake(7), held=at(10)), now=10, fields=gate)

    assert (refused.result, refused.defers, refused.until) == ("gated", True, at(1))
    assert (waits.result, waits.until) == ("wait", at(10))
    assert asked.result == "gate"


def test_a_slot_that_waited_long_for_a_place_still_starts() -> None:
    """Waiting under the cap is no downtime: lateness counts to the notice, not to the start."""
    (decision,) = one(slot(-120))

    assert (decision.result, decision.caught_up) == ("start", False)


def test_a_blanket_refusal_gives_every_slot_its_own_record() -> None:
    """Paused for an hour: each slot says `paused`, none is coalesced into one that did not run."""
    decisions = one(slot(0), slot(10), slot(20), now=20, paused="by operator")

    assert [d.result for d in decisions] == ["paused"] * 3


@pytest.mark.parametrize(
    ("known", "state"),
    [
        ({"paused": "x"}, State()), ({"halted": "x"}, State()), ({}, State(stopping=True)),
        ({}, State(low_disk="x")), ({}, BLOCKED), ({"breaker": "x"}, State()),
        ({"running": "r"}, State()), ({}, State(free=0)), ({}, LIMITED),
    ],
)  # fmt: skip
def test_a_wake_waits_for_whatever_holds_it(known: dict[str, Any], state: State) -> None:
    """No later slot would bring what it was opened for, so nothing closes it unserved."""
    (decision,) = one(wake(7), state=state, **known)

    assert not decision.closes
    assert decision.result != "start"


def test_a_wake_is_closed_when_nothing_waits_any_more_or_a_slot_brings_it() -> None:
    """One run is enough for both; a wake that is served already needs none."""
    assert [d.result for d in one(wake(7), slot(0))] == ["coalesced", "start"]
    assert [d.result for d in one(slot(-1), wake(7))] == ["start", "coalesced"]
    assert [d.result for d in one(wake(7), news=False)] == ["coalesced"]
    assert [d.result for d in one(slot(0, noticed=99), wake(7), now=99)] == ["coalesced", "start"]


def test_what_is_not_due_waits_until_it_is() -> None:
    """A retry after its back-off, a wake after its cooldown."""
    (decision,) = one(replace(slot(5), attempt=2), now=0)

    assert (decision.result, decision.until) == ("wait", at(5))


@pytest.mark.parametrize(
    ("known", "state", "fields", "result"),
    [
        ({"paused": "x"}, State(paused="x"), NIGHT | {"gate": ("false",)}, "start"),
        ({"breaker": "x"}, State(canary="x", running=frozenset({"a"})), {}, "start"),
        ({"halted": "x"}, State(), {}, "halted"),
        ({}, State(low_disk="x"), {}, "low_disk"),
        ({}, BLOCKED, {}, "auth_blocked"),
        ({}, LIMITED, {}, "waiting_for_limit"),
        ({"runs_today": 1}, State(), {"max_runs_per_day": 1}, "daily_runs"),
        (SPENT, State(), {"budget": Budget(per_day=1.0)}, "over_budget"),
    ],
)
def test_a_person_passes_what_only_holds_schedules_and_nothing_else(
    known: dict[str, Any], state: State, fields: dict[str, Any], result: str
) -> None:
    """`fleet run` works in a paused home and before a closed gate; money and halts hold it too."""
    (decision,) = one(HAND, state=state, fields=fields, **known)

    assert (decision.result, decision.defers) == (result, False)


def test_a_slot_of_an_agent_that_is_gone_gets_a_reason() -> None:
    """A file that was removed leaves no slot open for ever."""
    state = State(agents={"gone": AgentState(slots=(slot(0),))})

    (decision,) = decide(config({}), state, NOON)

    assert (decision.result, decision.closes) == ("not_here", True)


# Who goes first ------------------------------------------------------------------------------


def many(names: str, free: int, **known: AgentState) -> State:
    """A state in which each of the named agents has a slot, due in the order of their names."""
    agents = {
        name: known.get(name, AgentState(slots=(slot(-1 + place / 100),)))
        for place, name in enumerate(names)
    }
    return State(agents=agents, free=free)


def started(decisions: list[Decision]) -> str:
    """Who starts, in launch order."""
    return "".join(d.agent for d in decisions if d.result == "start")


def test_priority_goes_before_age_and_age_before_names() -> None:
    """Places are scarce: high first, then who has waited longest."""
    home = config({"a": {"priority": "low"}, "b": {}, "c": {}, "d": {"priority": "high"}})

    assert started(decide(home, many("abcd", 4), NOON)) == "dbca"
    assert started(decide(home, many("abcd", 2), NOON)) == "db"


def test_nobody_is_passed_over_twice_running() -> None:
    """Who was passed over by a later slot is said to be; once is enough to go before everybody."""
    home = config({"a": {"priority": "low"}, "b": {}, "c": {"priority": "high"}})

    first = decide(home, many("abc", 2), NOON)
    passed = [d.agent for d in first if d.passed_over]
    waited = AgentState(slots=(slot(-1),), passed_over=1)

    assert (started(first), passed) == ("cb", ["a"])
    assert started(decide(home, many("abc", 1, a=waited), NOON)) == "a"


def test_who_only_waits_its_turn_was_not_passed_over() -> None:
    """Four of fifteen that are due together start; no later one went before the rest."""
    names = "abcdefghijklmno"
    home = config({name: {} for name in names})

    decisions = decide(home, many(names, 4), NOON)

    assert started(decisions) == "abcd"
    assert not any(d.passed_over for d in decisions)


def test_runs_that_start_together_share_the_last_dollar_once() -> None:
    """What the first will be reserved counts for the second, before either is launched."""
    home = config({"a": {}, "b": {}, "c": {}}, budget=Budget(per_day=1.0))
    known = {name: AgentState(slots=(slot(0),), reserve=0.4) for name in "abc"}

    decisions = decide(home, State(agents=known, free=3), NOON)

    assert [(d.result, d.defers) for d in decisions] == [
        ("start", False), ("start", False), ("over_budget", True),
    ]  # fmt: skip


def test_a_new_version_of_the_cli_is_tried_by_one_run() -> None:
    """Other agents of the CLI wait for the canary; commands do not."""
    home = config({"a": {}, "b": {}, "c": {"launch": "command"}})
    state = replace(many("abc", 3), canary="claude 2.2 is tried out")

    assert started(decide(home, state, NOON)) == "ac"
    assert started(decide(home, replace(state, canary_free=False), NOON)) == "c"
