"""What follows from the end of a run, whoever says so and however often."""

import copy
import random

import pytest

from ends import Ends
from fleet.accounts import BACK_OFF, LONGEST
from fleet.runner import breaker, consequences
from fleet.runs import Verdict
from fleets import Scripted

AGENTS = ("a", "b", "c")
HOUR = 3600.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """Three agents; `a` and `b` share the account `main`."""
    root = tmp_path_factory.mktemp("ends") / "home"
    home = Scripted(root, extra="accounts: {main: {agents: [a, b]}}\n")
    for name in AGENTS:
        home.agent(name, "true", "rerun_if_lost: true")
    return home


@pytest.fixture
def ends(home: Scripted) -> Ends:
    """The home with nothing in its memory store."""
    return Ends(home)


# Limits ----------------------------------------------------------------------------------------


def test_a_limit_parks_its_account_until_the_moment_that_was_told(ends: Ends) -> None:
    """The agents of the account wait, all others do not; there is one alert with the way out."""
    ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 2 * HOUR, reason="hit it")

    assert ends.until("main") == 2 * HOUR - 60
    assert ends.until("fleet") is None
    (alert,) = ends.alerts("limit")
    assert (alert["subject"], "fleet resume --account main" in str(alert["fix"])) == ("main", True)
    ends.clock.advance(2 * HOUR)
    assert ends.until("main") is None


@pytest.mark.parametrize("told", [None, -5 * HOUR])
def test_a_limit_of_unknown_end_waits_twice_as_long_each_time(
    ends: Ends, told: float | None
) -> None:
    """15 minutes, then 30, up to a day; a run that got through in between begins anew."""
    waits = []
    for _ in range(9):
        at = None if told is None else ends.clock.wall + told
        ends.ran("a", "rate_limited", limit_until=at)
        waits.append(ends.until("main"))
        ends.clock.advance(LONGEST)

    assert waits == [min(BACK_OFF * 2**n, LONGEST) for n in range(9)]
    ends.ran("b", "ok")
    ends.ran("a", "rate_limited")
    assert ends.until("main") == BACK_OFF
    assert len(ends.alerts("limit")) == 10


def test_no_limit_holds_for_more_than_a_day(ends: Ends) -> None:
    """A limit that ends next week is asked about after a day."""
    ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 7 * LONGEST)

    assert ends.until("main") == LONGEST


def test_a_moment_that_was_told_wrong_is_not_believed_for_ever(ends: Ends) -> None:
    """A limit that always ends in a second costs no run a second: the wait grows all the same."""
    waits = []
    for _ in range(3):
        ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 61)
        waits.append(ends.until("main"))
        ends.clock.advance(waits[-1] or 0)

    assert waits == [1, 2 * BACK_OFF, 4 * BACK_OFF]


def test_runs_that_were_alive_prolong_the_wait_and_tell_nobody(ends: Ends) -> None:
    """Two runs of an account that meet the limit are one wait to the later moment, one alert."""
    late, later = ends.begin("b"), ends.begin("b")
    ends.ran("a", "rate_limited", limit_until=ends.clock.wall + HOUR)
    ends.clock.advance(60)
    verdict = Verdict("rate_limited", limit_until=ends.clock.wall + 3 * HOUR)
    consequences.after(ends.fleet, ends.end("b", late, verdict))
    sooner = Verdict("rate_limited", limit_until=ends.clock.wall + HOUR)
    consequences.after(ends.fleet, ends.end("b", later, sooner))

    assert ends.until("main") == 3 * HOUR
    assert len(ends.alerts("limit")) == 1


def test_a_run_that_began_before_a_limit_does_not_lift_it(ends: Ends) -> None:
    """Only what began after a limit was met shows that it is over; then it stays so."""
    early = ends.begin("b")
    ends.clock.advance(1)
    limited = ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 20 * HOUR)
    consequences.after(ends.fleet, ends.end("b", early, Verdict("ok")))
    assert ends.until("main")

    ends.clock.advance(1)
    ends.ran("b", "ok")
    assert ends.until("main") is None
    consequences.after(ends.fleet, limited)
    assert ends.until("main") is None


