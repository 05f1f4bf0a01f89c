"""The generated validators against jsonschema, which is the authority."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fleet.schemas.agreed import code_of
from fleet.schemas.compiled import Entry, EventType
from fleet.schemas.compiling import compile_type

DRAFTS = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}

FIELDS = ["a", "b", "id", "$ref", "properties", "a b", "ä", '"', "{x}", "'", "a/b", "~"]
names = st.sampled_from(FIELDS)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5, -0.5, 1e300, 2**70])
    | st.sampled_from(["", "a", "ab", "abc\n", "ä", "a{b}", "'\"\\"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)
kinds = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
sizes = st.integers(0, 3)
bounds = st.integers(-2, 2) | st.sampled_from([0.5, 1.0])
leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": kinds | st.lists(kinds, min_size=1, max_size=3, unique=True),
        "enum": st.lists(scalars, min_size=1, max_size=3, unique_by=repr),
        "minLength": sizes,
        "maxLength": sizes,
        "minItems": sizes,
        "maxItems": sizes,
        "minProperties": sizes,
        "maxProperties": sizes,
        "minimum": bounds,
        "maximum": bounds,
        "pattern": st.sampled_from(["^a", '"\\\\\\d', "\\n|{x}", "(?!a)", "(?i)A", ""]),
        "required": st.lists(names, min_size=1, max_size=2, unique=True),
        "format": st.sampled_from(["email", "date", "ipv4"]),
        "default": values,
        "x-claim": st.just("lead:{a}"),
        "title": st.just("t"),
        "contentEncoding": st.just("base64"),
        "contentMediaType": st.just("application/json"),
    },
)


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    several = st.lists(inner, min_size=1, max_size=3)
    more = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, inner, max_size=3),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "exclusiveMinimum": bounds,
            "exclusiveMaximum": bounds,
            "$ref": st.sampled_from(["#", "#/definitions/d", "#/definitions/e1"]),
        },
    )
    return st.tuples(leaves, more).map(lambda two: {**two[0], **two[1]})


schemas = st.recursive(leaves, _nested, max_leaves=6)


def generated(schema: dict[str, object], draft: int) -> Entry:
    """The entry of `schema`, compiled as the registry does; without code where it is left."""
    code = code_of("t", schema, draft=draft, applied=DRAFTS[draft].VALIDATORS)
    return Entry((0, 0, 0, 0), False, EventType("t", "", (), {}, None, None, None, ""), code)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas, schemas, st.lists(values, min_size=1, max_size=4), st.sampled_from([4, 6, 7]))
def test_generated_code_decides_as_jsonschema(schema, other, payloads, draft) -> None:
    """Over any schema it is generated for, code accepts exactly what jsonschema accepts."""
    whole = {**schema, "definitions": {"d": other, "e1": True if draft > 4 else {}}}
    try:
        DRAFTS[draft].check_schema(whole)
    except jsonschema.SchemaError:
        assume(False)
    unchanged = copy.deepcopy(whole)
    entry = generated(whole, draft)
    assert whole == unchanged
    assume(entry.code is not None)
    authority = DRAFTS[draft](whole)

    for payload in payloads:
        before = copy.deepcopy(payload)
        try:
            expected = authority.is_valid(payload)
        except RecursionError:
            expected = False
        assert entry.fits(payload) == expected, (whole, payload)
        assert payload == before


ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("schemas/*.json"), *ROOT.glob("src/fleet/homes/*/schemas/*.json")])


def test_the_types_that_fleet_ships_have_code() -> None:
    """No emit of the growth fleet or of a new home waits for jsonschema."""
    entries = [
        compile_type(file.stem, file.read_bytes(), (0,) * 4, young=False) for file in SHIPPED
    ]

    assert len(entries) >= 14
    assert [entry.type.name for entry in entries if entry.code is None] == []


FITS = [
    ({"type": "integer"}, 1.0, True),
    ({"type": "integer"}, True, False),
    ({"type": "number"}, True, False),
    ({"enum": [1]}, True, False),
    ({"enum": [1]}, 1.0, True),
    ({"minLength": 1, "minItems": 2}, [], False),
    ({"items": {"minLength": 1, "minItems": 2}}, ["abc", []], False),
    ({"pattern": "^abc"}, "abc\n", True),
    ({"properties": {"a-b": {"type": "string"}, "a_b": {"type": "null"}}}, {"a_b": None}, True),
    ({"properties": {"x": {"default": 1}}}, {}, True),
    ({"additionalProperties": False, "properties": {"a": {}}}, {"b": 1}, False),
    ({"format": "email"}, "nobody", True),
    ({"contentEncoding": "base64", "maxLength": 3}, "!!!", True),
    ({"contentMediaType": "application/json"}, "{", True),
    ({"x-unknown": {"type": "null"}}, "a", True),
    ({"$id": "https://example.org/t.json", "type": "null"}, 1, False),
    ({"default": {"$ref": "https://example.org/t.json"}}, 1, True),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 3, False),
    ({"not": {}}, 1, False),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, False),
    ({"$ref": "#/definitions/n", "definitions": {"n": {"type": "null"}}}, 1, False),
    (
        {"properties": {"next": {"$ref": "#"}, "v": {"type": "null"}}},
        {"next": {"next": {"v": 1}}},
        False,
    ),
]


@pytest.mark.parametrize(("schema", "value", "fits"), FITS)
def test_known_traps(schema, value, fits) -> None:
    """Where JSON Schema surprises, generated code judges as jsonschema does."""
    entry = generated(schema, 7)

    assert entry.code is not None
    assert entry.fits(value) is fits
    assert jsonschema.Draft7Validator(schema).is_valid(value) is fits


def test_one_point_nought_is_an_integer_from_draft_6_on() -> None:
    """Each draft is generated by its own rules."""
    assert [generated({"type": "integer"}, draft).fits(1.0) for draft in (4, 6, 7)] == [
        False, True, True,
    ]  # fmt: skip


TWO_NAMES = {
    "properties": {"a": {"$ref": "#/definitions/a-b"}, "b": {"$ref": "#/definitions/A_b"}},
    "definitions": {"a-b": {"type": "null"}, "A_b": {"type": "string"}},
}
LEFT = [
    ({"type": "object"}, 2019),
    ({"prefixItems": [{}]}, 2020),
    ({"multipleOf": 0.1}, 7),
    ({"pattern": "^[$]\\d+$"}, 7),
    ({"pattern": "abc$"}, 7),
    ({"const": 1}, 7),
    ({"enum": [{"id": "x", "a": {"$ref": "#y"}}]}, 7),
    ({"minimum": 1e999}, 7),
    ({"patternProperties": {"^x": {}}}, 7),
    ({"items": [{}]}, 7),
    ({"uniqueItems": True}, 7),
    ({"contains": {}}, 7),
    ({"properties": {"a": {"items": {"anyOf": [{"not": {"multipleOf": 2}}]}}}}, 7),
    ({"definitions": {"a": {"multipleOf": 2}}}, 7),
    ({"$ref": "#name"}, 7),
    ({"$ref": "https://example.org/t.json"}, 7),
    (TWO_NAMES, 7),
    ({"required": ["a"], "additionalProperties": False}, 7),
    (json.loads('{"items": ' * 25 + "{}" + "}" * 25), 7),
]


@pytest.mark.parametrize(("schema", "draft"), LEFT)
def test_the_rest_is_left_to_jsonschema(schema, draft) -> None:
    """What the two libraries may judge differently, or Python cannot nest, gets no code."""
    assert generated(schema, draft).code is None
