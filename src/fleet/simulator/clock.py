"""The clock of a play: it moves when it is told to, and can be set like any other."""

from datetime import UTC, datetime, timedelta

from fleet.records import Instant


class Clock:
    """Callable as a store's clock.

    Attributes:
        elapsed: seconds since the play began, suspended time included; nobody can set it.
    """

    def __init__(self, begin: datetime) -> None:
        self._begin = begin.timestamp()
        self._set = 0.0  # seconds by which people have set the wall clock
        self.elapsed = 0.0

    def __call__(self) -> Instant:
        """The moment it is."""
        return Instant(self.wall, "play", self.elapsed)

    @property
    def wall(self) -> float:
        """Epoch seconds that the wall clock shows."""
        return self._begin + self._set + self.elapsed

    @property
    def now(self) -> datetime:
        """The same, as the runner reads it."""
        return datetime.fromtimestamp(self.wall, UTC)

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.elapsed += seconds

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock forward, or back."""
        self._set += seconds

    def until(self, moment: datetime) -> float:
        """`elapsed` at the time when the wall clock, as it goes now, shows `moment`."""
        return self.elapsed + (moment - self.now) / timedelta(seconds=1)
