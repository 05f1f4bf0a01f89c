"""What waits, what is shown, and what a success consumes."""

import time

import pytest

from fleet.bus import LAG_LIMIT
from fleet.cursors import ADDRESSED, BROADCAST
from fleet.errors import NotAllowed, Unknown
from fleet.records import Draft, Place
from people import CONFIG, OPERATOR, in_run
from rigs import Rig


def test_a_burst_is_shown_oldest_first_and_nothing_is_lost(rig: Rig) -> None:
    """120 events, 50 shown, one more arrives, success: the other 71 wait and 21 of them remain."""
    for number in range(120):
        rig.price(number)
    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})
    assert [record.seq for record in waiting.shown] == list(range(1, 51))
    assert waiting.waiting == {ADDRESSED: 0, BROADCAST: 70}

    rig.price(120)
    refs = {record.ref for record in waiting.shown}
    rig.cursors.advance("outreach", rig.bus.advance_for("outreach", waiting, refs))

    then = rig.bus.pending("outreach", floor={}, limit=50, attempts={})
    assert [record.seq for record in then.shown] == list(range(51, 101))
    assert then.waiting[BROADCAST] == 21


def test_an_event_between_looking_and_marking_is_not_consumed(rig: Rig) -> None:
    """What arrives after the prompt was built waits for the next run."""
    rig.price(1)
    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})
    late = rig.price(2)

    refs = {record.ref for record in waiting.shown}
    rig.cursors.advance("outreach", rig.bus.advance_for("outreach", waiting, refs))

    assert rig.shown("outreach") == [late.seq]


def test_equal_timestamps_and_stepped_clocks_change_nothing(rig: Rig) -> None:
    """120 events of one instant, the clock set back and forward between: each once, in order."""
    seen: list[int] = []
    for step in (0.0, -3600.0, 7200.0):
        rig.clock.step_wall(step)
        for number in range(40):
            rig.price(number)
    for _ in range(3):
        seen += rig.succeed("outreach", limit=50)
        rig.clock.step_wall(-3600.0)

    assert seen == list(range(1, 121))
    assert rig.shown("outreach") == []


def test_looking_consumes_nothing(rig: Rig) -> None:
    """However often a context is built, and when its run fails, the same events wait."""
    for number in range(5):
        rig.price(number)

    for _ in range(3):
        waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})
        rig.bus.advance_for("outreach", waiting, {record.ref for record in waiting.shown})

    assert rig.shown("outreach") == [1, 2, 3, 4, 5]
    assert rig.cursors.get("outreach") == {}


def test_addressed_events_come_first_under_a_small_budget(rig: Rig) -> None:
    """Of 400 broadcasts and one event to the agent, behind them, a budget of 10 shows the one."""
    for number in range(400):
        rig.price(number)
    mine = rig.price(400, to="outreach")

    waiting = rig.bus.pending("outreach", floor={}, limit=10, attempts={})

    assert [record.seq for record in waiting.shown] == [mine.seq, *range(1, 10)]
    assert waiting.waiting == {ADDRESSED: 0, BROADCAST: 391}


def test_lanes_move_apart(rig: Rig) -> None:
    """Success moves each lane to what was shown of it; the other one's backlog stays."""
    for number in range(20):
        rig.price(number)
    rig.price(20, to="outreach")

    rig.succeed("outreach", limit=10)

    assert rig.places("outreach") == (21, 9)
    assert rig.shown("outreach", limit=3) == [10, 11, 12]


def test_own_broadcasts_and_other_agents_mail_are_not_shown(rig: Rig) -> None:
    """A lane holds neither the agent's own broadcasts nor what goes to others or interests none."""
    rig.price(1, author="outreach")
    rig.price(2, to="competitor-watch")
    rig.contact(3)
    mine = rig.contact(4, to="outreach")
    note = rig.price(5, author="outreach", to="outreach")

    assert rig.shown("outreach") == [mine.seq, note.seq]


def test_a_sparse_lane_is_found_fast_and_passes_what_is_foreign(rig: Rig) -> None:
    """10,000 foreign events then one for the agent: shown within a second, and passed after it."""
    foreign = {
        "op": "event",
        "type": "contact-made",
        "from_agent": "operator",
        "to_agent": None,
        "payload": {"email": "a@b", "method": "email"},
        "cause": None,
        "hops": 0,
        "run": None,
    }
    rig.store.append("events", [Draft(dict(foreign)) for _ in range(10_000)])
    mine = rig.price(1)

    begun = time.process_time()
    assert rig.succeed("outreach") == [mine.seq]
    assert time.process_time() - begun < 1.0
    assert rig.places("outreach") == (mine.seq, mine.seq)


