"""Python source of a validator for one JSON Schema, for the keywords that event types live on.

What it does not know it refuses to generate (`NotGenerated`): jsonschema validates those schemas.
Where it generates, it accepts exactly what jsonschema accepts; it words no fault.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

_KINDS = {
    "string": "isinstance(x, str)",
    "boolean": "isinstance(x, bool)",
    "null": "x is None",
    "array": "isinstance(x, list)",
    "object": "isinstance(x, dict)",
    "number": "isinstance(x, (int, float)) and not isinstance(x, bool)",
    "integer": "(isinstance(x, int) or isinstance(x, float) and x.is_integer())"
    " and not isinstance(x, bool)",
}
_SIZES = {
    "minLength": ("string", "<"),
    "maxLength": ("string", ">"),
    "minItems": ("array", "<"),
    "maxItems": ("array", ">"),
    "minProperties": ("object", "<"),
    "maxProperties": ("object", ">"),
}
_BOUNDS = {"minimum": "<", "maximum": ">", "exclusiveMinimum": "<=", "exclusiveMaximum": ">="}
_FIRST_DRAFT = 4  # there 1.0 is no integer, and `exclusiveMinimum` is a flag
_LAST_LONE_REF = 7  # up to there a $ref stands alone, whatever is written beside it


class NotGenerated(Exception):  # noqa: N818 - it is a decision, not an error
    """The schema uses something that only jsonschema may judge."""


@dataclass(frozen=True, slots=True)
class Source:
    """Generated code and what it needs beside it.

    Attributes:
        text: defines `v0(x) -> bool`; it uses the names `K`, `P` and `same`.
        values: `K`, lists of JSON values it compares with.
        patterns: `P` once compiled, the regular expressions it searches with.
    """

    text: str
    values: list[list[object]]
    patterns: list[str]


def source_of(schema: object, *, draft: int, applied: Iterable[str]) -> Source:
    """The validator of `schema`, which must be valid for its draft.

    Args:
        schema: the whole schema, a JSON value.
        draft: 4, 6, 7, 2019 or 2020.
        applied: the keywords that this draft acts on; all others are annotations.

    Raises:
        NotGenerated: it uses one of them that is not known here.
    """
    writer = _Writer(schema, draft, frozenset(applied))
    writer.function("#", schema)
    while writer.waiting:
        writer.write(*writer.waiting.pop())
    return Source("\n".join(writer.lines) + "\n", writer.values, writer.patterns)


@dataclass(frozen=True, slots=True)
class _Use:
    """One keyword where it stands: its JSON pointer, its value, and the schema around it."""

    pointer: str
    word: str
    value: object
    schema: dict[str, object]

    @property
    def entries(self) -> list[object]:
        return self.value if isinstance(self.value, list) else []

    @property
    def fields(self) -> dict[str, object]:
        return self.value if isinstance(self.value, dict) else {}


@dataclass(slots=True)
class _Writer:
    """One function for each subschema, found by the JSON pointer where it stands.

    Each keyword's method returns an expression that is true when `x` breaks it.
    """

    root: object
    draft: int
    applied: frozenset[str]
    lines: list[str] = field(default_factory=list)
    values: list[list[object]] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    waiting: list[tuple[str, str, object]] = field(default_factory=list)

    def function(self, pointer: str, schema: object) -> str:
        """The name of the function for the subschema at `pointer`, written now or later."""
        if pointer not in self.functions:
            self.functions[pointer] = f"v{len(self.functions)}"
            self.waiting.append((self.functions[pointer], pointer, schema))
        return self.functions[pointer]

    def write(self, name: str, pointer: str, schema: object) -> None:
        """Write the function `name`: False at the first keyword that `x` breaks."""
        self.lines.append(f"def {name}(x):")
        if isinstance(schema, bool):
            self.lines.append(f"    return {schema}")
            return
        if not isinstance(schema, dict) or (pointer != "#" and {"id", "$id"} & schema.keys()):
            raise NotGenerated(f"{pointer} is no plain schema")
        for word, value in self._keywords(schema).items():
            use = _Use(f"{pointer}/{_escaped(word)}", word, value, schema)
            self.lines.append(f"    if {_WRITERS[word](self, use)}: return False")
        self.lines.append("    return True")

    def _keywords(self, schema: dict[str, object]) -> dict[str, object]:
        if "$ref" in schema and self.draft <= _LAST_LONE_REF:
            return {"$ref": schema["$ref"]}
        words = [word for word in schema if word in self.applied and word != "format"]
        for word in words:
            if word not in _WRITERS:
                raise NotGenerated(f"{word} is left to jsonschema")
        return {word: schema[word] for word in words}

    def kind(self, use: _Use) -> str:
        words = use.entries or [use.value]
        if self.draft == _FIRST_DRAFT and "integer" in words:
            raise NotGenerated("1.0 is no integer in draft 4")
        return "not (" + " or ".join(f"({_KINDS[str(word)]})" for word in words) + ")"

    def enum(self, use: _Use) -> str:
        return self._one_among(use.entries)

    def const(self, use: _Use) -> str:
        return self._one_among([use.value])

    def _one_among(self, options: list[object]) -> str:
        self.values.append(options)
        mine = f"K[{len(self.values) - 1}]"
        if all(isinstance(option, str) for option in options):
            return f"not isinstance(x, str) or x not in {mine}"
        return f"not any(same(x, option) for option in {mine})"

    def size(self, use: _Use) -> str:
        kind, breaks = _SIZES[use.word]
        return f"{_KINDS[kind]} and len(x) {breaks} {_number(use.value)}"

    def bound(self, use: _Use) -> str:
        strict = "=" if use.schema.get(f"exclusive{use.word.capitalize()}") is True else ""
        return f"{_KINDS['number']} and x {_BOUNDS[use.word]}{strict} {_number(use.value)}"

    def pattern(self, use: _Use) -> str:
        self.patterns.append(str(use.value))
        return f"isinstance(x, str) and not P[{len(self.patterns) - 1}].search(x)"

    def required(self, use: _Use) -> str:
        return f"isinstance(x, dict) and not all(name in x for name in {tuple(use.entries)!a})"

    def properties(self, use: _Use) -> str:
        checks = ", ".join(
            f"{name!a}: {self.function(f'{use.pointer}/{_escaped(name)}', schema)}"
            for name, schema in use.fields.items()
        )
        return (
            f"isinstance(x, dict) and "
            f"not all(check(x[name]) for name, check in {{{checks}}}.items() if name in x)"
        )

    def additional(self, use: _Use) -> str:
        known = use.schema.get("properties")
        names = tuple(known) if isinstance(known, dict) else ()
        check = self.function(use.pointer, use.value)
        return (
            f"isinstance(x, dict) and "
            f"not all(name in {names!a} or {check}(value) for name, value in x.items())"
        )

    def items(self, use: _Use) -> str:
        if isinstance(use.value, list):
            raise NotGenerated("a list of items is left to jsonschema")
        return f"isinstance(x, list) and not all(map({self.function(use.pointer, use.value)}, x))"

    def all_of(self, use: _Use) -> str:
        return f"not all(check(x) for check in ({self._each(use)}))"

    def any_of(self, use: _Use) -> str:
        return f"not any(check(x) for check in ({self._each(use)}))"

    def one_of(self, use: _Use) -> str:
        return f"sum(check(x) for check in ({self._each(use)})) != 1"

    def _each(self, use: _Use) -> str:
        return "".join(
            f"{self.function(f'{use.pointer}/{at}', schema)}, "
            for at, schema in enumerate(use.entries)
        )

    def negation(self, use: _Use) -> str:
        return f"{self.function(use.pointer, use.value)}(x)"

    def condition(self, use: _Use) -> str:
        beside = use.pointer.removesuffix("if")
        then, other = (
            f"{self.function(beside + word, use.schema[word])}(x)" if word in use.schema else "True"
            for word in ("then", "else")
        )
        return f"not ({then} if {self.function(use.pointer, use.value)}(x) else {other})"

    def reference(self, use: _Use) -> str:
        pointer = unquote(str(use.value))
        start, *steps = pointer.split("/")
        target = self.root
        for step in (step.replace("~1", "/").replace("~0", "~") for step in steps):
            target = target.get(step) if isinstance(target, dict) else None
        if start != "#" or target is None:
            raise NotGenerated("this kind of reference is left to jsonschema")
        return f"not {self.function(pointer, target)}(x)"


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotGenerated("a flag or a word in place of a number")
    return repr(value)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


_WRITERS: dict[str, Callable[[_Writer, _Use], str]] = {
    "type": _Writer.kind,
    "enum": _Writer.enum,
    "const": _Writer.const,
    **dict.fromkeys(_SIZES, _Writer.size),
    **dict.fromkeys(_BOUNDS, _Writer.bound),
    "pattern": _Writer.pattern,
    "required": _Writer.required,
    "properties": _Writer.properties,
    "additionalProperties": _Writer.additional,
    "items": _Writer.items,
    "allOf": _Writer.all_of,
    "anyOf": _Writer.any_of,
    "oneOf": _Writer.one_of,
    "not": _Writer.negation,
    "if": _Writer.condition,
    "$ref": _Writer.reference,
}
