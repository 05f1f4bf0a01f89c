"""A small home with a past: what was said, emitted and claimed, and runs that were shown it."""

from pathlib import Path

import pytest

from fleet.identity import Author
from fleet.runs import Verdict
from fleet.wiring import open_fleet
from histories import History
from people import OPERATOR, in_run


class Past:
    """The home at `root`, and what happens in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.fleet = open_fleet(root, env={})
        self._runs = 0

    def begin(self, agent: str, *shown: str, delivered: int = 0) -> Author:
        """A run of `agent` whose prompt showed `shown`, the first of them as waiting events."""
        self._runs += 1
        run = f"019b2e00-{self._runs:04d}-7000-8000-000000000001"
        facts = {"shown": list(shown), "events_shown": delivered}
        self.fleet.runs.start(OPERATOR, agent, run, slot=f"hand:{run}", context=facts)
        return in_run(agent, run)

    def end(self, author: Author, outcome: str = "ok") -> str:
        """The run is over; its id."""
        run = str(author.run)
        self.fleet.runs.finish(
            author.name, run, Verdict(outcome), ended="2026-11-30T10:00:00.000+00:00"
        )
        return run

    def post(self, author: Author, text: str, channel: str = "strategy") -> str:
        """A message; its reference."""
        return self.fleet.talk.post(author, channel, text).ref

    def price(self, author: Author, competitor: str = "Cursor") -> str:
        """An event; its reference."""
        payload = {"competitor": competitor, "newPrice": "$20"}
        return self.fleet.bus.emit(author, "pricing-change", payload).ref


@pytest.fixture
def past(home: Path) -> Past:
    """The home of the `home` fixture, nothing in it yet."""
    return Past(home)


@pytest.fixture
def history(home: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """The same home in memory: real runs may be launched in it, and nothing has happened yet."""
    return History(home, monkeypatch)
