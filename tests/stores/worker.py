"""One process that uses a files store: `-m stores.worker STATE VERB …`.

It prints only what was acknowledged. It is run by the proofs of this folder, which kill it,
stop it, or take something away from it.
"""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fleet.errors import FleetError
from fleet.records import Draft
from fleet.stores.files import FilesStore
from fleet.stores.files.locks import Lock


def say(*words: object) -> None:
    """Print one line, now."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def append(state: Path, count: str, size: str, name: str, segment: str = "16777216") -> None:
    """Append `count` records of about `size` bytes; print `number id` of each."""
    store = FilesStore(state, segment_bytes=int(segment))
    for n in range(int(count)):
        (record,) = store.append("events", [Draft({"by": name, "n": n, "fill": "ä" * int(size)})])
        say(record.seq, record.id)


def save(state: Path, count: str, size: str) -> None:
    """Replace the document memory/a `count` times; print each version."""
    store = FilesStore(state)
    version = store.get("memory/a")[1]
    for n in range(int(count)):
        version = store.put("memory/a", {"n": n, "fill": ["x" * int(size)]}, expect=version)
        say(version)


def hold(state: Path, name: str, seconds: str) -> None:
    """Hold the lock file `name` for `seconds`."""
    with Lock(str(state / "locks" / name), "a test", timeout=10):
        say("held")
        time.sleep(float(seconds))


def bequeath(state: Path, name: str, seconds: str) -> None:
    """Take the lock file `name`, leave it to a child for `seconds`, and die with it held."""
    with Lock(str(state / "locks" / name), "a test", timeout=10):
        child = os.fork()
        if not child:
            os.close(1)
            time.sleep(float(seconds))
            os._exit(0)
        say("held", child)
        os._exit(0)


def lead(state: Path, seconds: str) -> None:
    """Be the runner for `seconds`, with a child that outlives it and had every descriptor."""
    lock = FilesStore(state).singleton("runner", "the runner of this home")
    lock.acquire()
    if not os.fork():
        os.setsid()
        say("leading", os.getpid())
        time.sleep(float(seconds))
        os._exit(0)
    time.sleep(float(seconds))


def limited(state: Path, limit: str, number: str, verb: str) -> None:
    """One write under a resource limit; print what the error says, or `done`."""
    store = FilesStore(state)
    store.head("events")
    kind = getattr(resource, limit)
    resource.setrlimit(kind, (int(number), resource.getrlimit(kind)[1]))
    try:
        if verb == "append":
            store.append("events", [Draft({"fill": "x" * 3000})])
        else:
            store.put("memory/a", {"fill": "x" * 100_000}, expect=store.get("memory/a")[1])
        say("done")
    except FleetError as error:
        say(type(error).__name__, error.exit_code, str(error))


def read(state: Path, stream: str) -> None:
    """Read a log to its end; print how many records, damaged lines and MB at the peak."""
    store = FilesStore(state)
    upto, records, damaged = 0, 0, 0
    while True:
        batch = store.read(stream, upto, 100)
        records, damaged = records + len(batch.records), damaged + len(batch.damage)
        if batch.upto == upto:
            break
        upto = batch.upto
    store.append(stream, [Draft({"after": True})])
    store.verify()
    say(records, damaged, _peak())


def _peak() -> int:
    """The most MB that this program had: `ru_maxrss` begins with what its parent had."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1024


VERBS: dict[str, Callable[..., None]] = {
    "append": append,
    "save": save,
    "hold": hold,
    "bequeath": bequeath,
    "lead": lead,
    "limited": limited,
    "read": read,
}

if __name__ == "__main__":
    VERBS[sys.argv[2]](Path(sys.argv[1]), *sys.argv[3:])
