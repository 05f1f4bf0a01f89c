from clocks import FakeClock
from fleet.logs import between, has_key, holds, newest, place_at, place_before, record_at
from fleet.records import Draft, Place
from fleet.stores.ram import RamStore


def _filled(count: int, clock: FakeClock | None = None, step: float = 60.0) -> RamStore:
    clock = clock or FakeClock()
    store = RamStore(clock)
    for number in range(count):
        store.append("log", [Draft({"n": number}, key=f"k{number}")])
        clock.advance(step)
    return store


def test_a_place_is_recognised() -> None:
    """A log holds a place whose record it has, and none that is above it or of another record."""
    store = _filled(5)

    assert holds(store, "log", Place(0))
    assert holds(store, "log", place_at(store, "log", 3))
    assert not holds(store, "log", Place(3, "00000000"))
    assert not holds(store, "log", Place(6, "00000000"))
    assert not holds(store, "log", Place(6))
    assert holds(store, "log", Place(3))


def test_a_trimmed_place_is_still_held() -> None:
    """A place below the first kept number is no sign of a replaced log."""
    store = _filled(9)
    place = place_at(store, "log", 2)
    store.trim("log", 6)

    assert holds(store, "log", place)
    assert record_at(store, "log", 2) is None
    assert record_at(store, "log", 0) is None


def test_a_moment_is_found_by_bisection() -> None:
    """The place before the first record stamped at or after a moment, at both ends too."""
    clock = FakeClock()
    begun = clock.wall
    store = _filled(100, clock)

    assert place_before(store, "log", begun - 1) == Place(0)
    assert place_before(store, "log", begun + 60 * 40).seq == 40
    assert place_before(store, "log", begun + 60 * 40 + 1).seq == 41
    assert place_before(store, "log", clock.wall + 1) == place_at(store, "log", 100)
    assert place_before(store, "other", begun) == Place(0)


def test_a_moment_is_found_in_a_trimmed_log_with_a_gap() -> None:
    """Missing numbers on either side do not lead the search astray."""
    clock = FakeClock()
    store = _filled(20, clock)
    store.append_gap("log", 1000)
    middle = clock.wall
    for _ in range(20):
        store.append("log", [Draft({"n": 1})])
        clock.advance(60)
    store.trim("log", 11)

    assert place_before(store, "log", 0).seq == 10
    assert place_before(store, "log", middle + 60 * 5).seq == 1006


def test_ranges_stop_at_their_ends() -> None:
    """`between` gives what lies above the lower and up to the upper number, gaps or not."""
    store = _filled(1200)
    store.append_gap("log", 2000)
    store.append("log", [Draft({"n": 1})])

    assert [record.seq for record in between(store, "log", 3, 6)] == [4, 5, 6]
    assert [record.seq for record in between(store, "log", 0, 1100)] == list(range(1, 1101))
    assert [record.seq for record in between(store, "log", 1199, 5000)] == [1200, 2001, 2002]


def test_the_newest_are_found_however_rare() -> None:
    """Going back in windows finds the newest matches, oldest first, down to the first kept."""
    store = _filled(3000)

    def rare(count: int) -> list[int]:
        found = newest(
            store, "log", 3000, count, lambda record: int(str(record.body["n"])) % 1000 == 0
        )
        return [record.seq for record in found]

    assert rare(2) == [1001, 2001]
    assert rare(9) == [1, 1001, 2001]
    store.trim("log", 500)
    assert rare(9) == [1001, 2001]
    assert rare(0) == []


def test_a_repeated_key_is_known() -> None:
    """The key of a recent record is found, no other."""
    store = _filled(300)

    assert has_key(store, "log", "k299")
    assert not has_key(store, "log", "k300")
    assert not has_key(store, "log", None)
    assert not has_key(store, "other", "k1")
