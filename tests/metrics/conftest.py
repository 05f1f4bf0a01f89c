"""Numbers over the memory store: a clock of its own, and short ways to announce and to measure."""

import pytest

from clocks import FakeClock
from fleet.metrics import HORIZON, Digest, Metrics
from fleet.records import Draft, Record
from fleet.stores.ram import RamCache, RamStore
from people import in_run

DAY = 86400.0


class Shop:
    """A store in which agents announce drafts and a collector measures them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = RamStore(self.clock)
        self.cache = RamCache()
        self.metrics = Metrics(self.store, self.cache)

    def announce(self, subject: str, agent: str = "writer", **payload: object) -> Record:
        """An event that announces `subject`."""
        body = {
            "op": "event", "type": "content-ready", "from_agent": agent, "to_agent": None,
            "payload": {"draftId": subject, **payload}, "subject": subject,
        }  # fmt: skip
        return self.store.append("events", [Draft(body)])[0]

    def measure(
        self, subject: str, value: float, name: str = "views", *, ago: float = 0.0
    ) -> Record:
        """A number, measured `ago` seconds before now."""
        at = self.clock.wall - ago
        return self.metrics.record(in_run("collector"), subject, name, value, at=at)

    def did(self, subject: str, value: float, name: str = "views", **payload: object) -> None:
        """A draft of today whose number stands after two days; then it is a week later."""
        self.announce(subject, **payload)
        self.clock.advance(2 * DAY)
        self.measure(subject, value, name)
        self.clock.advance(5 * DAY)

    def digest(self, agent: str = "writer", horizon: float = HORIZON) -> Digest:
        """What the agent would be told now."""
        return self.metrics.digest((agent,), self.clock.wall, horizon)


@pytest.fixture
def shop() -> Shop:
    """Nothing was announced, nothing measured."""
    return Shop()