def test_a_lane_without_interests_follows_the_head(rig: Rig) -> None:
    """An agent interested in nothing has an empty broadcast lane that costs nothing to pass."""
    for number in range(10):
        rig.price(number)

    assert rig.succeed("competitor-watch") == []
    assert rig.places("competitor-watch") == (10, 10)


def test_only_what_the_prompt_shows_is_consumed(rig: Rig) -> None:
    """A lane stops before the first event that the rendered bytes left out, whatever follows."""
    for number in range(6):
        rig.price(number)
    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})

    places = rig.bus.advance_for("outreach", waiting, {"events#1", "events#2", "events#5"})
    assert places[BROADCAST].seq == 2

    assert BROADCAST not in rig.bus.advance_for("outreach", waiting, set())


def test_places_carry_the_crc_of_their_record(rig: Rig) -> None:
    """A lane's place names the record it passed, so that a replaced log is found."""
    for number in range(3):
        rig.price(number)
    second = rig.bus.get(2)

    rig.succeed("outreach", limit=2)

    assert rig.cursors.get("outreach")[BROADCAST] == Place(2, second.crc)


def test_the_first_failure_marks_the_batch(rig: Rig) -> None:
    """After one failed run the whole batch is shown again, marked as redelivered."""
    for number in range(3):
        rig.price(number)

    again = rig.bus.pending("outreach", floor={}, limit=50, attempts={1: 1, 2: 1, 3: 1})

    assert [record.seq for record in again.shown] == [1, 2, 3]
    assert (again.redelivered, again.alone) == (True, False)


def test_from_the_second_failure_the_oldest_stands_alone(rig: Rig) -> None:
    """With two failures only the oldest is shown, and its success passes it alone."""
    for number in range(3):
        rig.price(number)

    alone = rig.bus.pending("outreach", floor={}, limit=50, attempts={1: 2, 2: 2, 3: 2})
    assert [record.seq for record in alone.shown] == [1]
    assert (alone.redelivered, alone.alone) == (True, True)
    assert alone.waiting[BROADCAST] == 2

    places = rig.bus.advance_for("outreach", alone, {"events#1"})
    assert places[BROADCAST].seq == 1


def test_of_two_suspects_the_worse_stands_alone(rig: Rig) -> None:
    """Of the two lanes' oldest the one with more failures is shown; a tie goes to the addressed."""
    rig.price(1)
    rig.price(2, to="outreach")

    def alone(attempts: dict[int, int]) -> list[int]:
        waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts=attempts)
        return [record.seq for record in waiting.shown]

    assert alone({1: 2, 2: 2}) == [2]
    assert alone({1: 3, 2: 2}) == [1]
    assert alone({1: 2, 2: 1}) == [1]


def test_a_suspect_alone_does_not_move_the_other_lane(rig: Rig) -> None:
    """While one event is tried alone, the lane that waits beside it keeps its place."""
    rig.contact(0)
    rig.price(1)
    rig.price(2, to="outreach")

    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={2: 2, 3: 2})
    places = rig.bus.advance_for("outreach", waiting, {"events#3"})

    assert set(places) == {ADDRESSED}


def test_newer_failures_do_not_isolate(rig: Rig) -> None:
    """Only a lane's oldest event can be shown alone: the lane could not move past another."""
    for number in range(3):
        rig.price(number)

    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={2: 4})

    assert [record.seq for record in waiting.shown] == [1, 2, 3]


def test_a_run_record_ahead_of_the_cursor_counts(rig: Rig) -> None:
    """A lane stands at the larger of cursor and last run's advance; applying it is a maximum."""
    for number in range(5):
        rig.price(number)
    third = rig.bus.get(3)
    floor = {BROADCAST: Place(third.seq, third.crc)}

    waiting = rig.bus.pending("outreach", floor=floor, limit=50, attempts={})
    assert [record.seq for record in waiting.shown] == [4, 5]

    for _ in range(2):
        rig.bus.apply_advance("outreach", floor)
    assert rig.places("outreach") == (0, 3)
    assert rig.bus.lag("outreach", {}) == 2


