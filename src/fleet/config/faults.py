"""Pydantic's errors as findings: file, line, the field as it is written, what is wrong, the fix."""

import typing
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from fleet.config.values import FAULT, known
from fleet.config.yamltext import Document, Path, Tree
from fleet.errors import Finding

_WORDS = {
    "string_type": "must be a text",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping like {{key: value}}",
    "dict_type": "must be a mapping like {{key: value}}",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "greater_than_equal": "must be at least {ge:.10g}",
    "greater_than": "must be more than {gt:.10g}",
    "less_than_equal": "must be at most {le:.10g}",
    "string_too_long": "must have at most {max_length} characters",
}
_SHOWN = ("int", "float", "greater", "less")  # only of numbers the text is shown: it is no secret


def check(
    model: type[BaseModel], document: Document, base: tuple[str, ...] = (), *, partial: bool = False
) -> list[Finding]:
    """Every fault of the mapping at `base` in `document`, judged as a `model`.

    Args:
        model: the shape it must have.
        document: the file.
        base: the path of a mapping inside it.
        partial: required fields may be missing.
    """
    tree: Tree = document.tree
    for part in base:
        tree = tree.get(part) if isinstance(tree, dict) else None
    try:
        model.model_validate(tree)
    except ValidationError as found:
        errors = [error for error in found.errors() if not (partial and _is_missing(error))]
        return [_finding(model, document, base, error) for error in errors]
    return []


def dotted(path: Path) -> str:
    """`expects.any_of[0].event`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def existing(tree: Tree, path: Path) -> Path:
    """The longest part of `path` that is written in `tree`; a lone value counts as its list."""
    found: Path = ()
    for part in path:
        if isinstance(tree, dict) and part in tree:
            tree = tree[str(part)]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        elif isinstance(part, int):
            continue
        else:
            break
        found = (*found, part)
    return found


def _is_missing(error: ErrorDetails) -> bool:
    return error["type"] == "missing" and len(error["loc"]) == 1


def _finding(
    model: type[BaseModel], document: Document, base: tuple[str, ...], error: ErrorDetails
) -> Finding:
    loc = error["loc"]
    path = existing(document.tree, (*base, *loc))
    field = dotted(path) or "the file"
    what, fix = _say(model, error, field)
    return Finding("error", document.file, document.line(path), what, fix)


def _say(model: type[BaseModel], error: ErrorDetails, field: str) -> tuple[str, str]:
    kind, loc = error["type"], error["loc"]
    context: dict[str, Any] = error.get("ctx", {})
    if kind == "missing":
        owner = "" if field == "the file" else f" in {field}"
        return f"'{loc[-1]}' is missing{owner}", f"add {loc[-1]}: …"
    if kind == "extra_forbidden":
        owner = f" in {field.rpartition('.')[0]}" if "." in field else ""
        return f"unknown key '{loc[-1]}'{owner}", known(str(loc[-1]), _keys(model, loc[:-1]), 50)
    if kind == FAULT:
        return f"{field}: {context['what']}", context["fix"]
    words = _WORDS.get(kind, error["msg"]).format(**context)
    if error["input"] is None:
        return f"{field} {words}, null is none", "write one, or leave the line out"
    if isinstance(error["input"], str) and kind.startswith(_SHOWN):
        return f"{field}: {error['input'][:60]!r} {words}", ""
    return f"{field} {words}", ""


def _keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The keys that the mapping at `loc` may have."""
    found: type[BaseModel] | None = model
    for part in loc:
        fields = {info.alias or name: info for name, info in _fields(found)}
        if str(part) in fields:
            found = _model_in(fields[str(part)].annotation)
    return [info.alias or name for name, info in _fields(found)]


def _fields(model: type[BaseModel] | None) -> list[tuple[str, FieldInfo]]:
    return list(model.model_fields.items()) if model else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model somewhere inside `tuple[Model, ...] | None` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in typing.get_args(annotation):
        if found := _model_in(argument):
            return found
    return None
