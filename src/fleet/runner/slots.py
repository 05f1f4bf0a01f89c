"""The agents' due slots as documents and records: noticed, taken by one, settled with a reason.

`schedule/<agent>` holds the watermark and the open slots and changes by compare-and-set; a settled
slot is one record in the log `fires`. Which slots are due is `schedules`' business, what becomes of
them is `decide`'s.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.config.model import Agent
from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, Draft, Record
from fleet.runner.decide import Decision, Slot

FIRES = "fires"
MOST = 500  # due slots noticed at once; older ones of a long downtime share one record


def slot_name(instant: datetime) -> str:
    """A slot's name: its nominal instant in UTC, exactly; the watermark is such a name."""
    return instant.astimezone(UTC).isoformat()


class Slots:
    """The schedule documents and the `fires` log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, agent: str) -> list[Slot]:
        """Slots that were noticed and are not settled, oldest first."""
        return _slots(self._body(agent)[0])

    def notice(self, agent: Agent, zone: ZoneInfo, now: datetime) -> list[Slot]:
        """Move the watermark to `now`, open the slots that came due, and return all open ones.

        An agent that is new, or whose schedule was edited, starts at `now`: what an older schedule
        did not say was never due.
        """
        schedule = repr(agent.schedule)
        while True:
            body, version = self._body(agent.id)
            mark = body.get("watermark") if body.get("schedule") == schedule else None
            if mark is None:
                fresh: list[datetime] = []
            else:
                fresh = self._due(agent, zone, datetime.fromisoformat(str(mark)), now)
                if not fresh:
                    return _slots(body)
            body = _opened(body, fresh, schedules.jitter(agent.id, agent.jitter), now)
            body |= {"schedule": schedule, "watermark": slot_name(fresh[-1] if fresh else now)}
            try:
                self._store.put(f"schedule/{agent.id}", body, expect=version)
            except Conflict:
                continue
            return _slots(body)

    def take(self, agent: str, slot: Slot, run: str) -> bool:
        """Give the slot to `run`; False when it is gone or another run took it: one winner."""
        return self._edit(agent, slot, lambda entry: None if entry["run"] else entry | {"run": run})

    def give_back(self, agent: str, slot: Slot) -> None:
        """Take the slot from a run that never started."""
        self._edit(agent, slot, lambda entry: entry | {"run": ""})

    def settle(self, agent: str, decision: Decision, *, run: str = "") -> str:
        """Record what became of a slot, then close it; returns the result that is on record.

        Repeatable: the first record of a slot's attempt stands.
        """
        slot = decision.slot
        result = "started" if run else decision.result
        record = self._fire(agent, slot.name, slot.attempt, slot.due, result, decision.detail, run)
        self._edit(agent, slot, lambda _entry: {})
        return str(record.body["result"])

    def by_hand(self, agent: str, slot: str, run: str) -> None:
        """Record the fire of a run that a person asked for."""
        now = datetime.fromtimestamp(self._store.now().wall, UTC)
        self._fire(agent, slot, 1, now, "started", "by hand", run)

    def _due(self, agent: Agent, zone: ZoneInfo, after: datetime, now: datetime) -> list[datetime]:
        due: list[datetime] = []
        dropped: list[datetime] = []
        limit = now - schedules.jitter(agent.id, agent.jitter)
        for instant in schedules.slots(agent.schedule, after, zone):
            if instant > limit:
                break
            due.append(instant)
            if len(due) > MOST:
                dropped.append(due.pop(0))
        if dropped:
            first, last = slot_name(dropped[0]), slot_name(dropped[-1])
            detail = f"{len(dropped)} slots from {first} to {last}: nobody was watching"
            self._fire(agent.id, last, 1, dropped[-1], "missed", detail, "")
        return due

    def _fire(  # noqa: PLR0917 - the fields of the record
        self, agent: str, slot: str, attempt: int, due: datetime, result: str, detail: str, run: str
    ) -> Record:
        body: Body = {
            "op": "fire", "agent": agent, "slot": slot, "attempt": attempt,
            "due": due.isoformat(), "result": result, "detail": detail, "run": run or None,
        }  # fmt: skip
        draft = Draft(body, key=f"{agent}/{slot}/{attempt}", same=("agent", "slot", "attempt"))
        return self._store.append(FIRES, [draft])[0]

    def _edit(self, agent: str, slot: Slot, change: Callable[[Body], Body | None]) -> bool:
        """Replace the slot's entry by `change(entry)`: {} removes it, None leaves it and fails."""
        while True:
            body, version = self._body(agent)
            entries = _entries(body)
            at = next((i for i, e in enumerate(entries) if _is(e, slot)), None)
            if at is None:
                return False
            changed = change(entries[at])
            if changed is None:
                return False
            entries[at : at + 1] = [changed] if changed else []
            try:
                self._store.put(f"schedule/{agent}", body | {"open": entries}, expect=version)
            except Conflict:
                continue
            return True

    def _body(self, agent: str) -> tuple[Body, int]:
        body, version = self._store.get(f"schedule/{agent}")
        return body or {}, version


def _entries(body: Body) -> list[Body]:
    return list(cast("list[Body]", body.get("open") or []))


def _is(entry: Body, slot: Slot) -> bool:
    return entry["slot"] == slot.name and entry["attempt"] == slot.attempt


def _opened(body: Body, fresh: Sequence[datetime], late: timedelta, now: datetime) -> Body:
    added: list[Body] = [
        {
            "slot": slot_name(instant),
            "due": (instant + late).isoformat(),
            "noticed": now.isoformat(),
            "attempt": 1,
            "run": "",
        }
        for instant in fresh
    ]
    return body | {"open": [*_entries(body), *added]}


def _slots(body: Body) -> list[Slot]:
    return [
        Slot(
            str(entry["slot"]),
            datetime.fromisoformat(str(entry["due"])),
            datetime.fromisoformat(str(entry["noticed"])),
            int(cast("int", entry["attempt"])),
            str(entry["run"]),
        )
        for entry in _entries(body)
    ]
