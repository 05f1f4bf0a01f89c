"""Events that wait for their time, reminders among them: the log `later`.

What is due becomes an event of its author exactly once, whoever delivers and however often. When
somebody does is not decided here, and nothing is checked a second time: an event stands as it was
let in.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from fleet.alerts import raise_alert
from fleet.bus.emitting import SAME, Emitter
from fleet.bus.events import STREAM as EVENTS
from fleet.errors import Rejected, TryAgain, Usage
from fleet.folds import fold
from fleet.logs import between, has_key, record_at, with_key
from fleet.ports import Cache, Store
from fleet.records import Body, Draft, Record, Sieve, parse_ref, ref_of, rfc3339, wall_of
from fleet.retractions import Retractions, Target
from fleet.schemas.own import REMINDED
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig
    from fleet.identity import Author
    from fleet.schemas import Registry

STREAM = "later"
LATER, DELIVERED, DROPPED = "later", "delivered", "dropped"
MOST_WAITING = 100  # events of one author that wait at once
LONGEST = 400 * 86400.0  # seconds that one may wait
AT_ONCE = 50  # events appended together: to look for their keys costs the same for all
MAX_TEXT = 4096  # bytes of UTF-8 of a reminder
_OWN = frozenset({"op", "due", "when"})  # names of the body that its event does not have


class Waiting(NamedTuple):
    """What waits, in short: its number, when it is due (epoch seconds), whose it is, which run's.

    `run` is "" for what was said outside of one.
    """

    seq: int
    due: float
    author: str
    run: str


class _State(TypedDict):
    """By number, of what is neither delivered nor dropped: due, author, run."""

    waiting: dict[str, tuple[float, str, str]]


def tell_unread(store: Store, cause: Record, event: Record) -> None:
    """Raise an alert: what `cause` was about became `event`, which is for nobody that there is."""
    to = str(event.body["to_agent"])
    raise_alert(
        store,
        kind="no-addressee",
        subject=to,
        what=f"{cause.ref} became {event.ref} for {to}, and no agent is called so",
        done="it stands in the log, and waits for an agent of that name",
        fix=f"fleet show {event.ref}, and emit it to another if it matters",
        key=f"no-addressee/{cause.ref}",
    )


class Later:
    """What waits for its time in one home."""

    def __init__(
        self, store: Store, cache: Cache, config: "HomeConfig", schemas: "Registry"
    ) -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._schemas = schemas
        self._emitter = Emitter(store, cache, config, schemas, None)
        self._retractions = Retractions(store, cache)

    def emit(
        self,
        author: "Author",
        type: str,  # noqa: A002 - the event's own word
        payload: Body,
        *,
        due: float,
        when: str | None = None,
        to: str | None = None,
        key: str | None = None,
        cause: str | None = None,
    ) -> Record:
        """Store an event that becomes one at `due` (epoch seconds); checked now as `Bus.emit` does.

        `when` is what the caller typed for it: under one key another one is another event.

        Raises:
            Usage: `due` is not ahead, or over `LONGEST`.
            Rejected: see `Bus.emit`; or its type takes a claim, which nobody can hold until then.
            Unknown: see `Bus.emit`.
            TryAgain: see `Bus.emit`; or `MOST_WAITING` of the author wait.
        """
        self._check_due(due)
        if claim := self._schemas.get(type).x_claim:
            raise Rejected(
                f"{type} takes the claim {claim} when it is emitted, so it cannot wait",
                "fleet remind 3d 'TEXT', and emit it then",
            )
        waiting = self.waiting()
        of_run = sum(one.run == author.run for one in waiting)
        draft = self._emitter.draft(
            author, type, payload, to=to, key=key, cause=cause, log=STREAM, more=of_run
        )
        return self._append(author, draft, due, when, waiting)

    def remind(
        self,
        author: "Author",
        text: str,
        *,
        due: float,
        when: str | None = None,
        key: str | None = None,
    ) -> Record:
        """Store a note of an agent to itself, told at `due` (epoch seconds); `when` as in `emit`.

        Raises:
            Usage: the author is no agent, says nothing, or `due` is not ahead or too far.
            Rejected: the text is over `MAX_TEXT` bytes.
            TryAgain: `MOST_WAITING` of the author wait.
        """
        if author.name not in self._config.agents:
            raise Usage("a reminder is an agent's to itself", "fleet --as AGENT remind 3d 'TEXT'")
        self._check_due(due)
        if not text.strip():
            raise Usage("a reminder needs a text", "fleet remind 3d 'ask mike@startup.io again'")
        if len(text.encode()) > MAX_TEXT:
            raise Rejected(f"a reminder has at most {MAX_TEXT} bytes", "name a file or a reference")
        body: Body = {
            "op": LATER,
            "type": REMINDED,
            "from_agent": author.name,
            "to_agent": author.name,
            "payload": {"text": text},
            "cause": author.cause,
            "hops": author.hops,  # a note to itself makes no chain longer, and none shorter
            "run": author.run,
        }
        if author.by is not None:
            body["by"] = author.by
        draft = Draft(body, key=key, same=SAME)
        return self._append(author, draft, due, when, self.waiting())

    def waiting(self) -> list[Waiting]:
        """What waits and was not taken back, the first that is due first."""
        gone = self._retractions.of(STREAM)
        return [one for one in self._rows() if one.seq not in gone]

    def coming(self, names: Sequence[str] = ()) -> list[Record]:
        """The records of what waits, the first that is due first; of authors `names`, if any."""
        found = (one.seq for one in self.waiting() if not names or one.author in names)
        records = (record_at(self._store, STREAM, seq) for seq in found)
        return [record for record in records if record]

    def next_due(self) -> float | None:
        """When something has to be done next (epoch seconds); None while nothing waits."""
        return next((one.due for one in self._rows()), None)

    def event_of(self, seq: int) -> Record | None:
        """The event that record `seq` became; None while it is none."""
        sieve = Sieve({"op": frozenset({DELIVERED})})
        records = between(self._store, STREAM, seq, self._store.head(STREAM), sieve=sieve)
        for record in records:
            if record.body["target"] == seq:
                return record_at(self._store, EVENTS, parse_ref(str(record.body["event"]), "")[1])
        return with_key(self._store, EVENTS, ref_of(STREAM, seq))  # cut off before it was noted

    def deliver(self) -> list[Record]:
        """Make events of what is due, the first that was due first; those that it made.

        A step that was cut off is finished by whoever comes next: the event has the key `later#N`.
        """
        now = self._store.now().wall
        due = [one for one in self._rows() if one.due <= now]
        if not due:
            return []
        self._store.sync(STREAM)
        gone = self._retractions.of(STREAM)
        events: dict[int, Record] = {}
        for start in range(0, len(due), AT_ONCE):
            events |= self._deliver([one.seq for one in due[start : start + AT_ONCE]], gone)
        self._take_back(events)
        return list(events.values())

    def _check_due(self, due: float) -> None:
        ahead = due - self._store.now().wall
        if not 0 < ahead <= LONGEST:
            what = "is not ahead" if ahead <= 0 else "is more than 400 days ahead"
            raise Usage(f"{rfc3339(due)} {what}", "say 3d, 03:00, a date or an instant")

    def _append(
        self,
        author: "Author",
        draft: Draft,
        due: float,
        when: str | None,
        waiting: list[Waiting],
    ) -> Record:
        """The event as it waits; one that is repeated under its key is not counted again."""
        names = self._config.names_of(author.name)
        mine = [one for one in waiting if one.author in names]
        if len(mine) >= MOST_WAITING and not has_key(self._store, STREAM, draft.key):
            first = rfc3339(mine[0].due)
            what = f"{counted(len(mine), 'event')} of {author.name} wait for their time already"
            raise TryAgain(f"{what}, the most there may be", f"the next is due {first}")
        body: Body = {**draft.body, "op": LATER, "due": rfc3339(due)}
        if when is not None:  # `due` of the same delay, said again later, is another
            body["when"] = when
        return self._store.append(STREAM, [draft._replace(body=body, same=(*SAME, "when"))])[0]

    # Delivery --------------------------------------------------------------------------------

    def _deliver(self, seqs: Sequence[int], gone: AbstractSet[int]) -> dict[int, Record]:
        """The events of the records `seqs` by their numbers; those in `gone` were taken back."""
        made: dict[int, Record] = {}
        records: list[Record] = []
        for seq in seqs:
            record = record_at(self._store, STREAM, seq)
            if seq in gone:
                self._close([(seq, {"op": DROPPED, "why": "retracted"})])
                before = self.event_of(seq)
                made |= {seq: before} if before else {}
            elif record is None:
                self._lose(seq, "cannot be read", "fleet verify names the damage")
            else:
                records.append(record)
        return made | self._emit(records)

    def _emit(self, records: Sequence[Record]) -> dict[int, Record]:
        """Append the events of `records`, together unless one of them is refused, and note it."""
        if not records:
            return {}
        try:
            events = self._store.append(EVENTS, [self._event(record) for record in records])
        except Rejected as refused:
            if len(records) == 1:
                self._lose(records[0].seq, f"was refused: {refused.what}", "emit it again")
                return {}
            alone = (self._emit([record]) for record in records)
            return {seq: event for made in alone for seq, event in made.items()}
        for record, event in zip(records, events, strict=True):
            if event.body["to_agent"] not in {None, *self._config.agents}:
                tell_unread(self._store, record, event)
        made = {record.seq: event for record, event in zip(records, events, strict=True)}
        self._close([(seq, {"op": DELIVERED, "event": one.ref}) for seq, one in made.items()])
        return made

    def _event(self, record: Record) -> Draft:
        """What waits as the event that it becomes, addressed to whom its agent is called now."""
        named = record.body.get("to_agent")
        to = named if named is None else self._config.called_now(str(named)) or str(named)
        body = {name: value for name, value in record.body.items() if name not in _OWN}
        body |= {"op": "event", "to_agent": to}
        if body["type"] == REMINDED and isinstance(said := body["payload"], dict):
            body["payload"] = {**said, "noted": record.at}
        return Draft(body, key=record.ref, same=("type", "from_agent", "run"))

    def _close(self, said: Sequence[tuple[int, Body]]) -> None:
        """Note what became of each of these numbers."""
        drafts = [
            Draft(body | {"target": seq}, key=f"{body['op']}/{seq}", same=("op", "target"))
            for seq, body in said
        ]
        self._store.append(STREAM, drafts)

    def _take_back(self, events: dict[int, Record]) -> None:
        """Retract what was delivered before, or while, it was taken back.

        Who takes something back looks for its event after he has said so, and here it is the other
        way round: so one of the two sees it.
        """
        for seq in self._retractions.of(STREAM) & events.keys():
            event, reason = events[seq], self._retractions.reason_of(STREAM, seq) or ""
            said = event.body
            run = said.get("run")
            target = Target(
                event.ref,
                EVENTS,
                event.seq,
                run if isinstance(run, str) else None,
                str(said["type"]),
                str(said["from_agent"]),
                event.at,
                {},
            )
            self._retractions.retract([target], by="system", reason=reason)

    def _lose(self, seq: int, why: str, fix: str) -> None:
        """Say that something that is due becomes no event, and leave it."""
        raise_alert(
            self._store,
            kind="lost-later",
            subject=f"{STREAM}#{seq}",
            what=f"{STREAM}#{seq} is due and {why}",
            done="it became no event",
            fix=fix,
            key=f"lost-later/{seq}",
        )
        self._close([(seq, {"op": DROPPED, "why": why})])

    def _rows(self) -> list[Waiting]:
        if self._store.head(STREAM) == 0:
            return []
        state = fold(self._store, self._cache, STREAM, "waiting", "1", _nothing, _step).state
        rows = (Waiting(int(seq), *row) for seq, row in state["waiting"].items())
        return sorted(rows, key=lambda one: (one.due, one.seq))


def coming_json(record: Record) -> Body:
    """What `--json` prints of something that waits."""
    names = ("due", "type", "from_agent", "to_agent", "payload", "run")
    said = {name: record.body.get(name) for name in names}
    return {"ref": record.ref, "seq": record.seq, "id": record.id, "at": record.at, **said}


def _nothing() -> _State:
    return {"waiting": {}}


def _step(state: _State, record: Record) -> None:
    body = record.body
    if body.get("op") == LATER:
        due, run = wall_of(str(body["due"])), body.get("run")
        state["waiting"][str(record.seq)] = (due, str(body["from_agent"]), str(run or ""))
    elif body.get("op") in {DELIVERED, DROPPED}:
        state["waiting"].pop(str(body.get("target")), None)
