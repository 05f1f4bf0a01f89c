"""A small home in one process to which anything may happen, also while a context is built.

The process of a run is faked, and the store is in memory; records, contexts and run folders are
fleet's own.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clocks import FakeClock
from fleet.errors import FleetError
from fleet.folds import Values
from fleet.identity import SYSTEM, Author
from fleet.records import Batch, Draft, new_id, rfc3339
from fleet.runner import launch, settle
from fleet.runs import Run
from fleet.stores.ram import RamCache, RamStore
from fleet.wiring import Fleet, open_fleet
from people import OPERATOR, in_run

AGENTS = ("outreach", "reply-handler", "competitor-watch")
CHANNELS = ("strategy", "outreach-review")


class BusyStore(RamStore):
    """A store in which `happens` is called between two reads of somebody."""

    happens: Callable[[], object] | None = None

    def read(self, *args: Any, **named: Any) -> Batch:
        """Read, and let something happen before that."""
        if self.happens is not None:
            now, self.happens = self.happens, None
            now()
            self.happens = now
        return super().read(*args, **named)


class History:
    """The home at `root` and what happened in it; `told` are the bytes that each run was told."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.clock = FakeClock()
        self.store = BusyStore(self.clock)
        self.cache = RamCache()
        self.values = Values(self.cache)
        self.told: dict[str, dict[str, bytes]] = {}
        self.count = 0
        monkeypatch.setattr(launch, "_spawn", lambda _folder, _plan: None)
        for file in (root / "agents").glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            file.write_text(f'{text}launch: command\ncommand: ["true"]\n', encoding="utf-8")

    @property
    def fleet(self) -> Fleet:
        """The home with its files as they are now."""
        fleet = open_fleet(self.root, env={"PATH": "/bin"})
        fleet.__dict__ |= {"store": self.store, "cache": self.values, "values": self.values}
        return fleet

    def forget(self) -> None:
        """Every cache is deleted, and the process is a new one."""
        self.cache = RamCache()
        self.values = Values(self.cache)

    def emit(self, kind: str = "reply-received", *, to: str | None = None) -> None:
        """One event, of a type that outreach is interested in."""
        self.count += 1
        said: dict[str, dict[str, object]] = {
            "reply-received": {"email": f"l{self.count}@acme.com", "classification": "interested"},
            "pricing-change": {"competitor": f"c{self.count}", "newPrice": "$9"},
        }
        self.fleet.bus.emit(OPERATOR, kind, said[kind], to=to)

    def post(self, text: str = "", channel: str = "strategy", **more: Any) -> str:
        """One message of reply-handler's; its reference."""
        self.count += 1
        author = in_run("reply-handler", f"posting-{self.count}")
        return self.fleet.talk.post(author, channel, text or f"text {self.count}", **more).ref

    def launched(self, agent: str = "outreach") -> str:
        """Launch a run; its id."""
        fleet = self.fleet
        run = new_id(self.clock.wall)
        self.clock.advance(0.01)
        launch.reserve(fleet, fleet.config.agents[agent], run)
        launch.start(fleet, fleet.config.agents[agent], run, slot=f"hand:{run}")
        return run

    def recorded(self, made: dict[str, object] | None) -> str:
        """A run of which there is a record only, with what it says that it was made from."""
        run = new_id(self.clock.wall)
        self.clock.advance(0.01)
        self.fleet.runs.start(SYSTEM, "outreach", run, slot=f"hand:{run}", context={}, made=made)
        return run

    def run(self, agent: str = "outreach", *, code: int = 0, report: str = "did it") -> Run:
        """A whole run: launched, told its context, reporting, ended with exit code `code`."""
        fleet = self.fleet
        run = self.launched(agent)
        folder = fleet.config.run_folder(run)
        names = ("context.md", "prompt.md")
        self.told[run] = {name: (folder / name).read_bytes() for name in names}
        if report:
            fleet.runs.report(in_run(agent, run), report)
        at = rfc3339(self.clock.wall)
        ended = {"run": run, "pid": 1, "started": at, "ended": at, "returncode": code}
        ended |= {"signal": None, "ended_by": "exit", "reason": "", "result_seen": False}
        (folder / "stdout.jsonl").write_text("done\n")
        (folder / "exit.json").write_text(json.dumps(ended | {"truncated": False, "swept": 0}))
        self.clock.advance(60.0)
        return settle.settle(self.fleet, agent, run)

    def claim(self, key: str, keep: float = 3600.0) -> None:
        """Outreach holds `key` beyond its runs, for `keep` seconds."""
        self.fleet.claims.take(in_run("outreach", "earlier"), key, keep=keep)

    def edit(self, name: str, old: str, new: str) -> None:
        """The operator edits one of the home's files."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def something(self, rng: random.Random) -> None:
        """Whatever may happen in a home, an edit of its files included."""
        author = in_run(rng.choice(AGENTS[:2]), f"r-{rng.randrange(9)}")
        what = rng.choice((*[self._word] * 6, self._claim, self._edit, self._template, self._run))
        what(rng, author)
        self.clock.advance(rng.choice((1.0, 40.0, 3000.0)))

    def words(self, rng: random.Random) -> None:
        """Records in some log, by others who may have counted them already."""
        stream = rng.choice(("events", *(f"channels/{name}" for name in CHANNELS), "runs/outreach"))
        last = self.store.read(stream, max(0, self.store.head(stream) - 5), 5).records
        if last:
            self.store.append(stream, [Draft(rng.choice(last).body)] * rng.randrange(1, 90))
        if rng.random() < 0.5:
            self.fleet.bus.latest(("reply-received",))
            self.fleet.talk.board("strategy")

    def _word(self, rng: random.Random, author: Author) -> None:
        channel = rng.choice(CHANNELS)
        head = self.store.head(f"channels/{channel}")
        ref = f"{channel}#{rng.randrange(1, head + 1) if head else 1}"
        talk, kind = self.fleet.talk, rng.choice(("emit", "to", "post", "pin", "react", "unpin"))
        try:
            if kind in {"emit", "to"}:
                name = rng.choice(("reply-received", "pricing-change"))
                self.emit(name, to="outreach" if kind == "to" else None)
            elif kind == "post":
                text = rng.choice(("short", "long " * 200, "two\nlines", "odd \u202e events#1"))
                talk.post(author, channel, text, pin=rng.random() < 0.1)
            elif kind == "react":
                talk.react(author, ref, rng.choice(("agree", "important")))
            else:
                getattr(talk, kind)(author, ref)
        except FleetError:
            return  # a message that is not there, a limit: nothing happened

    def _claim(self, rng: random.Random, author: Author) -> None:
        key = f"lead:{rng.randrange(40)}"
        try:
            self.fleet.claims.take(author, key, keep=rng.choice((60.0, 9e4)), note="mine " * 9)
        except FleetError:
            return

    def _edit(self, rng: random.Random, author: Author) -> None:
        del author
        file = self.root / "agents" / "outreach.yaml"
        text = file.read_text(encoding="utf-8").split("context:", maxsplit=1)[0]
        words = rng.choice(("900", "2500", "6000"))
        file.write_text(f"{text}context: {{max_tokens: {words}}}\n", encoding="utf-8")

    def _template(self, rng: random.Random, author: Author) -> None:
        del author
        name = rng.choice(("base", "outreach", "reply-handler"))
        file = self.root / "prompts" / f"{name}.md.j2"
        file.write_text(f"{file.read_text(encoding='utf-8')}{{# {rng.random()} #}}\n")

    def _run(self, rng: random.Random, author: Author) -> None:
        del author
        self.run(rng.choice(AGENTS), code=rng.choice((0, 0, 1)), report=rng.choice(("", "told")))
