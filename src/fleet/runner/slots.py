"""The agents' due slots as documents and records: noticed, taken by one, settled with a reason.

`schedule/<agent>` holds the watermark and the open slots and changes by compare-and-set; a settled
slot is one record in the log `fires`. Which slots are due is `schedules`' business, what becomes of
them is `decide`'s.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from fleet import schedules
from fleet.alerts import raise_alert
from fleet.config.model import Agent
from fleet.errors import Conflict
from fleet.logs import between
from fleet.ports import Store
from fleet.records import Body, Draft, Record, Sieve
from fleet.runner.state import WAKE, Decision, Slot
from fleet.status import FIRES
from fleet.units import counted

MOST = 500  # due slots noticed at once; older ones of a long downtime share one record
PAGE = 500  # documents listed at once
AHEAD = timedelta(hours=1)  # a watermark further ahead was written by a clock that was wrong


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

    def known(self) -> Iterator[str]:
        """Every agent that ever had a slot, also one that no file names any more."""
        after = ""
        while names := self._store.keys("schedule/", after, PAGE):
            yield from (name.removeprefix("schedule/") for name in names)
            after = names[-1]

    def notice(self, agent: Agent, zone: ZoneInfo, now: datetime) -> list[Slot]:
        """Move the watermark to `now`, open the slots that came due, and return all open ones.

        An agent that is new, or whose schedule was edited, starts at `now`: what an older schedule
        did not say was never due. So does one whose watermark is more than `AHEAD` in the future,
        because the clock was set back: its slots come again, but for those that started a run.
        """
        schedule = repr(agent.schedule)
        while True:
            body, version = self._body(agent.id)
            mark = _moment(body.get("watermark")) if body.get("schedule") == schedule else None
            fresh: list[datetime] = []
            if mark is not None and mark - now > AHEAD:
                body |= self._set_back(agent.id, body, mark, now)
            elif mark is not None:
                fresh = self._due(agent, zone, mark, now)
                if not fresh:
                    return _slots(body)
            late = schedules.jitter(agent.id, agent.jitter)
            body = _opened(body, self._attempts(agent.id, body, fresh), late, now)
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

    def settle(self, agent: str, decisions: Sequence[Decision]) -> None:
        """Record why these slots did not start, then close them.

        Repeatable, as after a crash between record and document: the first record of a slot's
        attempt stands.
        """
        if not decisions:
            return
        self._store.append(
            FIRES, [_fire(agent, one.slot, one.result, one.detail) for one in decisions]
        )
        self._close(agent, [one.slot for one in decisions])

    def started(self, agent: str, slot: Slot, run: str) -> None:
        """Record that `run` started for this slot, then close it; repeatable like `settle`."""
        self._store.append(FIRES, [_fire(agent, slot, "started", "", run)])
        at = self._now().isoformat()

        def closed(body: Body) -> Body:
            wake = {"wake": _wake(body) | {"at": at}} if slot.is_wake else {}
            return body | wake | {"open": _without(_entries(body), [slot])}

        self._update(agent, closed)

    def arrive(self, agent: str, now: datetime) -> None:
        """A runner that starts sees the slots of an earlier one now: `catch_up` counts for them."""

        def noticed(entries: list[Body]) -> list[Body] | None:
            slots = zip(entries, _slots({"open": entries}), strict=True)
            changed = [
                entry | {"noticed": now.isoformat()}
                if not slot.run and not slot.is_wake and slot.came_due <= now
                else entry
                for entry, slot in slots
            ]
            return None if changed == entries else changed

        self._change(agent, noticed)

    def hold(self, agent: str, slot: Slot, until: datetime) -> None:
        """Note until when the slot is deferred: what keeps it from starting is no lateness."""
        self._edit(agent, slot, lambda entry: entry | {"held": until.isoformat()})

    def deferred(self, decision: Decision) -> None:
        """Record, once for each reason, why a slot waits; it stays open."""
        slot, result = decision.slot, decision.result
        body = _body_of(decision.agent, slot, "deferred", result, decision.detail)
        body["until"] = decision.until.isoformat() if decision.until else None
        key = f"{decision.agent}/{slot.name}/{slot.attempt}/{result}"
        same = ("agent", "slot", "attempt", "result")
        self._store.append(FIRES, [Draft(body, key=key, same=same)])

    def open_retry(self, agent: str, name: str, attempt: int, due: datetime) -> bool:
        """Open `attempt` of the slot `name`, due then; False when that was done before.

        What is noted is the newest retry of the agent, so it is about its last run only.
        """
        mark: Body = {"slot": name, "attempt": attempt}

        def opened(body: Body) -> Body | None:
            if body.get("retry") == mark:
                return None
            return _with_slot(body, name, attempt, due, due) | {"retry": mark}

        return self._update(agent, opened)

    # Wakes ---------------------------------------------------------------------------------------

    def begin_wakes(self, agent: str, seq: int) -> None:
        """Let no event up to number `seq` wake an agent that was never woken by any."""
        self._update(agent, lambda body: None if "wake" in body else body | {"wake": {"seen": seq}})

    def open_wake(self, agent: str, seq: int, cooldown: float, now: datetime) -> bool:
        """Open `wake:<seq>`, due now or `cooldown` seconds after a wake last started.

        False when the agent has an open wake already, which stands for this event too, or when
        one was opened for it or for a later event before.
        """

        def opened(body: Body) -> Body | None:
            wake = _wake(body)
            if _has_wake(body) or seq <= cast("int", wake["seen"]):
                return None
            wait, last = timedelta(seconds=cooldown), _moment(wake.get("at"))
            due = min(max(now, last + wait), now + wait) if last else now  # a clock may be set back
            seen: Body = {"wake": wake | {"seen": seq}}
            return _with_slot(body | seen, f"{WAKE}{seq}", 1, due, now)

        return self._update(agent, opened)

    def was_woken(self, agent: str) -> bool:
        """Whether a wake was opened for the agent before and none is open now."""
        body, _ = self._body(agent)
        return bool(_wake(body).get("slot")) and not _has_wake(body)

    def wake_again(self, agent: str, due: datetime, now: datetime) -> bool:
        """Open the next attempt of the agent's last wake; False without one, or when it is open."""

        def opened(body: Body) -> Body | None:
            wake = _wake(body)
            if not wake.get("slot") or _has_wake(body):
                return None
            attempt = cast("int", wake["attempt"]) + 1
            return _with_slot(body, str(wake["slot"]), attempt, max(due, now), now)

        return self._update(agent, opened)

    def by_hand(self, agent: str, name: str, run: str) -> None:
        """Record the fire of a run that a person asked for."""
        now = self._now()
        self._store.append(FIRES, [_fire(agent, Slot(name, now, now), "started", "by hand", run)])

    def refused_by_hand(self, decision: Decision) -> None:
        """Record why a run that a person asked for did not start."""
        one = decision
        self._store.append(FIRES, [_fire(one.agent, one.slot, one.result, one.detail)])

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
            ends = (dropped[0], dropped[-1])
            first, last = (f"{slot.astimezone(zone):%Y-%m-%d %H:%M}" for slot in ends)
            detail = f"{counted(len(dropped), 'slot')} from {first} to {last}: nobody was watching"
            slot = Slot(slot_name(dropped[-1]), dropped[-1], now)
            self._store.append(FIRES, [_fire(agent.id, slot, "missed", detail)])
        return due

    def _set_back(self, agent: str, body: Body, mark: datetime, now: datetime) -> Body:
        """Tell a person, and return what marks the slots up to `mark` as perhaps on record."""
        raise_alert(
            self._store,
            kind="clock",
            subject="fleet",
            what="the clock was set back by more than an hour while agents were woken by it",
            done="their schedules go on from now; no slot that started a run starts another",
            fix="see that the clock is right: fleet doctor",
            key=f"clock/{now.date()}/{now.hour}",
        )
        known = cast("Body", body.get("again") or {})
        until = max(mark, _moment(known.get("until")) or mark)
        ahead = [record.seq for record in self._fires(agent, 0) if _is_after(record, now)]
        after = min(ahead, default=self._store.head(FIRES) + 1) - 1
        return {"again": {"until": slot_name(until), "after": after}}

    def _attempts(
        self, agent: str, body: Body, fresh: Sequence[datetime]
    ) -> list[tuple[datetime, int]]:
        """Each slot with its attempt; those that started under a clock set back since are gone."""
        again = cast("Body", body.get("again") or {})
        until = _moment(again.get("until"))
        if not fresh or until is None or fresh[0] > until:
            return [(instant, 1) for instant in fresh]
        fires = [record.body for record in self._fires(agent, cast("int", again["after"]))]
        started = {fire["slot"] for fire in fires if fire["result"] == "started"}
        tried = {str(fire["slot"]): cast("int", fire["attempt"]) for fire in fires}
        return [
            (instant, tried.get(name, 0) + 1)
            for instant in fresh
            if (name := slot_name(instant)) not in started
        ]

    def _fires(self, agent: str, after: int) -> Iterator[Record]:
        """The agent's records behind number `after`."""
        mine = Sieve({"agent": frozenset({agent})})
        return between(self._store, FIRES, after, self._store.head(FIRES), sieve=mine)

    def _close(self, agent: str, slots: Sequence[Slot]) -> None:
        self._change(agent, lambda entries: _without(entries, slots))

    def _edit(self, agent: str, slot: Slot, change: Callable[[Body], Body | None]) -> bool:
        """Replace the slot's entry by `change(entry)`; None, or no such slot, changes nothing."""

        def edit(entries: list[Body]) -> list[Body] | None:
            at = next((i for i, entry in enumerate(entries) if _is(entry, slot)), None)
            changed = None if at is None else change(entries[at])
            if at is None or changed is None:
                return None
            return [*entries[:at], changed, *entries[at + 1 :]]

        return self._change(agent, edit)

    def _change(self, agent: str, change: Callable[[list[Body]], list[Body] | None]) -> bool:
        """Replace the open slots by compare-and-set; False when `change` answers None."""

        def changed(body: Body) -> Body | None:
            entries = change(_entries(body))
            return None if entries is None else body | {"open": entries}

        return self._update(agent, changed)

    def _update(self, agent: str, change: Callable[[Body], Body | None]) -> bool:
        """Replace the agent's document by compare-and-set; False when `change` answers None."""
        while True:
            body, version = self._body(agent)
            changed = change(body)
            if changed is None:
                return False
            try:
                self._store.put(f"schedule/{agent}", changed, expect=version)
            except Conflict:
                continue
            return True

    def _body(self, agent: str) -> tuple[Body, int]:
        body, version = self._store.get(f"schedule/{agent}")
        return body or {}, version

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._store.now().wall, UTC)


