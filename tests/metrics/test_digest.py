"""What numbers say to who made the things: at the horizon, against the own median, in groups."""

from typing import Any

import pytest

from fleet.metrics.subjects import KEPT
from metrics.conftest import DAY, Shop
from retracting import take_back


def scores(shop: Shop, **more: Any) -> dict[str, list[tuple[str, float, float | None]]]:
    """By subject: metric, value, ratio to the usual one."""
    return {
        made.announced.subject: [(one.name, one.measured.value, one.ratio) for one in made.scores]
        for made in shop.digest(**more).made
    }


def usual(shop: Shop) -> list[tuple[str, int, float | None]]:
    """Metric, sample size, median."""
    return [(one.metric, len(one.refs), one.median) for one in shop.digest().usual]


def test_a_subject_is_judged_by_its_newest_value_up_to_the_horizon(shop: Shop) -> None:
    """Of hourly numbers over ten days the one measured at 72 hours counts, whatever came later."""
    shop.announce("a")
    for hour in range(1, 241):
        shop.clock.advance(3600)
        shop.measure("a", hour)

    assert scores(shop)["a"] == [("views", 72, None)]
    assert scores(shop, horizon=DAY)["a"] == [("views", 24, None)]


def test_the_newest_measured_value_wins_whenever_it_was_recorded(shop: Shop) -> None:
    """A late record of an older measurement changes nothing; one of the same moment supersedes."""
    shop.announce("a")
    shop.clock.advance(2 * DAY)
    shop.measure("a", 50)
    shop.measure("a", 10, ago=DAY)
    shop.measure("a", 51)
    shop.clock.advance(2 * DAY)
    shop.measure("a", 40, ago=1.5 * DAY)

    assert scores(shop)["a"] == [("views", 40, None)]


def test_a_young_subject_is_too_early_and_in_no_sample(shop: Shop) -> None:
    """Below the horizon its value so far is given, without ratio, and moves nobody's median."""
    for number in range(3):
        shop.did(f"old{number}", 100 + number)
    shop.announce("young")
    shop.clock.advance(DAY)
    shop.measure("young", 9000)

    digest = shop.digest()

    young = next(made for made in digest.made if made.announced.subject == "young")
    assert (young.early, young.scores[0].measured.value, young.scores[0].ratio) == (
        True,
        9000,
        None,
    )
    assert usual(shop) == [("views", 3, 101)]


def test_below_three_values_there_is_no_median(shop: Shop) -> None:
    """With two of a type nothing is compared, the third makes the median of all three."""
    shop.did("a", 100)
    shop.did("b", 300)
    assert usual(shop) == [("views", 2, None)]
    assert scores(shop) == {"a": [("views", 100, None)], "b": [("views", 300, None)]}

    shop.did("c", 200)

    assert usual(shop) == [("views", 3, 200)]
    ratios = {name: found[0][2] for name, found in scores(shop).items()}
    assert ratios == {"a": 0.5, "b": 1.5, "c": 1.0}


def test_what_was_measured_only_after_the_horizon_is_not_compared(shop: Shop) -> None:
    """A subject without a number in time is late: shown, in no sample."""
    for number in range(3):
        shop.did(f"a{number}", 100)
    shop.announce("b")
    shop.clock.advance(9 * DAY)
    shop.measure("b", 900)

    late = next(made for made in shop.digest().made if made.announced.subject == "b")

    assert not late.early
    assert (late.scores[0].late, late.scores[0].ratio) == (True, None)
    assert usual(shop) == [("views", 3, 100)]


@pytest.mark.parametrize("values", [(0, 0, 0), (-5, -4, -3)])
def test_no_ratio_where_it_would_say_nothing(shop: Shop, values: tuple[float, ...]) -> None:
    """Zeros and negative numbers have a median and no ratio."""
    for number, value in enumerate(values):
        shop.did(f"a{number}", value, kind="x")

    assert {made.scores[0].ratio for made in shop.digest().made} == {None}
    assert usual(shop) == [("views", 3, values[1])]


def test_the_most_telling_comes_first(shop: Shop) -> None:
    """Far from the median either way before the usual, judged before too early."""
    for subject, value in {"usual": 100, "twice": 200, "tenth": 10, "same": 100}.items():
        shop.did(subject, value)
    shop.announce("young")
    shop.measure("young", 5)

    assert list(scores(shop)) == ["tenth", "twice", "same", "usual", "young"]


