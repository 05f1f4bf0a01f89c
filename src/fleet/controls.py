"""What a person has said about starting: pause, halt, resume. Nothing here stops a process."""

from dataclasses import dataclass
from datetime import datetime

from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, rfc3339

FLEET = "fleet"  # the scope of everybody; reserved, so no agent has this id


@dataclass(frozen=True, slots=True)
class Control:
    """What holds an agent back; each is "" or one line: who, since when, why."""

    paused: str = ""
    halted: str = ""


class Controls:
    """The documents `control/<agent>` and `control/fleet`: {"paused": note | null, "halted": …}.

    A note is `{by, at, reason}`; what people read of it is in `timezone`, the home's. An agent is
    held back by its own document and by the fleet's.
    """

    def __init__(self, store: Store, timezone: str = "UTC") -> None:
        self._store = store
        self._timezone = timezone

    def of(self, agent: str) -> Control:
        """What holds `agent` back now, its own word before the fleet's."""
        own, all_ = self._body(agent), self._body(FLEET)
        return Control(
            paused=self._line(own.get("paused")) or self._line(all_.get("paused")),
            halted=self._line(own.get("halted")) or self._line(all_.get("halted")),
        )

    def set(self, scope: str, word: str, *, by: str, reason: str) -> None:
        """Write the note `word` ("paused" or "halted") for an agent's id or `FLEET`."""
        note: Body = {"by": by, "at": rfc3339(self._store.now().wall), "reason": reason}
        self._change(scope, {word: note})

    def clear(self, scope: str) -> bool:
        """Take both notes back; False when there was none."""
        body = self._body(scope)
        if not body.get("paused") and not body.get("halted"):
            return False
        self._change(scope, {"paused": None, "halted": None})
        return True

    def _body(self, scope: str) -> Body:
        return self._store.get(f"control/{scope}")[0] or {}

    def _change(self, scope: str, notes: Body) -> None:
        while True:
            body, version = self._store.get(f"control/{scope}")
            try:
                self._store.put(f"control/{scope}", {**(body or {}), **notes}, expect=version)
            except Conflict:
                continue
            return

    def _line(self, note: object) -> str:
        if not isinstance(note, dict):
            return ""
        from zoneinfo import ZoneInfo  # nothing is held back most of the time

        at = datetime.fromisoformat(str(note.get("at"))).astimezone(ZoneInfo(self._timezone))
        reason = f": {note['reason']}" if note.get("reason") else ""
        return f"by {note.get('by')} at {at:%Y-%m-%d %H:%M}{reason}"
