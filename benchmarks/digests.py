"""A channel's digest does not grow with its history."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import homes
from measuring import alternately
from table import Row

SHORT, LONG = 1_000, 100_000
UNREAD, SHOWN = 60, 40
TURNS = 40


def rows(folder: Path) -> Iterator[Row]:
    """Two channels of one home, one with a hundred times the operations of the other."""
    fleet = homes.growth(folder / "digest")
    counts = {"agent-learning": SHORT, "strategy": LONG}
    for channel, count in counts.items():
        homes.write_channel(fleet, channel, homes.operations(count))

    def read(channel: str) -> object:
        return fleet.talk.digest("orchestrator", channel, counts[channel] - UNREAD, SHOWN)

    short, long = alternately([partial(read, channel) for channel in counts], TURNS)
    yield Row(
        f"channel digest after {LONG:,} operations, CPU",
        f"{long * 1000:.2f} ms",
        f"after {SHORT:,}: {short * 1000:.2f} ms",
        long / short,
        "<= 1.5",
    )
