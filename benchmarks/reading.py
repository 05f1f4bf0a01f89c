"""What is new in a log costs the same whatever its length, and little memory; a lane far behind.

As a program it reads in a process of its own, whose memory counts: `reading.py LONG SHORT` prints
JSON. The long home stays for other groups: `history` makes it once.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import homes
from measuring import alternately, in_child, peak_rss
from table import Row

from fleet.bus.events import sieve_of
from fleet.cursors import ADDRESSED, BROADCAST, Cursors
from fleet.logs import place_at
from fleet.records import Sieve
from fleet.wiring import Fleet, open_fleet

LONG, SHORT = 1_000_000, 1_000
AGENT = "marketing-strategist"
TURNS = 200
MEMORY = 50  # MiB
NOBODYS = "nothing-of-the-kind"


def rows(folder: Path) -> Iterator[Row]:
    """The newest unconsumed events, then lanes that are a million events behind."""
    long, short = history(folder, LONG), history(folder, SHORT)
    found = in_child("reading", str(long), str(short))
    ours, peer = found["seconds"]
    yield Row(
        f"{homes.LAST} newest unconsumed of {LONG:,}, CPU",
        f"{ours * 1000:.2f} ms",
        f"of {SHORT:,}: {peer * 1000:.2f} ms",
        ours / peer,
        "<= 1.2",
    )
    memory = found["rss"] / (1 << 20)
    yield Row("  its peak RSS", f"{memory:.0f} MiB", "", None, f"<= {MEMORY}", memory)
    yield from _behind(long)


def history(folder: Path, count: int) -> Path:
    """The home with `count` events of which the newest `LAST` wait for everybody."""
    root = folder / f"history-{count}"
    if not root.exists():
        fleet = homes.growth(root)
        homes.write_events(fleet, count)
        place = place_at(fleet.store, "events", count - homes.LAST)
        for agent in fleet.config.agents:
            Cursors(fleet.store).advance(agent, dict.fromkeys((ADDRESSED, BROADCAST), place))
    return root


def _read(fleet: Fleet) -> None:
    waiting = fleet.bus.pending(AGENT, floor={}, limit=homes.LAST, attempts={})
    if len(waiting.shown) != homes.LAST:
        raise RuntimeError(f"{len(waiting.shown)} events wait, not {homes.LAST}")


def _child(long: str, short: str) -> None:
    fleets = [open_fleet(Path(root), env={}) for root in (long, short)]
    seconds = alternately([partial(_read, fleet) for fleet in fleets], TURNS)
    print(json.dumps({"seconds": seconds, "rss": peak_rss()}))


# A lane that begins at the first of all events ---------------------------------------------------


def _behind(root: Path) -> Iterator[Row]:
    parsing = _timed(partial(_parse, root))
    peer = f"parsing every line: {parsing:.1f} s"
    fleet = open_fleet(root, env={})
    for what, lane, kind in (
        ("a type that nobody emitted", BROADCAST, NOBODYS),
        (f"a type emitted {LONG // homes.RARE_EVERY} times", BROADCAST, homes.RARE),
        ("every fifth, all for others", BROADCAST, homes.OTHERS),
        ("nothing addressed to it", ADDRESSED, ""),
    ):
        sieve = sieve_of(lane, AGENT, (kind,))
        taken = _timed(partial(_scan, fleet, sieve))
        yield Row(f"1M behind, {what}, CPU", f"{taken:.2f} s", peer, taken / parsing)


def _scan(fleet: Fleet, sieve: Sieve) -> None:
    after, head = 0, fleet.store.head("events")
    while after < head:
        after = fleet.store.read("events", after, 500, sieve=sieve).upto


def _parse(root: Path) -> None:
    for file in sorted((root / "state" / "events").glob("*.jsonl")):
        with file.open("rb") as lines:
            for line in lines:
                json.loads(line)


def _timed(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


if __name__ == "__main__":
    _child(*sys.argv[1:])