def _fire(agent: str, slot: Slot, result: str, detail: str, run: str = "") -> Draft:
    body = _body_of(agent, slot, "fire", result, detail) | {"run": run or None}
    key = f"{agent}/{slot.name}/{slot.attempt}"
    return Draft(body, key=key, same=("agent", "slot", "attempt"))


def _body_of(agent: str, slot: Slot, op: str, result: str, detail: str) -> Body:
    return {
        "op": op, "agent": agent, "slot": slot.name, "attempt": slot.attempt,
        "due": slot.due.isoformat(), "result": result, "detail": detail,
    }  # fmt: skip


def _entries(body: Body) -> list[Body]:
    return list(cast("list[Body]", body.get("open") or []))


def _without(entries: Sequence[Body], slots: Sequence[Slot]) -> list[Body]:
    gone = {(slot.name, slot.attempt) for slot in slots}
    return [entry for entry in entries if (entry["slot"], entry["attempt"]) not in gone]


def _wake(body: Body) -> Body:
    """What is noted of the agent's wakes, see state/README.md."""
    return {"seen": 0, **cast("Body", body.get("wake") or {})}


def _has_wake(body: Body) -> bool:
    """Whether a wake is open that no run took: one that a run took was told of older events."""
    return any(str(e["slot"]).startswith(WAKE) and not e["run"] for e in _entries(body))


