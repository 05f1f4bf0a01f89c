"""A memory whose log was lost while its document was not: told to readers, kept by writers."""

from typing import Any

import pytest

from fleet.errors import EndedBadly
from fleet.memory import Memory
from fleet.shadow import Staged
from fleet.stores.ram import RamCache, RamStore
from people import OPERATOR, in_run

LOG = "memory-log/outreach"


def log_lost(world: Any, kept: int) -> None:
    """Only the first `kept` records of the log are still there, and every document."""
    records = world.store.read(LOG, 0, kept).records
    document = world.store.get("memory/outreach")[0]
    world.store = RamStore(world.clock)
    if records:
        world.put(*(record.body for record in records))
    world.store.put("memory/outreach", document, expect=0)
    world.memory = world.anew()


@pytest.mark.parametrize("kept", [0, 2])
def test_a_lost_log_is_not_believed(world: Any, kept: int) -> None:
    """A log that ends below its document is told to who looks, and the document stays."""
    for number in range(4):
        world.learn(f"lesson {number}")
    before = world.store.get("memory/outreach")
    log_lost(world, kept)

    with pytest.raises(EndedBadly, match="memory-log/outreach lost records"):
        world.memory.require_whole("outreach")

    assert world.store.get("memory/outreach")[0] == before[0]


@pytest.mark.parametrize("kept", [0, 2])
def test_the_next_change_keeps_the_memory(world: Any, kept: int) -> None:
    """A change first takes back what the document held, under the old ids, and gives none twice."""
    for number in range(4):
        world.learn(f"lesson {number}", run="r1" if number == 3 else "")
    world.memory.goal(in_run("outreach", ""), "Ten replies")
    world.memory.progress(in_run("outreach", ""), "G5", "four", value=4)
    goal = world.section("goals")[0]
    log_lost(world, kept)

    added = world.learn("the next one")

    assert int(added.item["id"][1:]) > 6
    assert {one["id"] for one in world.section()} == {"L1", "L2", "L3", "L4", added.item["id"]}
    assert world.section("goals") == [goal]
    world.memory.require_whole("outreach")
    assert world.store.get("memory/outreach")[0] == world.anew().state("outreach")
    assert world.memory.revert(OPERATOR, "outreach", "r1").gone == ("L4",)


def test_mending_is_done_once(world: Any) -> None:
    """What was dropped after the mending does not come back, and no second one is written."""
    for number in range(3):
        world.learn(f"lesson {number}")
    log_lost(world, 0)

    world.memory.drop(in_run("outreach", ""), "lesson", "L2")
    head = world.store.head(LOG)
    world.learn("another")

    assert [one["id"] for one in world.section()] == ["L1", "L3", f"L{head + 1}"]


def test_a_shadow_run_does_not_mend(world: Any) -> None:
    """A shadow run is refused, and the document is what it was."""
    world.learn("kept")
    log_lost(world, 0)
    before = world.store.get("memory/outreach")
    staged: Any = Staged(world.store, "outreach", "r9")

    with pytest.raises(EndedBadly):
        Memory(staged, RamCache(), world.config).learn(in_run("outreach", "r9"), "more")

    assert world.store.get("memory/outreach") == before
