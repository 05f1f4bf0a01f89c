"""The event types of fleet's own: what it tells one agent itself, whatever its interests are.

No file is called so, and nobody emits one: an answer and a reminder make them. Data only.
"""

from fleet.schemas.compiled import Entry, EventType

ANSWERED, REMINDED = "question-answered", "reminder-due"
OWN = {ANSWERED: "fleet answer REF OPTION makes one", REMINDED: "fleet remind 3d 'TEXT' makes one"}
"""By type, what whoever wanted to emit one can do."""

_SAYS = {
    ANSWERED: ("A person answered your question", ("question", "text", "answer", "note")),
    REMINDED: ("A note to yourself is due", ("text", "noted")),
}
_MAY_LACK = frozenset({"note", "noted"})


def own_entry(name: str) -> Entry:
    """The type `name`, one of `OWN`, as the registry holds those that have files."""
    from fleet.strictjson import dumps

    description, fields = _SAYS[name]
    required = tuple(field for field in fields if field not in _MAY_LACK)
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": name,
        "description": description,
        "type": "object",
        "required": list(required),
        "properties": {field: {"type": "string"} for field in fields},
    }
    kinds = dict.fromkeys(fields, "string")
    kind = EventType(name, description, required, kinds, None, None, None, dumps(schema))
    return Entry((0, 0, 0, 0), young=False, type=kind, code=None)
