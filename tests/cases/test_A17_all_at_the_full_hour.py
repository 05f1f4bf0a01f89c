"""Agents that are all due at the same minute."""

import json
from datetime import datetime

from fleets import Scripted
from unspawned import Unspawned

NAMES = [f"agent{number:02d}" for number in range(15)]


def test_nobody_is_passed_over_in_two_successive_rounds(scripted: Scripted) -> None:
    """A17: cap 4, 15 due in each of 6 rounds, two of them of high priority.

    Whoever was passed over by a later slot in one round starts before all others in the next ones.
    """
    for number, name in enumerate(NAMES):
        priority = "high" if number > 12 else "normal"
        scripted.agent(name, "true", f"priority: {priority}", schedule='"* * * * *"')
    up = Unspawned(scripted)
    up.look()

    last = dict.fromkeys(NAMES, 0)  # in which round each has started
    passed = dict.fromkeys(NAMES, 0)  # in how many rounds since a later slot was started before
    for number in range(1, 7):
        started = up.look(60)
        assert len(started) == 4
        latest = max(last[name] for name in started)
        passed = {name: passed[name] + (last[name] < latest) for name in NAMES}
        for name in started:
            up.over(name)
            last[name], passed[name] = number, 0
        assert max(passed.values()) <= 1, number

    assert min(last.values()) > 0


def test_an_offset_of_its_own_is_the_same_after_a_restart(scripted: Scripted) -> None:
    """A17: with `jitter` the 15 are due at different moments, and each at its own ever after."""
    for name in NAMES:
        scripted.agent(name, "true", "jitter: 10m", schedule='"0 * * * *"')

    def offsets() -> dict[str, float]:
        lines = scripted.call("next", "--from", "2027-03-01T08:59", "--days", "0.02", "--json")
        slots = [json.loads(line) for line in lines.stdout.splitlines()]
        times = [
            (slot, *map(datetime.fromisoformat, (slot["due"], slot["slot"]))) for slot in slots
        ]
        return {slot["agent"]: (due - nominal).total_seconds() for slot, due, nominal in times}

    first, again = offsets(), offsets()

    assert first == again
    assert set(first) == set(NAMES)
    assert len(set(first.values())) > 10
    assert all(0 <= late < 600 for late in first.values())
