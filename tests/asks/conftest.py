"""What the tests of questions and reminders stand on: the small fleet in memory, and its clock."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import HOME
from fleet.bus.deadletters import DeadLetters
from fleet.bus.later import Later
from fleet.config.model import HomeConfig
from fleet.errors import Unavailable
from fleet.ports import Store
from fleet.questions import Questions
from fleet.records import Draft, Guard, Record
from fleet.schemas import Registry
from people import CONFIG
from rigs import Rig


class Asks(Rig):
    """The bus with what waits for a person or for its time."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.later = self.with_later()
        self.questions = self.with_questions()
        self.letters = DeadLetters(self.store, self.cache, CONFIG)

    def with_later(self, config: HomeConfig = CONFIG, store: Store | None = None) -> Later:
        """What another process sees of what waits for its time."""
        registry = Registry(self.root, self.cache)
        return Later(store or self.store, self.cache, config, registry)

    def with_questions(self, config: HomeConfig = CONFIG, store: Store | None = None) -> Questions:
        """What another process sees of the questions."""
        return Questions(store or self.store, self.cache, config)

    def ahead(self, seconds: float) -> float:
        """The moment that is so far ahead."""
        return self.clock.wall + seconds

    def log(self, stream: str) -> list[Record]:
        """All of a log."""
        return list(self.store.read(stream, 0, 1000).records)

    def alerts(self) -> list[str]:
        """The kinds of all alerts."""
        return [str(one.body["kind"]) for one in self.log("alerts") if one.body["op"] == "alert"]


class Cut:
    """A store whose process is killed at its append number `at`, before or after it is written."""

    def __init__(self, store: Store, at: int, *, written: bool) -> None:
        self._store = store
        self._left = at
        self._written = written

    def __getattr__(self, name: str):
        return getattr(self._store, name)

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> list[Record]:
        """Write, until the end."""
        self._left -= 1
        if self._left == 0:
            if self._written:
                self._store.append(stream, records, guard=guard)
            raise Unavailable("killed")
        return self._store.append(stream, records, guard=guard)


@pytest.fixture
def asks(tmp_path: Path) -> Asks:
    """The small fleet's types and agents, nothing said yet."""
    folder = tmp_path / "home" / "schemas"
    folder.mkdir(parents=True)
    for name, text in HOME.items():
        if name.startswith("schemas/"):
            (folder.parent / name).write_text(text)
    return Asks(tmp_path / "home")
