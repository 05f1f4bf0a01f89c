"""Channels without a file: of two, whose name is all they are, and those that were retired.

The two in a channel's name are all who write there, and its first message makes it. What is said
in one is a channel's business.
"""

from collections.abc import Iterator

from fleet.config.model import Channel
from fleet.ports import Store
from fleet.talk.messages import stream_of

BETWEEN = "+"  # no name of an agent or a channel has one
_PAGE = 1000


def direct_name(one: str, other: str) -> str:
    """`operator+outreach`: the channel of these two, whoever writes first."""
    return BETWEEN.join(sorted((one, other)))


def pair_of(channel: str) -> tuple[str, str] | None:
    """The two of a channel of two; None for every other name."""
    if BETWEEN not in channel:
        return None
    first, _, second = channel.partition(BETWEEN)
    return (first, second) if first and BETWEEN not in second and first < second else None


def other_of(channel: str, name: str) -> str:
    """Whom `name` talks to in a channel of two that it is in."""
    return channel.removeprefix(f"{name}{BETWEEN}").removesuffix(f"{BETWEEN}{name}")


def channel_of_two(pair: tuple[str, str]) -> Channel:
    """The channel that these two have, as if a file said so."""
    first, second = pair
    name = direct_name(first, second)
    return Channel(
        name,
        file="",
        name=f"{first} and {second}",
        purpose=f"direct messages of {first} and {second}",
        members=frozenset(pair),
    )


def channel_of_the_past(name: str) -> Channel:
    """A channel of many that no file makes any more: nobody is in it."""
    return Channel(name, file="", name=name, purpose="retired", members=frozenset())


def directs_of(store: Store, *names: str) -> list[str]:
    """The channels of two with one of `names` in which something was said, sorted."""
    found = {channel for name in names for channel in directs(store, name)}
    return sorted(one for one in found if not set(names).isdisjoint(pair_of(one) or ()))


def directs(store: Store, having: str = "") -> Iterator[str]:
    """The name of every channel of two with records, sorted; with `having` in it. One listing."""
    after = ""
    while page := store.streams(stream_of(""), after, _PAGE, having=having or BETWEEN):
        names = (stream.removeprefix(stream_of("")) for stream in page)
        yield from (name for name in names if pair_of(name))
        if len(page) < _PAGE:
            return
        after = page[-1]
