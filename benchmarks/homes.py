"""Homes to measure in: the growth fleet with as much history as a row asks for.

Written through the store, in batches: what a home says is what fleet itself would have written.
"""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from fleet import homes
from fleet.records import Body, Draft, Instant
from fleet.stores.clock import system_clock
from fleet.stores.files import FilesStore
from fleet.wiring import Fleet, open_fleet

BATCH = 2000  # records in one append
DAYS = 30.0  # the time over which a long log is spread
RARE_EVERY = 20_000  # events from one of the rare type to the next
RARE, OTHERS, TAIL = "github-trend", "task-created", "pricing-change"
LAST = 50  # events at the end of a log, all of type TAIL and for everybody


class _Past:
    """A clock that goes from `days` ago to now while `count` records are stamped."""

    def __init__(self, count: int, days: float = DAYS) -> None:
        self._step = days * 86400 / count
        self._wall = time.time() - days * 86400

    def __call__(self) -> Instant:
        self._wall += self._step
        now = system_clock()
        return Instant(self._wall, now.boot, now.uptime)


def growth(target: Path, *, paused: bool = False) -> Fleet:
    """The growth home in the new folder `target`, opened."""
    homes.copy("growth", target)
    config = target / "fleet.yaml"
    config.write_text(homes.paused(config.read_text("utf-8"), yes=paused), "utf-8")
    return open_fleet(target, env={})


def event(number: int, kind: str, *, to: str | None = None) -> Body:
    """An event of about 300 bytes as it is stored."""
    payload = {
        "competitor": f"competitor {number % 97}",
        "oldPrice": "$40",
        "newPrice": f"${number % 60}",
        "note": f"seen on the pricing page, number {number}",
    }
    return {
        "op": "event",
        "type": kind,
        "from_agent": "competitor-watch",
        "to_agent": to,
        "payload": payload,
        "cause": None,
        "hops": 0,
        "run": None,
    }


def _kind(number: int, kinds: list[str]) -> Body:
    if number % RARE_EVERY == 0:
        return event(number, RARE)
    if number % 5 == 0:
        return event(number, OTHERS, to="onboarding")
    return event(number, kinds[number % len(kinds)])


def write_events(fleet: Fleet, count: int) -> None:
    """`count` events over the last month; the newest `LAST` are of type `TAIL`."""
    kinds = sorted({*fleet.config.types} - {RARE, OTHERS})
    usual = (_kind(number, kinds) for number in range(1, count - LAST + 1))
    _write(fleet, "events", usual, _Past(count))
    _write(fleet, "events", (event(number, TAIL) for number in range(LAST)), system_clock)


def operations(count: int) -> Iterator[Body]:
    """What happened in a channel: posts, and now and then a reaction, a pin or its end."""
    for seq in range(1, count + 1):
        said: Body = {"from_agent": "outreach", "run": None}
        if seq % 10 == 5:
            yield said | {"op": "react", "target": seq - 4, "kind": "agree"}
        elif seq % 100 == 90:
            yield said | {"op": "pin", "target": seq - 8}
        elif seq % 100 == 99:
            yield said | {"op": "unpin", "target": seq - 17}
        else:
            text = f"message {seq}: the reply rate of the second mail is up, keep the short subject"
            yield said | {
                "op": "post",
                "text": text,
                "reply_to": None,
                "thread": None,
                "pin": False,
            }


def write_channel(fleet: Fleet, channel: str, bodies: Iterator[Body]) -> None:
    """`bodies` in a channel's log."""
    _write(fleet, f"channels/{channel}", bodies, system_clock)


def write_over(fleet: Fleet, stream: str, bodies: Iterator[Body], count: int, days: float) -> None:
    """`bodies`, `count` of them, in a log, spread over the last `days`."""
    _write(fleet, stream, bodies, _Past(count, days))


def _write(fleet: Fleet, stream: str, bodies: Iterator[Body], clock: Callable[[], Instant]) -> None:
    store = FilesStore(fleet.places.state, clock=clock)
    while drafts := [Draft(body) for body in islice(bodies, BATCH)]:
        store.append(stream, drafts)
