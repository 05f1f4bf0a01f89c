"""The memories of the small fleet over the memory store, with a clock that tests move."""

from pathlib import Path
from typing import Any

import pytest

from clocks import FakeClock
from fleet.memory import Memory
from fleet.records import Draft
from fleet.stores.ram import RamCache, RamStore
from people import CONFIG, in_run

LOG = "memory-log/outreach"


class World:
    """A store, the memories in it, and short ways to change outreach's."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.store = RamStore(self.clock)
        self.root = root
        self.config = CONFIG._replace(root=root)
        self.memory = Memory(self.store, RamCache(), self.config)

    def anew(self) -> Memory:
        """The same memories as another process sees them that has no cache."""
        return Memory(self.store, RamCache(), self.config)

    def learn(self, text: str, importance: str = "medium", run: str = "") -> Any:
        """A lesson of outreach's, a minute after what was before."""
        self.clock.advance(60)
        return self.memory.learn(in_run("outreach", run), text, importance=importance)

    def put(self, *bodies: Any) -> None:
        """Records as they stand in the log, written at once."""
        drafts = [Draft({"run": None, **body}) for body in bodies]
        self.store.append(LOG, drafts)

    def many(self, count: int, importance: str) -> None:
        """Lessons `<importance> <number>`, written at once."""
        said = {"op": "lesson", "category": "success", "importance": importance}
        self.put(*({**said, "text": f"{importance} {n}"} for n in range(count)))

    def section(self, name: str = "lessons") -> list[Any]:
        """What outreach's memory holds there."""
        items: Any = self.memory.state("outreach")[name]
        return list(items)

    def texts(self, importance: str) -> list[str]:
        """The live lessons of an importance."""
        return [one["text"] for one in self.section() if one["importance"] == importance]

    def told(self, run: str, context: str, prompt: str = "Work.") -> None:
        """What a run was told."""
        folder = self.root / "state" / "run" / run
        folder.mkdir(parents=True)
        (folder / "context.md").write_text(context, encoding="utf-8")
        (folder / "prompt.md").write_text(prompt, encoding="utf-8")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Empty memories."""
    return World(tmp_path)
