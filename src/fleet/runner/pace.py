"""How the runner's passes go, for those who tell others; it measures nothing by itself."""

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """The passes of one `up`.

    Attributes:
        passes: how many there were.
        seconds: that they took altogether, waiting aside.
        well: whether everything of the pass that goes on could be done, so far.
    """

    passes: int = 0
    seconds: float = 0.0
    well: bool = True
