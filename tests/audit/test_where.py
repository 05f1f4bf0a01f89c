"""`fleet events --where` asks the index, and says what reading the whole log would say."""

import pytest

from audit.conftest import Past
from fleet.audit.index import Index
from fleet.audit.where import events
from people import OPERATOR

VALUES = [
    "Cursor", "cursor", "Cursor Pro, now 20 $", "", "-", "12", 12, 1.5, 1e16, True, "true", None,
    "null", ["a\nb", {"x": None}], {"deep": {"er": "Cursor"}}, [], "日本", "Ünïcode", "a" * 3000,
]  # fmt: skip
ASKED = [
    "Cursor", "cursor", "12", "1.5", "1e+16", "true", "null", "", "-", "日本", "Ünïcode", "[]",
    '{"deep": {"er": "Cursor"}}', '["a\\nb", {"x": null}]', "Cursor Pro, now 20 $", "Zed",
]  # fmt: skip


@pytest.fixture
def priced(past: Past) -> Past:
    """An event with each of the values, twice over."""
    for round_ in range(2):
        for value in VALUES:
            payload = {"competitor": "x", "newPrice": str(round_), "value": value}
            past.fleet.bus.emit(OPERATOR, "pricing-change", payload)
    return past


def test_the_index_and_the_log_give_the_same_events(priced: Past) -> None:
    """For every value, from both ends and between any places, the answers are equal."""
    bus, fleet = priced.fleet.bus, priced.fleet
    half = fleet.store.head("events") // 2
    ranges = [
        {}, {"limit": 1}, {"after": 0}, {"after": half}, {"before": half},
        {"after": 3, "before": 9}, {"since": 0.0, "limit": 2}, {"until": 0.0},
        {"type": "pricing-change"}, {"type": "other"},
    ]  # fmt: skip
    with Index(fleet) as index:
        for value in ASKED:
            for given in ranges:
                where = {"value": value}
                found = events(fleet, index, where=where, **given)
                if found is not None:
                    assert found == bus.events(where=where, **given), (value, given)
        assert events(fleet, index, where={"value": "Cursor", "newPrice": "1"})
        assert events(fleet, index, where={"-": "-"}) is None


def test_an_index_that_is_far_behind_is_left_alone(
    priced: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question of the bus never waits for a long filling: the log is read instead."""
    monkeypatch.setattr("fleet.audit.where.FEW", 3)
    with Index(priced.fleet) as index:
        assert events(priced.fleet, index, where={"value": "Cursor"}) is None
        index.refresh()
        assert len(events(priced.fleet, index, where={"value": "Cursor"}) or []) == 2
