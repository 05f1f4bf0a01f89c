"""Who leads: the one runner of a home, and the one copy of it. What excludes a second is a lock."""

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from zoneinfo import ZoneInfo

from fleet import processes
from fleet.alerts import raise_alert
from fleet.errors import Conflict, Held
from fleet.ports import Store, last_record
from fleet.records import Body, rfc3339
from fleet.status import runner
from fleet.whereabouts import HOME, LEADER, Spot, noted, original, same, spot
from fleet.wiring import Fleet

STREAMS = 1000  # logs whose newest record is looked at


@dataclass(frozen=True, slots=True)
class Leader:
    """The process that leads: alive only if pid, start time and boot match."""

    pid: int
    since: str


def settle_in(fleet: Fleet, *, take_over: bool) -> str:
    """Note that agents run in this home from now on; "" or the line that says what it took over.

    A home that was moved, or restored in place, goes on. The other copy cannot know that it was
    taken over: they share nothing.

    Raises:
        Held: it is a copy of a home that runs elsewhere, and `take_over` is not said.
    """
    here = spot(fleet.places.state)
    while True:
        body, version = fleet.store.get(LEADER)
        there = noted(body)
        if there == here:
            return ""
        is_copy = there is not None and not same(there, here)
        if there and is_copy and not take_over:
            raise _refusal(
                fleet, there, here, "stop them there for good, then say --take-over here"
            )
        note = here._asdict() | {"since": rfc3339(fleet.store.now().wall)}
        try:
            # Who led the other copy leads this one as little as it did before.
            gone: Body = {"runner": None} if is_copy else {}
            fleet.store.put(LEADER, {**(body or {}), **gone, HOME: note}, expect=version)
        except Conflict:
            continue
        return _tell(fleet, there, version) if there and is_copy else ""


def require_original(fleet: Fleet, fix: str) -> None:
    """Refuse in a copy of a home what would not reach its agents, which run elsewhere.

    Raises:
        Held: it is such a copy; `fix` says what to do.
    """
    if there := original(fleet.store.get(LEADER)[0], fleet.places.state):
        raise _refusal(fleet, there, spot(fleet.places.state), fix)


def _refusal(fleet: Fleet, there: Spot, here: Spot, fix: str) -> Held:
    machine = "" if there.host == here.host else f" on {there.host}"
    place = f"{there.path}{machine}"
    return Held(
        f"this home is a copy: its agents run in {place}, last active {_last_active(fleet)}",
        fix,
        key=HOME,
        holder=place,
    )


def _last_active(fleet: Fleet) -> str:
    """When anything was recorded last, as far as this copy knows, for people."""
    newest = (last_record(fleet.store, name) for name in fleet.store.streams("", "", STREAMS))
    at = max((record.at for record in newest if record), default="")
    zone = ZoneInfo(fleet.config.timezone)
    return f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M}" if at else "never"


def _tell(fleet: Fleet, there: Spot, version: int) -> str:
    place = f"{there.path} on {there.host}"
    raise_alert(
        fleet.store,
        kind="taken-over",
        subject="fleet",
        what=f"this copy of the home was made the one whose agents run, in place of {place}",
        done="what ran there when the copy was made counts as killed here",
        fix=f"see that nothing runs in {place} any more",
        key=f"taken-over/{version}",
    )
    return f"took over from {place}: see that nothing runs there any more"


def announce(store: Store) -> None:
    """Write down that this process leads."""
    pid = os.getpid()
    said: Body = {
        "pid": pid,
        "start": processes.start_time(pid),
        "boot": processes.boot_id(),
        "host": socket.gethostname(),
        "since": rfc3339(store.now().wall),
    }
    note(store, {"runner": said})


def retire(store: Store) -> None:
    """Write down that nobody leads."""
    note(store, {"runner": None})


def leader(fleet: Fleet) -> Leader | None:
    """The living runner of this home, or None."""
    said = runner(fleet.store, fleet.places.state)
    return Leader(cast("int", said["pid"]), str(said["since"])) if said["alive"] else None


def remembered(store: Store, name: str) -> object:
    """What the runner's document says under `name`; None without it."""
    return (store.get(LEADER)[0] or {}).get(name)


def note(store: Store, said: Body) -> None:
    """Write `said` into the runner's document; what else stands there stays."""
    while True:
        body, version = store.get(LEADER)
        try:
            store.put(LEADER, {**(body or {}), **said}, expect=version)
        except Conflict:
            continue
        return
