"""Who writes in tests of the bus and the channels, and the small fleet they belong to."""

from pathlib import Path

from fleet.config.model import Agent, Channel, HomeConfig, Limits
from fleet.identity import Author

OPERATOR = Author("operator", None, "", agent=False, by={"tty": "pts/0", "pid": 1, "uid": 1000})


def in_run(name: str, run: str = "", *, hops: int = 0, cause: str | None = None) -> Author:
    """The agent `name` in its run `run` (`<name>-r1` by default), woken over `hops` events."""
    return Author(name, run or f"{name}-r1", "", agent=True, hops=hops, cause=cause)


def an_agent(name: str, *interests: str) -> Agent:
    """An agent with nothing but a name and interests."""
    return Agent(name, "", "", "", Path("/nowhere"), interests=interests)


def a_channel(name: str, *members: str, keep: int = 100, max_pins: int = 20) -> Channel:
    """A channel of `members`; of all without any."""
    return Channel(name, "", name, "", frozenset(members) or None, keep, max_pins)


CONFIG = HomeConfig(
    root=Path("/nowhere"),
    version="1",
    agents={
        "outreach": an_agent("outreach", "reply-received", "pricing-change"),
        "reply-handler": an_agent("reply-handler", "contact-made"),
        "competitor-watch": an_agent("competitor-watch"),
    },
    channels={
        "strategy": a_channel("strategy"),
        "outreach-review": a_channel("outreach-review", "outreach", "reply-handler"),
        "small": a_channel("small", keep=3, max_pins=2),
    },
)


def limited(**limits: int) -> HomeConfig:
    """The fleet with other limits."""
    return CONFIG._replace(limits=Limits()._replace(**limits))
