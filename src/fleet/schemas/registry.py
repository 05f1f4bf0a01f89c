"""The event types of one home as bus and people ask for them; files are read, never written.

A type whose file is broken keeps its last good form from the cache, with a warning; the others
are not touched by it.
"""

from collections.abc import Mapping
from pathlib import Path

from fleet.errors import BadHome, Finding, Rejected, Unknown
from fleet.places import safe_name
from fleet.ports import Cache
from fleet.records import MAX_KEY, Body
from fleet.schemas import files
from fleet.schemas.compiled import Entry, EventType, decode, encode
from fleet.schemas.own import OWN, own_entry


class Registry:
    """The event types in `root/schemas`, compiled into `cache`, and those of fleet's own."""

    def __init__(self, root: Path, cache: Cache) -> None:
        self._root = root
        self._cache = cache
        self._entries: dict[str, Entry] = {}
        self._faults: dict[str, str] = {}  # by type, of the files that were looked at

    def names(self) -> list[str]:
        """Every type that has a file, sorted."""
        return files.names(self._root)

    @property
    def warning(self) -> str:
        """One line about the broken files among those looked at so far, "" without any."""
        more = f" (and {len(self._faults) - 1} more: fleet check)" if len(self._faults) > 1 else ""
        return min(self._faults.values(), default="") + more

    def look(self) -> str:
        """`warning`, after a look at every file."""
        self.sound()
        return self.warning

    def sound(self) -> list[EventType]:
        """Every type there can be, by name: of sound files, last good forms; fleet's own last."""
        found: list[EventType] = []
        for name in self.names():
            try:
                found.append(self._entry(name).type)
            except BadHome:
                continue  # `warning` says it
        return [*found, *(own_entry(name).type for name in OWN)]

    def get(self, name: str) -> EventType:
        """The type `name`; its `warning` is set when its file is broken now.

        Raises:
            Unknown: there is no such file; the nearest name is suggested.
            BadHome: the file is broken and no good form of it is known.
        """
        return self._entry(name).type

    def check(self, name: str, payload: object) -> list[str]:
        """Why `payload` does not fit type `name`, one line each; [] when it does.

        The payload is never changed. Raises as `get`.
        """
        entry = self._entry(name)
        if entry.fits(payload):
            return []
        if not isinstance(payload, dict):
            return ["the payload is no JSON object"]
        from fleet.schemas.faults import payload_faults

        return payload_faults(entry.type.source, payload)

    def claim_key(self, name: str, payload: Body) -> str | None:
        """The claim that emitting this needs, None when the type asks for none.

        Raises:
            Rejected: a field that the key is made of is missing. Otherwise as `get`.
        """
        template = self.get(name).x_claim
        if not template:
            return None
        from fleet.schemas.templates import fill

        return fill(template, payload)

    def addressee(self, name: str, payload: Body) -> str | None:
        """The agent that the payload names as addressee, None for a broadcast.

        Raises:
            Rejected: the field holds something else than a text. Otherwise as `get`.
        """
        template = self.get(name).x_to
        field = template.strip("{}") if template else ""
        found = payload.get(field)
        if not field or found is None:
            return None
        if not isinstance(found, str) or not found:
            raise Rejected(f"{field}: {found!r} is no agent's name", f"give {field}=AGENT")
        return found

    def subject(self, name: str, payload: Body) -> str | None:
        """What the event announces: later measurements may be of it. None for nothing.

        An event that leaves out a field of `x-subject` announces nothing.

        Raises:
            Rejected: the name is too long to be measured by. Otherwise as `get`.
        """
        template = self.get(name).x_subject
        if not template:
            return None
        from fleet.schemas.templates import fields_of, fill

        if any(payload.get(field) in {None, ""} for field in fields_of(template)):
            return None
        subject = fill(template, payload)
        if len(subject.encode()) > MAX_KEY:
            raise Rejected(f"x-subject: over {MAX_KEY} bytes: '{template}'", "shorten the field")
        return subject

    def coerce(self, name: str, texts: Mapping[str, str]) -> Body:
        """A payload from KEY=VALUE words: text stays text unless the schema says otherwise.

        A value that is not what the schema asks for stays text: `check` names it. Raises as `get`.
        """
        properties = self.get(name).properties
        return {key: _valued(text, properties.get(key, "")) for key, text in texts.items()}

    def check_files(self) -> list[Finding]:
        """Every fault and remark on the files in `schemas/`."""
        from fleet.schemas.check import check_files

        return check_files(self._root)

    def _entry(self, name: str) -> Entry:
        if name in OWN:
            return own_entry(name)
        path = files.path_of(self._root, name) if safe_name(name) else None
        seen = files.print_of(path) if path else None
        if path is None or seen is None:
            raise self._unknown(name)
        known = self._entries.get(name) or decode(self._cache.load(_cached(name)))
        if known is None or known.seen != seen or known.young:
            known = self._looked_at(name, path, seen, known)
        self._entries[name] = known
        return known

    def _looked_at(self, name: str, path: Path, seen: files.Print, known: Entry | None) -> Entry:
        """The entry for the file's present bytes, or `known` when they are broken."""
        try:
            data = files.read(path)
            young = files.is_young(seen)
            if known is not None and data == known.type.text.encode():
                kind = known.type._replace(warning="")
                fresh = known._replace(seen=seen, young=young, type=kind)
            else:
                from fleet.schemas.compiling import compile_type

                fresh = compile_type(name, data, seen, young=young)
        except BadHome as fault:
            if known is None:
                self._faults[name] = f"no {name} can be emitted: {fault.what}"
                raise
            warning = f"the last good form of {name} is in force: {fault.what}"
            self._faults[name] = warning
            return known._replace(young=True, type=known.type._replace(warning=warning))
        self._faults.pop(name, None)
        if known is None or (known.seen, known.young) != (seen, young):
            self._cache.save(_cached(name), encode(fresh))
        return fresh

    def _unknown(self, name: str) -> Unknown:
        from fleet.text import clip, suggest

        near = suggest(name, self.names())
        return Unknown(
            f"there is no event type {clip(name, 80)!r}", near or "fleet schema list shows them"
        )


def _cached(name: str) -> str:
    return f"schema/{name}"


def _valued(text: str, kinds: str) -> object:
    if not kinds or "string" in kinds.split("|"):
        return text
    from fleet.strictjson import loads

    try:
        return loads(text)
    except Rejected:
        return text
