"""Schedules over the changes to and from summer time."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from fleets import Scripted, running, until
from wallclock import WallClock

CHANGES = {
    "Europe/Berlin": ("2027-03-27", "2027-10-30"),
    "America/New_York": ("2027-03-13", "2027-11-06"),
    "Australia/Lord_Howe": ("2027-10-02", "2027-04-03"),
    "America/Santiago": ("2027-09-04", "2027-04-03"),  # at midnight
}


@pytest.mark.parametrize("zone", CHANGES)
def test_no_day_is_skipped(scripted: Scripted, zone: str) -> None:
    """A4: a daily agent is due once on each local day around both changes, at its own hour."""
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("UTC", zone))
    for hour in (0, 2, 8):
        scripted.agent(f"at{hour}", "true", schedule=f'"0 {hour} * * *"')

    for eve in CHANGES[zone]:
        begin = datetime.fromisoformat(f"{eve}T12:00")
        lines = scripted.call("next", "--from", f"{begin}", "--days", "4", "--json").stdout
        due: dict[str, list[datetime]] = {}
        for slot in map(json.loads, lines.splitlines()):
            due.setdefault(slot["agent"], []).append(datetime.fromisoformat(slot["due"]))
        days = [(begin + timedelta(days=number)).date() for number in range(1, 4)]
        for name, moments in due.items():
            found = [one.date() for one in moments if one.date() in days]
            assert found == days, (name, eve)
        assert {f"{moment:%H:%M}" for moment in due["at8"]} == {"08:00"}


def test_the_days_of_the_change_run_once_each(scripted: Scripted, clock: WallClock) -> None:
    """A4: `fleet up` starts midnight's agent on 28 and 29 March in Berlin, 23 hours apart, once."""
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("UTC", "Europe/Berlin"))
    scripted.agent("midnight", "cat > /dev/null; echo done", schedule='"0 0 * * *"')
    scripted.agent("gap", "cat > /dev/null; echo done", schedule='"30 2 * * *"')
    moments = ["2027-03-27T23:00", "2027-03-28T01:00", "2027-03-28T22:00", "2027-03-29T00:30"]
    slots = [datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in moments]
    clock.set(slots[0] - timedelta(minutes=5))

    with running(scripted, env=clock.env) as up:
        for count, slot in enumerate(slots, 1):
            clock.set(slot)
            assert until(lambda count=count: len(scripted.ended()) >= count, 10), up.said()
        up.stop()

    ran = [(run.agent, datetime.fromisoformat(run.slot)) for run in reversed(scripted.runs())]
    assert ran == list(zip(["midnight", "gap"] * 2, slots, strict=True))
    assert not any(run.caught_up for run in scripted.runs())
