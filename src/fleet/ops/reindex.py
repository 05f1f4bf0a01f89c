"""Drops every cache of a home and computes it again; no record and no document changes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fleet.wiring import Fleet


def reindex(fleet: "Fleet") -> int:
    """Drop the caches, compute them again, and return how many there are now.

    Raises:
        BadHome: the operator's files have errors; nothing was dropped, since the last good config
            is only known from its cache.
    """
    from fleet.bus.counts import emitted_by
    from fleet.talk.direct import directs
    from fleet.talk.limits import limits

    config = fleet.config
    folder = fleet.places.cache
    for path in _files(folder):
        path.unlink(missing_ok=True)
    fresh = fleet.reopened()
    fresh.bus.latest(config.types)
    fresh.bus.count_since("", 0.0)
    emitted_by(fresh.store, fresh.cache, "")
    fresh.claims.live()
    for name in fresh.schemas.names():
        fresh.schemas.get(name)
    for channel in (*config.channels, *directs(fresh.store)):
        fresh.talk.board(channel)
        limits(fresh.store, fresh.cache, channel, config.limits.turns_per_thread)
    for agent in config.agents:
        fresh.runs.attempts(agent)
        fresh.memory.state(agent)
    return len(_files(folder))


def _files(folder: "Path") -> "list[Path]":
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
