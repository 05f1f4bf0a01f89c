"""The one place where a name becomes an implementation: a home's parts, each built when first used.

Only this module knows that stores exist; whoever has a `Fleet` sees ports and use-cases.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.errors import BadHome
from fleet.identity import TOKEN_VARIABLE
from fleet.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.accounts import Accounts
    from fleet.bus import Bus
    from fleet.bus.deadletters import DeadLetters
    from fleet.bus.later import Later
    from fleet.claims import Claims
    from fleet.config.model import Agent, HomeConfig
    from fleet.config.prompts import Prompts
    from fleet.context import Given, Sources, Take
    from fleet.controls import Controls
    from fleet.cursors import Cursors
    from fleet.folds import Values
    from fleet.identity import Author
    from fleet.ledger import Ledger
    from fleet.memory import Memory
    from fleet.metrics import Metrics
    from fleet.ports import Cache, Pulse, Shelf, Store
    from fleet.questions import Questions
    from fleet.records import Guard
    from fleet.retractions import Retractions
    from fleet.runs import Runs, Spending
    from fleet.schemas import Registry
    from fleet.shadow import Shadow
    from fleet.snapshots import Snapshot
    from fleet.status import Sources as StatusSources
    from fleet.stores.files import FilesStore
    from fleet.talk import Talk


class Fleet:
    """One opened home. Reading an attribute builds that part and what it stands on, once.

    Any attribute may raise `BadHome` (the operator's files), `NotAllowed` (the author) or what the
    store raises.
    """

    def __init__(
        self, root: Path, *, env: Mapping[str, str], as_agent: str | None, strict: bool
    ) -> None:
        self.root = root
        self.env = env
        self.places = Places(root)
        self._as_agent = as_agent
        self._strict = strict

    @cached_property
    def cache(self) -> "Cache":
        """Derived files of this home."""
        from fleet.stores.files.cache import FilesCache
        from fleet.stores.files.store import require_format

        require_format(self.places.state)
        return FilesCache(self.places.cache)

    @cached_property
    def values(self) -> "Values":
        """Derived files, and what this process made of them: what builds many contexts reads."""
        from fleet.folds import Values

        return Values(self.cache)

    @cached_property
    def config(self) -> "HomeConfig":
        """What the operator's files say; the last good one when they are broken and it may be."""
        from fleet.config import open_config

        return open_config(self.root, self.cache, tolerant=not self._strict)

    @cached_property
    def store(self) -> "Store":
        """The store that fleet.yaml names; to a shadow run its shared logs are staged."""
        if TOKEN_VARIABLE in self.env and self.author.shadow:
            from fleet.shadow import Staged

            return Staged(self._files, self.author.name, str(self.author.run))
        return self._files

    @property
    def staged(self) -> bool:
        """Whether something that was written here waits for a person: a shadow run wrote it."""
        if not self.author.shadow:
            return False
        from fleet.shadow import Staged

        return isinstance(self.store, Staged) and self.store.wrote

    @cached_property
    def _files(self) -> "FilesStore":
        if self.config.store != "files":
            raise BadHome(
                f"fleet.yaml names the store {self.config.store}, which this version does not have",
                "write store: files",
            )
        from fleet.masking import secret_values
        from fleet.stores.files import FilesStore

        return FilesStore(self.places.state, secrets=secret_values(self.env))

    @property
    def pulse(self) -> "Pulse":
        """The store, for whoever asks it again and again whether anything was written."""
        return self._files

    @property
    def shelf(self) -> "Shelf":
        """The store's segments, for whoever trims them."""
        return self._files

    @cached_property
    def author(self) -> "Author":
        """Who is calling: the run's token decides, else the person at the terminal."""
        from fleet.identity import resolve

        return resolve(
            self._files, self.env, as_agent=self._as_agent, known_agents=self.config.agents
        )

    @cached_property
    def cursors(self) -> "Cursors":
        """The agents' places."""
        from fleet.cursors import Cursors

        return Cursors(self.store)

    @cached_property
    def schemas(self) -> "Registry":
        """The event types."""
        from fleet.schemas import Registry

        return Registry(self.root, self.cache)

    @cached_property
    def prompts(self) -> "Prompts":
        """The templates, as far as a look at their files goes."""
        from fleet.wiring.templates import prompts_of

        return prompts_of(self.root, self.cache)

    @cached_property
    def claims(self) -> "Claims":
        """Exclusive rights."""
        from fleet.claims import Claims

        return Claims(self.store, self.cache)

    @cached_property
    def bus(self) -> "Bus":
        """Events."""
        from fleet.bus import Bus

        store, cache = self.store, self.cache

        def permit(author: "Author", key: str) -> "Guard":
            # Only a type with x-claim asks for it, so `fleet emit` mostly does without the claims.
            # A method would tie the bus to its home: garbage that waits for the collector, with
            # all that a context was made of.
            from fleet.claims import Claims

            return Claims(store, cache).permit(author, key)

        return Bus(store, cache, self.config, self.schemas, self.cursors, permit)

    @cached_property
    def later(self) -> "Later":
        """Events that wait for their time."""
        from fleet.bus.later import Later

        return Later(self.store, self.cache, self.config, self.schemas)

    @cached_property
    def deadletters(self) -> "DeadLetters":
        """Events that were set aside."""
        from fleet.bus.deadletters import DeadLetters

        return DeadLetters(self.store, self.cache, self.config)

    @cached_property
    def questions(self) -> "Questions":
        """What agents asked a person."""
        from fleet.questions import Questions

        return Questions(self.store, self.cache, self.config)

    @cached_property
    def controls(self) -> "Controls":
        """Pauses and halts."""
        from fleet.controls import Controls

        return Controls(self.store, self.config.timezone)

    @cached_property
    def accounts(self) -> "Accounts":
        """Logins that agents share, and what holds them."""
        from fleet.accounts import Accounts

        return Accounts(self.store, self.config.timezone)

    @cached_property
    def talk(self) -> "Talk":
        """Channels."""
        from fleet.talk import Talk

        return Talk(self.store, self.cache, self.config, self.cursors)

    @cached_property
    def memory(self) -> "Memory":
        """What each agent keeps from run to run."""
        from fleet.memory import Memory

        return Memory(self.store, self.cache, self.config)

    @cached_property
    def metrics(self) -> "Metrics":
        """Numbers of what agents made."""
        from fleet.metrics import Metrics

        return Metrics(self.store, self.cache)

    @cached_property
    def retractions(self) -> "Retractions":
        """What was taken back."""
        from fleet.retractions import Retractions

        return Retractions(self.store, self.cache)

    @cached_property
    def shadow(self) -> "Shadow":
        """What shadow runs staged."""
        from fleet.shadow import Shadow

        return Shadow(self.store, self.cache)

    @cached_property
    def runs(self) -> "Runs":
        """Runs and their reports."""
        from fleet.runs import Runs

        return Runs(self.store, self.cache, self.places, self.config.names_of)

    @cached_property
    def spending(self) -> "Spending":
        """What ended runs used."""
        from fleet.runs import Spending

        return Spending(self.store, self.values, self.config.names_of)

    @cached_property
    def ledger(self) -> "Ledger":
        """What each day has cost, and what is reserved."""
        from fleet.ledger import Ledger

        return Ledger(self.store, self.config.timezone)

    @contextmanager
    def leading(self) -> "Iterator[None]":
        """Be the one runner of this home for as long as the block lasts.

        Raises:
            Held: another process is; the message says who, where and since when.
        """
        lock = self._files.singleton("runner", "the runner of this home")
        lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def maintained(self, *, shared: bool) -> AbstractContextManager[object]:
        """Keep others from the files themselves: a backup shares them, trimming wants them alone.

        Raises (on entering):
            LockTimeout: not free within 10 s; the message names who holds it.
        """
        from fleet.wiring.locking import maintenance

        return maintenance(self.places, shared=shared)

    @property
    def warning(self) -> str:
        """What is wrong with those of the operator's files that were read; else ""."""
        config, schemas = self.__dict__.get("config"), self.__dict__.get("schemas")
        return (config.warning if config else "") or (schemas.warning if schemas else "")

    def looked_over(self) -> str:
        """`warning`, after a look at every one of the operator's files."""
        return self.config.warning or self.schemas.look() or self.prompts.look()

    def require_types(self) -> None:
        """Refuse event types with errors, as strict opening refuses the other files.

        Raises:
            BadHome: a file in `schemas/` is broken; the first is named with its line.
        """
        if broken := self.schemas.look():
            raise BadHome(f"{self.root}: {broken}", "fleet check lists every fault")

    @property
    def seen(self) -> "StatusSources":
        """What `status` looks at; a document that cannot be read hides nothing but itself."""
        from fleet.status import Sources, lenient

        unread: dict[str, str] = {}
        here = self._over(lenient(self.store, unread), self.values, self.config)
        here.__dict__["values"] = self.values
        parts = (here.bus, here.runs, here.claims, here.controls, here.accounts, here.ledger)
        said = (here.spending, self.looked_over(), unread)
        return Sources(self.config, here.store, here.cache, *parts, *said)

    def sources(self) -> "Take":
        """What takes the sources of a context, as the home is at that moment."""
        return self._take

    def _take(
        self, agent: "Agent", now: float | None, nonce: str | None, *, strict: bool
    ) -> "Sources":
        from fleet.context import Present
        from fleet.snapshots import Snapshot
        from fleet.status import health

        here = self._over(self.store, self.values, self.config)
        word = health(here.seen)
        present = Present(self.config, self.store, self.cursors, here.claims, self.schemas, word)
        wall = self.store.now().wall if now is None else now
        given = present.given(agent, wall, nonce)
        snapshot = Snapshot(self.store, documents=given.documents(agent.id))
        values = self.values.pinned() if strict else self.values
        kept = None if self._strict else self.prompts.instead()
        return self.sources_at(snapshot, values, given, self.config, kept or self.places.prompts)

    def sources_at(
        self,
        snapshot: "Snapshot",
        values: "Values",
        given: "Given",
        config: "HomeConfig",
        templates: "Path | Mapping[str, str]",
    ) -> "Sources":
        """What a context is made of when every part of it reads `snapshot`, and cannot write."""
        from fleet.context import Sources

        then = self._over(snapshot, values, config)
        parts = (then.bus, then.talk, then.runs, then.memory, then.metrics, then.questions)
        return Sources(config, snapshot, *parts, given, templates)

    def _over(self, store: "Store", values: "Values", config: "HomeConfig") -> "Fleet":
        """The same home with other grounds to stand on."""
        other = Fleet(self.root, env=self.env, as_agent=None, strict=False)
        same = {"config": config, "schemas": self.schemas, "prompts": self.prompts}
        other.__dict__ |= {"store": store, "cache": values, **same}
        return other

    def looking(self) -> "Fleet":
        """The same home; what is computed from its logs is saved nowhere."""
        return self._over(self.store, self.values.apart(), self.config)

    def remembering(self) -> "Fleet":
        """The same home; what it computes from logs is in `values` then."""
        return self._over(self.store, self.values, self.config)

    def configured(self, config: "HomeConfig") -> "Fleet":
        """A simulated home with other files; what was computed stays."""
        from fleet.wiring.plays import simulated

        return simulated(config, self.store, self.cache)

    def reopened(self, config: "HomeConfig | None" = None) -> "Fleet":
        """The same home with its files read again; broken ones leave the last good config.

        `config` stays in force whatever they say.
        """
        fresh = Fleet(self.root, env=self.env, as_agent=self._as_agent, strict=False)
        if config is not None:
            fresh.__dict__["config"] = config
        fresh.__dict__["values"] = self.values  # what was computed is of the same logs
        return fresh


def open_fleet(
    root: Path, *, env: Mapping[str, str], as_agent: str | None = None, strict: bool = False
) -> Fleet:
    """The home at `root`, nothing read yet.

    Args:
        root: absolute; see `places.find_home`.
        env: the environment that says who calls.
        as_agent: whom the operator acts for.
        strict: refuse files with errors (`BadHome`), instead of serving the last good config.
    """
    return Fleet(root, env=env, as_agent=as_agent, strict=strict)
