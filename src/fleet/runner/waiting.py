"""The open slots that the running process knows, and which of them are worth a look now.

What they are is in the schedule documents; this remembers, so that a look costs what may change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from fleet.config.model import HomeConfig
from fleet.runner.decide import PASSED_OVER, RANK, oldest
from fleet.runner.situation import NO_MEMO, Memo
from fleet.runner.state import START, Decision, Slot

RECHECK = timedelta(seconds=5)  # what waits is looked at so often: a person may free it
AT_HAND = 16  # agents beyond the free places that are looked at while places are scarce


class Waiting:
    """Open slots by agent, what is known about each agent beside them, and who rests."""

    def __init__(self) -> None:
        self.slots: dict[str, list[Slot]] = {}
        self.memos: dict[str, Memo] = {}
        self._rests: dict[str, datetime] = {}
        self._until: dict[str, datetime] = {}

    def clear(self) -> None:
        """Know nothing, as at the start; what was said of each agent stays."""
        self.slots.clear()
        self._rests.clear()
        self._until.clear()

    def keep(self, agent: str, slots: Sequence[Slot]) -> None:
        """These are the agent's open slots now."""
        if list(slots) != self.slots.get(agent, []):
            self._wake_up(agent)
        if slots:
            self.slots[agent] = list(slots)
        else:
            self.slots.pop(agent, None)

    def drop(self, agent: str, slot: Slot) -> None:
        """The slot is closed."""
        same = (slot.name, slot.attempt)
        self.memos.pop(agent, None)
        left = [one for one in self.slots.get(agent, ()) if (one.name, one.attempt) != same]
        self.keep(agent, left)

    def mark(self, agent: str, slot: Slot, *, run: str) -> None:
        """The slot was taken by `run`, or is free again."""
        some = self.slots.get(agent, ())
        self.keep(agent, [replace(one, run=run) if one == slot else one for one in some])

    def hold(self, agent: str, slot: Slot, until: datetime) -> None:
        """The slot is deferred until then."""
        some = self.slots.get(agent, ())
        self.slots[agent] = [replace(one, held=until) if one == slot else one for one in some]

    def learn(self, agent: str, *, gate: str | None) -> None:
        """The agent's gate has answered; with None it is to be asked again."""
        self.memos[agent] = replace(self.memos.get(agent, NO_MEMO), gate=gate)

    def go_on(self, agent: str, memo: Memo | None, oldest: datetime, now: datetime) -> None:
        """Slots of the agent were closed, the oldest due at `oldest`: a newer one keeps its turn.

        Where none is left that is due, there is nothing to keep.
        """
        if any(slot.due <= now for slot in self.slots.get(agent, ())):
            known = memo or NO_MEMO
            since = min(known.since or oldest, oldest)
            self.memos[agent] = Memo(passed_over=known.passed_over, since=since)

    def at_hand(
        self, config: HomeConfig, now: datetime, free: int, *, all_of_them: bool
    ) -> dict[str, list[Slot]]:
        """The slots to decide about now, by agent; those that a run took are left out.

        Who waits until a known time rests until then. While more agents wait than there are free
        places, those whose turn it is are looked at, and those who have waited longest.
        """
        ready = {
            name: open_
            for name, some in self.slots.items()
            if (all_of_them or self._rests.get(name, now) <= now)
            and (open_ := [slot for slot in some if not slot.run])
        }
        most = free + AT_HAND
        if all_of_them or len(ready) <= 2 * most:
            return ready
        memos = {name: self.memos.get(name, NO_MEMO) for name in ready}
        first = {name: oldest(some, memos[name].since) for name, some in ready.items()}

        def turn(name: str) -> tuple[int, datetime, str]:
            agent = config.agents.get(name)
            rank = RANK[agent.priority] if agent else 0
            return PASSED_OVER if memos[name].passed_over else rank, first[name], name

        chosen = {*sorted(ready, key=turn)[:most], *sorted(ready, key=first.__getitem__)[:most]}
        return {name: ready[name] for name in chosen}

    def settle_down(self, decisions: Iterable[Decision], now: datetime) -> None:
        """Let those rest of whom every slot waits for a known time; count who was passed over."""
        rests: dict[str, datetime] = {}
        awake: set[str] = set()
        for one in decisions:
            if one.until is None or one.closes or one.result == START:
                awake.add(one.agent)
            else:
                rests[one.agent] = min(one.until, rests.get(one.agent, one.until))
            if one.passed_over:
                memo = self.memos.get(one.agent, NO_MEMO)
                self.memos[one.agent] = replace(memo, passed_over=memo.passed_over + 1)
        for name in awake:
            self._wake_up(name)
        self._until |= rests
        for name in rests.keys() - awake:
            self._rests[name] = min(rests[name], now + RECHECK)

    def next_moment(self) -> datetime | None:
        """When the first of those who wait may be decided otherwise, as far as that is known."""
        return min(self._until.values(), default=None)

    def _wake_up(self, agent: str) -> None:
        self._rests.pop(agent, None)
        self._until.pop(agent, None)
