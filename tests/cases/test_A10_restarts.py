"""Fixed intervals and a process that is restarted more often than they pass."""

from datetime import datetime

from fleets import Scripted
from unspawned import Unspawned


def test_an_interval_keeps_its_grid(scripted: Scripted) -> None:
    """A10: `every 6h` with a restart each 4 h over 48 simulated hours: 8 fires on the grid."""
    scripted.agent("steady", "true", schedule="{every: 6h, offset: 10m}")
    up = Unspawned(scripted)
    up.look()

    for minute in range(10, 48 * 60 + 1, 10):
        for name in up.look(600):
            up.over(name)
        if minute % 240 == 0:
            up.restart()

    slots = [datetime.fromisoformat(run.slot) for run in up.fleet.runs.list("steady", 99)]
    assert [f"{slot:%H:%M}" for slot in reversed(slots)] == ["12:10", "18:10", "00:10", "06:10"] * 2
    assert len({run.slot for run in up.fleet.runs.list("steady", 99)}) == 8
