"""One process of a case with several: `-m contract.worker ENGINE FOLDER VERB …`.

One printed line is one fact.
A line is printed, and flushed, only after the store has acknowledged what it says.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from contract.engines import BY_NAME
from fleet.errors import Conflict, Rejected
from fleet.ports import Store
from fleet.records import Draft


def say(*words: object) -> None:
    """Print one line, now."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def append(store: Store, stream: str, count: str, size: str, name: str) -> None:
    """`count` records of about `size` bytes; prints `number id` of each."""
    for n in range(int(count)):
        (record,) = store.append(stream, [Draft({"by": name, "n": n, "fill": "x" * int(size)})])
        say(record.seq, record.id)


def keyed(store: Store, stream: str, count: str, payload: str) -> None:
    """`count` records with the keys that every worker uses; prints each number, or `refused`."""
    for n in range(int(count)):
        try:
            (record,) = store.append(stream, [Draft({"n": n, "p": payload}, key=f"k{n}")])
            say(record.seq)
        except Rejected:
            say("refused")


def count_up(store: Store, key: str, count: str) -> None:
    """Add one to `key` by compare-and-set `count` times; prints each version it won."""
    done = 0
    while done < int(count):
        body, version = store.get(key)
        before = body["n"] if body else 0
        assert isinstance(before, int)
        try:
            say(store.put(key, {"n": before + 1}, expect=version))
        except Conflict:
            continue
        done += 1


def follow(store: Store, stream: str, upto: str) -> None:
    """Read `stream` by waiting until number `upto`; prints each number it saw."""
    seen = 0
    while seen < int(upto):
        store.wait({stream: seen}, 5)
        for record in store.read(stream, seen, 10).records:
            seen = record.seq
            say(seen)


VERBS: dict[str, Callable[..., None]] = {
    "append": append,
    "keyed": keyed,
    "count_up": count_up,
    "follow": follow,
}

if __name__ == "__main__":
    _, engine, folder, verb, *rest = sys.argv
    VERBS[verb](BY_NAME[engine].open(Path(folder)), *rest)
