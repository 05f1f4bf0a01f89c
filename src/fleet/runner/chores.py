"""What the runner looks after beside the schedules: the list, and what each of them promises."""

from datetime import datetime
from typing import Protocol

from fleet.runner.cliwatch import CliWatch
from fleet.runner.warm import Warmer
from fleet.wiring import Fleet


class Chore(Protocol):
    """Something that is done now and then while the runner runs."""

    def look(self, fleet: Fleet, now: datetime) -> None:
        """Do what is due, within milliseconds; what takes longer goes on beside the loop.

        Raises:
            TryAgain: the store refused; the next look goes on.
        """


def chores() -> tuple[Chore, ...]:
    """All of them, in the order of their looks."""
    return (Warmer(), CliWatch())
