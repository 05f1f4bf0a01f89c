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
    config = fleet.config
    folder = fleet.places.cache
    for path in _files(folder):
        path.unlink(missing_ok=True)
    fresh = fleet.reopened()
    fresh.bus.latest(config.types)
    fresh.bus.count_since("", 0.0)
    fresh.claims.live()
    for name in fresh.schemas.names():
        fresh.schemas.get(name)
    for channel in config.channels:
        fresh.talk.board(channel)
    for agent in config.agents:
        fresh.runs.attempts(agent)
    return len(_files(folder))


def _files(folder: "Path") -> "list[Path]":
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
