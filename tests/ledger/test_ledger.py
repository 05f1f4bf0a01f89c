"""What a day's ledger adds up, over every store."""

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from fleet.errors import NotStarted
from fleet.ledger import Day, Ledger, Reservation, Sum, launched_here, too_much
from fleet.records import new_id
from fleet.stores.files import FilesStore

DAY = date(2027, 1, 15)  # the fake clock's
SPENDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from fleet.errors import NotStarted
from fleet.ledger import Ledger, Reservation, Sum, launched_here, too_much
from fleet.records import new_id
from fleet.stores.files import FilesStore

store = FilesStore(Path(sys.argv[1]))
ledger = Ledger(store)

def check(day):
    if too_much("all", 1.0, None, day.total, Sum(1, 0.05)):
        raise NotStarted("full", reason="over_budget")

print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    run = new_id(store.now().wall)
    try:
        ledger.reserve(run, Reservation(sys.argv[2], "fleet", 0.05, 0, launched_here()), check)
    except NotStarted:
        continue
    print(run, flush=True)
"""


@dataclass(frozen=True)
class Over:
    """A run that has ended."""

    id: str
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


def held(agent: str, cost: float, tokens: int = 0, account: str = "fleet") -> Reservation:
    """A reservation of this process."""
    return Reservation(agent, account, cost, tokens, launched_here())


def anything(_day: Day) -> None:
    """Refuse nothing."""


def today(store) -> datetime:
    """The moment it is."""
    return datetime.fromtimestamp(store.now().wall, UTC)


def test_a_reservation_becomes_what_the_run_cost(store, clock) -> None:
    """Reserved counts until the end, then the cost does, on the account; the rest stays."""
    ledger = Ledger(store)
    one, two = new_id(clock.wall), new_id(clock.wall)
    ledger.reserve(one, held("a", 0.4, 100, "main"), anything)
    ledger.reserve(two, held("b", 0.3), anything)

    before = ledger.day(today(store))
    ledger.settle(Over(one, 0.123456789, 10, 20))
    after = ledger.day(today(store))

    assert before.total == Sum(2, 0.7, 100)
    assert (before.settled, before.on_account("main")) == (Sum(), Sum(1, 0.4, 100))
    assert after.settled == after.accounts["main"] == Sum(1, 0.123457, 30)
    assert after.reserved == Sum(1, 0.3)
    assert ledger.held(one) is None
    assert ledger.held(two) == held("b", 0.3)


def test_what_is_unknown_counts_as_the_reservation(store, clock) -> None:
    """Dollars and tokens each: one that is unknown is what was reserved of it."""
    ledger = Ledger(store)
    runs = [new_id(clock.wall) for _ in range(3)]
    for run in runs:
        ledger.reserve(run, held("a", 0.4, 100), anything)

    ledger.settle(Over(runs[0]))
    ledger.settle(Over(runs[1], None, 1, 1))
    ledger.settle(Over(runs[2], 0.1, 1, None))

    assert ledger.day(today(store)).settled == Sum(3, 0.9, 202, 2, assumed=0.8)


def test_settling_and_dropping_again_changes_nothing(store, clock) -> None:
    """Whoever repeats a step, in any order, after it was done finds nothing to do."""
    ledger = Ledger(store)
    ran, never = new_id(clock.wall), new_id(clock.wall)
    for run in (ran, never):
        ledger.reserve(run, held("a", 0.4), anything)
        ledger.reserve(run, held("a", 9.9), anything)
    for _ in range(2):
        ledger.settle(Over(ran, 0.1))
        ledger.drop(ran)
        ledger.drop(never)
        ledger.settle(Over(never, 0.2))

    assert ledger.day(today(store)).total == Sum(1, 0.1)


def test_who_is_refused_reserves_nothing(store, clock) -> None:
    """The check sees what others reserved, and what it raises leaves the day as it was."""
    ledger = Ledger(store)
    ledger.reserve(new_id(clock.wall), held("a", 0.4), anything)
    seen: list[Sum] = []

    def refuse(day: Day) -> None:
        seen.append(day.total)
        raise NotStarted("full", reason="over_budget")

    with pytest.raises(NotStarted):
        ledger.reserve(new_id(clock.wall), held("b", 0.4), refuse)

    assert seen == [Sum(1, 0.4)]
    assert ledger.day(today(store)).total == Sum(1, 0.4)


def test_the_check_is_asked_again_when_another_writer_came_first(store, clock) -> None:
    """Between a check and its write another one may reserve: then the check sees that too."""
    ledger = Ledger(store)
    seen: list[float] = []

    def check(day: Day) -> None:
        seen.append(day.total.cost)
        if len(seen) == 1:
            ledger.reserve(new_id(clock.wall), held("b", 0.4), anything)

    ledger.reserve(new_id(clock.wall), held("a", 0.4), check)

    assert seen == [0.0, 0.4]
    assert ledger.day(today(store)).total == Sum(2, 0.8)


@pytest.mark.parametrize(
    "case",
    [
        ("UTC", DAY, "2027-01-15T00:00+00:00", 24),
        ("Europe/Berlin", date(2027, 3, 28), "2027-03-27T23:00+00:00", 23),
        ("Europe/Berlin", date(2027, 10, 31), "2027-10-30T22:00+00:00", 25),
        ("Australia/Lord_Howe", date(2027, 10, 3), "2027-10-02T13:30+00:00", 23.5),
        ("America/Santiago", date(2027, 9, 5), "2027-09-05T04:00+00:00", 23),  # no midnight
        ("Asia/Kathmandu", date(2027, 1, 1), "2026-12-31T18:15+00:00", 24),
    ],
)
def test_a_day_is_the_homes(store, clock, case) -> None:
    """A run counts on the local day of its id, to the second, also where days have 23 hours."""
    zone, day, begins, hours = case
    ledger = Ledger(store, zone)
    first = datetime.fromisoformat(begins).timestamp()
    instants = (first - 1, first, first + hours * 3600 - 1, first + hours * 3600)
    for instant in instants:
        clock.wall = instant
        ledger.reserve(new_id(instant), held("a", 1.0), anything)

    found = ledger.on(day)

    assert found.total == Sum(2, 2.0)
    assert (found.begins, found.ends) == (first, first + hours * 3600)
    assert ledger.day(datetime.fromtimestamp(instants[0], UTC)).total.runs == 1
    assert ledger.day(datetime.fromtimestamp(instants[3], UTC)).total.runs == 1


def test_a_run_over_midnight_counts_on_the_day_it_was_reserved(store, clock) -> None:
    """It is settled hours later on the old day; the new one begins with nothing."""
    ledger = Ledger(store)
    run = new_id(clock.wall)
    ledger.reserve(run, held("a", 0.4), anything)
    clock.advance(86_400)

    ledger.settle(Over(run, 0.2))

    assert ledger.on(DAY).total == Sum(1, 0.2)
    assert ledger.day(today(store)).total == Sum()


@pytest.mark.parametrize(
    ("dollars", "tokens", "used", "need", "word"),
    [
        (None, None, Sum(9, 99.0, 9999), Sum(1, 9.0, 9), ""),
        (1.0, None, Sum(2, 0.6), Sum(1, 0.4), ""),
        (1.0, None, Sum(2, 0.1 + 0.2 + 0.3), Sum(1, 0.4), ""),
        (1.0, None, Sum(2, 0.8), Sum(1, 0.4), "$0.80 of $1.00"),
        (1.0, None, Sum(2, 1.0), Sum(), "$1.00 of $1.00"),
        (0.0, None, Sum(), Sum(), "$0.00 of $0.00"),
        (None, 100, Sum(1, 9.0, 60), Sum(1, 9.0, 40), ""),
        (None, 100, Sum(1, 0.0, 60), Sum(1, 0.0, 41), "60 of 100 tokens"),
        (None, 100, Sum(1, 0.0, 100), Sum(), "100 of 100 tokens"),
        (None, 0, Sum(), Sum(), "0 of 0 tokens"),
    ],
)
def test_what_fits_into_a_day(dollars, tokens, used, need, word) -> None:
    """Used and needed together may reach the budget, never pass it; a full one takes no run."""
    said = too_much("all", dollars, tokens, used, need)

    assert bool(said) == bool(word)
    assert word in said


def test_processes_share_the_last_dollar(tmp_path: Path) -> None:
    """Four processes that reserve 5 cents as often as they can get 20 of 1.00, not one more."""
    state = tmp_path / "state"
    store = FilesStore(state)
    line = [sys.executable, "-c", SPENDER, str(state)]
    pipe = subprocess.PIPE
    spenders = [
        subprocess.Popen([*line, name], stdin=pipe, stdout=pipe, text=True) for name in "abcd"
    ]
    for one in spenders:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    got = [
        run
        for said in [one.communicate("go\n", timeout=60)[0] for one in _started(spenders)]
        for run in said.split()
    ]

    assert [one.returncode for one in spenders] == [0] * 4
    day = Ledger(store).day(datetime.now(UTC))
    assert (len(got), day.total) == (20, Sum(20, 1.0))
    assert set(got) == set(day.open)


def _started(spenders: "list[subprocess.Popen[str]]") -> "list[subprocess.Popen[str]]":
    """Told to begin, all of them, before anybody waits for one."""
    for one in spenders:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return spenders


def test_a_busy_day_of_a_thousand_agents_is_a_small_document(store, clock) -> None:
    """Only what is reserved is listed, so a document holds any day of any fleet."""
    ledger = Ledger(store)
    for number in range(30):
        run = new_id(clock.wall)
        ledger.reserve(run, held(f"agent-{number}", 0.4), anything)
        ledger.settle(Over(run, 0.1))
    body, _ = store.get(f"ledger/{DAY}")

    assert ledger.day(today(store)).settled == Sum(30, 3.0)
    assert len(str(body)) < 500
