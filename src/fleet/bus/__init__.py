"""The bus: schema-checked events, who is to see them, and what of them was consumed.

Reading never consumes. A lane moves only by `Cursors.advance` with the places that a run which
succeeded brings (`advance_for`), by `set_aside`, by `skip`, or by `repair_lanes`.

What only readers need is imported where it is used: `emit` is on the hot path.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING

from fleet.bus.emitting import Emitter, Permit
from fleet.bus.events import (
    COUNT_LIMIT,
    LANES,
    STREAM,
    Pending,
    event_json,
    is_event,
    is_for,
    lane_of,
    seq_of,
)
from fleet.cursors import Cursors, stream_of
from fleet.errors import Conflict, Finding, NotAllowed, Rejected, Unknown
from fleet.logs import place_at, record_at
from fleet.ports import Cache, Store
from fleet.records import Body, Place, Record

if TYPE_CHECKING:
    from fleet.config.model import Agent, HomeConfig
    from fleet.identity import Author
    from fleet.schemas import Registry

__all__ = ["COUNT_LIMIT", "LAG_LIMIT", "Bus", "Pending", "event_json", "lane_of"]

LAG_LIMIT = 1000  # `Bus.lag` counts no further: so many means "1000+"


class Bus:
    """Events of one home.

    `permit` gives the guard for an event whose type claims a key (`x-claim`), and takes the key
    for the run; without it the key must be free or the author's.
    """

    def __init__(  # noqa: PLR0917 - its collaborators
        self,
        store: Store,
        cache: Cache,
        config: "HomeConfig",
        schemas: "Registry",
        cursors: Cursors,
        permit: Permit | None = None,
    ) -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._cursors = cursors
        self._emitter = Emitter(store, cache, config, schemas, permit)

    # Writing and reading events ------------------------------------------------------------

    def emit(
        self,
        author: "Author",
        type: str,  # noqa: A002 - the event's own word
        payload: Body,
        *,
        to: str | None = None,
        key: str | None = None,
        cause: str | None = None,
    ) -> Record:
        """Store an event, durable when it returns.

        Args:
            author: who says it; its run's limits apply.
            type: a type of the home's schemas.
            payload: what its schema asks for.
            to: the agent it is for; None is everybody who is interested.
            key: the caller's id: repeated with the same event it is the first record again.
            cause: the event it answers, as `events#97`; without it the one that woke the run.

        Raises:
            Unknown: no such type, agent or cause.
            Rejected: the payload does not fit (`fix` is the whole corrected command), it is too
                large, its own field addresses nobody, or `key` stands for another event.
            Held: the type claims a key that another one holds.
            TryAgain: the run's events or the chain's hops are used up.
        """
        return self._emitter.emit(author, type, payload, to=to, key=key, cause=cause)

    def get(self, ref: int | str) -> Record:
        """The event with this number or reference.

        Raises:
            Unknown: there is none.
        """
        seq = ref if isinstance(ref, int) else seq_of(ref)
        record = record_at(self._store, STREAM, seq)
        if record is None or not is_event(record):
            raise Unknown(f"there is no event {STREAM}#{seq}", "fleet events lists the newest")
        return record

    def events(
        self,
        *,
        after: int | None = None,
        since: float | None = None,
        until: float | None = None,
        type: str | None = None,  # noqa: A002 - the event's own word
        for_agent: str | None = None,
        where: Mapping[str, str] | None = None,
        floor: Mapping[str, Place] | None = None,
        before: int | None = None,
        limit: int = 50,
        retracted: bool = False,
    ) -> list[Record]:
        """Events in the order of the log, at most `limit` of those that fit everything given.

        With `after`, `since` or `for_agent` the oldest of them, else the newest.

        Args:
            after: only higher numbers.
            since: not stamped before (epoch seconds).
            until: not stamped after (epoch seconds).
            type: only this type.
            for_agent: only what waits for this agent, beyond its places and `floor`.
            where: only with these payload fields (compared as text).
            floor: places from the agent's last run, as for `pending`.
            before: only lower numbers.
            limit: how many.
            retracted: also those that were taken back, for people; they never wait for an agent.
        """
        from fleet.bus import lanes, listing

        gone = self._retracted()
        without = frozenset[int]() if retracted else gone
        wanted = listing.Wanted(type, where or {}, since, until, before, without)
        if for_agent is None:
            return listing.listed(self._store, wanted, after=after, limit=limit)
        reader = self._reader(for_agent)
        found: list[Record] = []
        for lane, place in self.lanes(for_agent, floor or {}).items():
            fitting: list[Record] = []
            if lane in LANES:
                start = max(place.seq, after or 0)
                for records, _ in lanes.batches(self._store, reader, lane, start, without=gone):
                    fitting += filter(wanted.has, records)
                    if len(fitting) >= limit:
                        break
            found += fitting
        return sorted(found, key=lambda record: record.seq)[:limit]

    def latest(self, types: Sequence[str]) -> list[Record]:
        """The 8 newest events of each type, in the order of the log (a fold)."""
        from fleet.bus import counts

        return counts.latest(self._store, self._cache, tuple(types), self._retracted())

    def count_since(self, type_name: str, wall: float) -> int:
        """How many events of a type since `wall` (epoch seconds), at most 8 days back.

        A fold by UTC hours: the hour that `wall` falls into is counted whole.
        """
        from fleet.bus import counts
        from fleet.retractions import Retractions

        marks = Retractions(self._store, self._cache).marks(STREAM).values()
        gone = ((mark.what, mark.written) for mark in marks)
        return counts.count_since(self._store, self._cache, type_name, wall, gone)

    # Lanes -----------------------------------------------------------------------------------

    def lanes(self, agent: str, floor: Mapping[str, Place]) -> dict[str, Place]:
        """Where each lane stands: the larger of its cursor and of `floor`.

        `floor` is what the agent's last successful run brought. A place in it that its log does
        not hold (the log was restored since) does not count. Both event lanes are always there.
        """
        from fleet.bus import repair

        places = dict.fromkeys(LANES, Place(0)) | self._cursors.get(agent)
        for lane, place in floor.items():
            here = places.get(lane, Place(0))
            if place.seq > here.seq and repair.is_held(self._store, lane, place):
                places[lane] = place
        return places

    def apply_advance(self, agent: str, advance: Mapping[str, Place]) -> None:
        """Move the cursor past what a run consumed, as a maximum; repeating it changes nothing.

        Places that their log does not hold are left out, see `lanes`.
        """
        from fleet.bus import repair

        held = {
            lane: place
            for lane, place in advance.items()
            if repair.is_held(self._store, lane, place)
        }
        self._cursors.advance(agent, held)

    def pending(
        self,
        agent: str,
        *,
        floor: Mapping[str, Place],
        limit: int,
        attempts: Mapping[int, int],
    ) -> Pending:
        """What waits for `agent`, and what of it a prompt should show. Changes nothing.

        Args:
            agent: an agent of the home.
            floor: places from its last successful run, see `lanes`.
            limit: how many events to show; those addressed to the agent come first.
            attempts: failed runs by event number. With 2 or more for the oldest event of a lane
                one event is shown alone: of the two oldest the one that failed more often.

        Raises:
            Unknown: no such agent.
        """
        from fleet.bus import lanes

        return lanes.pending(
            self._store,
            self._reader(agent),
            self.lanes(agent, floor),
            limit=limit,
            attempts=attempts,
            without=self._retracted(),
        )

    def advance_for(
        self, agent: str, pending: Pending, shown_refs: AbstractSet[str]
    ) -> dict[str, Place]:
        """Where the lanes go if the run succeeds that was shown `shown_refs`.

        A lane goes to the last number before its first waiting event that was not shown; one
        with nothing waiting to where it was looked through. A lane that waits and of which
        nothing was shown does not move. Whoever acts on it makes the log durable first.
        """
        from fleet.bus import lanes

        self._reader(agent)
        return lanes.advance_for(self._store, pending, shown_refs)

    def waiting(self, agent: str, floor: Mapping[str, Place]) -> Iterator[Record]:
        """Every event that waits for `agent`, lane by lane, oldest first; read as it is asked."""
        from fleet.bus import lanes

        reader, places = self._reader(agent), self.lanes(agent, floor)
        return lanes.waiting(self._store, reader, places, without=self._retracted())

    def lag(self, agent: str, floor: Mapping[str, Place]) -> int:
        """How many events wait for `agent`, counted to `LAG_LIMIT`."""
        return sum(1 for _ in islice(self.waiting(agent, floor), LAG_LIMIT))

    def narrow(self, author: "Author", ref: str) -> Record:
        """Say in a run that its success consumes `ref`'s lane up to `ref` and no further.

        Said several times the furthest counts. Other lanes are not touched.

        Raises:
            NotAllowed: the author is not in a run, or the event is not for it.
            Unknown: there is no such event.
        """
        if author.run is None:
            raise NotAllowed("ack belongs to a run", f"fleet skip AGENT --to {ref}")
        record = self.get(ref)
        if not is_for(record, self._reader(author.name)):
            raise NotAllowed(
                f"{record.ref} is not for {author.name}", f"fleet events --for {author.name}"
            )
        lane, document = lane_of(record), f"acks/{author.run}"
        while True:
            body, version = self._store.get(document)
            upto = _acked(body)
            if upto.get(lane, 0) >= record.seq:
                return record
            try:
                acked: Body = {"upto": upto | {lane: record.seq}}
                self._store.put(document, acked, expect=version)
            except Conflict:
                continue
            return record

    def acked(self, run: str) -> dict[str, int] | None:
        """The numbers up to which `run` acknowledged its lanes; None when it acknowledged none."""
        body, _ = self._store.get(f"acks/{run}")
        return _acked(body) if body else None

    def narrowed(self, run: str, advance: Mapping[str, Place]) -> dict[str, Place]:
        """`advance` cut to what `run` acknowledged; unchanged when it acknowledged nothing."""
        upto = self.acked(run) or {}
        return {
            lane: place_at(self._store, stream_of(lane), upto[lane])
            if lane in upto and upto[lane] < place.seq
            else place
            for lane, place in advance.items()
        }

    def skip(self, author: "Author", agent: str, to: str) -> Place:
        """An operator's word that `agent` needs nothing up to the event `to`, or up to "now".

        Raises:
            NotAllowed: said in a run.
            Unknown: no such agent or event.
            Rejected: the agent has passed that event; a lane goes forward only.
        """
        from fleet.identity import require_operator

        require_operator(author, "skip")
        self._reader(agent)
        seq = self._store.head(STREAM) if to == "now" else self.get(to).seq
        standing = self.lanes(agent, {})
        if to != "now" and all(standing[lane].seq >= seq for lane in LANES):
            raise Rejected(
                f"{agent} has passed {STREAM}#{seq}", f"fleet events --after {seq - 1} --limit 1"
            )
        self._store.sync(STREAM)
        place = place_at(self._store, STREAM, seq)
        self._cursors.advance(agent, dict.fromkeys(LANES, place))
        return place

    # What went wrong -------------------------------------------------------------------------

    def set_aside(
        self, agent: str, record: Record, attempts: int, runs: Sequence[str]
    ) -> Record | None:
        """Put the oldest waiting event of a lane to the dead letters and let the lane pass it.

        Each step may be repeated: a dead letter, its alert and the place exist once. None when
        older events wait in the lane: nothing is set aside then, for they would be skipped; and
        none for an event that was retracted, which waits no longer.

        Args:
            agent: whom it was for.
            record: the event.
            attempts: how many runs failed on it.
            runs: their ids.
        """
        from fleet.bus import deadletters, lanes

        lane, gone = lane_of(record), self._retracted()
        if record.seq in gone:
            return None
        start, reader = self.lanes(agent, {})[lane].seq, self._reader(agent)
        first = lanes.oldest(self._store, reader, lane, start, without=gone)
        if first is not None and first.seq < record.seq:
            return None
        dead = deadletters.put(self._store, agent, record, attempts, runs)
        self._cursors.advance(agent, {lane: Place(record.seq, record.crc)})
        return dead

    def set_aside_for(self, agent: str) -> frozenset[str]:
        """References of the events that were set aside for `agent`, among the newest 1,000."""
        from fleet.bus import deadletters

        return deadletters.refs_for(self._store, agent)

    def lane_check(self, agent: str) -> list[Finding]:
        """What is wrong with the agent's lanes, channels included. Changes nothing."""
        from fleet.bus import repair

        return [one.finding for one in repair.broken_lanes(self._store, self._cursors, agent)]

    def repair_lanes(self, agent: str) -> list[Finding]:
        """Set back the lanes whose log was replaced, with an alert each; what was wrong.

        The runner calls it when it starts and before each launch.
        """
        from fleet.bus import repair

        broken = list(repair.broken_lanes(self._store, self._cursors, agent))
        for one in broken:
            repair.repair(self._store, self._cursors, one)
        return [one.finding for one in broken]

    def _retracted(self) -> frozenset[int]:
        from fleet.retractions import Retractions

        return Retractions(self._store, self._cache).of(STREAM)

    def _reader(self, agent: str) -> "Agent":
        agents = self._config.agents
        if agent not in agents:
            from fleet.text import one_of

            raise Unknown(f"there is no agent {agent!r}", one_of(agent, agents))
        return agents[agent]


def _acked(body: Body | None) -> dict[str, int]:
    upto = (body or {}).get("upto")
    return {lane: int(seq) for lane, seq in upto.items()} if isinstance(upto, dict) else {}
