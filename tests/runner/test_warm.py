"""A runner that runs keeps the audit's index near the logs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.audit.index import Index
from fleet.runner import warm
from fleet.wiring import open_fleet
from fleets import until
from people import OPERATOR


def test_the_index_is_filled_now_and_then(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came since the last filling is taken in at the next one, beside the loop."""
    monkeypatch.setattr(warm, "EVERY", 0.0)
    fleet = open_fleet(home, env={})
    warmer = warm.Warmer()

    for number in range(2):
        fleet.talk.post(OPERATOR, "strategy", f"number {number}")
        warmer.look(fleet, datetime.now(UTC))
        with Index(fleet) as index:
            assert until(lambda index=index: index.behind() == 0)
    assert until(lambda: not warmer.busy)
