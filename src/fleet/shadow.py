"""Shadow runs: what they would write to others stands in a log of its own until a person decides.

The use-cases above know nothing of it: a shadow run gets a store whose shared logs are staged.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from fleet.alerts import seen_to
from fleet.errors import Rejected, Stale, Unknown
from fleet.logs import between, with_key
from fleet.ports import Cache, Store, last_record
from fleet.records import Batch, Body, Draft, Guard, Instant, NotHeldByOther, Record, Sieve

if TYPE_CHECKING:
    from fleet.errors import Finding
    from fleet.identity import Author

SHARED = ("events", "channels/", "metrics", "memory-log/", "later")
"""The logs, by the beginning of their names, that others read or that outlast the run.

A question is none of them: it goes to a person only, who may know what a trial would ask.
"""
PREFIX = "shadow/"
KIND = "shadow"  # of the alert that writes wait, whose subject is the agent
STAGED, ACCEPTED, DROPPED = "staged", "accepted", "dropped"


class Staged:
    """The store as a shadow run of `agent` sees it: what is shared can be read, not written.

    An append to a shared log becomes a `staged` record of `shadow/<run>` and is answered with its
    number there and the draft's own body: whoever wrote it reads what he wrote. Everything else
    (claims, the run's own record, its token) is the real store's.

    Attributes:
        wrote: whether anything was staged through this one.
    """

    def __init__(self, store: Store, agent: str, run: str) -> None:
        self._store = store
        self._agent = agent
        self._run = run
        self.wrote = False

    def append(
        self, stream: str, records: Sequence[Draft], *, guard: Guard | None = None
    ) -> list[Record]:
        """As the store's, but staged where the log is shared; a key counts within the run."""
        if not stream.startswith(SHARED):
            return self._store.append(stream, records, guard=guard)
        drafts = [self._staged(stream, draft, guard) for draft in records]
        try:
            stored = self._store.append(PREFIX + self._run, drafts, guard=guard)
        except Rejected as refused:
            raise _as_given(refused, stream, records) from None
        self.wrote = True
        return [one._replace(body=cast("Body", one.body["body"])) for one in stored]

    def _staged(self, stream: str, draft: Draft, guard: Guard | None) -> Draft:
        body: Body = {
            "op": STAGED,
            "agent": self._agent,
            "stream": stream,
            "body": draft.body,
            "given": draft.key,
            "same": list(draft.same) if draft.same is not None else None,
            "claim": guard.key if guard else None,
        }
        if draft.key is None:
            return Draft(body)
        key = f"{stream}/{draft.key}"
        before = with_key(self._store, PREFIX + self._run, key)
        if before is not None and draft.same is not None:
            # Like the store's: said again it may differ in all but `same`.
            first = cast("Body", before.body["body"])
            told = {name for name in draft.same if name in first or name in draft.body}
            body["body"] = {**first, **{name: draft.body.get(name) for name in told}}
        return Draft(body, key=key, same=("stream", "body"))

    def put(self, key: str, body: Body, *, expect: int | None, guard: Guard | None = None) -> int:
        """As the store's."""
        return self._store.put(key, body, expect=expect, guard=guard)

    def read(self, stream: str, after: int, limit: int, *, sieve: Sieve | None = None) -> Batch:
        """As the store's."""
        return self._store.read(stream, after, limit, sieve=sieve)

    def head(self, stream: str) -> int:
        """As the store's."""
        return self._store.head(stream)

    def sync(self, stream: str) -> None:
        """As the store's."""
        self._store.sync(stream)

    def wait(self, places: dict[str, int], timeout: float) -> set[str]:
        """As the store's."""
        return self._store.wait(places, timeout)

    def streams(self, prefix: str, after: str, limit: int, *, having: str = "") -> list[str]:
        """As the store's."""
        return self._store.streams(prefix, after, limit, having=having)

    def trim(self, stream: str, below: int) -> int:
        """As the store's."""
        return self._store.trim(stream, below)

    def make_last(self, stream: str, name: str, data: bytes) -> None:
        """As the store's."""
        self._store.make_last(stream, name, data)

    def lasting(self, stream: str, name: str) -> bytes | None:
        """As the store's."""
        return self._store.lasting(stream, name)

    def append_gap(self, stream: str, above: int) -> Record | None:
        """As the store's."""
        return self._store.append_gap(stream, above)

    def get(self, key: str) -> tuple[Body | None, int]:
        """As the store's."""
        return self._store.get(key)

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """As the store's."""
        return self._store.keys(prefix, after, limit)

    def now(self) -> Instant:
        """As the store's."""
        return self._store.now()

    def verify(self) -> "list[Finding]":
        """As the store's."""
        return self._store.verify()


def _as_given(refused: Rejected, stream: str, drafts: Sequence[Draft]) -> Rejected:
    """The store's refusal with the key that the caller gave, not the one it is staged under."""
    what = refused.what
    for key in (draft.key for draft in drafts if draft.key is not None):
        what = what.replace(repr(f"{stream}/{key}"), repr(key))
    return Rejected(what, refused.fix)


class Waiting(NamedTuple):
    """A shadow run whose writes wait for a person.

    Attributes:
        run: its id.
        agent: whose run it is.
        at: when it wrote first, RFC 3339.
        writes: how many there are.
    """

    run: str
    agent: str
    at: str
    writes: int


class Shadow:
    """What shadow runs would have written, and a person's word on it."""

    def __init__(self, store: Store, cache: Cache) -> None:
        self._store = store
        self._cache = cache

    def waiting(self) -> list[Waiting]:
        """Every run whose writes nobody has accepted or dropped, oldest first."""
        found = []
        for stream in self._streams():
            newest = last_record(self._store, stream)
            if newest is not None and newest.body.get("op") == STAGED:
                records = self.staged(stream.removeprefix(PREFIX))
                first = records[0]
                run = stream.removeprefix(PREFIX)
                found.append(Waiting(run, str(first.body["agent"]), first.at, len(records)))
        return found

    def staged(self, run: str) -> list[Record]:
        """What the run would have written, in order.

        Bodies are `{op, agent, stream, body, given, same, claim}`: the log, the draft with the key
        that it was given, and the claim that it needs.
        """
        stream = PREFIX + run
        records = between(self._store, stream, 0, self._store.head(stream))
        return [record for record in records if record.body.get("op") == STAGED]

    def left(self, run: str) -> list[Record]:
        """What of it is not written yet: all, but for an acceptance that was cut short."""
        return [record for record in self.staged(run) if not self._is_made(run, record)]

    def _is_made(self, run: str, record: Record) -> bool:
        found = with_key(self._store, str(record.body["stream"]), _key(run, record))
        if found is None:
            return False
        body = cast("Body", record.body["body"])
        same = cast("list[str] | None", record.body.get("same"))
        return all(found.body.get(name) == body.get(name) for name in same or body)

    def decision(self, run: str) -> Record | None:
        """The person's word on the run, `accepted` or `dropped`; None while it waits."""
        newest = last_record(self._store, PREFIX + run)
        return newest if newest is not None and newest.body.get("op") != STAGED else None

    def accept(self, author: "Author", run: str) -> list[Record]:
        """Write what the run staged, in its order; repeating it finishes what was begun.

        Raises:
            Unknown: nothing is staged there.
            Rejected: it was dropped, or one of its writes cannot be made any more; those before
                it are made.
        """
        staged = self._undecided(run, ACCEPTED)
        made = [self._make(run, record) for record in staged]
        self._decide(author, run, ACCEPTED, made=[record.ref for record in made])
        return made

    def drop(self, author: "Author", run: str, reason: str) -> int:
        """Leave what the run staged unwritten, for good; how many writes that were.

        Raises:
            Unknown: nothing is staged there.
            Rejected: it was accepted already.
        """
        staged = self._undecided(run, DROPPED)
        self._decide(author, run, DROPPED, reason=reason)
        return len(staged)

    def _streams(self) -> Iterator[str]:
        after = ""
        while page := self._store.streams(PREFIX, after, 500):
            yield from page
            after = page[-1]

    def _undecided(self, run: str, wanted: str) -> list[Record]:
        staged = self.staged(run)
        if not staged:
            raise Unknown(f"run {run} staged nothing", "fleet shadow list shows what waits")
        decided = self.decision(run)
        if decided is not None and decided.body["op"] != wanted:
            word = decided.body["op"]
            raise Rejected(f"the writes of run {run} were {word} already", "nothing was written")
        return staged

    def _make(self, run: str, record: Record) -> Record:
        """The staged write made real, once however often it is asked for."""
        said = record.body
        same = cast("list[str] | None", said.get("same"))
        draft = Draft(
            cast("Body", said["body"]),
            key=_key(run, record),
            same=tuple(same) if same is not None else None,
        )
        claim = said.get("claim")
        guard = NotHeldByOther(str(claim), str(said["agent"])) if claim else None
        try:
            return self._store.append(str(said["stream"]), [draft], guard=guard)[0]
        except Stale:
            raise Rejected(
                f"{record.ref} needs {claim}, which another one holds",
                "accept it again when that is free, or drop it",
            ) from None

    def _decide(self, author: "Author", run: str, op: str, **said: object) -> None:
        body: Body = {"op": op, "by": author.by or author.name, **said}
        self._store.append(PREFIX + run, [Draft(body, key=op, same=("op",))])
        agent = str(self.staged(run)[0].body["agent"])
        if all(one.agent != agent for one in self.waiting()):  # its alert is about all its runs
            seen_to(self._store, self._cache, KIND, agent, author.name, author.by)


def _key(run: str, record: Record) -> str:
    """The key under which a staged write is made once."""
    given = record.body.get("given")
    return str(given) if given is not None else f"shadow/{run}/{record.seq}"
