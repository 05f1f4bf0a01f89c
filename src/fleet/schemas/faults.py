"""What is wrong, worded by jsonschema: with a schema, and with a payload; imported only then.

`format`, `contentEncoding` and the like are not asserted, as JSON Schema leaves it to us.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from fleet.errors import BadHome
from fleet.text import clip, escape, suggest

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

DRAFTS = {
    "http://json-schema.org/draft-04/schema": (4, "Draft4Validator"),
    "http://json-schema.org/draft-06/schema": (6, "Draft6Validator"),
    "http://json-schema.org/draft-07/schema": (7, "Draft7Validator"),
    "https://json-schema.org/draft/2019-09/schema": (2019, "Draft201909Validator"),
    "https://json-schema.org/draft/2020-12/schema": (2020, "Draft202012Validator"),
}
DEFAULT_DRAFT = "http://json-schema.org/draft-07/schema"
NAMED = ("properties", "patternProperties", "definitions", "$defs", "dependencies")
CONSTANTS = ("const", "enum", "default", "examples")
MAX_FAULTS = 20
MAX_WORDS = 300  # characters of one fault


def draft_of(schema: dict[str, object]) -> tuple[int, type["Validator"]]:
    """The draft that `$schema` names (draft 7 without one) and its validator.

    Raises:
        BadHome: it names none that is known here.
    """
    import jsonschema

    named = str(schema.get("$schema", DEFAULT_DRAFT)).removesuffix("#")
    found = DRAFTS.get(named)
    if found is None:
        raise BadHome(f"$schema {named!r} is unknown", suggest(named, tuple(DRAFTS)))
    return found[0], getattr(jsonschema, found[1])


def schema_faults(schema: dict[str, object]) -> list[str]:
    """Why `schema` cannot be used, one line each; [] for a sound one.

    Raises:
        BadHome: its draft is unknown.
    """
    _, validator = draft_of(schema)
    errors = _errors(validator, validator.META_SCHEMA, schema)
    faults = [_line(error) for error in islice(errors, MAX_FAULTS)]
    if not faults:
        faults = list(islice(_loose_ends(schema), MAX_FAULTS))
    return faults or _endless(validator(schema))


def payload_faults(schema: dict[str, object], payload: object) -> list[str]:
    """Why `payload` does not fit, one line each that names the field; [] when it fits."""
    _, validator = draft_of(schema)
    try:
        errors = list(islice(_errors(validator, schema, payload), MAX_FAULTS + 1))
    except RecursionError:
        return ["the schema refers to itself without end"]
    lines = list(dict.fromkeys(map(_line, errors[:MAX_FAULTS])))
    return lines + (["and more"] if len(errors) > MAX_FAULTS else [])


def _errors(validator: Any, schema: Any, value: object) -> Iterator[Any]:
    # jsonschema's types know no `object`; sorted, so that the same payload gets the same words
    found = validator(schema).iter_errors(value)
    return iter(sorted(found, key=lambda error: [str(step) for step in error.absolute_path]))


def _line(error: Any) -> str:
    field = ".".join(str(step) for step in error.absolute_path)
    words = error.message
    if len(words) > MAX_WORDS:  # the value comes first and may be long, what it breaks comes last
        words = f"{clip(words, MAX_WORDS // 2)} {words[-MAX_WORDS // 2 :]}"
    return escape(f"{clip(field, 100)}: {words}" if field else words)


def _loose_ends(schema: dict[str, object]) -> Iterator[str]:
    """References that leave the file or end nowhere, and patterns that are none."""
    for where, word, value in _words(schema, ""):
        if word in ("$ref", "$dynamicRef", "$recursiveRef"):
            if not value.startswith("#"):
                yield f"{where}: {word} {value!r} leaves the file; write #/definitions/…"
            elif not _resolves(schema, value):
                yield f"{where}: {word} {value!r} points nowhere"
        elif where and word in ("$id", "id"):
            yield f"{where}: {word} below the top would move what references start from"
        elif word == "pattern":
            yield from _bad_pattern(where, value)


def _words(value: object, where: str, *, named: bool = False) -> Iterator[tuple[str, str, str]]:
    """Every keyword below `value` that has a text: where it stands, the word, the text.

    `named` means that `value` maps names to schemas. What stands in constants is no keyword.
    """
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _words(item, f"{where}/{at}")
    if not isinstance(value, dict):
        return
    for word, inner in value.items():
        below = f"{where}/{word}"
        if not named and isinstance(inner, str):
            yield (where, word, inner)
        if not named and word == "patternProperties" and isinstance(inner, dict):
            yield from ((below, "pattern", pattern) for pattern in inner)
        if named or word not in CONSTANTS:
            yield from _words(inner, below, named=not named and word in NAMED)


def _bad_pattern(where: str, pattern: str) -> Iterator[str]:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        yield f"{where}: the pattern {clip(pattern, 80)!r} is none: {fault}"


def _resolves(schema: dict[str, object], reference: str) -> bool:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import specification_with

    named = str(schema.get("$schema", DEFAULT_DRAFT)).removesuffix("#")
    plain = {word: value for word, value in schema.items() if word not in ("$id", "id")}
    resource = specification_with(named).create_resource(plain)
    try:
        Registry().with_resource("", resource).resolver().lookup(reference)
    except (Unresolvable, LookupError, ValueError, TypeError):
        return False
    return True


def _endless(validator: "Validator") -> list[str]:
    try:
        validator.is_valid({})
    except RecursionError:
        return ["the schema refers to itself without end"]
    return []
