"""A process that forks writers fast, and ends them: `-m promises.nursery HOME OUT`.

Its input says `start VERB NAME` (answer: a pid) or `kill PID` (answer: how it ended, a negative
signal number). A writer appends one line to OUT.NAME for each thing that was acknowledged, never
before. Only the last line of such a file can be torn by the writer's end.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from fleet.errors import Conflict, FleetError
from fleet.stores.files import FilesStore
from fleet.wiring import Fleet, open_fleet

SEGMENT = 32 << 10  # bytes
Say = Callable[..., None]


def write(fleet: Fleet, name: str, say: Say) -> None:
    """Events, messages and claims without end."""
    for n in count():
        record = fleet.bus.emit(fleet.author, "note", {"n": f"{name}.{n}"})
        say(record.ref, record.id)
        record = fleet.talk.post(fleet.author, "strategy", f"{name}.{n}")
        say(record.ref, record.id)
        claim = fleet.claims.take(fleet.author, f"lead:{name}.{n}")
        say(f"claim:{claim.key}", claim.token)


def act(fleet: Fleet, name: str, say: Say) -> None:
    """Contexts built for runs without end: the newest event that each of them may act on."""
    from fleet.context import build

    agent = fleet.config.agents["worker"]
    for n in count():
        context = build(fleet.sources(), agent, run=f"{name}.{n}", durable=True)
        heads = context.manifest["heads"]
        assert isinstance(heads, dict)
        newest = fleet.bus.get(heads["events"]) if heads["events"] else None
        if newest:
            say(newest.ref, newest.id)


def count_up(fleet: Fleet, name: str, say: Say) -> None:
    """Add one to a document by compare-and-set, and read it, without end.

    Says `op, version, begin, end` (nanoseconds) of each read and of each version that it won.
    """
    store = fleet.store
    while True:
        begin = time.monotonic_ns()
        body, version = store.get("ledger/proof")
        say("read", version, begin, time.monotonic_ns())
        begin = time.monotonic_ns()
        number = body["n"] if body else 0
        assert isinstance(number, int)
        try:
            won = store.put("ledger/proof", {"n": number + 1, "by": name}, expect=version)
        except Conflict:
            continue
        say("won", won, begin, time.monotonic_ns())


def keyed(fleet: Fleet, name: str, say: Say) -> None:
    """Events with the ids that every writer uses, one after the other, each of them twice."""
    for n in count():
        for _ in range(2):
            record = fleet.bus.emit(fleet.author, "note", {"n": str(n)}, key=f"id-{n}")
            say(f"id-{n}", record.ref, record.id)


VERBS: dict[str, Callable[[Fleet, str, Say], None]] = {
    "write": write,
    "keyed": keyed,
    "act": act,
    "count_up": count_up,
}


def opened(home: Path) -> Fleet:
    """The home with logs that are rotated all the time."""
    fleet = open_fleet(home, env={})
    fleet.__dict__["_files"] = FilesStore(home / "state", segment_bytes=SEGMENT)
    return fleet


def start(home: Path, verb: str, name: str, out: str) -> int:
    """The pid of a new writer."""
    pid = os.fork()
    if pid:
        return pid
    file = os.open(f"{out}.{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def say(*words: object) -> None:
        os.write(file, (" ".join(map(str, words)) + "\n").encode())

    try:
        VERBS[verb](opened(home), name, say)
    except (FleetError, OSError) as fault:
        sys.stderr.write(f"{verb} {name}: {fault}\n")
    finally:
        sys.stderr.flush()
        os._exit(1)


def kill(pid: int) -> int:
    """End a writer that nobody has waited for yet, so the pid is still its own."""
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def serve(home: Path, out: str) -> None:
    """One answer for each line of input."""
    fleet = open_fleet(home, env={})
    _ = fleet.bus, fleet.talk, fleet.claims, fleet.store.now()  # what children inherit imported
    for line in sys.stdin:
        word, *rest = line.split()
        answer = start(home, *rest, out) if word == "start" else kill(int(rest[0]))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
