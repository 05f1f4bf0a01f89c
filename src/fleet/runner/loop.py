"""`fleet up`: one process that wakes agents when they are due, until it is told to stop.

APScheduler rings the bell; what is due is read from the watermarks, so a bell that never rang
loses nothing. A pass does three things: settle what ended, decide what is due, launch what may.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.schedulers.background import BackgroundScheduler

from fleet.alerts import raise_alert
from fleet.config.model import Agent
from fleet.errors import Held, NotStarted, TryAgain, Unknown
from fleet.places import NEXT_DUE
from fleet.records import new_id
from fleet.runner import launch, lead, settle
from fleet.runner.decide import START, Decision, Situation, Slot, decide, summed
from fleet.runner.live import Live, is_over, stop_keeper
from fleet.runner.slots import Slots
from fleet.runner.trigger import SlotTrigger
from fleet.runner.warm import Warmer
from fleet.status import LOW_DISK_FIX, low_disk, next_due
from fleet.units import counted
from fleet.wiring import Fleet, open_fleet

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

QUIET_WAIT = 1.0  # seconds between two looks when nothing runs
BUSY_WAIT = 0.2  # and while something does: keepers of an earlier runner send no SIGCHLD
RELOAD_EVERY = 2.0  # seconds between two looks at the operator's files
ADOPT_EVERY = 5.0  # seconds between two looks for runs that somebody else started
STEP_BACK = timedelta(minutes=1)  # a clock that goes back so far was set, and due times are stale
RANK = {"high": 0, "normal": 1, "low": 2}


def up(
    root: Path,
    *,
    env: Mapping[str, str],
    echo: Callable[[str], None],
    until: Callable[[], bool] = lambda: False,
    take_over: bool = False,
) -> int:
    """Lead the home at `root` until SIGTERM, SIGINT or `fleet stop`; returns the exit code.

    Args:
        root: the home.
        env: the runner's own environment, from which runs get their allow-list.
        echo: takes one line for the person who watches.
        until: asked at every pass; True drains: nothing new starts, what runs may end.
        take_over: make this copy of a home the one whose agents run.

    Raises:
        Held: another runner leads, or this is a copy of a home that runs elsewhere; it is named.
        BadHome: the operator's files have errors.
    """
    fleet = open_fleet(root, env=env, strict=True)
    fleet.require_types()
    with fleet.leading():
        if taken := lead.settle_in(fleet, take_over=take_over):
            echo(taken)
        runner = Runner(fleet, echo, until)
        lead.announce(fleet.store)
        try:
            runner.run()
        finally:
            lead.retire(fleet.store)
    return 0


class Runner:
    """The state of one `up`: what runs, what waits, and when each agent is due next."""

    def __init__(
        self, fleet: Fleet, echo: Callable[[str], None], until: Callable[[], bool]
    ) -> None:
        self._fleet = fleet
        self._echo = echo
        self._until = until
        self._running: dict[str, Live] = {}  # by agent
        self._waiting: set[str] = set()  # agents with open slots
        self._due: dict[str, datetime | None] = {}
        self._published: dict[str, datetime | None] = {}
        self._stopping = False
        self._draining = False
        self._bell, self._ring_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._clock = BackgroundScheduler(timezone=UTC)
        self._said = self._warned = ""
        self._next_reload = 0.0
        self._next_adopt = 0.0
        self._newest = self._now()
        self._warmer = Warmer()

    def run(self) -> None:
        """Pass after pass until told to stop and nothing of ours is left."""
        old = self._listen()
        self._clock.start()
        try:
            self._schedule_all()
            self._echo(self._greeting())
            while True:
                if not self._stopping and self._until():
                    self._drain()
                last = self._stopping
                self._pass()
                if last and all(is_over(self._fleet, live) for live in self._running.values()):
                    with suppress(TryAgain):  # what a full disk refuses the next start records
                        self._reap()
                    return
                self._wait()
        finally:
            self._clock.shutdown(wait=False)
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(-1)
            os.close(self._bell)
            os.close(self._ring_end)

    # Being told -----------------------------------------------------------------------------

    def _listen(self) -> dict[signal.Signals, _Handler]:
        signal.set_wakeup_fd(self._ring_end, warn_on_full_buffer=False)
        handlers = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGUSR1: self._drain,
            signal.SIGCHLD: lambda *_: None,  # only to wake the loop
        }
        return {number: signal.signal(number, handler) for number, handler in handlers.items()}

    def _stop(self, *_: object) -> None:
        self._stopping, self._draining = True, False

    def _drain(self, *_: object) -> None:
        self._stopping, self._draining = True, True

    def _ring(self) -> None:
        with suppress(BlockingIOError):  # the bell rings already
            os.write(self._ring_end, b"!")

    def _wait(self) -> None:
        pause = BUSY_WAIT if self._running else QUIET_WAIT
        if select.select([self._bell], [], [], pause)[0]:
            os.read(self._bell, 4096)

    # One pass -------------------------------------------------------------------------------

    def _pass(self) -> None:
        if self._stopping and not self._draining:
            self._stop_all()
        try:
            self._reload()
            self._adopt()
            self._reap()
            self._settle_and_launch()
            self._warmer.look(self._fleet)
        except TryAgain as fault:
            # A full disk or a held lock: nothing was lost, the next pass tries again.
            self._say(f"this pass could not finish: {fault}")
        else:
            self._said = ""

    def _reload(self) -> None:
        if time.monotonic() < self._next_reload:
            return
        self._next_reload = time.monotonic() + RELOAD_EVERY
        fresh = self._fleet.reopened()
        before, after = self._fleet.config, fresh.config
        warned, self._warned = self._warned, fresh.looked_over()
        if self._warned and self._warned != warned:
            self._say(f"the home has errors, the last good config goes on: {self._warned}")
        if (after.version, after.warning) != (before.version, before.warning):
            self._fleet = fresh
            if after.version != before.version:
                agents = counted(len(after.agents), "agent")
                self._echo(f"config {after.version[:12]} in force: {agents}")
                self._schedule_all()

    def _adopt(self) -> None:
        """Take over runs of an earlier runner, settle those whose keeper is gone."""
        if time.monotonic() < self._next_adopt:
            return
        self._next_adopt = time.monotonic() + ADOPT_EVERY
        mine = {live.run for live in self._running.values()}
        for run in settle.reconcile(self._fleet, but=mine):
            self._running[run.agent] = Live(run.id, run.agent)
            self._echo(f"adopted run {run.id} of {run.agent}")

    def _reap(self) -> None:
        for agent, live in list(self._running.items()):
            if is_over(self._fleet, live):
                run = settle.settle(self._fleet, live.agent, live.run)
                del self._running[agent]
                self._echo(
                    f"{agent} {run.outcome} {run.id}" + (f": {run.reason}" if run.reason else "")
                )

    def _stop_all(self) -> None:
        for live in self._running.values():
            if not live.told:
                live.told = stop_keeper(self._fleet, live.run, "the runner was stopped")

    # Slots ----------------------------------------------------------------------------------

    def _settle_and_launch(self) -> None:
        now = self._now()
        if self._newest - now > STEP_BACK:
            self._echo("the clock was set back: due times are computed anew")
            self._schedule_all()
        self._newest = now
        ready: list[tuple[Agent, Decision]] = []
        for agent in self._fleet.config.agents.values():
            if agent.enabled and agent.schedule and self._is_due(agent, now):
                ready += self._decide(agent, now)
        ready.sort(key=lambda pair: (RANK[pair[0].priority], pair[1].slot.due))
        self._publish()
        for agent, decision in ready:
            if self._stopping or not self._launch(agent, decision):
                break  # told to stop, or no place under the cap: the rest waits in its order

    def _is_due(self, agent: Agent, now: datetime) -> bool:
        if agent.id in self._waiting:
            return True
        due = self._due.get(agent.id)
        return due is not None and due <= now

    def _decide(self, agent: Agent, now: datetime) -> list[tuple[Agent, Decision]]:
        """Settle what does not start; what may start comes back."""
        slots = Slots(self._fleet.store)
        noticed = slots.notice(agent, self._zone(), now)
        self._due[agent.id] = next_due(agent, self._zone(), now)
        open_slots = self._untaken(agent, slots, noticed)
        self._waiting.discard(agent.id)
        decisions = decide(open_slots, self._situation(agent))
        refused = [decision for decision in decisions if decision.result != START]
        slots.settle(agent.id, refused)
        if any(decision.result == "low_disk" for decision in refused):
            self._tell_low_disk(refused[-1].detail)
        for line in summed(agent.id, refused):
            self._echo(line)
        start = [(agent, decision) for decision in decisions if decision.result == START]
        if start:
            self._waiting.add(agent.id)
        return start

    def _tell_low_disk(self, how_low: str) -> None:
        today = self._now().astimezone(self._zone()).date()
        raise_alert(
            self._fleet.store,
            kind="low-disk",
            subject="fleet",
            what=f"the disk is nearly full: {how_low}",
            done="nothing starts until there is room",
            fix=LOW_DISK_FIX,
            key=f"low-disk/{today}",
        )

    def _untaken(self, agent: Agent, slots: Slots, noticed: list[Slot]) -> list[Slot]:
        """Finish what a runner that died left half done: a taken slot whose run is on record."""
        free: list[Slot] = []
        for slot in noticed:
            if not slot.run:
                free.append(slot)
            elif self._on_record(slot.run):
                self._fleet.runs.sync(agent.id)
                slots.started(agent.id, slot, slot.run)
            else:
                slots.give_back(agent.id, slot)
                free.append(slot)
        return free

    def _on_record(self, run: str) -> bool:
        try:
            return self._fleet.runs.find(run).id == run
        except Unknown:
            return False

    def _situation(self, agent: Agent) -> Situation:
        control = self._fleet.controls.of(agent.id)
        paused = control.paused or (
            "fleet.yaml says paused: true" if self._fleet.config.paused else ""
        )
        running = self._running.get(agent.id)
        return Situation(
            stopping=self._stopping,
            halted=control.halted,
            paused=paused,
            low_disk=low_disk(self._fleet.config),
            running=running.run if running else "",
            runs_today=self._runs_today(agent),
            max_runs_per_day=agent.max_runs_per_day,
            catch_up=timedelta(seconds=agent.catch_up),
        )

    def _runs_today(self, agent: Agent) -> int:
        if agent.max_runs_per_day is None:
            return 0
        today = self._now().astimezone(self._zone()).date()
        newest = self._fleet.runs.list(agent.id, agent.max_runs_per_day)
        return sum(
            datetime.fromisoformat(run.started).astimezone(self._zone()).date() == today
            for run in newest
        )

    def _launch(self, agent: Agent, decision: Decision) -> bool:
        """Start one run; False when there is no place under the cap."""
        slots, slot = Slots(self._fleet.store), decision.slot
        run = new_id(self._fleet.store.now().wall)
        try:
            launch.reserve(self._fleet, agent, run)
        except Held as held:
            slots.settle(agent.id, [Decision(slot, "skipped_overlap", str(held))])
            self._waiting.discard(agent.id)
            return True
        except NotStarted:
            return False
        if not slots.take(agent.id, slot, run):
            settle.release(self._fleet, run)
            return True
        live = launch.start(
            self._fleet,
            agent,
            run,
            slot=slot.name,
            attempt=slot.attempt,
            caught_up=decision.caught_up,
        )
        if live:  # before anything that may be refused: it is ours to watch
            self._running[agent.id] = live
        slots.started(agent.id, slot, run)
        self._waiting.discard(agent.id)
        if live:
            self._echo(f"{agent.id} started {run}" + (" (catch-up)" if decision.caught_up else ""))
        else:
            self._echo(f"{agent.id} could not be prepared: see fleet runs {agent.id}")
        return True

    # The clock ------------------------------------------------------------------------------

    def _schedule_all(self) -> None:
        """One bell for each agent; watermarks of new agents begin now."""
        now = self._now()
        self._clock.remove_all_jobs()
        slots = Slots(self._fleet.store)
        for agent in self._fleet.config.agents.values():
            if not agent.enabled or not agent.schedule:
                continue
            if slots.notice(agent, self._zone(), now):
                self._waiting.add(agent.id)
            self._due[agent.id] = next_due(agent, self._zone(), now)
            self._clock.add_job(
                self._ring,
                SlotTrigger(agent, self._zone()),
                id=agent.id,
                misfire_grace_time=None,  # a late bell still rings
                coalesce=True,
                max_instances=1,
            )

    def _publish(self) -> None:
        """Leave what is due next for whoever posts: who will read it, and when."""
        if self._due == self._published:
            return
        self._published = dict(self._due)
        local = {
            agent: [due.timestamp(), due.astimezone(self._zone()).strftime("%H:%M")]
            for agent, due in self._due.items()
            if due is not None
        }
        self._fleet.cache.save(NEXT_DUE, json.dumps(local).encode())

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._fleet.store.now().wall, UTC)

    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self._fleet.config.timezone)

    def _greeting(self) -> str:
        config = self._fleet.config
        agents, places = counted(len(config.agents), "agent"), config.concurrency
        return f"up: {config.name}, {agents}, {places} at once, pid {os.getpid()}"

    def _say(self, line: str) -> None:
        """A fault that lasts is said once, not at every pass."""
        if line != self._said:
            self._echo(line)
        self._said = line