def _with_slot(body: Body, name: str, attempt: int, due: datetime, noticed: datetime) -> Body:
    """`body` with one more open slot; of a wake it is noted as the agent's last one."""
    is_wake = name.startswith(WAKE)
    entry: Body = {
        "slot": name, "attempt": attempt, "due": due.isoformat(), "noticed": noticed.isoformat(),
        "run": "", "cause": f"events#{name.removeprefix(WAKE)}" if is_wake else "",
    }  # fmt: skip
    last = {"wake": _wake(body) | {"slot": name, "attempt": attempt}} if is_wake else {}
    return body | last | {"open": [*_entries(body), entry]}


def _is(entry: Body, slot: Slot) -> bool:
    return entry["slot"] == slot.name and entry["attempt"] == slot.attempt


def _moment(said: object) -> datetime | None:
    return datetime.fromisoformat(said) if isinstance(said, str) else None


def _is_after(fire: Record, now: datetime) -> bool:
    """Whether the record is about a scheduled slot later than `now`."""
    slot = str(fire.body["slot"])
    return slot[:1].isdigit() and datetime.fromisoformat(slot) > now


def _opened(
    body: Body, fresh: Sequence[tuple[datetime, int]], late: timedelta, now: datetime
) -> Body:
    added: list[Body] = [
        {
            "slot": slot_name(instant),
            "due": (instant + late).isoformat(),
            "noticed": now.isoformat(),
            "attempt": attempt,
            "run": "",
        }
        for instant, attempt in fresh
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
            str(entry.get("cause") or ""),
            _moment(entry.get("held")),
        )
        for entry in _entries(body)
    ]
