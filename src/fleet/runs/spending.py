"""What an agent's runs used, by their own records; what all agents used is the ledger's to say."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fleet.ledger import DIGITS, Day, Sum, in_all
from fleet.ports import Cache, Store
from fleet.runs import index


class Used(NamedTuple):
    """One agent's part of a day: what its ended runs used, and what is reserved for others."""

    ended: Sum
    reserved: Sum

    @property
    def total(self) -> Sum:
        """Both: what counts against a budget."""
        return self.ended.plus(self.reserved)


class Spending:
    """What the agents of one home have used. A method may raise what the store's `read` raises.

    `names` gives every name of an agent, newest first: its runs stand under all of them.
    """

    def __init__(
        self,
        store: Store,
        cache: Cache,
        names: Callable[[str], Sequence[str]] = lambda agent: (agent,),
    ) -> None:
        self._store = store
        self._cache = cache
        self._names = names

    def of(self, agent: str, day: Day) -> Used:
        """What the agent's runs of `day`, one of the last days, amount to."""
        known = dict(self._indexes(agent))
        ended = in_all(index.spent(one, day.begins, day.ends) for one in known.values())
        reserved = (
            held.sum
            for run, held in day.open.items()
            if held.agent in known and not index.has_ended(known[held.agent], run)
        )
        return Used(ended, in_all(reserved))

    def typical(self, agent: str) -> tuple[float | None, int | None]:
        """Mean dollars, and mean tokens in and out, of its newest runs that used any and said so.

        None where none did.
        """
        known = [one for _, one in self._indexes(agent)]
        costs = [cost for one in known for cost in reversed(one["costs"])][: index.TYPICAL]
        tokens = [count for one in known for count in reversed(one["tokens"])][: index.TYPICAL]
        return (
            round(sum(costs) / len(costs), DIGITS) if costs else None,
            round(sum(tokens) / len(tokens)) if tokens else None,
        )

    def recounted(self, day: Day, logs: Sequence[str], account: Callable[[str], str]) -> Day:
        """The day as the records of all runs tell it: what an end is on record for is settled.

        Args:
            day: one of the last days.
            logs: every name under which runs stand.
            account: who pays for the runs of such a name.
        """
        known = {name: index.of(self._store, self._cache, name) for name in logs}
        accounts: dict[str, Sum] = {}
        for name, one in known.items():
            if (ended := index.spent(one, day.begins, day.ends)).runs:
                paid = accounts.get(account(name), Sum())
                accounts[account(name)] = paid.plus(ended)
        still = {
            run: held
            for run, held in day.open.items()
            if not (held.agent in known and index.has_ended(known[held.agent], run))
        }
        return day._replace(settled=in_all(accounts.values()), accounts=accounts, open=still)

    def _indexes(self, agent: str) -> Iterator[tuple[str, index.Index]]:
        return ((name, index.of(self._store, self._cache, name)) for name in self._names(agent))
