"""What the runner looks after beside the schedules: the list, and what each of them promises."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, runtime_checkable

from fleet.runner.alerter import Alerter
from fleet.runner.cliwatch import CliWatch
from fleet.runner.closing import Closer
from fleet.runner.deliverer import Deliverer
from fleet.runner.exporter import Exporter
from fleet.runner.heartbeat import Heartbeat
from fleet.runner.lastlook import LastLook
from fleet.runner.pace import Pace
from fleet.runner.sweeper import Sweeper
from fleet.runner.warm import Warmer
from fleet.wiring import Fleet


class Chore(Protocol):
    """Something that is done now and then while the runner runs."""

    def look(self, fleet: Fleet, now: datetime) -> None:
        """Do what is due, within milliseconds; what takes longer goes on beside the loop.

        Raises:
            TryAgain: the store refused; the next look goes on.
        """


@runtime_checkable
class Closing(Protocol):
    """A chore that has something to end or to say when the runner ends."""

    def close(self, fleet: Fleet) -> None:
        """The runner ends now: take a moment at most, and leave nothing that runs.

        Raises:
            TryAgain: the store refused; the next runner does it.
        """


def chores(echo: Callable[[str], None], pace: Pace) -> tuple[Chore, ...]:
    """All of them, in the order of their looks: the heartbeat is the pass's last act."""
    return (
        LastLook(),
        Deliverer(),
        Warmer(),
        CliWatch(echo),
        Closer(),
        Alerter(echo),
        Exporter(pace),
        Sweeper(),
        Heartbeat(echo, pace),
    )
