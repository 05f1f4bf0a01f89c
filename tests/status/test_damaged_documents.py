"""`status` over a home with one document of which no copy can be read."""

import json

import pytest

from fleet.accounts import Ended
from fleet.ledger import Reservation, launched_here
from fleet.records import Place, new_id
from fleet.runner.slots import Slots
from fleet.status import status
from fleets import Scripted

READ = (
    "control/worker",
    "control/fleet",
    "control/account:fleet",
    "cursors/worker",
    "ledger/",
    "schedule/worker",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Scripted:
    """A home in which every document that `status` reads is there."""
    home = Scripted(tmp_path_factory.mktemp("damaged") / "home")
    for name in ("worker", "other"):
        home.agent(name, "echo done")
    fleet = home.fleet
    now = fleet.store.now().wall
    run = new_id(now)
    held = Reservation("worker", "fleet", 0.5, 0, launched_here())
    fleet.ledger.reserve(run, held, lambda _day: None)
    Slots(fleet.store).begin_wakes("worker", 0)
    fleet.cursors.advance("worker", {"broadcast": Place(0)})
    fleet.controls.set("worker", "paused", by="operator", reason="x")
    fleet.controls.set("fleet", "paused", by="operator", reason="x")
    fleet.accounts.park("fleet", Ended(run, now - 60, now), None, "limit")
    return home


@pytest.mark.parametrize("key", READ)
def test_one_damaged_document_hides_nothing_but_itself(whole: Scripted, key: str) -> None:
    """P24: whichever it is, `status` shows every agent, names the file and is not well."""
    fleet = whole.fleet
    (found,) = [name for name in fleet.store.keys("", "", 100) if name.startswith(key)]
    path = fleet.places.state / f"{found.replace(':', '%3A')}.json"
    kept = path.read_bytes()
    path.write_text("x\n")
    before = path.with_name(f"{path.name}.prev")
    kept_before = before.read_bytes() if before.exists() else None
    before.write_text("x\n")

    state = status(fleet.seen)

    assert [agent["id"] for agent in state["agents"]] == ["other", "worker"]
    (line,) = state["unreadable"]
    assert f"{path.relative_to(whole.root)} is damaged" in line
    assert state["warning"] == line
    said = whole.call("status", "--json") if key == "ledger/" else None
    path.write_bytes(kept)
    before.unlink() if kept_before is None else before.write_bytes(kept_before)
    assert said is None or (said.returncode, json.loads(said.stdout)["unreadable"]) == (0, [line])
    assert status(fleet.seen)["unreadable"] == []
