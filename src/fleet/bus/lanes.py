"""What waits for an agent in its two lanes, and how far a run that succeeded moves them.

Nothing here writes: `pending` may be asked as often as one likes and nothing is consumed by it.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.bus.events import (
    COUNT_LIMIT,
    LANES,
    STREAM,
    Pending,
    is_for,
    is_gone,
    lane_of,
    sieve_of,
)
from fleet.cursors import ADDRESSED, BROADCAST
from fleet.logs import place_at
from fleet.ports import Store, read_kept
from fleet.records import Place, Record
from fleet.unseen import dropped

if TYPE_CHECKING:
    from fleet.config.model import Agent

ALONE_FROM = 2  # failed attempts of a lane's oldest event from which it is shown alone
_CHUNK = 500  # records held in memory at once


@dataclass(frozen=True, slots=True)
class _Scan:
    """One lane: its oldest events, the numbers of all it counted, and where that ended."""

    records: list[Record]
    seqs: list[int]
    upto: Place


def batches(
    store: Store,
    reader: "Agent",
    lane: str,
    after: int,
    *,
    without: AbstractSet[int],
) -> Iterator[tuple[list[Record], int]]:
    """The lane's events after number `after`, oldest first, each time with how far it looked.

    Those numbered in `without`, which were retracted, are passed over.
    """
    head = store.head(STREAM)
    if lane == BROADCAST and not reader.interests:
        yield [], max(after, head)
        return
    sieve = sieve_of(lane, reader.id, reader.interests)
    while after < head:
        batch = read_kept(store, STREAM, after, _CHUNK, sieve=sieve)
        if batch.upto <= after:
            return
        after = batch.upto
        yield (
            [
                record
                for record in batch.records
                if not is_gone(record, without) and is_for(record, reader)
            ],
            after,
        )


def oldest(
    store: Store,
    reader: "Agent",
    lane: str,
    after: int,
    *,
    without: AbstractSet[int],
) -> Record | None:
    """The first event that waits in the lane after number `after`."""
    parts = batches(store, reader, lane, after, without=without)
    return next((one for part, _ in parts for one in part), None)


def _look(
    store: Store,
    reader: "Agent",
    lane: str,
    start: Place,
    *,
    want: int,
    without: AbstractSet[int],
) -> _Scan:
    records: list[Record] = []
    seqs: list[int] = []
    upto = start.seq
    parts = batches(store, reader, lane, start.seq, without=without)
    for found, looked in parts:
        records += found[: want - len(records)]
        seqs += [record.seq for record in found]
        upto = looked
        if len(seqs) >= max(COUNT_LIMIT, want + 1):
            break
    return _Scan(records, seqs, start if upto == start.seq else place_at(store, STREAM, upto))


def pending(
    store: Store,
    reader: "Agent",
    places: Mapping[str, Place],
    *,
    limit: int,
    attempts: Mapping[int, int],
    without: AbstractSet[int],
) -> Pending:
    """What waits after `places`, but what was retracted (`without`); see `Bus.pending`."""
    start = {lane: places.get(lane, Place(0)) for lane in LANES}
    want = max(1, limit)
    scans = {
        lane: _look(store, reader, lane, start[lane], want=want, without=without) for lane in LANES
    }
    firsts = [scans[lane].records[0] for lane in LANES if scans[lane].records]
    suspects = [record for record in firsts if attempts.get(record.seq, 0) >= ALONE_FROM]
    shown: tuple[Record, ...]
    if suspects:
        shown = (max(suspects, key=lambda record: attempts[record.seq]),)
    else:
        addressed = scans[ADDRESSED].records[:limit]
        shown = (*addressed, *scans[BROADCAST].records[: limit - len(addressed)])
    upto = scans[ADDRESSED].upto.seq
    trimmed = dropped(store, STREAM, reader.id, start[ADDRESSED].seq, upto)
    return _summed(scans, shown, attempts, alone=bool(suspects))._replace(trimmed=trimmed)


def _summed(
    scans: Mapping[str, _Scan],
    shown: tuple[Record, ...],
    attempts: Mapping[int, int],
    *,
    alone: bool,
) -> Pending:
    counts = {lane: sum(lane_of(record) == lane for record in shown) for lane in LANES}
    return Pending(
        shown=shown,
        waiting={lane: len(scans[lane].seqs) - counts[lane] for lane in LANES},
        redelivered=any(attempts.get(record.seq, 0) for record in shown),
        alone=alone,
        scanned={lane: scans[lane].upto for lane in LANES},
        left_out={
            lane: scans[lane].seqs[counts[lane]]
            for lane in LANES
            if len(scans[lane].seqs) > counts[lane]
        },
    )


def advance_for(store: Store, waiting: Pending, shown_refs: AbstractSet[str]) -> dict[str, Place]:
    """The places that a success moves to; see `Bus.advance_for`."""
    places: dict[str, Place] = {}
    for lane in LANES:
        candidates = [record for record in waiting.shown if lane_of(record) == lane]
        unseen = next((record for record in candidates if record.ref not in shown_refs), None)
        first_left = unseen.seq if unseen else waiting.left_out.get(lane)
        if first_left is None:
            places[lane] = waiting.scanned[lane]
        elif candidates and candidates[0].ref in shown_refs:
            places[lane] = place_at(store, STREAM, first_left - 1)
    return places


def waiting(
    store: Store, reader: "Agent", places: Mapping[str, Place], *, without: AbstractSet[int]
) -> Iterator[Record]:
    """Every event that waits after `places`, lane by lane, oldest first."""
    for lane in LANES:
        start = places.get(lane, Place(0)).seq
        for part, _ in batches(store, reader, lane, start, without=without):
            yield from part
