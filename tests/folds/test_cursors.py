from concurrent.futures import ThreadPoolExecutor

from fleet.cursors import ADDRESSED, BROADCAST, TRAIL, Cursors, channel_lane, stream_of
from fleet.records import Body, Guard, Place
from fleet.stores.ram import RamStore


def test_a_place_only_grows() -> None:
    """Applying an older advance again, in any order, never moves a lane back."""
    cursors = Cursors(RamStore())

    cursors.advance("outreach", {ADDRESSED: Place(7, "aa")})
    cursors.advance("outreach", {ADDRESSED: Place(3, "bb"), BROADCAST: Place(2, "cc")})

    assert cursors.get("outreach") == {ADDRESSED: Place(7, "aa"), BROADCAST: Place(2, "cc")}


def test_advancing_twice_writes_once() -> None:
    """A repeated advance is free: the document keeps its version."""
    store = RamStore()
    cursors = Cursors(store)

    for _ in range(3):
        cursors.advance("outreach", {ADDRESSED: Place(7, "aa")})

    assert store.get("cursors/outreach")[1] == 1


def test_concurrent_writers_lose_nothing() -> None:
    """Twenty lanes advanced by twenty threads at once all arrive."""
    cursors = Cursors(RamStore())

    with ThreadPoolExecutor(20) as pool:
        list(
            pool.map(
                lambda n: cursors.advance("a", {channel_lane(str(n)): Place(n + 1)}), range(20)
            )
        )

    assert cursors.get("a") == {channel_lane(str(n)): Place(n + 1) for n in range(20)}


class Contested(RamStore):
    """A store in which somebody else wins the first write."""

    lost = 0

    def put(self, key: str, body: Body, *, expect: int, guard: Guard | None = None) -> int:
        """Another writer's place comes first, once."""
        if not self.lost:
            self.lost += 1
            other: Body = {"lanes": {BROADCAST: {"seq": 4, "crc": "o"}}}
            super().put(key, other, expect=expect)
        return super().put(key, body, expect=expect, guard=guard)


def test_a_lost_race_is_decided_again() -> None:
    """When another writer wins the version, both places are there in the end."""
    cursors = Cursors(Contested())

    cursors.advance("a", {ADDRESSED: Place(7, "m")})

    assert cursors.get("a") == {ADDRESSED: Place(7, "m"), BROADCAST: Place(4, "o")}


def test_a_rewound_lane_goes_on_from_there() -> None:
    """After a rewind the lane stands where it was put and grows again."""
    cursors = Cursors(RamStore())
    cursors.advance("a", {ADDRESSED: Place(100, "old")})

    cursors.rewind("a", ADDRESSED, Place(60, "new"))
    assert cursors.get("a")[ADDRESSED] == Place(60, "new")

    cursors.advance("a", {ADDRESSED: Place(80, "x")})
    assert cursors.get("a")[ADDRESSED] == Place(80, "x")


def test_a_lane_begins_once() -> None:
    """Where a lane begins is asked once; what began already is not touched."""
    cursors = Cursors(RamStore())
    asked: list[str] = []

    def start(stream: str) -> Place:
        asked.append(stream)
        return Place(5, "s")

    cursors.advance("a", {ADDRESSED: Place(9, "x")})
    for _ in range(2):
        cursors.ensure_started("a", [ADDRESSED, BROADCAST, channel_lane("strategy")], start)

    assert asked == ["events", "channels/strategy"]
    assert cursors.get("a") == {
        ADDRESSED: Place(9, "x"),
        BROADCAST: Place(5, "s"),
        "channels/strategy": Place(5, "s"),
    }


def test_a_lane_that_begins_at_nothing_is_recorded_too() -> None:
    """A lane that begins before the first record has a place, so that it is not asked again."""
    cursors = Cursors(RamStore())

    cursors.ensure_started("a", [ADDRESSED], lambda _: Place(0))

    assert cursors.get("a") == {ADDRESSED: Place(0)}


def test_the_trail_is_bounded_and_newest_first() -> None:
    """A lane remembers its last places and no more."""
    cursors = Cursors(RamStore())

    for seq in range(1, 100):
        cursors.advance("a", {ADDRESSED: Place(seq, f"{seq:08x}")})

    trail = cursors.trail("a", ADDRESSED)
    assert len(trail) == TRAIL + 1
    assert [place.seq for place in trail] == list(range(99, 99 - TRAIL - 1, -1))


def test_unknown_keys_of_the_document_are_kept() -> None:
    """What a newer fleet wrote beside the lanes survives an advance."""
    store = RamStore()
    store.put("cursors/a", {"lanes": {ADDRESSED: {"seq": 1, "crc": "x"}}, "more": 1}, expect=0)

    Cursors(store).advance("a", {ADDRESSED: Place(2, "y")})

    body, _ = store.get("cursors/a")
    assert body is not None
    assert body["more"] == 1


def test_every_agent_with_a_cursor_is_listed() -> None:
    """`agents` names whoever has a cursor, and lanes know their log."""
    cursors = Cursors(RamStore())
    for name in ("b", "a"):
        cursors.advance(name, {ADDRESSED: Place(1)})

    assert cursors.agents() == ["a", "b"]
    assert [stream_of(lane) for lane in (ADDRESSED, BROADCAST, "channels/x")] == [
        "events",
        "events",
        "channels/x",
    ]


def test_a_thousand_channels_of_two_fit() -> None:
    """Who talks with a thousand agents has a place in each of these lanes, and earlier ones."""
    cursors = Cursors(RamStore())
    lanes = [channel_lane(f"agent-with-a-long-name-{n}+orchestrator") for n in range(1000)]

    for seq in range(1, 30):
        cursors.advance("orchestrator", dict.fromkeys(lanes, Place(seq * 1000, "5e1f09ab")))

    assert cursors.get("orchestrator") == dict.fromkeys(lanes, Place(29_000, "5e1f09ab"))
    assert len(cursors.trail("orchestrator", lanes[0])) == 3
