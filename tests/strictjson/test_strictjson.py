"""JSON that two readers could take differently is refused."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet import strictjson
from fleet.errors import Rejected

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(VALUES)
def test_values_round_trip_on_one_line(value) -> None:
    """Any value comes back equal from text and from bytes, and its text has no line feed."""
    text = strictjson.dumps(value)

    assert "\n" not in text
    assert strictjson.loads(text) == value == strictjson.loads(text.encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff", "not UTF-8"),
        ("", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("[1,]", "not JSON"),
        ("1 2", "not JSON"),
        ("NaN", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ("1e999", "too large"),
        ("9" * 5000, "5000 digits"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' stands twice"),
        ('{"a": 1, "\\u0061": 2}', "'a' stands twice"),
        ('"\\ud800"', "half a surrogate pair"),
        ('{"\\udfff": 1}', "half a surrogate pair"),
        ("\ud800", "not JSON"),
        ('"\ud800"', "half a surrogate pair"),
        ("[" * 33 + "]" * 33, "deeper than 32"),
        ('{"a":' * 33 + "1" + "}" * 33, "deeper than 32"),
        ("[" * 100_000, "deeper than 32"),
    ],
)
def test_what_readers_could_take_differently_is_refused(text, reason) -> None:
    """Each doubtful text is refused in one line that names the reason."""
    with pytest.raises(Rejected, match=re.escape(reason)) as refused:
        strictjson.loads(text)

    assert "\n" not in str(refused.value)


def test_the_depth_limit_is_exact() -> None:
    """As many levels as allowed pass, wide values do not count as deep ones."""
    assert strictjson.loads("[" * 32 + "]" * 32)
    assert strictjson.loads(json.dumps([[n] for n in range(100)]), max_depth=2)
    with pytest.raises(Rejected):
        strictjson.loads("[[[]]]", max_depth=2)


@pytest.mark.parametrize(
    "value", [float("nan"), [float("inf")], {"a": "\udc80"}, {1, 2}, b"x", {("a",): 1}]
)
def test_values_without_a_json_text_are_refused(value) -> None:
    """Nothing is written that no reader could read."""
    with pytest.raises(Rejected):
        strictjson.dumps(value)
