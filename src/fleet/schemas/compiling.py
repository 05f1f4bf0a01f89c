"""From a schema's bytes to the entry that the cache keeps; only a changed file comes here."""

from fleet.errors import BadHome
from fleet.schemas.agreed import code_of
from fleet.schemas.check import examine, types_of
from fleet.schemas.compiled import Entry, EventType
from fleet.schemas.faults import draft_of
from fleet.schemas.files import Print


def compile_type(name: str, data: bytes, seen: Print, *, young: bool) -> Entry:
    """The event type `name` whose file holds `data`.

    Raises:
        BadHome: the file has errors; all of them are in its findings.
    """
    schema, findings = examine(name, data)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise BadHome(f"{errors[0]}{more}", "fleet check shows all", findings)
    draft, validator = draft_of(schema)
    code = code_of(name, schema, draft=draft, applied=validator.VALIDATORS)
    return Entry(seen, young, _type(name, schema, data.decode()), code)


def _type(name: str, schema: dict[str, object], text: str) -> EventType:
    required, properties = schema.get("required"), schema.get("properties")
    return EventType(
        name=name,
        description=str(schema.get("description", "")),
        required=tuple(map(str, required)) if isinstance(required, list) else (),
        properties={field: "|".join(types_of(sub)) for field, sub in properties.items()}
        if isinstance(properties, dict)
        else {},
        x_claim=_text(schema.get("x-claim")),
        x_to=_text(schema.get("x-to")),
        x_subject=_text(schema.get("x-subject")),
        text=text,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