def test_sorts_are_compared_where_each_has_three(shop: Shop) -> None:
    """Deep dives against listicles with both medians and sizes; two case studies are left aside."""
    for number, value in enumerate((400, 410, 420, 500)):
        shop.did(f"d{number}", value, contentType="deep-dive", title=f"title {number}", paid=True)
    for number, value in enumerate((100, 90, 110)):
        shop.did(f"l{number}", value, contentType="listicle", title=f"other {number}", paid=True)
    for number in range(2):
        shop.did(f"c{number}", 1, contentType="case-study", paid=True)

    (only,) = shop.digest().contrasts

    assert (only.type, only.field, only.metric) == ("content-ready", "contentType", "views")
    assert (only.best.value, only.best.median, len(only.best.refs)) == ("deep-dive", 415, 4)
    assert (only.worst.value, only.worst.median, len(only.worst.refs)) == ("listicle", 100, 3)
    assert only.ratio == pytest.approx(4.15)


def test_sorts_that_do_not_differ_are_no_news(shop: Shop) -> None:
    """Equal medians are not told as a difference."""
    for number in range(3):
        shop.did(f"a{number}", 100, kind="x")
        shop.did(f"b{number}", 100, kind="y")

    assert shop.digest().contrasts == ()


def test_the_first_announcement_counts_and_others_make_nothing(shop: Shop) -> None:
    """Who names a subject again does not get it; a subject nobody announced is nobody's."""
    first = shop.announce("a", "writer")
    shop.announce("a", "thief")
    shop.measure("a", 10)
    shop.measure("unheard-of", 10)

    assert [made.announced.ref for made in shop.digest("writer").made] == [first.ref]
    assert shop.digest("thief").made == ()
    links = {str(r.body["subject"]): link for r, link in shop.metrics.listing()}
    assert links["unheard-of"] is None


def test_what_was_measured_before_the_announcement_counts(shop: Shop) -> None:
    """A number that was quicker than its event is one from before the horizon."""
    shop.measure("a", 10)
    shop.clock.advance(60)
    shop.announce("a")
    shop.clock.advance(4 * DAY)
    shop.measure("a", 99)

    assert scores(shop)["a"] == [("views", 10, None)]


def test_of_each_agent_only_the_newest_subjects_are_at_hand(shop: Shop) -> None:
    """A year of drafts leaves the newest forty; the busy agent does not push out the quiet one."""
    shop.announce("quiet", "other")
    for number in range(KEPT + 5):
        shop.announce(f"a{number}")
        shop.measure(f"a{number}", number)
    shop.measure("quiet", 1)

    assert set(scores(shop)) == {f"a{number}" for number in range(5, KEPT + 5)}
    assert set(scores(shop, agent="other")) == {"quiet"}


def test_a_renamed_agent_keeps_what_it_made(shop: Shop) -> None:
    """Subjects announced under an earlier name count with those of the name it has now."""
    shop.announce("a", "scribe")
    shop.announce("b", "writer")
    for subject in "ab":
        shop.measure(subject, 1)

    digest = shop.metrics.digest(("writer", "scribe"), shop.clock.wall)

    assert {made.announced.subject for made in digest.made} == {"a", "b"}


def test_the_same_moment_gives_the_same_digest(shop: Shop) -> None:
    """The digest depends on log and moment alone: caches gone or warm, it is equal."""
    for number in range(4):
        shop.did(f"a{number}", number + 1, kind="x")
    now = shop.clock.wall
    warm = shop.metrics.digest(("writer",), now)

    cold = Shop()
    cold.store = shop.store
    cold.metrics = type(shop.metrics)(shop.store, cold.cache)

    assert cold.metrics.digest(("writer",), now) == warm == shop.metrics.digest(("writer",), now)


def test_retracted_numbers_do_not_count(shop: Shop) -> None:
    """The value before a retracted one stands again, in digest and listing; the log keeps both."""
    shop.announce("a")
    shop.measure("a", 10)
    shop.clock.advance(60)
    wrong = shop.measure("a", 9999)
    assert scores(shop)["a"] == [("views", 9999, None)]

    take_back(shop.store, shop.cache, wrong)

    assert scores(shop)["a"] == [("views", 10, None)]
    listed = [shop.metrics.listing(), shop.metrics.listing("a")]
    assert [[r.body["value"] for r, _ in rows] for rows in listed] == [[10], [10]]
    assert shop.store.head("metrics") == 2


def test_a_retracted_announcement_does_not_count(shop: Shop) -> None:
    """The next announcement of the subject takes its place; without one it is unlinked."""
    wrong = shop.announce("a", "thief")
    right = shop.announce("a")
    alone = shop.announce("b")
    for subject in "ab":
        shop.measure(subject, 10)

    take_back(shop.store, shop.cache, wrong, alone)

    assert [made.announced.ref for made in shop.digest().made] == [right.ref]
    assert shop.digest("thief").made == ()
    assert shop.metrics.announced("b") is None
