"""Code that fastjsonschema generates, for schemas on which it agrees exactly with jsonschema.

Every other schema gets no code: jsonschema validates it. What the code needs is in `compiled`.
"""

import math
import re
from collections.abc import Container
from types import CodeType

_LAST_DRAFT = 7  # fastjsonschema passes over the keywords of later ones without a word
_SCHEMA = ("additionalProperties", "items", "not", "if", "then", "else")
_SCHEMAS = ("allOf", "anyOf", "oneOf")
_NAMED = ("properties", "definitions")
_PLAIN = (
    "type", "enum", "required", "pattern", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
)  # fmt: skip
# fastjsonschema names a function after each target: other letters would let two names meet
_REFERENCE = re.compile(r"#(/definitions/[a-z][a-z0-9]*)?")


class _Doubtful(Exception):
    """The two libraries may disagree on this schema."""


def code_of(
    name: str, schema: dict[str, object], *, draft: int, applied: Container[str]
) -> CodeType | None:
    """Code that defines `validate(payload)`, or None where jsonschema has to validate.

    Args:
        name: of the event type, for tracebacks.
        schema: the whole schema, valid for its draft; it is not changed.
        draft: 4, 6, 7, 2019 or 2020.
        applied: the keywords that jsonschema acts on in this draft.
    """
    from fastjsonschema import JsonSchemaDefinitionException, compile_to_code

    if draft > _LAST_DRAFT:
        return None
    try:
        source = compile_to_code(
            {
                **_agreed(schema, applied),
                "definitions": _named(schema.get("definitions", {}), applied),
                "$schema": f"http://json-schema.org/draft-0{draft}/schema#",
            },
            use_default=False,  # the copy holds no default; a payload must never change
            use_formats=False,
            detailed_exceptions=False,
        )
        # `compiled` puts in place what these lines import; no other line begins like them
        lines = (line for line in source.split("\n") if not line.startswith("from "))
        return compile("\n".join(lines), f"<schema {name}>", "exec")
    except (_Doubtful, JsonSchemaDefinitionException, SyntaxError):  # SyntaxError: nested too deep
        return None


def _agreed(schema: dict[str, object], applied: Container[str]) -> dict[str, object]:
    """A copy of `schema` without what jsonschema takes for annotations.

    Raises:
        _Doubtful: it holds something else that is not agreed on.
    """
    if "$ref" in schema:  # in these drafts it stands alone, whatever is written beside it
        if not _REFERENCE.fullmatch(str(schema["$ref"])):
            raise _Doubtful
        return {"$ref": schema["$ref"]}
    copy: dict[str, object] = {}
    for word, value in schema.items():
        if word in _SCHEMA:
            copy[word] = _inner(value, applied)
        elif word in _SCHEMAS and isinstance(value, list):
            copy[word] = [_inner(one, applied) for one in value]
        elif word in _NAMED:
            copy[word] = _named(value, applied)
        elif word in _PLAIN:
            copy[word] = _plain(word, value)
        elif word in applied and word != "format":
            raise _Doubtful
    return copy


def _inner(schema: object, applied: Container[str]) -> object:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):  # a list of items
        raise _Doubtful
    return _agreed(schema, applied)


def _named(schemas: object, applied: Container[str]) -> dict[str, object]:
    if not isinstance(schemas, dict):
        raise _Doubtful
    return {name: _inner(schema, applied) for name, schema in schemas.items()}


def _plain(word: str, value: object) -> object:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, (dict, list)):  # a constant in which `$ref` would be followed
            raise _Doubtful
        if isinstance(one, float) and not math.isfinite(one):  # 1e999 has no form in Python
            raise _Doubtful
    if word == "pattern" and "$" in str(value):  # rewritten to \Z, in brackets too
        raise _Doubtful
    return value
