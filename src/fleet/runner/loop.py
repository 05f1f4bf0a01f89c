"""`fleet up`: one process that wakes agents when they are due, until it is told to stop.

APScheduler rings the bell; what is due is read from the watermarks, so a bell that never rang
loses nothing. A pass does three things: settle what ended, let the engine decide and launch what
is due, and look after the chores.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.schedulers.background import BackgroundScheduler

from fleet.errors import TryAgain
from fleet.places import NEXT_DUE
from fleet.runner import consequences, lead, money
from fleet.runner.chores import Chore, Closing, chores
from fleet.runner.engine import Engine
from fleet.runner.gates import Gates
from fleet.runner.keepers import Keepers
from fleet.runner.pace import Pace
from fleet.runner.reload import Reload
from fleet.runner.situation import moment
from fleet.runner.trigger import SlotTrigger
from fleet.runner.watcher import Watcher
from fleet.runs import Run
from fleet.units import counted
from fleet.wiring import Fleet, open_fleet

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

QUIET_WAIT = 1.0  # seconds between two looks when nothing runs
BUSY_WAIT = 0.2  # and while something does: keepers of an earlier runner send no SIGCHLD
ADOPT_EVERY = 5.0  # seconds between two looks for runs and slots that somebody else started


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
    """The state of one `up`: what runs, what waits, and what is looked after beside it."""

    def __init__(
        self, fleet: Fleet, echo: Callable[[str], None], until: Callable[[], bool]
    ) -> None:
        self._fleet = fleet
        self._echo = echo
        self._until = until
        self._keepers = Keepers()
        self._gates = Gates()
        self._engine = Engine(fleet, self._keepers, self._gates, echo)
        self._pace = Pace()
        self._all_chores = chores(echo, self._pace)
        self._published: dict[str, datetime | None] = {}
        self._stopping = False
        self._draining = False
        self._bell, self._ring_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._clock = BackgroundScheduler(timezone=UTC)
        self._watcher = Watcher(fleet.places.state / "events", self._ring)
        self._saying: set[str] = set()
        self._files = Reload(echo)
        self._next_adopt = 0.0
        self._owed = True  # whoever recorded the last ends may have died before their consequences

    def run(self) -> None:
        """Pass after pass until told to stop and nothing of ours is left."""
        old = self._listen()
        self._clock.start()
        try:
            self._set_bells()
            self._engine.begin(moment(self._fleet))
            self._echo(self._greeting())
            while True:
                if not self._stopping and self._until():
                    self._drain()
                last = self._stopping
                self._pass()
                if last and self._keepers.all_over(self._fleet):
                    with suppress(TryAgain):  # what a full disk refuses the next start records
                        self._keepers.reap(self._fleet, self._ended)
                    return
                self._wait()
        finally:
            self._watcher.stop()
            self._gates.close()
            self._close()
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
        pause = BUSY_WAIT if self._keepers.running() or self._gates.busy else QUIET_WAIT
        if select.select([self._bell], [], [], pause)[0]:
            os.read(self._bell, 4096)

    # One pass -------------------------------------------------------------------------------

    def _pass(self) -> None:
        self._watcher.look()
        if self._stopping and not self._draining:
            self._keepers.stop_all(self._fleet)
        said, self._saying = self._saying, set()
        begin, self._pace.well = time.monotonic(), True
        steps: list[Callable[[], None]] = [self._reload, self._adopt, self._reap, self._look]
        steps += [partial(self._look_after, chore) for chore in self._all_chores]
        for step in steps:
            try:
                step()
            except TryAgain as fault:
                # A full disk or a held lock: nothing was lost, the next pass tries again.
                self._pace.well = False
                line = f"this pass could not finish: {fault}"
                self._saying.add(line)
                if line not in said:  # a fault that lasts is said once, not at every pass
                    self._echo(line)
        self._pace.passes += 1
        self._pace.seconds += time.monotonic() - begin

    def _close(self) -> None:
        for chore in self._all_chores:
            if isinstance(chore, Closing):
                with suppress(TryAgain):  # what a full disk refuses the next start does
                    chore.close(self._fleet)

    def _reap(self) -> None:
        self._keepers.reap(self._fleet, self._ended)

    def _look(self) -> None:
        self._engine.stopping = self._stopping
        self._engine.look(moment(self._fleet))
        self._publish()

    def _look_after(self, chore: Chore) -> None:
        chore.look(self._fleet, moment(self._fleet))

    def _reload(self) -> None:
        fresh = self._files.look(self._fleet, moment(self._fleet))
        if fresh is None:
            return
        before, after = self._fleet.config, fresh.config
        self._fleet = fresh
        self._engine.use(fresh)
        if after.version != before.version:
            agents = counted(len(after.agents), "agent")
            self._echo(f"config {after.version[:12]} in force: {agents}")
            self._set_bells()

    def _adopt(self) -> None:
        if time.monotonic() < self._next_adopt:
            return
        self._next_adopt = time.monotonic() + ADOPT_EVERY
        for run in self._keepers.adopt(self._fleet):
            self._echo(f"adopted run {run.id} of {run.agent}")
        if self._owed:
            money.recount(self._fleet, moment(self._fleet))
            consequences.of_the_last_runs(self._fleet)
            self._owed = False
        self._engine.refresh()

    def _ended(self, run: Run) -> None:
        self._engine.refresh(run.agent)
        self._echo(
            f"{run.agent} {run.outcome} {run.id}" + (f": {run.reason}" if run.reason else "")
        )

    # The clock ------------------------------------------------------------------------------

    def _set_bells(self) -> None:
        """One bell for each agent with a schedule."""
        self._clock.remove_all_jobs()
        zone = ZoneInfo(self._fleet.config.timezone)
        for agent in self._fleet.config.agents.values():
            if agent.enabled and agent.schedule:
                self._clock.add_job(
                    self._ring,
                    SlotTrigger(agent, zone),
                    id=agent.id,
                    misfire_grace_time=None,  # a late bell still rings
                    coalesce=True,
                    max_instances=1,
                )

    def _publish(self) -> None:
        """Leave what is due next for whoever posts: who will read it, and when."""
        if self._engine.due == self._published:
            return
        self._published = dict(self._engine.due)
        zone = ZoneInfo(self._fleet.config.timezone)
        local = {
            agent: [due.timestamp(), due.astimezone(zone).strftime("%H:%M")]
            for agent, due in self._published.items()
            if due is not None
        }
        self._fleet.cache.save(NEXT_DUE, json.dumps(local).encode())

    def _greeting(self) -> str:
        config = self._fleet.config
        agents, places = counted(len(config.agents), "agent"), config.concurrency
        return f"up: {config.name}, {agents}, {places} at once, pid {os.getpid()}"
