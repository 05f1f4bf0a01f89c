"""Refuses the post that goes beyond a run's share, or that would go on a loop; people are free.

A turn is counted in a *thread*: that of the message it answers; in a channel of two all of it;
and for a post that answers no message but speaks to an agent by name, the thread in which its
author was spoken to last. A post that speaks to nobody is counted nowhere.
"""

from typing import TYPE_CHECKING

from fleet.alerts import raise_alert
from fleet.errors import TryAgain
from fleet.ports import Cache, Store
from fleet.records import Body
from fleet.talk.addressing import addressed
from fleet.talk.direct import pair_of
from fleet.talk.limits import Limits, limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.config.model import HomeConfig
    from fleet.identity import Author


class Brakes:
    """The limits of the talk of one home."""

    def __init__(self, store: Store, cache: Cache, config: "HomeConfig") -> None:
        self._store = store
        self._cache = cache
        self._config = config

    def counted(self, author: "Author", channel: str, text: str, thread: str | None) -> Body:
        """What a post's record says for the counts: thread, events (the log's head), names.

        Args:
            author: who posts.
            channel: where.
            text: what.
            thread: reference of the first message of the thread that it answers in, or None.
        """
        if pair_of(channel):
            return self._in_thread(f"{channel}#1")
        names = addressed(text, self._config.agents, author.name)
        if thread is None and names and author.run is not None:
            thread = self._of(channel).passed_to(author.name)
        return self._in_thread(thread) | ({"names": names} if names else {})

    def _in_thread(self, thread: str | None) -> Body:
        if thread is None:
            return {"thread": None}
        return {"thread": thread, "events": self._store.head("events")}

    def _of(self, channel: str) -> Limits:
        turns = self._config.limits.turns_per_thread
        return limits(self._store, self._cache, channel, turns)

    def check(self, author: "Author", channel: str, counted: Body, mine: "Iterable[str]") -> Body:
        """What the record of a run's post in a channel of two also says: `heard` and `told`.

        Args:
            author: who posts.
            channel: where.
            counted: what `counted` said.
            mine: every channel that the author may post in.

        Raises:
            TryAgain: the run's posts or the thread's turns are used up.
        """
        if author.run is None:
            return {}
        counts = {name: self._of(name) for name in {channel, *mine}}
        self._check_posts(author.run, counts.values())
        thread = counted["thread"]
        if not isinstance(thread, str):
            return {}
        here = counts[channel]
        self._check_turns(channel, thread, here)
        if not pair_of(channel):
            return {}
        # in a ring nobody answers the one who spoke to him: going on counts when he was told more
        heard = sum(one.heard_by(author.name) for one in counts.values())
        alone = here.last_in(thread) == author.name
        told = not alone or here.told_since(self._store, thread, author.name, heard)
        return {"heard": heard, "told": told}

    def _check_posts(self, run: str, counts: "Iterable[Limits]") -> None:
        count, most = sum(one.posted_by(run) for one in counts), self._config.limits.posts_per_run
        if count >= most:
            raise TryAgain(
                f"run {run} has posted {count} messages, the limit of limits.posts_per_run",
                "go on in the next run",
            )

    def _check_turns(self, channel: str, thread: str, counts: Limits) -> None:
        turns = self._config.limits.turns_per_thread
        if not counts.used_up(self._store, thread, turns):
            return
        where, shown = f"the thread of {thread}", f"fleet read {channel} --thread {thread}"
        if pair_of(channel):
            where, shown = channel, f"fleet read {channel}"
        raise_alert(
            self._store,
            kind="loop",
            subject=thread,
            what=f"agents answered each other {turns} times in {where} with nothing new",
            done="further answers there wait for a person or an event from outside",
            fix=f"{shown} shows it; a post of yours there lets them go on",
            key=f"loop/{thread}/{counts.newest_turn(thread)}",
        )
        raise TryAgain(
            f"loop limit: {turns} turns in {where} with nothing new from outside",
            "leave it to a person, who has an alert",
        )