def test_a_runner_that_begins_goes_by_the_order_of_the_ends(ends: Ends) -> None:
    """Of two ends without consequences the later one has the last word, whoever's it is."""
    run = ends.begin("b")
    limit = Verdict("rate_limited", limit_until=ends.clock.wall + HOUR)
    ends.end("b", run, limit)
    ends.clock.advance(1)
    run = ends.begin("a")
    ends.clock.advance(60)
    ends.end("a", run, Verdict("ok"))

    consequences.of_the_last_runs(ends.fleet)

    assert ends.until("main") is None


def test_a_limit_is_nobodys_failure(ends: Ends) -> None:
    """However often in a row a limit is met, the agent is neither failing nor held."""
    for _ in range(12):
        ends.ran("a", "rate_limited")
        ends.clock.advance(LONGEST)

    assert ends.alerts("failing") == ends.alerts("breaker") == []
    assert breaker.breaker_of(ends.fleet, "a", ends.now) == ("", None)
    assert ends.fleet.controls.of("a").paused == ""


# Logins ----------------------------------------------------------------------------------------


def test_many_runs_without_a_login_are_one_block_and_one_alert(ends: Ends) -> None:
    """The account is blocked until a person resumes it, whatever else happens."""
    runs = [ends.begin("a") for _ in range(5)] + [ends.begin("b") for _ in range(5)]
    for run in runs:
        agent = ends.fleet.runs.find(run).agent
        consequences.after(ends.fleet, ends.end(agent, run, Verdict("auth", "Not logged in")))
    ends.clock.advance(10 * LONGEST)

    assert "Not logged in" in ends.fleet.accounts.of("main").blocked
    assert ends.fleet.accounts.of("fleet").blocked == ""
    (alert,) = ends.alerts("auth")
    assert "fleet resume --account main" in str(alert["fix"])


def test_what_began_before_a_resume_says_nothing_of_the_login(ends: Ends) -> None:
    """A run with the old login that ends after the person mended it blocks nothing again."""
    old = ends.begin("b")
    ends.clock.advance(1)
    ends.ran("a", "auth")
    assert ends.fleet.accounts.resume("main", by="operator")
    consequences.after(ends.fleet, ends.end("b", old, Verdict("auth")))

    assert ends.fleet.accounts.of("main").blocked == ""
    ends.clock.advance(1)
    ends.ran("b", "auth")
    assert ends.fleet.accounts.of("main").blocked
    assert len(ends.alerts("auth")) == 2


def test_a_resume_lifts_all_that_holds_an_account(ends: Ends) -> None:
    """Pause, block and limit; what is said again of runs from before holds nobody."""
    limited = ends.ran("a", "rate_limited", limit_until=ends.clock.wall + 9 * HOUR)
    blocked = ends.ran("b", "auth")
    ends.fleet.accounts.pause("main", by="operator", reason="budget")
    held = ends.fleet.accounts.of("main")
    assert all((held.paused, held.blocked, held.limited_until))

    assert ends.fleet.accounts.resume("main", by="operator")
    for run in (limited, blocked):
        consequences.after(ends.fleet, run)

    assert ends.fleet.accounts.of("main") == type(held)()
    assert not ends.fleet.accounts.resume("main", by="operator")


def test_a_clock_that_was_wrong_holds_nobody_and_hides_nothing(ends: Ends) -> None:
    """Notes from a year ahead neither park an account nor make its limits unheard of."""
    ends.clock.step_wall(365 * LONGEST)
    ends.ran("a", "rate_limited")
    ends.fleet.accounts.resume("main", by="operator")
    ends.fleet.controls.clear("a", by="operator")
    ends.clock.advance(1)
    ends.ran("a", "rate_limited")
    assert ends.until("main") == BACK_OFF
    ends.clock.step_wall(-365 * LONGEST)

    assert ends.until("main") is None
    ends.ran("b", "rate_limited")
    assert ends.until("main") == BACK_OFF
    for _ in range(5):
        ends.ran("a", "crashed")
    assert breaker.breaker_of(ends.fleet, "a", ends.now)[0]


