from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from clocks import FakeClock
from fleet.config.model import Agent, Schedule
from fleet.runner.slots import FIRES, MOST, Slots
from fleet.runner.state import Decision
from fleet.stores.ram import RamStore

ZONE = ZoneInfo("UTC")
START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def agent(every: float = 60.0, jitter: float = 0.0) -> Agent:
    """An agent on a fixed grid."""
    return Agent(
        "outreach", "agents/outreach.yaml", "", "p.j2", Path("/x"), (Schedule(every=every),),
        jitter=jitter,
    )  # fmt: skip


@pytest.fixture
def store() -> RamStore:
    """An empty store with a clock of its own."""
    return RamStore(clock=FakeClock())


@pytest.fixture
def slots(store: RamStore) -> Slots:
    """The slots in it."""
    return Slots(store)


def fires(store: RamStore) -> list[dict[str, object]]:
    """What is on record about slots."""
    return [record.body for record in store.read(FIRES, 0, 10_000).records]


def test_a_new_agent_owes_nothing(slots: Slots) -> None:
    """The watermark of an agent that nobody watched before begins now."""
    assert slots.notice(agent(), ZONE, START) == []


def test_each_due_slot_is_noticed_once(slots: Slots) -> None:
    """Looking twice opens no slot twice, and a later look opens only what came due since."""
    slots.notice(agent(), ZONE, START)

    first = slots.notice(agent(), ZONE, START + timedelta(seconds=60))
    again = slots.notice(agent(), ZONE, START + timedelta(seconds=61))
    later = slots.notice(agent(), ZONE, START + timedelta(seconds=120))

    assert [s.name for s in first] == ["2026-11-30T12:01:00+00:00"]
    assert again == first
    assert [s.name for s in later] == ["2026-11-30T12:01:00+00:00", "2026-11-30T12:02:00+00:00"]


def test_a_slot_between_two_seconds_is_noticed_once(slots: Slots) -> None:
    """A grid of 1.5 s has slots at half seconds; passing one does not make it due again."""
    slots.notice(agent(every=1.5), ZONE, START)
    (due,) = slots.notice(agent(every=1.5), ZONE, START + timedelta(seconds=1.6))
    slots.settle("outreach", [Decision("outreach", due, "paused")])

    assert slots.notice(agent(every=1.5), ZONE, START + timedelta(seconds=1.7)) == []


def test_a_clock_that_steps_back_repeats_no_slot(slots: Slots) -> None:
    """A step of less than an hour: what was settled stays settled when the clock shows it again."""
    slots.notice(agent(), ZONE, START)
    (due,) = slots.notice(agent(), ZONE, START + timedelta(seconds=60))
    slots.settle("outreach", [Decision("outreach", due, "paused")])

    assert slots.notice(agent(), ZONE, START - timedelta(minutes=58)) == []
    assert slots.notice(agent(), ZONE, START + timedelta(seconds=90)) == []


def _watched_ahead(slots: Slots, hours: int) -> dict[str, str]:
    """Walk an hourly agent through hours that a wrong clock shows: each slot's result."""
    slots.notice(agent(every=3600), ZONE, START)
    results = {}
    for hour in range(1, hours + 1, 2):
        one, two = slots.notice(agent(every=3600), ZONE, START + timedelta(hours=hour + 1))
        slots.settle("outreach", [Decision("outreach", one, "coalesced")])
        slots.started("outreach", two, f"run-{hour}")
        results |= {one.name: "coalesced", two.name: "started"}
    return results


@pytest.mark.parametrize("hours", [2, 24])
def test_a_clock_that_was_a_day_ahead_leaves_no_silence(
    slots: Slots, store: RamStore, hours: int
) -> None:
    """Set back, slots that started do not start again, all others come, one alert says why."""
    before = _watched_ahead(slots, hours)
    again: list[str] = []

    for minute in range(0, (hours + 2) * 60, 30):
        for slot in slots.notice(agent(every=3600), ZONE, START + timedelta(minutes=minute)):
            again.append(slot.name)
            assert slot.attempt == (2 if slot.name in before else 1)
            slots.started("outreach", slot, slot.name)

    grid = [(START + timedelta(hours=hour)).isoformat() for hour in range(1, hours + 2)]
    assert again == [name for name in grid if before.get(name) != "started"]
    started = [fire["slot"] for fire in fires(store) if fire["result"] == "started"]
    assert sorted(map(str, started)) == grid
    (alert,) = store.read("alerts", 0, 10).records
    assert alert.body["kind"] == "clock"


def test_a_clock_that_is_set_back_twice_repeats_no_run(slots: Slots) -> None:
    """What started under a wrong clock is known after the second step as well."""
    before = _watched_ahead(slots, 8)
    again: list[str] = []

    for start in (0, -3, 0):
        for hour in range(start, 5):
            for slot in slots.notice(agent(every=3600), ZONE, START + timedelta(hours=hour)):
                again.append(slot.name)
                slots.started("outreach", slot, slot.name)

    assert len(again) == len(set(again)) > 0
    assert not set(again) & {name for name, result in before.items() if result == "started"}


def test_an_edited_schedule_makes_nothing_due_in_the_past(slots: Slots) -> None:
    """Slots that the schedule of that time did not have are not missed afterwards."""
    slots.notice(agent(every=86_400), ZONE, START)

    assert slots.notice(agent(every=60), ZONE, START + timedelta(hours=6)) == []


def test_only_one_run_takes_a_slot(slots: Slots) -> None:
    """Of two runners that want the same slot one gets it."""
    slots.notice(agent(), ZONE, START)
    (due,) = slots.notice(agent(), ZONE, START + timedelta(seconds=60))

    assert slots.take("outreach", due, "run-1")
    assert not slots.take("outreach", due, "run-2")
    assert slots.open("outreach")[0].run == "run-1"

    slots.give_back("outreach", due)
    assert slots.take("outreach", due, "run-2")


def test_a_settled_slot_has_one_record_and_is_closed(slots: Slots, store: RamStore) -> None:
    """Settling twice, as after a crash between record and document, leaves the first result."""
    slots.notice(agent(), ZONE, START)
    (due,) = slots.notice(agent(), ZONE, START + timedelta(seconds=60))

    slots.settle("outreach", [Decision("outreach", due, "paused", "by operator")])
    slots.started("outreach", due, "run-1")

    assert [(f["slot"], f["result"]) for f in fires(store)] == [(due.name, "paused")]
    assert slots.open("outreach") == []


def test_a_month_of_missed_minutes_stays_small_and_is_accounted_for(
    slots: Slots, store: RamStore
) -> None:
    """The oldest slots of a long downtime share one record that counts and bounds them."""
    slots.notice(agent(), ZONE, START)

    due = slots.notice(agent(), ZONE, START + timedelta(days=3))

    (shared,) = fires(store)
    assert len(due) == MOST
    assert shared["result"] == "missed"
    assert str(shared["detail"]).startswith(f"{3 * 24 * 60 - MOST} slots from 2026-11-30 12:01 to ")


def test_jitter_delays_the_slot_but_not_its_name(slots: Slots) -> None:
    """A slot is named by its nominal instant; due and noticed come with the agent's own delay."""
    late = agent(jitter=30)
    slots.notice(late, ZONE, START)

    assert slots.notice(late, ZONE, START + timedelta(seconds=60)) == []
    (due,) = slots.notice(late, ZONE, START + timedelta(seconds=90))

    assert due.name == "2026-11-30T12:01:00+00:00"
    assert START + timedelta(seconds=60) < due.due <= START + timedelta(seconds=90)
