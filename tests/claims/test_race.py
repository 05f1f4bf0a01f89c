"""Many processes, one key: real processes on real files."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fleet.claims import Claims
from fleet.errors import Held
from fleet.identity import Author
from fleet.stores.files import FilesStore
from fleet.stores.ram import RamStore

ROUNDS = 50
RACER = """
import sys
import time
from pathlib import Path
from fleet.claims import Claims
from fleet.errors import Held
from fleet.identity import Author
from fleet.stores.files import FilesStore

claims = Claims(FilesStore(Path(sys.argv[1])))
author = Author(sys.argv[2], sys.argv[2], "", agent=True)
for line in sys.stdin:
    key, at = line.split()
    while time.monotonic() < float(at):
        pass
    try:
        claim = claims.take(author, key)
        print("won", claim.token, flush=True)
    except Held as held:
        print("held", held.holder, flush=True)
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where a files store keeps its things."""
    return tmp_path / "state"


def test_one_of_four_processes_wins_each_round(state) -> None:
    """Fifty keys, four processes at once: exactly one winner each, the others learn its name."""
    FilesStore(state)
    names = [f"agent-{number}" for number in range(4)]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(state), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    try:
        for number in range(ROUNDS):
            at = time.monotonic() + 0.01
            for racer in racers:
                racer.stdin.write(f"lead:{number} {at}\n")
                racer.stdin.flush()
            answers = [racer.stdout.readline().split() for racer in racers]
            winners = [
                name for name, (word, _) in zip(names, answers, strict=True) if word == "won"
            ]
            assert len(winners) == 1, answers
            losers = [who for word, who in answers if word == "held"]
            assert losers == winners * 3
    finally:
        for racer in racers:
            racer.communicate()
    assert [racer.returncode for racer in racers] == [0] * 4
    assert len(Claims(FilesStore(state)).live("lead:")) == ROUNDS


def test_one_key_is_handed_on_without_a_gap_or_an_overlap(state) -> None:
    """Under contention for one key every token is given once, in order."""
    claims = Claims(FilesStore(state))
    claims.take(Author("agent-0", None, "", agent=False), "lead:one")
    claims.release(Author("agent-0", None, "", agent=False), "lead:one")
    tokens = []

    def work(name: str) -> None:
        author = Author(name, name, "", agent=True)
        for _ in range(10):
            token = claims.take(author, "lead:one", wait=60).token
            tokens.append(token)
            claims.release(author, "lead:one")

    threads = [threading.Thread(target=work, args=(f"agent-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tokens == list(range(2, 42))


def test_a_killed_owner_keeps_its_claim_only_until_it_expires(state) -> None:
    """SIGKILL releases nothing by itself; the claim is free by its own time."""
    claims = Claims(FilesStore(state))
    script = RACER.replace("author, key)", "author, key, ttl=1.0)")
    owner = subprocess.Popen(
        [sys.executable, "-c", script, str(state), "outreach"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    owner.stdin.write("lead:a 0\n")
    owner.stdin.flush()
    assert owner.stdout.readline() == "won 1\n"
    owner.kill()
    owner.communicate()
    other = Author("reply-handler", "reply-handler-1", "", agent=True)

    with pytest.raises(Held, match="held by outreach"):
        claims.take(other, "lead:a")
    began = time.monotonic()
    assert claims.take(other, "lead:a", wait=30).token == 2
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("kind", ["ram", "files"])
def test_who_waits_gets_it_at_the_release(state, kind) -> None:
    """`wait` ends with the release, not with its own time; a bounded wait gives up."""
    store = RamStore() if kind == "ram" else FilesStore(state)
    claims = Claims(store)
    holder, waiter = (Author(name, name, "", agent=True) for name in ("holder", "waiter"))
    claims.take(holder, "k")
    with pytest.raises(Held):
        claims.take(waiter, "k", wait=0.05)
    got = []
    thread = threading.Thread(target=lambda: got.append(claims.take(waiter, "k", wait=60)))

    thread.start()
    claims.release(holder, "k")
    thread.join(timeout=20)

    assert [claim.token for claim in got] == [2]
