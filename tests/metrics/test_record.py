"""What may be recorded, and that it is what was measured."""

import math
from typing import Any

import pytest

from fleet.errors import Rejected
from fleet.metrics import SKEW, number
from metrics.conftest import Shop
from people import OPERATOR, in_run


@pytest.mark.parametrize(
    ("text", "value"),
    [("1200", 1200), ("-3", -3), ("+4", 4), ("0.042", 0.042), (".5", 0.5), ("1e3", 1000), ("0", 0)],
)
def test_a_finite_number_is_taken_as_it_is(text: str, value: float) -> None:
    """Whole numbers stay whole, fractions stay fractions."""
    assert number(text) == value
    assert isinstance(number(text), int) == isinstance(value, int)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "nan",
        "inf",
        "-Infinity",
        "1e999",
        "many",
        "",
        "1,200",
        "1_000",
        "12%",
        "0x10",
        "١٢",
        "1 2",
    ],
)
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    """NaN, infinities, units, separators and other digits are refused, with the right form."""
    with pytest.raises(Rejected, match="digits only"):
        number(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, True])
def test_no_caller_stores_what_is_no_number(shop: Shop, value: float) -> None:
    """The same holds for whoever calls without the command line; nothing is written."""
    with pytest.raises(Rejected, match="finite number"):
        shop.metrics.record(OPERATOR, "a", "views", value)
    assert shop.store.head("metrics") == 0


@pytest.mark.parametrize(
    ("subject", "name"),
    [("", "views"), ("  ", "views"), ("a\nb", "views"), ("a\u202eb", "views"), ("é" * 101, "views")]
    + [("a", name) for name in ("", "Views", "../x", "a b", "x" * 65, "-v")],
)
def test_names_are_one_line_and_bounded(shop: Shop, subject: str, name: str) -> None:
    """A subject of several lines or over 200 bytes, and a metric that is no name, are refused."""
    with pytest.raises(Rejected):
        shop.metrics.record(OPERATOR, subject, name, 1)


def test_nothing_is_measured_in_the_future(shop: Shop) -> None:
    """A clock that is a little fast is forgiven, tomorrow is not."""
    now = shop.clock.wall
    assert shop.metrics.record(OPERATOR, "a", "views", 1, at=now + SKEW).seq == 1
    with pytest.raises(Rejected, match="in the future"):
        shop.metrics.record(OPERATOR, "a", "views", 1, at=now + SKEW + 1)


def test_a_repeated_id_is_one_record(shop: Shop) -> None:
    """The same number under the same id is stored once, also later; another number is refused."""
    first = shop.metrics.record(OPERATOR, "a", "views", 1, key="k")
    shop.clock.advance(3600)

    assert shop.metrics.record(OPERATOR, "a", "views", 1, key="k").ref == first.ref
    assert shop.store.head("metrics") == 1
    with pytest.raises(Rejected):
        shop.metrics.record(OPERATOR, "a", "views", 2, key="k")


def test_a_record_says_what_when_and_who(shop: Shop) -> None:
    """Subject, metric, value, when it was measured, who recorded it, when it was announced."""
    event = shop.announce("a")

    body: Any = shop.metrics.record(in_run("collector"), "a", "views", 7).body

    assert (body["op"], body["subject"], body["name"], body["value"]) == ("metric", "a", "views", 7)
    assert (body["from_agent"], body["run"]) == ("collector", "collector-r1")
    assert body["announced"] == event.at
    assert body["measured"] == event.at


def test_listing_shows_the_newest_of_each_or_all_of_one(shop: Shop) -> None:
    """Without a subject one row a metric, with it every value; filters and limit cut the oldest."""
    shop.announce("a")
    for value in (1, 2, 3):
        shop.measure("a", value)
        shop.clock.advance(60)
    shop.measure("a", 5, "clicks")
    shop.measure("b", 9)
    list_ = shop.metrics.listing

    def values(rows: list[Any]) -> list[object]:
        return [record.body["value"] for record, _ in rows]

    assert values(list_()) == [3, 5, 9]
    assert values(list_("a")) == [1, 2, 3, 5]
    assert values(list_("a", name="views", limit=2)) == [2, 3]
    assert values(list_(name="views")) == [3, 9]
    assert values(list_(names=("writer", "formerly"))) == [3, 5]
    assert values(list_(since=shop.clock.wall - 10)) == [5, 9]
    assert values(list_(limit=1)) == [9]
    assert values(list_("unheard-of")) == []
