"""Runs that begin and end as a test says, without a process, and what follows from their ends."""

from datetime import UTC, datetime

from clocks import FakeClock
from fleet.identity import SYSTEM
from fleet.records import Body, new_id, rfc3339
from fleet.runner import consequences
from fleet.runner.slots import Slots
from fleet.runner.state import Slot
from fleet.runs import Run, Verdict
from fleet.stores.ram import RamCache, RamStore
from fleets import Scripted


class Ends:
    """A home over the memory store, with a clock of its own."""

    def __init__(self, home: Scripted) -> None:
        self.clock = FakeClock()
        self.fleet = home.fleet
        assert self.fleet.config
        self.fleet.__dict__ |= {"store": RamStore(self.clock), "cache": RamCache()}

    @property
    def now(self) -> datetime:
        """The moment it is."""
        return datetime.fromtimestamp(self.clock.wall, UTC)

    def begin(
        self, agent: str, *, slot: str = "2027-01-15T08:00:00+00:00", attempt: int = 1
    ) -> str:
        """A run of `agent` that is alive."""
        run = new_id(self.clock.wall)
        self.fleet.runs.start(SYSTEM, agent, run, slot=slot, attempt=attempt)
        return run

    def end(self, agent: str, run: str, verdict: Verdict) -> Run:
        """Its end, on record; nothing follows from it yet."""
        ended = rfc3339(self.clock.wall)
        self.fleet.runs.finish(agent, run, verdict, ended=ended)
        return self.fleet.runs.find(run)

    def ran(self, agent: str, outcome: str, *, slot: str = "", **said: object) -> Run:
        """A run of a minute that ended so, and what follows from it."""
        attempt = int(str(said.pop("attempt", 1)))
        begun = self.begin(agent, slot=slot or self.now.isoformat(), attempt=attempt)
        self.clock.advance(60)
        run = self.end(agent, begun, Verdict(outcome, **said))  # type: ignore[arg-type]
        consequences.after(self.fleet, run)
        return run

    def open(self, agent: str) -> list[Slot]:
        """The open slots of `agent`."""
        return Slots(self.fleet.store).open(agent)

    def alerts(self, kind: str) -> list[Body]:
        """Every alert of that kind, oldest first."""
        records = self.fleet.store.read("alerts", 0, 10_000).records
        return [
            record.body
            for record in records
            if record.body["op"] == "alert" and record.body["kind"] == kind
        ]

    def until(self, account: str) -> float | None:
        """Seconds from now until the limit of `account` ends; None without one."""
        ends = self.fleet.accounts.of(account).limited_until
        return (ends - self.now).total_seconds() if ends else None
