"""What goes wrong in a play, and when: a plan drawn from a seed. It does nothing by itself."""

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from fleet.config.model import HomeConfig

HOUR, DAY = 3600.0, 86400.0
RUNS = ("crash", "lost", "hang", "limit", "overload", "auth")  # befall one run
KINDS = (
    *RUNS,
    "step",  # somebody sets the clock forward or back
    "suspend",  # the machine sleeps
    "full",  # the disk is full
    "broken",  # the operator's files have errors: the last good config goes on
    "edit",  # an agent gets another schedule
    "kill",  # the runner is killed in the midst of a write, and started again later
    "halt",  # a person halts an agent, and resumes it later
    "pause",  # a person pauses everybody, and resumes them later
)


class Fault(NamedTuple):
    """Something that goes wrong.

    Attributes:
        at: when, in seconds of the play.
        kind: a word of `KINDS`.
        agent: whom it befalls, "" for whoever comes first, or for everybody.
        seconds: how long it lasts; for `step` by how much, less than 0 for back.
        writes: of `kill`: how many writes the runner still does.
    """

    at: float
    kind: str
    agent: str = ""
    seconds: float = 0.0
    writes: int = 0


def plan(seed: int, config: HomeConfig, days: float) -> list[Fault]:
    """One or two faults of each kind within `days`; all of them are over a day before the end.

    The same seed gives the same plan.
    """
    rng = Random(seed)  # noqa: S311 - a play, no secret
    last = (days - 1) * DAY
    faults = [fault for kind in KINDS for fault in _some(kind, rng, config, last)]
    return sorted(faults)


def _some(kind: str, rng: Random, config: HomeConfig, last: float) -> Iterator[Fault]:
    agents = sorted(config.agents)
    for _ in range(rng.choice((1, 2))):
        at = rng.uniform(0, 0.9 * last)
        agent = rng.choice(agents)
        if kind in RUNS:
            anybody = rng.random() < 0.5  # noqa: PLR2004
            yield Fault(at, kind, "" if anybody else agent, _lasts(kind, rng))
        elif kind == "kill":
            yield Fault(at, kind, "", _lasts(kind, rng), writes=rng.randrange(40))
        else:
            whom = agent if kind in {"edit", "halt"} else ""
            yield Fault(at, kind, whom, min(_lasts(kind, rng), last - at))


def _lasts(kind: str, rng: Random) -> float:
    """How long a fault of the kind lasts: mostly short, sometimes long."""
    spans: dict[str, Callable[[], float]] = {
        "limit": lambda: rng.uniform(0.2 * HOUR, 8 * HOUR),
        "auth": lambda: rng.uniform(0.5 * HOUR, 12 * HOUR),
        "step": lambda: rng.choice((-3 * HOUR, -40 * 60, -5, 90, 50 * 60, 4 * HOUR)),
        "suspend": lambda: rng.choice((300.0, 2 * HOUR, 11 * HOUR)),
        "full": lambda: rng.choice((30.0, 20 * 60, 3 * HOUR)),
        "kill": lambda: rng.choice((2.0, 60.0, 45 * 60, 7 * HOUR)),
    }
    return spans.get(kind, lambda: rng.uniform(0.5 * HOUR, 6 * HOUR))()
