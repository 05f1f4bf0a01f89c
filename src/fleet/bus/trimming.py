"""What whoever trims the events has to know: what an agent would never see, what must stay.

It moves nothing and decides nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fleet.bus.counts import too_long
from fleet.bus.events import LANES, STREAM
from fleet.bus.lanes import batches
from fleet.ports import Cache, Store
from fleet.records import Place
from fleet.retractions import Retractions

if TYPE_CHECKING:
    from fleet.config.model import Agent


def unseen(
    store: Store,
    cache: Cache,
    reader: "Agent",
    *,
    places: Mapping[str, Place],
    below: int,
) -> int:
    """How many events below number `below` wait for `reader` after its `places`."""
    gone = Retractions(store, cache).of(STREAM)
    count = 0
    for lane in LANES:
        start = places.get(lane, Place(0)).seq
        for found, upto in batches(store, reader, lane, start, without=gone):
            count += sum(record.seq < below for record in found)
            if upto >= below:
                break
    return count


def needed(store: Store, cache: Cache) -> int | None:
    """The lowest number that is read from the log itself to say what is newest; None for none."""
    return min(too_long(store, cache), default=None)
