"""Which channels there are, of many and of two, and who gets into each."""

from typing import TYPE_CHECKING

from fleet.errors import NotAllowed, Rejected, Unknown
from fleet.identity import OPERATOR
from fleet.places import safe_name
from fleet.ports import Store
from fleet.talk.direct import (
    BETWEEN,
    channel_of_the_past,
    channel_of_two,
    direct_name,
    directs_of,
    pair_of,
)
from fleet.talk.messages import stream_of

if TYPE_CHECKING:
    from fleet.config.model import Channel, HomeConfig
    from fleet.identity import Author

_EVERYBODY = frozenset({"all", "fleet"})
_NO_AGENT = frozenset({"human", "system"})


class Members:
    """The doors of one home's channels: an agent gets in by membership, a person anywhere."""

    def __init__(self, store: Store, config: "HomeConfig") -> None:
        self._store = store
        self._config = config

    def channels(self, author: "Author") -> list["Channel"]:
        """The channels with a file that the author may read and post in, by id."""
        everywhere = not self.is_agent(author)
        return [
            channel
            for _, channel in sorted(self._config.channels.items())
            if everywhere or channel.admits(author.name)
        ]

    def directs(self, name: str) -> list["Channel"]:
        """The channels of two in which `name` is or was one and something was said."""
        pairs = map(pair_of, directs_of(self._store, *self._config.names_of(name)))
        return [self._of_two(pair) for pair in pairs if pair]

    def named(self, channel: str, *, past: bool = False) -> "Channel":
        """The channel of that name: one that a file makes, or one of two who are or were here.

        With `past` also a retired one, of which a log is left.

        Raises:
            Unknown: there is none.
        """
        known = self._config.channel_named(channel)
        if known is not None:
            return known
        pair = pair_of(channel)
        if pair and (is_of_two(channel, self._config) or self._store.head(stream_of(channel))):
            return self._of_two(pair)
        retired = self.is_retired(channel)
        if retired and past:
            return channel_of_the_past(channel)
        from fleet.text import suggest

        near = suggest(channel, sorted(self._config.channels)) or "fleet channels"
        if channel in self._config.agents:
            near = f"it is an agent: fleet send {channel} 'TEXT'"
        if retired:
            near = "it was retired: a person may read it"
        turned = direct_name(*channel.partition(BETWEEN)[::2])
        if is_of_two(turned, self._config):
            near = f"their channel is {turned}"
        raise Unknown(f"there is no channel {channel!r}", near)

    def is_retired(self, channel: str) -> bool:
        """Whether something was said in this channel of many, and no file makes it any more."""
        known = self._config.channel_named(channel) is not None or BETWEEN in channel
        return not known and safe_name(channel) and self._store.head(stream_of(channel)) > 0

    def open(self, author: "Author", channel: str, *, past: bool = False) -> "Channel":
        """The channel of that name for the author; with `past` for a person a retired one, too.

        Raises:
            Unknown: there is none.
            NotAllowed: the author is an agent and no member.
        """
        agent = self.is_agent(author)
        here = self.named(channel, past=past and not agent)
        if agent:
            self.admit(here, author.name)
        return here

    def admit(self, channel: "Channel", agent: str) -> None:
        """Refuse an agent that is no member of `channel`.

        Raises:
            NotAllowed: it is none.
        """
        if not channel.admits(agent):
            own = [one.id for one in self._config.channels.values() if one.admits(agent)]
            raise NotAllowed(
                f"{agent} is no member of {channel.id}",
                f"its channels are {', '.join(sorted(own)) or 'none'}",
            )

    def require_reader(self, channel: str) -> None:
        """Refuse a channel of two whose other one is gone: nobody would read what is said.

        Raises:
            Unknown: one of the two is no agent any more.
        """
        for name in pair_of(channel) or ():
            if not _is_here(name, self._config):
                now = self._config.called_now(name)
                fix = f"it is called {now}: fleet send {now} 'TEXT'" if now else "post to a channel"
                raise Unknown(f"there is no agent {name!r} any more", fix)

    def require_addressee(self, author: str, to: str) -> None:
        """Refuse a name to which `author` cannot send.

        Raises:
            Unknown: it is no agent's and not `operator`.
            Rejected: it is the author's own.
        """
        if to == author:
            own = "fleet report TEXT --next TEXT tells your next run"
            raise Rejected("a message to oneself", "name an agent" if to == OPERATOR else own)
        if _is_here(to, self._config):
            return
        from fleet.text import clip, one_of

        what = f"there is nobody {clip(to, 80)!r} to send to"
        if self._config.channel_named(to):
            raise Unknown(what, f"it is a channel: fleet post {to} 'TEXT'")
        if to in _EVERYBODY:
            raise Unknown(what, "post where all of them read: fleet channels")
        if to in _NO_AGENT:
            raise Unknown(what, f"fleet send {OPERATOR} 'TEXT' reaches a person")
        if now := self._config.called_now(to):
            raise Unknown(what, f"it is called {now} now: fleet send {now} 'TEXT'")
        raise Unknown(what, one_of(to, [*self._config.agents, OPERATOR]))

    def _of_two(self, pair: tuple[str, str]) -> "Channel":
        """The channel of these two, also for who was one of them under an earlier name."""
        here = channel_of_two(pair)
        later = {now for name in pair if (now := self._config.called_now(name))}
        return here._replace(members=frozenset(pair) | later)

    def is_agent(self, author: "Author") -> bool:
        """Whether the author has an agent's rights: a run, or a person who acts for one."""
        return author.agent or author.name in self._config.agents


def is_of_two(channel: str, config: "HomeConfig") -> bool:
    """Whether it is the channel of two who are here, maybe under other names by now.

    Whether something was said in it does not matter.
    """
    pair = pair_of(channel)
    return pair is not None and all(
        _is_here(name, config) or config.called_now(name) for name in pair
    )


def _is_here(name: str, config: "HomeConfig") -> bool:
    return name in config.agents or name == OPERATOR
