"""A bus over the memory store, with the small fleet's types and a clock of its own."""

from pathlib import Path

from clocks import FakeClock
from fleet.bus import Bus
from fleet.config.model import HomeConfig
from fleet.cursors import ADDRESSED, BROADCAST, Cursors
from fleet.records import Place, Record
from fleet.schemas import Registry
from fleet.stores.ram import RamCache, RamStore
from people import CONFIG, OPERATOR, in_run


class Rig:
    """The bus and what it stands on, and the two steps of a run: see, then succeed."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.store = RamStore(self.clock)
        self.cache = RamCache()
        self.cursors = Cursors(self.store)
        self.root = root
        self.bus = self.opened(CONFIG)

    def opened(self, config: HomeConfig) -> Bus:
        """Another bus over the same store."""
        registry = Registry(self.root, self.cache)
        return Bus(self.store, self.cache, config._replace(root=self.root), registry, self.cursors)

    def contact(self, number: int = 0, *, to: str | None = None) -> Record:
        """One `contact-made` of the run of outreach's neighbour."""
        payload: dict[str, object] = {"email": f"lead{number}@example.org", "method": "email"}
        return self.bus.emit(OPERATOR, "contact-made", payload, to=to)

    def price(self, number: int = 0, *, to: str | None = None, author: str = "") -> Record:
        """One `pricing-change`, by the operator or in a run of `author`."""
        payload: dict[str, object] = {"competitor": f"c{number}", "newPrice": "20"}
        who = in_run(author) if author else OPERATOR
        return self.bus.emit(who, "pricing-change", payload, to=to)

    def shown(self, agent: str, *, limit: int = 50) -> list[int]:
        """The numbers that a prompt would show now."""
        waiting = self.bus.pending(agent, floor={}, limit=limit, attempts={})
        return [record.seq for record in waiting.shown]

    def succeed(self, agent: str, *, limit: int = 50) -> list[int]:
        """A run that is shown what waits and succeeds; what it was shown."""
        waiting = self.bus.pending(agent, floor={}, limit=limit, attempts={})
        refs = {record.ref for record in waiting.shown}
        self.cursors.advance(agent, self.bus.advance_for(agent, waiting, refs))
        return [record.seq for record in waiting.shown]

    def places(self, agent: str) -> tuple[int, int]:
        """Where the two lanes stand: addressed, broadcast."""
        lanes = self.cursors.get(agent)
        return lanes.get(ADDRESSED, Place(0)).seq, lanes.get(BROADCAST, Place(0)).seq