# Retries ---------------------------------------------------------------------------------------


def test_what_failed_by_nobodys_fault_is_tried_again_later_each_time(ends: Ends) -> None:
    """An overloaded run has two more attempts of its slot, after about 30 and 60 seconds."""
    for attempt, wait in ((1, 30), (2, 60)):
        ends.ran("a", "overloaded", slot="s", attempt=attempt)
        retry = ends.open("a")[-1]
        assert (retry.name, retry.attempt) == ("s", attempt + 1)
        assert 0.75 * wait <= (retry.due - ends.now).total_seconds() <= 1.25 * wait
    ends.ran("a", "overloaded", slot="s", attempt=3)

    assert [one.attempt for one in ends.open("a")] == [2, 3]


def test_runs_that_failed_together_are_not_tried_again_together(ends: Ends) -> None:
    """The waits of many runs differ, and each is the same whoever asks."""
    runs = [ends.begin("a", slot=f"s{n}") for n in range(20)]
    ended = [ends.end("a", run, Verdict("overloaded")) for run in runs]

    waits = [consequences._wait(run) for run in ended]

    assert len(set(waits)) == len(waits)
    assert waits == [consequences._wait(run) for run in ended]
    assert max(waits) - min(waits) > 5


@pytest.mark.parametrize(
    ("outcome", "slot", "said"),
    [
        ("overloaded", "hand:x", {}),
        ("crashed", "s", {}),
        ("rate_limited", "s", {}),
        ("auth", "s", {}),
        ("killed", "s", {}),
        ("killed", "s", {"lost": True, "attempt": 2}),
    ],
)
def test_nothing_else_is_tried_again(
    ends: Ends, outcome: str, slot: str, said: dict[str, object]
) -> None:
    """Not what a person started or stopped, nor a failure of the agent's, a limit or a login."""
    ends.ran("a", outcome, slot=slot, **said)

    assert ends.open("a") == []


def test_a_run_that_a_crash_took_is_run_once_more_where_its_agent_wants_it(ends: Ends) -> None:
    """`rerun_if_lost: true` opens a second attempt of a lost run, and no third."""
    ends.ran("a", "killed", slot="s", lost=True)

    (retry,) = ends.open("a")
    assert (retry.name, retry.attempt) == ("s", 2)


# Failures in a row -----------------------------------------------------------------------------


def test_from_the_fifth_failure_each_wait_is_twice_as_long(ends: Ends) -> None:
    """10 minutes, 20, 40; the eighth failure pauses the agent, with one alert."""
    waits = []
    for _ in range(8):
        ends.ran("a", "crashed", reason="exit 3")
        _, until = breaker.breaker_of(ends.fleet, "a", ends.now)
        waits.append((until - ends.now).total_seconds() / 60 if until else 0)

    assert waits == [0, 0, 0, 0, 10, 20, 40, 80]
    assert "by fleet" in ends.fleet.controls.of("a").paused
    assert "failed 8 times in a row: crashed, exit 3" in ends.fleet.controls.of("a").paused
    ends.ran("a", "crashed")
    (alert,) = ends.alerts("breaker")
    assert "fleet resume a" in str(alert["fix"])
    assert len(ends.alerts("failing")) == 1


def test_what_nobody_is_to_blame_for_is_told_as_that(ends: Ends) -> None:
    """Three overloads in a row are an alert of their own; two between failures count for none."""
    for outcome in ("crashed", "crashed", "overloaded", "overloaded"):
        ends.ran("a", outcome)
    before = ends.alerts("failing") + ends.alerts("hindered")
    ends.ran("a", "overloaded")
    ends.ran("a", "crashed")

    assert before == []
    assert ["by no fault of its own" in str(one["what"]) for one in ends.alerts("hindered")] == [
        True
    ]
    assert ["by its own fault" in str(one["what"]) for one in ends.alerts("failing")] == [True]


