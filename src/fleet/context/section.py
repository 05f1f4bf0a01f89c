"""Sections and the tokens they may cost: who gets how much, and what a section is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fleet.config.model import Agent
from fleet.context.data import Fields, View, found
from fleet.text import fence, harmless, tokens
from fleet.units import age

MAX_EVENTS, MAX_MESSAGES = 300, 200  # references of one run must fit into its record


@dataclass(frozen=True, slots=True)
class Scene:
    """What every section of one render shares.

    Attributes:
        agent: who wakes.
        run: its run's id.
        now: the moment, in the home's time zone.
        nonce: of this render; it closes the fences.
    """

    agent: Agent
    run: str
    now: datetime
    nonce: str

    @property
    def clock(self) -> str:
        """The moment for people: `Mon 2026-11-30 20:15 CET`."""
        return f"{self.now:%a %Y-%m-%d %H:%M %Z}"

    def ago(self, at: str) -> str:
        """`2h ago` for an RFC 3339 instant; a moment ahead is now, none is said to be unknown."""
        if not at:
            return "some time ago"
        seconds = (self.now - datetime.fromisoformat(at)).total_seconds()
        return f"{age(max(0.0, seconds))} ago"

    def local(self, at: str) -> str:
        """An RFC 3339 instant in the home's time zone, to the minute."""
        return f"{datetime.fromisoformat(at).astimezone(self.now.tzinfo):%Y-%m-%d %H:%M}"

    def line(self, text: str) -> str:
        """Others' text on one line, harmless."""
        return harmless(text, nonce=self.nonce)

    def body(self, text: str) -> str:
        """Others' text after a header of ours: further lines stand behind `  | `."""
        return harmless(text, nonce=self.nonce, newlines=True).replace("\n", "\n  | ")

    def fenced(self, header: str, lines: Sequence[str]) -> str:
        """The lines as one block of data."""
        return fence("\n".join(lines), nonce=self.nonce, header=header)


@dataclass(frozen=True, slots=True)
class Section:
    """One block of a context.

    Attributes:
        name: one of the names that templates know.
        text: what it prints, "" for nothing.
        items: how many items it shows.
        tokens: what it costs, estimated on the safe side.
        left_out: how many items it leaves out.
    """

    name: str
    text: str
    items: int
    tokens: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Built:
    """A section with its marks, before it is printed; `items` are those that the text shows."""

    name: str
    text: str
    items: tuple[Fields, ...] = ()
    left_out: int = 0

    @property
    def cost(self) -> int:
        """Tokens of what it prints."""
        return tokens(found(self.text)[0])

    def view(self) -> View:
        """As a template sees it."""
        return View(self.text, self.items, self.left_out)

    def section(self) -> Section:
        """As the context reports it."""
        plain, _ = found(self.text)
        return Section(self.name, plain, len(self.items), tokens(plain), self.left_out)


def cost(text: str) -> int:
    """Tokens of one line or paragraph with its line feed, marks left aside."""
    return tokens(found(text)[0] + "\n")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Tokens of a section: what it gets first, and what it may grow to while others want more.

    `ceiling` below 2 is a share of the total. `most` is never passed, None without such a bound.
    """

    floor: int
    ceiling: float
    most: int | None = None


# In the order of their priority.
BOUNDS = {
    "corrections": Bounds(250, 0.25),
    "events": Bounds(300, 0.50),
    "you": Bounds(150, 700, 700),
    "inbox": Bounds(200, 0.25),
    "channels": Bounds(200, 0.35),
    "memory": Bounds(200, 1200),
    "awareness": Bounds(100, 480, 480),
    "metrics": Bounds(150, 500, 500),
    "team": Bounds(150, 600, 600),
    "how_to": Bounds(700, 700, 700),
}


def allot(needs: Mapping[str, int], total: int, limits: Mapping[str, int | None]) -> dict[str, int]:
    """Tokens for each section of `needs`, never more than `total` together.

    First every floor in the order of priority, then up to the ceilings, then what is left.

    Args:
        needs: what each section costs in full.
        total: the agent's cap.
        limits: the operator's own bounds by section.
    """
    grants = dict.fromkeys(needs, 0)
    left = total
    for step in ("floor", "ceiling", "rest"):
        for name, bounds in BOUNDS.items():
            wanted = min(
                needs.get(name, 0), _reach(bounds, step, total), _most(bounds, limits.get(name))
            )
            more = min(max(0, wanted - grants.get(name, 0)), left)
            if more:
                grants[name] += more
                left -= more
    return grants


def _reach(bounds: Bounds, step: str, total: int) -> int:
    if step == "floor":
        return bounds.floor
    if step == "rest":
        return total
    return int(bounds.ceiling * total if bounds.ceiling < 2 else bounds.ceiling)  # noqa: PLR2004 - see Bounds


def _most(bounds: Bounds, limit: int | None) -> int:
    given = [most for most in (bounds.most, limit) if most is not None]
    return min(given, default=1 << 30)
