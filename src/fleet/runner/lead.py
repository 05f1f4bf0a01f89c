"""Who leads: the one runner of a home, as others see it. What excludes a second one is a lock."""

import os
import socket
from dataclasses import dataclass
from typing import cast

from fleet import processes
from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, rfc3339
from fleet.status import LEADER, runner


@dataclass(frozen=True, slots=True)
class Leader:
    """The process that leads: alive only if pid, start time and boot match."""

    pid: int
    since: str


def announce(store: Store) -> None:
    """Write down that this process leads."""
    pid = os.getpid()
    _write(
        store,
        {
            "pid": pid,
            "start": processes.start_time(pid),
            "boot": processes.boot_id(),
            "host": socket.gethostname(),
            "since": rfc3339(store.now().wall),
        },
    )


def retire(store: Store) -> None:
    """Write down that nobody leads."""
    _write(store, None)


def leader(store: Store) -> Leader | None:
    """The living runner, or None."""
    said = runner(store)
    return Leader(cast("int", said["pid"]), str(said["since"])) if said["alive"] else None


def _write(store: Store, note: Body | None) -> None:
    while True:
        body, version = store.get(LEADER)
        try:
            store.put(LEADER, {**(body or {}), "runner": note}, expect=version)
        except Conflict:
            continue
        return
