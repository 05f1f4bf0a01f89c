"""Homes of the simulator: the real parts over this process's memory, nothing of a folder."""

from collections.abc import Callable

from fleet.config.model import HomeConfig
from fleet.ports import Cache, Store
from fleet.records import Instant
from fleet.wiring import Fleet


def in_memory(clock: Callable[[], Instant]) -> tuple[Store, Cache]:
    """A store and a cache in this process's memory, for a play: gone at its end."""
    from fleet.stores.ram import RamCache, RamStore

    return RamStore(clock, checked=False), RamCache()


def simulated(config: HomeConfig, store: Store, cache: Cache) -> Fleet:
    """A home as `config` says over `store`: of its folder nothing is read or written.

    What is computed is kept in memory, and in `cache` for whoever opens the same home anew.
    """
    from fleet.folds import MOST, Values
    from fleet.identity import SYSTEM

    fleet = Fleet(config.root, env={}, as_agent=None, strict=False)
    most = MOST + 2 * len(config.agents)
    values = cache if isinstance(cache, Values) else Values(cache, most=most)
    parts = {"config": config, "store": store, "cache": values, "values": values}
    fleet.__dict__ |= {**parts, "author": SYSTEM}
    return fleet