def test_no_wait_is_longer_than_six_hours(ends: Ends) -> None:
    """A person may let a paused agent fail on: the wait stops growing."""
    for _ in range(20):
        ends.ran("a", "crashed")

    _, until = breaker.breaker_of(ends.fleet, "a", ends.now)

    assert until is not None
    assert (until - ends.now).total_seconds() == 6 * HOUR


@pytest.mark.parametrize("neutral", ["killed", "overloaded", "rate_limited", "config"])
def test_what_is_not_the_agents_fault_neither_counts_nor_ends_a_streak(
    ends: Ends, neutral: str
) -> None:
    """Five failures with others between them are five."""
    for _ in range(5):
        ends.ran("c", "timeout")
        ends.ran("c", neutral)

    assert breaker.breaker_of(ends.fleet, "c", ends.now)[0].startswith("failed 5 times in a row")


@pytest.mark.parametrize("by", ["success", "resume"])
def test_a_success_or_a_person_ends_a_streak(ends: Ends, by: str) -> None:
    """After either the count begins anew."""
    for _ in range(7):
        ends.ran("a", "crashed")
    if by == "success":
        ends.ran("a", "ok")
    else:
        ends.fleet.controls.clear("a", by="operator")

    assert breaker.breaker_of(ends.fleet, "a", ends.now) == ("", None)
    for _ in range(4):
        ends.ran("a", "crashed")
    assert breaker.breaker_of(ends.fleet, "a", ends.now) == ("", None)
    assert ends.alerts("breaker") == []


def test_a_person_who_resumed_is_not_overruled(ends: Ends) -> None:
    """Whoever repeats the consequences of the eighth failure after a resume pauses nothing."""
    runs = [ends.ran("a", "crashed") for _ in range(8)]
    ends.fleet.controls.clear("a", by="operator")

    consequences.after(ends.fleet, runs[-1])
    began = ends.clock.wall - 60
    assert ends.fleet.controls.pause_failing("a", run=runs[-1].id, began=began, reason="x") == ""

    assert ends.fleet.controls.of("a").paused == ""


# However often, in any order -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_consequences_may_be_repeated_at_any_time(home: Scripted, seed: int) -> None:
    """Drawn once or many times over, in between and at the end, they are the same documents."""
    chance = random.Random(seed)
    once, often = Ends(home), Ends(home)
    words = ["ok", "crashed", "crashed", "rate_limited", "auth", "overloaded", "killed"]
    for _ in range(40):
        agent, outcome = chance.choice(AGENTS), chance.choice(words)
        until = chance.choice([None, once.clock.wall + chance.choice([120, 5000, 90_000])])
        said = {"limit_until": until} if outcome == "rate_limited" else {}
        slot = once.now.isoformat()
        once.ran(agent, outcome, slot=slot, **said)
        run = often.ran(agent, outcome, slot=slot, **said)
        for _ in range(chance.choice([0, 0, 2])):
            consequences.after(often.fleet, run)
        if chance.random() < 0.2:
            consequences.of_the_last_runs(often.fleet)
        if chance.random() < 0.1:
            for one in (once, often):
                one.fleet.accounts.resume("main", by="operator")
        step = chance.choice([0, 60, 4000])
        once.clock.advance(step)
        often.clock.advance(step)

    assert said_in(often) == said_in(once)


def said_in(ends: Ends) -> list[object]:
    """The documents and alerts, without the ids of runs, which differ."""
    store = ends.fleet.store
    found: list[object] = []
    for key in store.keys("control/", "", 100):
        body = copy.deepcopy(store.get(key)[0] or {})
        for note in body.values():
            if isinstance(note, dict):
                note.pop("run", None)
        found.append((key, body))
    found += [[(slot.name, slot.attempt) for slot in ends.open(agent)] for agent in AGENTS]
    found += [(one["kind"], one["subject"]) for one in map(dict, _alerts(ends))]
    return found


def _alerts(ends: Ends) -> list[dict[str, object]]:
    return [record.body for record in ends.fleet.store.read("alerts", 0, 10_000).records]
