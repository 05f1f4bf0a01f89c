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
    from fleet.talk.direct import directs

    config = fleet.config
    fleet.require_types()
    folder = fleet.places.cache
    for path in _files(folder):
        path.unlink(missing_ok=True)
    fresh = fleet.reopened()
    compute(fresh, "events")
    compute(fresh, "claims-log")
    fresh.later.next_due()
    fresh.questions.open()
    fresh.schemas.look()
    for channel in (*config.channels, *directs(fresh.store)):
        compute(fresh, f"channels/{channel}")
    for agent in config.agents:
        fresh.runs.attempts(agent)
        fresh.memory.state(agent)
    return len(_files(folder))


def compute(fleet: "Fleet", stream: str) -> None:
    """Bring every value that is computed from a log to its end: events, a channel, the claims'.

    Of other logs there is none that trimming would have to keep: they are never trimmed.
    """
    from fleet.bus.counts import emitted_by
    from fleet.talk.limits import limits
    from fleet.talk.posted import by_run

    if stream == "events":
        fleet.bus.latest(fleet.config.types)
        fleet.bus.count_since("", 0.0)
        emitted_by(fleet.store, fleet.cache, "")
        fleet.metrics.subjects()
    elif stream == "claims-log":
        fleet.claims.live()
    elif stream.startswith("channels/"):
        channel = stream.removeprefix("channels/")
        fleet.talk.board(channel)
        limits(fleet.store, fleet.cache, channel, fleet.config.limits.turns_per_thread)
        by_run(fleet.store, fleet.cache, channel)


def _files(folder: "Path") -> "list[Path]":
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
