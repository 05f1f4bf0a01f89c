"""A clock that moves only when a test says so."""

from fleet.records import Instant


class FakeClock:
    """Callable as a store's clock; `advance` moves both clocks, `step_wall` only the wall's."""

    def __init__(self, wall: float = 1_800_000_000.0, boot: str = "boot-1") -> None:
        self.wall = wall
        self.boot = boot
        self.uptime = 1000.0

    def __call__(self) -> Instant:
        """The moment it is."""
        return Instant(self.wall, self.boot, self.uptime)

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.wall += seconds
        self.uptime += seconds

    def step_wall(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self.wall += seconds

    def reboot(self, boot: str = "boot-2") -> None:
        """Another boot: the uptime begins again."""
        self.boot = boot
        self.uptime = 0.0
