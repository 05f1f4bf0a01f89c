"""Every fault of the files in `schemas/`, all at once; the same look decides what is compiled."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fleet.errors import BadHome, Finding, Rejected
from fleet.places import safe_name
from fleet.schemas.faults import schema_faults
from fleet.schemas.files import SUFFIX, folder_of, read
from fleet.schemas.templates import fields_of
from fleet.strictjson import loads
from fleet.text import escape

OWN_PREFIXES = ("agent:", "run:", "cap:")
FIXES = {
    "type": "the types are array, boolean, integer, null, number, object and string",
    "required": 'write a list of names: ["email"]',
}
NO_KEY = ("object", "array", "null")  # types whose values cannot be a part of a claim's key


def check_files(root: Path) -> list[Finding]:
    """Every fault and remark on the files in `schemas/` of the home at `root`, by file name."""
    folder = folder_of(root)
    if not folder.is_dir():
        return [Finding("warning", "schemas", 0, "there is no folder schemas", "no type can exist")]
    findings: list[Finding] = []
    for file in sorted(os.listdir(folder)):  # noqa: PTH208 - names are all that is needed
        if file != "README.md" and not file.startswith("."):
            findings += _check_file(folder / file)
    return findings


def _check_file(path: Path) -> list[Finding]:
    place = f"schemas/{escape(path.name)}"
    if path.suffix != SUFFIX:
        return [Finding("warning", place, 0, "is not read", f"event types end in {SUFFIX}")]
    if not safe_name(path.stem):
        fix = "use a-z, 0-9, _ and -, beginning with a letter or digit, at most 64 characters"
        return [
            Finding("error", place, 0, f"'{escape(path.stem)}' cannot be the name of a type", fix)
        ]
    try:
        data = read(path)
    except BadHome as fault:
        return [Finding("error", place, 0, fault.what, fault.fix)]
    return examine(path.stem, data)[1]


def examine(name: str, data: bytes) -> tuple[dict[str, object], list[Finding]]:
    """The schema of type `name` in `data` and all findings; {} when it is none at all."""
    place = f"schemas/{name}{SUFFIX}"
    try:
        schema = loads(data)
    except Rejected as fault:
        return {}, [Finding("error", place, _fault_line(data), fault.what, fault.fix)]
    if not isinstance(schema, dict):
        return {}, [Finding("error", place, 1, "is no JSON object", "write a JSON Schema")]
    findings = [
        Finding(severity, place, _line_of(data, path), what, fix)
        for severity, path, what, fix in _remarks(name, schema)
    ]
    return schema, findings


_Remark = tuple[str, str, str, str]
"""Severity, the keyword it is about and those above it (`properties.a.type`), what, what to do."""


def _remarks(name: str, schema: dict[str, object]) -> Iterator[_Remark]:
    try:
        faults = schema_faults(schema)
    except BadHome as fault:
        yield ("error", "$schema", fault.what, fault.fix or "use draft-07")
        return
    for what in faults:
        path = what.partition(": ")[0].replace("/", ".")
        yield ("error", path, what, FIXES.get(path.rpartition(".")[2], ""))
    if schema.get("title", name) != name:
        fix = f"the type's name is its file's: {name}"
        yield ("warning", "title", f"the title is {schema['title']!r}", fix)
    if schema.get("type", "object") != "object":
        fix = 'write "type": "object"'
        yield ("error", "type", "an event's payload is always an object", fix)
    if not faults:
        yield from _claim_remarks(schema)
        yield from _to_remarks(schema)
        yield from _subject_remarks(schema)


def _claim_remarks(schema: dict[str, object]) -> Iterator[_Remark]:
    template = schema.get("x-claim")
    if template is None:
        return
    if not isinstance(template, str) or not template:
        yield ("error", "x-claim", "x-claim is no text", 'write it like "lead:{email}"')
        return
    if template.startswith(OWN_PREFIXES):
        fix = "begin it with another word"
        yield ("error", "x-claim", f"keys like {template!r} are fleet's own", fix)
    yield from _field_remarks(schema, "x-claim", template)


def _to_remarks(schema: dict[str, object]) -> Iterator[_Remark]:
    template = schema.get("x-to")
    if template is None:
        return
    if not isinstance(template, str) or template[:1] + template[-1:] != "{}":
        yield ("error", "x-to", "x-to names no field", 'write it like "{assignedTo}"')
        return
    yield from _field_remarks(schema, "x-to", template)


def _subject_remarks(schema: dict[str, object]) -> Iterator[_Remark]:
    template = schema.get("x-subject")
    if template is None:
        return
    if not isinstance(template, str) or "{" not in template:
        yield ("error", "x-subject", "x-subject names no field", 'write it like "{draftId}"')
        return
    yield from _field_remarks(schema, "x-subject", template)


def _field_remarks(schema: dict[str, object], word: str, template: str) -> Iterator[_Remark]:
    try:
        fields = fields_of(template)
    except ValueError as fault:
        yield ("error", word, f"{word} {fault}", "")
        return
    if word == "x-to" and len(fields) != 1:
        yield ("error", word, "x-to names more than one field", "an event has one addressee")
    required, properties = schema.get("required", []), schema.get("properties", {})
    known = {*_names(properties), *_names(required)}
    for name in fields:
        kinds = types_of(properties.get(name)) if isinstance(properties, dict) else ()
        if name not in known:
            yield ("error", word, f"{word} names the unknown field {name!r}", _near(name, known))
        elif set(kinds) & set(NO_KEY):
            fix = "name a field that is a text or a number"
            yield ("error", word, f"{word} names {name!r}, which is {' or '.join(kinds)}", fix)
        elif word == "x-claim" and name not in _names(required):
            fix = f'add it to "required": an event without it is rejected because of {word}'
            yield ("warning", word, f"the field {name!r} may be left out", fix)


def types_of(schema: object) -> tuple[str, ...]:
    """The JSON types that a property's schema names, () when it names none."""
    named = schema.get("type", ()) if isinstance(schema, dict) else ()
    return (named,) if isinstance(named, str) else tuple(map(str, named))


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, (list, dict)) else []


def _near(name: str, known: set[str]) -> str:
    from fleet.text import suggest

    return suggest(name, tuple(known)) or "the fields are " + ", ".join(sorted(known))


def _line_of(data: bytes, path: str) -> int:
    """The line of the last name of `path` that stands in `data` below the ones before it, or 0."""
    at = -1
    for name in path.split("."):
        below = data.find(f'"{name}"'.encode(), at + 1)
        at = below if below >= 0 else at
    return data.count(b"\n", 0, at) + 1 if at >= 0 else 0


def _fault_line(data: bytes) -> int:
    """The line where `data` stops being JSON, or of the object that has a name twice."""
    text = data.decode("utf-8", "replace")
    decoder: Any = json.JSONDecoder()
    parts: Any = json.decoder  # the typed stubs do not show its parts in Python

    def parse_object(start: tuple[str, int], strict: bool, scan: Any, *_: Any) -> object:
        pairs, end = parts.JSONObject(start, strict, scan, None, list)
        if len(dict(pairs)) < len(pairs):
            raise ValueError(start[1])
        return dict(pairs), end

    decoder.parse_object = parse_object
    decoder.scan_once = parts.scanner.py_make_scanner(decoder)
    try:
        decoder.decode(text)
    except json.JSONDecodeError as fault:
        return fault.lineno
    except ValueError as fault:
        return text.count("\n", 0, int(str(fault))) + 1
    except RecursionError:
        pass
    return 0
