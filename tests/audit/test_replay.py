"""A run's prompt comes back byte for byte, whatever happened since."""

import random
from pathlib import Path

import pytest

from fleet.audit.replay import replay
from histories import History


def told_again(history: History) -> dict[str, dict[str, bytes]]:
    """What every run was told, built again by a process that has only just begun."""
    fleet = history.fleet
    return {run: dict(replay(fleet, fleet.runs.find(run)).files) for run in history.told}


@pytest.mark.parametrize("seed", range(6))
def test_any_history_can_be_replayed(history: History, seed: int) -> None:
    """Among any order of records, edits, runs and lost caches each prompt comes back the same."""
    rng = random.Random(seed)
    for _ in range(60):
        history.something(rng)
        if rng.random() < 0.05:
            history.forget()
    history.run()

    assert told_again(history) == history.told


@pytest.mark.parametrize("seed", range(3))
def test_records_that_come_while_a_context_is_built(history: History, seed: int) -> None:
    """Others write between any two reads of a build: what it showed is one moment all the same."""
    rng = random.Random(seed)
    for _ in range(40):
        history.something(rng)
    for _ in range(4):
        history.store.happens = lambda: rng.random() < 0.3 and history.words(rng)
        history.run()
        history.store.happens = None

    assert told_again(history) == history.told