def test_an_advance_of_another_log_does_not_count(rig: Rig) -> None:
    """A run's advance whose record the log does not hold moves nothing."""
    for number in range(5):
        rig.price(number)
    floor = {BROADCAST: Place(3, "00000000"), ADDRESSED: Place(99, "00000000")}

    rig.bus.apply_advance("outreach", floor)

    assert rig.shown("outreach") == [1, 2, 3, 4, 5]
    assert rig.bus.lanes("outreach", floor)[BROADCAST] == Place(0)


def test_lag_counts_what_waits_up_to_its_limit(rig: Rig) -> None:
    """`lag` is exact below its limit and stops there."""
    for number in range(3):
        rig.price(number)
    rig.contact(9)
    assert rig.bus.lag("outreach", {}) == 3

    body = dict(rig.bus.get(1).body)
    rig.store.append("events", [Draft(dict(body)) for _ in range(LAG_LIMIT)])
    assert rig.bus.lag("outreach", {}) == LAG_LIMIT


def test_counts_of_a_long_backlog_are_exact(rig: Rig) -> None:
    """3,000 unread events: the count of those not shown is the truth."""
    body = dict(rig.price(0).body)
    rig.store.append("events", [Draft(dict(body)) for _ in range(2999)])

    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})

    assert waiting.waiting[BROADCAST] == 2950


def test_a_trimmed_log_is_read_from_its_first_kept_record(rig: Rig) -> None:
    """A lane below the first kept number goes on there, and the repair says that it did."""
    for number in range(10):
        rig.price(number)
    rig.cursors.advance("outreach", {BROADCAST: Place(1, rig.bus.get(1).crc)})
    rig.store.trim("events", 6)

    assert rig.shown("outreach") == [6, 7, 8, 9, 10]
    [finding] = rig.bus.repair_lanes("outreach")
    assert "trimmed unread" in finding.what
    assert rig.bus.lane_check("outreach") == []


def test_ack_narrows_what_a_success_consumes(rig: Rig) -> None:
    """In a run, `ack` cuts the advance of its lane to that event; the furthest one said counts."""
    for number in range(5):
        rig.price(number)
    me = in_run("outreach", "r1")
    waiting = rig.bus.pending("outreach", floor={}, limit=50, attempts={})
    places = rig.bus.advance_for("outreach", waiting, {record.ref for record in waiting.shown})
    assert rig.bus.acked("r1") is None
    assert rig.bus.narrowed("r1", places) == places

    for ref in ("events#2", "events#3", "events#1"):
        rig.bus.narrow(me, ref)

    assert rig.bus.acked("r1") == {BROADCAST: 3}
    narrowed = rig.bus.narrowed("r1", places)
    assert narrowed[BROADCAST] == Place(3, rig.bus.get(3).crc)
    assert narrowed[ADDRESSED] == places[ADDRESSED]
    behind = {BROADCAST: Place(2, rig.bus.get(2).crc)}
    assert rig.bus.narrowed("r1", behind) == behind


def test_ack_is_for_ones_own_events_in_a_run(rig: Rig) -> None:
    """An event of somebody else, an unknown one, or a caller outside a run is refused."""
    rig.price(1, to="competitor-watch")

    with pytest.raises(NotAllowed, match="not for outreach"):
        rig.bus.narrow(in_run("outreach"), "events#1")
    with pytest.raises(NotAllowed, match="fleet skip"):
        rig.bus.narrow(OPERATOR, "events#1")
    with pytest.raises(Unknown):
        rig.bus.narrow(in_run("outreach"), "events#9")


def test_an_operator_may_skip(rig: Rig) -> None:
    """`skip` passes both lanes to an event or to now; it goes forward only, and no run may."""
    for number in range(5):
        rig.price(number)

    rig.bus.skip(OPERATOR, "outreach", "events#2")
    assert rig.shown("outreach") == [3, 4, 5]
    with pytest.raises(NotAllowed):
        rig.bus.skip(in_run("outreach"), "outreach", "now")
    rig.bus.skip(OPERATOR, "outreach", "now")
    assert rig.shown("outreach") == []
    with pytest.raises(Exception, match="has passed"):
        rig.bus.skip(OPERATOR, "outreach", "events#2")


def test_an_unknown_agent_is_named(rig: Rig) -> None:
    """Asking for an agent that the home does not have suggests the nearest."""
    with pytest.raises(Unknown, match="did you mean 'outreach'"):
        rig.bus.pending("outreech", floor={}, limit=1, attempts={})
    assert set(CONFIG.agents) == {"outreach", "reply-handler", "competitor-watch"}
