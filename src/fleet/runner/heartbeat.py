"""Runs the operator's `heartbeat` while the runner does its work: a switch for whoever listens.

It beats from the pass itself, as its last act: a loop that hangs, or whose passes fail, stops
beating. It judges no agent: what needs a person is told by `on_alert`.
"""

import os
import time
from collections.abc import Callable
from datetime import datetime

from fleet.alerts import open_ones, raise_alert
from fleet.runner.alerter import KIND as UNTOLD
from fleet.runner.errand import Errand
from fleet.runner.pace import Pace
from fleet.status import runner
from fleet.wiring import Fleet

LIMIT = 30.0  # seconds that a beat may take at most
FAILURES = 3  # in a row, after which a person is told


class Heartbeat:
    """The chore; `look` beats when it is time to."""

    def __init__(self, echo: Callable[[str], None], pace: Pace) -> None:
        self._echo = echo
        self._pace = pace
        self._beat: Errand | None = None
        self._next = 0.0
        self._failed = 0  # beats in a row

    def look(self, fleet: Fleet, now: datetime) -> None:
        """Beat if it is time to and all is well enough; the call returns at once.

        Raises:
            TryAgain: the store refused; no beat, then.
        """
        beat, said = self._beat, fleet.config.heartbeat
        if beat is not None:
            if not beat.over():
                return
            self._beat = None
            self._judge(fleet, beat.fault, now)
        if said is None or time.monotonic() < self._next:
            return
        if not self._pace.well or not _works(fleet):
            return
        self._next = time.monotonic() + said.every
        self._beat = Errand(fleet, said.run, min(said.every, LIMIT))

    def close(self, fleet: Fleet) -> None:  # noqa: ARG002 - every chore's shape
        """The runner ends: no beat outlives it."""
        if self._beat is not None:
            self._beat.close()

    def _judge(self, fleet: Fleet, fault: str, now: datetime) -> None:
        """Say that beats fail, once; a person is told when they go on to."""
        failed, self._failed = self._failed, self._failed + 1 if fault else 0
        if fault and not failed:
            self._echo(f"heartbeat: {fault}")
        if self._failed == FAILURES:
            raise_alert(
                fleet.store,
                kind="heartbeat",
                subject="fleet",
                what=f"the heartbeat failed {FAILURES} times in a row: {fault}",
                done="it goes on trying; agents are not held up",
                fix="mend heartbeat in fleet.yaml, or what it calls",
                key=f"heartbeat/{now.isoformat()}",
            )


def _works(fleet: Fleet) -> bool:
    """Whether this process leads the home and can tell a person what happens.

    A fleet whose `on_alert` fails would be silent: then the beat stops, and who listens to it asks.
    """
    leads = runner(fleet.store, fleet.places.state)
    told = open_ones(fleet.store, fleet.cache) if fleet.config.on_alert else []
    return leads["pid"] == os.getpid() and not any(one.kind == UNTOLD for one in told)
