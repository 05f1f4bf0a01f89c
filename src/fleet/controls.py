"""What was said about starting: pause, halt, resume. Nothing here stops a process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, rfc3339, wall_of

FLEET = "fleet"  # the scope of everybody; reserved, so no agent has this id


@dataclass(frozen=True, slots=True)
class Control:
    """What holds an agent back; each is "" or one line: who, since when, why."""

    paused: str = ""
    halted: str = ""


class Controls:
    """The documents `control/<agent>` and `control/fleet`: {"paused": note | null, "halted": …}.

    A note is `{by, at, reason}`; what people read of it is in `timezone`, the home's. An agent is
    held back by its own document and by the fleet's. `resumed` is the note of the last resume.
    """

    def __init__(self, store: Store, timezone: str = "UTC") -> None:
        self._store = store
        self._timezone = timezone

    def of(self, agent: str) -> Control:
        """What holds `agent` back now, its own word before the fleet's."""
        own, all_ = self._body(agent), self._body(FLEET)
        paused, halted = (
            note_line(own.get(word), self._timezone) or note_line(all_.get(word), self._timezone)
            for word in ("paused", "halted")
        )
        return Control(paused, halted)

    def resumed(self, agent: str) -> float:
        """When a person resumed `agent` by its name, epoch seconds; 0.0 when nobody did."""
        note = self._body(agent).get("resumed")
        return wall_of(str(note["at"])) if isinstance(note, dict) else 0.0

    def set(self, scope: str, word: str, *, by: str, reason: str) -> None:
        """Write the note `word` ("paused" or "halted") for an agent's id or `FLEET`."""
        note: Body = {"by": by, "at": rfc3339(self._store.now().wall), "reason": reason}
        self._change(scope, lambda _body: {word: note})

    def pause_failing(self, agent: str, *, run: str, began: float, reason: str) -> str:
        """Pause an agent that keeps failing, by fleet itself; whoever repeats it changes nothing.

        Args:
            agent: whom.
            run: its newest failure.
            began: when that began, epoch seconds: a person who resumed the agent since is obeyed.
            reason: one line.

        Returns:
            The run for which it is paused so, or "" when it is not.
        """

        def paused(body: Body) -> Body | None:
            resumed = body.get("resumed")
            since = wall_of(str(resumed["at"])) if isinstance(resumed, dict) else 0.0
            if body.get("paused") or began <= since <= self._store.now().wall:
                return None
            at = rfc3339(self._store.now().wall)
            return {"paused": {"by": FLEET, "at": at, "reason": reason, "run": run}}

        note = self._change(agent, paused).get("paused")
        return str(note.get("run") or "") if isinstance(note, dict) else ""

    def clear(self, scope: str, *, by: str) -> bool:
        """Take both notes back; False when there was none."""
        body = self._body(scope)
        note: Body = {"by": by, "at": rfc3339(self._store.now().wall)}
        self._change(scope, lambda _body: {"paused": None, "halted": None, "resumed": note})
        return bool(body.get("paused") or body.get("halted"))

    def _body(self, scope: str) -> Body:
        return self._store.get(f"control/{scope}")[0] or {}

    def _change(self, scope: str, change: Callable[[Body], Body | None]) -> Body:
        """Put what `change` answers over the document, by compare-and-set; as it stands then."""
        while True:
            body, version = self._store.get(f"control/{scope}")
            changed = change(body or {})
            if changed is None:
                return body or {}
            whole = {**(body or {}), **changed}
            try:
                self._store.put(f"control/{scope}", whole, expect=version)
            except Conflict:
                continue
            return whole


def note_line(note: object, timezone: str) -> str:
    """One line of a note: who, since when, why; "" of none."""
    if not isinstance(note, dict):
        return ""
    reason = f": {note['reason']}" if note.get("reason") else ""
    return f"by {note.get('by')} at {local(note.get('at'), timezone)}{reason}"


def local(at: object, timezone: str) -> str:
    """An RFC 3339 moment as people of `timezone` read it."""
    from zoneinfo import ZoneInfo  # nothing is held back most of the time

    return f"{datetime.fromisoformat(str(at)).astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M}"
