"""The generated validators against jsonschema, which is the authority."""

import copy

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.schemas.compiled import Entry, EventType
from fleet.schemas.generate import NotGenerated, source_of

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
        "enum": st.lists(values, min_size=1, max_size=3),
        "minLength": sizes,
        "maxLength": sizes,
        "minItems": sizes,
        "maxItems": sizes,
        "minProperties": sizes,
        "maxProperties": sizes,
        "minimum": bounds,
        "maximum": bounds,
        "pattern": st.sampled_from(["^a", "b$", "^abc$", "^[$]", "(?!a)", ""]),
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
            "const": values,
            "exclusiveMinimum": bounds,
            "exclusiveMaximum": bounds,
            "$ref": st.sampled_from(["#/definitions/d", "#/definitions/e~1f"]),
        },
    )
    return st.tuples(leaves, more).map(lambda two: {**two[0], **two[1]})


schemas = st.recursive(leaves, _nested, max_leaves=6)


def generated(schema: object, draft: int) -> Entry:
    """The entry of `schema`, compiled as the registry does."""
    source = source_of(schema, draft=draft, applied=DRAFTS[draft].VALIDATORS)
    kind = EventType("t", "", (), {}, None, None, "")
    code = compile(source.text, "t", "exec")
    return Entry((0, 0, 0, 0), False, kind, code, source.values, source.patterns)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.lists(values, min_size=1, max_size=4), st.sampled_from([*DRAFTS]))
def test_generated_code_decides_as_jsonschema(schema, other, payloads, draft) -> None:
    """Over any schema it generates for, the code accepts exactly what jsonschema accepts."""
    whole = {**schema, "definitions": {"d": other, "e/f": True if draft > 4 else {}}}
    try:
        DRAFTS[draft].check_schema(whole)
        entry = generated(whole, draft)
    except (NotGenerated, jsonschema.SchemaError):
        return
    authority = DRAFTS[draft](whole)

    for payload in payloads:
        before = copy.deepcopy(payload)
        try:
            expected = authority.is_valid(payload)
        except RecursionError:
            expected = False
        assert entry.fits(payload) == expected, (whole, payload)
        assert payload == before


FITS = [
    ({"type": "integer"}, 1.0, True),
    ({"type": "integer"}, True, False),
    ({"type": "number"}, True, False),
    ({"enum": [1]}, True, False),
    ({"enum": [1]}, 1.0, True),
    ({"enum": [[0, {"a": False}]]}, [0, {"a": 0}], False),
    ({"const": None}, 0, False),
    ({"minLength": 1, "minItems": 2}, [], False),
    ({"items": {"minLength": 1, "minItems": 2}}, ["abc", []], False),
    ({"pattern": "^[$]\\d+$"}, "$40", True),
    ({"pattern": "^abc$"}, "abc\n", True),
    ({"properties": {"a-b": {"type": "string"}, "a_b": {"type": "null"}}}, {"a_b": None}, True),
    ({"properties": {"x": {"default": 1}}}, {}, True),
    ({"additionalProperties": False, "properties": {"a": {}}}, {"b": 1}, False),
    ({"format": "email"}, "nobody", True),
    ({"contentEncoding": "base64", "maxLength": 3}, "!!!", True),
    ({"x-unknown": {"type": "null"}}, "a", True),
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
    """What other generators of validators get wrong is judged as jsonschema judges it."""
    assert generated(schema, 7).fits(value) is fits
    assert jsonschema.Draft7Validator(schema).is_valid(value) is fits


LEFT = [
    ({"multipleOf": 0.1}, 7),
    ({"patternProperties": {"^x": {}}}, 7),
    ({"items": [{}]}, 7),
    ({"uniqueItems": True}, 7),
    ({"prefixItems": [{}]}, 2020),
    ({"unevaluatedProperties": False}, 2020),
    ({"type": "integer"}, 4),
    ({"$ref": "#name"}, 7),
    ({"properties": {"a": {"$id": "x", "type": "null"}}}, 7),
]


@pytest.mark.parametrize(("schema", "draft"), LEFT)
def test_the_rest_is_left_to_jsonschema(schema, draft) -> None:
    """A keyword that is not known exactly is never generated half."""
    with pytest.raises(NotGenerated):
        generated(schema, draft)
