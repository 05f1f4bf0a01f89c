"""One event type as the cache keeps it: what emit needs, in a form that needs no library.

An entry is a mark (fleet's and the interpreter's version: code of another interpreter is never
loaded) and a marshalled tuple. Whoever loads one has made sure that the file is its owner's own.
"""

import marshal
import sys
from types import CodeType
from typing import Any, NamedTuple

from fleet import __version__
from fleet.schemas.files import Print

MARK = f"fleet-type 3 {__version__} {sys.implementation.cache_tag} {sys.hexversion}\n".encode()


class Misfit(Exception):
    """A payload is refused by generated code."""


_NAMES = {  # what generated code would import: fastjsonschema's start costs 2.7 of Python's own
    "JsonSchemaValueException": Misfit,
    "JsonSchemaValuesException": Misfit,
    "Decimal": float,  # no payload holds one
}


class EventType(NamedTuple):
    """A kind of event, as its file in `schemas/` says.

    Attributes:
        name: the file's name without `.json`.
        description: for people and agents, "" without one.
        required: the fields every payload has.
        properties: field → its JSON type, several joined by `|`, "" when it may be anything.
        x_claim: template of the claim that emitting needs, like `lead:{email}`, or None.
        x_to: template of the agent it is addressed to, like `{assignedTo}`, or None.
        x_subject: template of what it announces, like `{draftId}`, or None.
        text: the file's own text.
        warning: "" or one line: the file is broken now and this is its last good form.
    """

    name: str
    description: str
    required: tuple[str, ...]
    properties: dict[str, str]
    x_claim: str | None
    x_to: str | None
    x_subject: str | None
    text: str
    warning: str = ""

    @property
    def source(self) -> dict[str, object]:
        """The schema itself, parsed anew each time."""
        from fleet.strictjson import loads

        schema = loads(self.text)
        return schema if isinstance(schema, dict) else {}


class Entry(NamedTuple):
    """A compiled event type.

    Attributes:
        seen: the print of the file it was made from.
        young: the file was so new that its print alone does not prove it unchanged.
        type: what it says.
        code: the generated validator, or None where jsonschema validates.
    """

    seen: Print
    young: bool
    type: EventType
    code: CodeType | None

    def fits(self, payload: object) -> bool:
        """Whether the generated validator accepts; False where there is none."""
        if self.code is None:
            return False
        names: dict[str, Any] = dict(_NAMES)
        exec(self.code, names)  # noqa: S102 - `agreed` had it generated
        try:
            names["validate"](payload)
        except (Misfit, RecursionError):
            return False
        return True


def encode(entry: Entry) -> bytes:
    """The bytes that `decode` understands."""
    kind = entry.type
    fields = (kind.name, kind.description, kind.required, kind.properties)
    more = (kind.x_claim, kind.x_to, kind.x_subject, kind.text)
    parts: Any = (entry.seen, entry.young, fields + more, entry.code)
    return MARK + marshal.dumps(parts)


def decode(data: bytes | None) -> Entry | None:
    """The entry in `data`; None without one, or when another version wrote it."""
    if data is None or not data.startswith(MARK):
        return None
    try:
        seen, young, fields, code = marshal.loads(data[len(MARK) :])  # noqa: S302
        return Entry(seen, young, EventType(*fields), code)
    except (EOFError, TypeError, ValueError):
        return None
