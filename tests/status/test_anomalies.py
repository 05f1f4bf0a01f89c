"""What is unusual about an agent: its last run, or its silence, beside its own history."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from fleet.records import Draft, new_id, rfc3339
from fleet.runs.tally import Figures, Tally, tally
from fleet.status.anomalies import LEAST, is_far, of_runs, silence
from fleet.stores.ram import RamCache, RamStore
from fleet.talk.posted import RUNS, posted

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
USUAL = [0.10, 0.12, 0.09, 0.11, 0.10, 0.14, 0.10, 0.12]


def runs(
    costs: Sequence[float | None] = USUAL,
    turns: Sequence[int | None] = (12,) * 8,
    *,
    ok: bool = True,
    every: timedelta = timedelta(hours=2),
) -> Tally:
    """Runs that ended one after another, the last one now; `ok` is about that one."""
    count = len(costs)
    ends = [NOW - every * (count - 1 - number) for number in range(count)]
    newest = tuple(
        Figures(str(n), end.isoformat(), n < count - 1 or ok, cost, turn)
        for n, (end, cost, turn) in enumerate(zip(ends, costs, turns, strict=True))
    )
    return Tally({}, 0.0, 0, 0, "", newest)


@pytest.mark.parametrize(
    ("value", "history", "far"),
    [
        (1.20, USUAL, True),
        (0.19, USUAL, False),  # not twice as much
        (0.03, USUAL, True),
        (0.05, USUAL, False),  # not five cents below the least
        (0.14, USUAL, False),  # was seen before
        (1.20, USUAL[: LEAST - 1], False),
        (0.20, [0.10] * 8, True),  # all equal: any difference that is worth a word
        (0.14, [0.05] * 8, True),
        (0.06, [0.02] * 8, False),  # four cents are not worth one
        (4.04, [0.0] * 24 + [4.0] * 6, False),  # often much or nothing
        (90.0, [0.0] * 24 + [4.0] * 6, True),
    ],
)
def test_far_means_outside_and_by_much(value: float, history: list[float], *, far: bool) -> None:
    """A value is far when none was like it, it differs enough, and its modified z-score is high."""
    assert is_far(value, history, 0.05) is far


def test_a_costly_long_or_talkative_run_is_named() -> None:
    """Cost, turns and posts of the last run are each compared with the successes before it."""
    posts = {str(number): 1 for number in range(8)} | {"8": 40}

    found = list(of_runs("outreach", runs([*USUAL, 2.0], [12] * 8 + [90]), posts))

    assert [one["measure"] for one in found] == ["cost", "turns", "posts"]
    assert [one["what"] for one in found] == [
        "its last run cost $2.00, usually about $0.11",
        "its last run took 90 turns, usually about 12",
        "its last run posted 40 messages, usually about 1",
    ]
    assert {one["run"] for one in found} == {"8"}


def test_unknown_figures_and_short_histories_say_nothing() -> None:
    """Without the figure of the last run, or with too few before it, nothing is called unusual."""
    assert list(of_runs("a", runs([*USUAL, None], [12] * 9), {})) == []
    assert list(of_runs("a", runs([0.1, 5.0], [1, 90]), {})) == []
    assert list(of_runs("a", Tally({}, 0, 0, 0, "", ()), {})) == []


def test_a_failure_did_less_without_a_word() -> None:
    """A run that failed is no anomaly for having done little, but for having cost much."""
    little = runs([*USUAL, 0.0], [12] * 9, ok=False)
    much = runs([*USUAL, 3.0], [12] * 9, ok=False)

    assert list(of_runs("a", little, {})) == []
    assert [one["measure"] for one in of_runs("a", much, {})] == ["cost"]
    assert [one["measure"] for one in of_runs("a", runs([*USUAL, 0.0], [12] * 9), {})] == ["cost"]


def test_silence_is_long_beside_its_own_intervals() -> None:
    """No success for more than three usual intervals is said, with both; weekends are not."""
    steady = runs([0.1] * 12, [1] * 12)
    days = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18]  # weekdays of three weeks
    begin = NOW - timedelta(days=18)
    weekdays = Tally(
        {}, 0, 0, 0, "",
        tuple(Figures("", (begin + timedelta(days=day)).isoformat(), True, None, None)
              for day in days),
    )  # fmt: skip

    def quiet(known: Tally, **after: float) -> list[str]:
        return [str(one["what"]) for one in silence("a", known, NOW + timedelta(**after))]

    assert quiet(steady, hours=5.9) == []
    assert quiet(steady, hours=6.1) == ["no success for 6h, usually one every 2h"]
    assert quiet(weekdays, days=3.5) == []
    assert quiet(weekdays, days=5) == ["no success for 5d, usually one every 1d"]
    assert quiet(runs([0.1] * LEAST, [1] * LEAST), days=9) == []


def test_the_tally_counts_every_end() -> None:
    """Outcomes, sums and the last success are those of the log, under every name of the agent."""
    store, cache = RamStore(), RamCache()

    def end(name: str, outcome: str, **more: object) -> str:
        run = new_id(1.8e9)
        body = {"op": "ended", "run": run, "outcome": outcome, "ended": rfc3339(1.8e9), **more}
        store.append(f"runs/{name}", [Draft({"op": "started", "run": run}), Draft(body)])
        return run

    end("scout", "ok", cost_usd=0.5, tokens_in=10, tokens_out=2, turns=3)
    end("reach", "crashed")
    end("reach", "ok_with_denials", cost_usd=1.0, counts_as_ok=True)
    last = end("reach", "ok_with_denials", cost_usd=0.25, tokens_in=7)

    found = tally(store, cache, ("reach", "scout"))

    assert found == tally(store, RamCache(), ("reach", "scout"))
    assert found.outcomes == {"ok": 1, "crashed": 1, "ok_with_denials": 2}
    assert (found.cost, found.tokens_in, found.tokens_out) == (1.75, 17, 2)
    assert found.last_ok == rfc3339(1.8e9)
    assert found.newest[-1] == Figures(last, rfc3339(1.8e9), False, 0.25, None)
    assert [one.ok for one in found.newest] == [True, False, True, False]


def test_posts_are_counted_by_run_as_far_as_known() -> None:
    """Messages of each run over all channels; what fell out of the fold is unknown, not none."""
    store, cache = RamStore(), RamCache()

    def post(channel: str, *runs: str | None) -> None:
        bodies = [{"op": "post", "run": run, "text": "x"} for run in runs]
        store.append(f"channels/{channel}", [Draft(body) for body in bodies])

    post("a", "r1", "r2", "r1", None)
    post("b", "r1")
    assert posted(store, cache, ["a", "b"], {"r0", "r1", "r2"}) == {"r0": 0, "r1": 3, "r2": 1}

    post("a", *(f"s{number:04}" for number in range(RUNS)))

    assert posted(store, cache, ["a", "b"], {"r1", "s0001", "t"}) == {"s0001": 1, "t": 0}
