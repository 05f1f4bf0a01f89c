"""A small home with everything a context reads, over the memory store and a clock of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clocks import FakeClock
from fleet.bus import Bus
from fleet.claims import Claims
from fleet.config import load
from fleet.config.model import Agent, ContextBudget
from fleet.context import Context, Present, Sources, build
from fleet.cursors import Cursors
from fleet.folds import Values
from fleet.identity import SYSTEM
from fleet.memory import Memory
from fleet.metrics import Metrics
from fleet.places import Places
from fleet.questions import Questions
from fleet.records import Record, rfc3339
from fleet.runs import Runs, Verdict
from fleet.schemas import Registry
from fleet.snapshots import Snapshot
from fleet.stores.ram import RamCache, RamStore
from fleet.talk import Talk
from people import OPERATOR, in_run

NONCE = "k7q2m9x4"


class World:
    """The home, its parts, and short ways to let things happen in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock()
        self.store = RamStore(self.clock)
        cache = self.values = Values(RamCache())
        self.config = load(root, cache)
        self.cursors = Cursors(self.store)
        self.schemas = registry = Registry(root, cache)
        self.bus = Bus(self.store, cache, self.config, registry, self.cursors)
        self.talk = Talk(self.store, cache, self.config, self.cursors)
        self.runs = Runs(self.store, cache, Places(root), self.config.names_of)
        self.claims = Claims(self.store)
        self.memory = Memory(self.store, cache, self.config)
        self.metrics = Metrics(self.store, cache)
        self.count = 0

    def agent(self, name: str = "outreach", **changes: Any) -> Agent:
        """An agent of the home, with changes."""
        return self.config.agents[name]._replace(**changes)

    def take(
        self, agent: Agent, now: float | None, nonce: str | None, *, strict: bool = False
    ) -> Sources:
        """Everything a context reads, as `Fleet.sources` takes it."""
        parts = (self.config, self.store, self.cursors, self.claims, self.schemas)
        present = Present(*parts, health="ok")
        given = present.given(agent, self.clock.wall if now is None else now, nonce)
        store, config = Snapshot(self.store, documents=given.documents(agent.id)), self.config
        values = self.values.pinned() if strict else self.values
        cursors = Cursors(store)
        bus = Bus(store, values, config, self.schemas, cursors)
        talk = Talk(store, values, config, cursors)
        runs = Runs(store, values, Places(self.root), config.names_of)
        parts = (bus, talk, runs, Memory(store, values, config), Metrics(store, values))
        parts += (Questions(store, values, config),)
        return Sources(config, store, *parts, given, self.root / "prompts")

    def build(self, agent: Agent | str = "outreach", **more: Any) -> Context:
        """A context with a known nonce."""
        who = self.agent(agent) if isinstance(agent, str) else agent
        return build(self.take, who, **({"run": "run-0", "nonce": NONCE} | more))

    def within(self, max_tokens: int, **sections: Any) -> Agent:
        """The agent outreach with another budget."""
        return self.agent(context=ContextBudget(max_tokens, sections))

    def reply(self, number: int = 0, *, to: str | None = None, **payload: Any) -> Record:
        """One `reply-received`, which outreach is interested in."""
        said = {"email": f"lead{number}@acme.com", "classification": "interested"} | payload
        return self.bus.emit(OPERATOR, "reply-received", said, to=to)

    def post(self, text: str, channel: str = "strategy", **more: Any) -> Record:
        """One message of reply-handler's."""
        self.count += 1
        author = in_run("reply-handler", f"posting-{self.count}")
        return self.talk.post(author, channel, text, **more)

    def run(self, outcome: str = "ok", agent: str = "outreach", **said: Any) -> Context:
        """A whole run: shown its context, perhaps reporting, ended; lanes move on success."""
        self.count += 1
        run = f"run-{self.count}"
        context = self.build(agent, run=run, durable=True)
        facts = context.manifest["facts"]
        assert isinstance(facts, dict)
        self.runs.start(SYSTEM, agent, run, slot=f"hand:{run}", context=facts)
        if said:
            self.runs.report(in_run(agent, run), **said)
        self.runs.finish(agent, run, Verdict(outcome), ended=rfc3339(self.clock.wall))
        self.bus.apply_advance(agent, self.runs.last_ok_advance(agent))
        return context

    def template(self, text: str, name: str = "outreach.md.j2") -> None:
        """Replace a template."""
        (self.root / "prompts" / name).write_text(text, encoding="utf-8")


@pytest.fixture
def world(home: Path) -> World:
    """The small home of all tests, nothing has happened in it."""
    return World(home)


@pytest.fixture
def section(world: World) -> Callable[..., str]:
    """The text of one section of a context that is built now."""

    def text(name: str, agent: Agent | str = "outreach") -> str:
        return next(one.text for one in world.build(agent).sections if one.name == name)

    return text
