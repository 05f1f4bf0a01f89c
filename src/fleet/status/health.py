"""How the fleet is, in one word, and the facts behind it: the runner, the disk, how runs ended."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import processes
from fleet.alerts import Alert, open_ones
from fleet.config.model import HomeConfig
from fleet.ports import Store
from fleet.records import Body
from fleet.status.sources import Sources
from fleet.whereabouts import LEADER, is_here

if TYPE_CHECKING:
    from fleet.runs import Run

OK, DEGRADED, DOWN = "ok", "degraded", "down"
UNJUDGED = frozenset({"killed", "rate_limited", "auth"})  # they say nothing of an agent
LOW_DISK_FIX = "free disk space (fleet trim says what could go), or lower limits.min_free"


def runner(store: Store, state: Path) -> Body:
    """Who leads: {alive, pid, since}; alive only if pid, start time and boot match.

    In a copy of a home nobody does: the process that it names leads the other one.
    """
    body = store.get(LEADER)[0]
    note = (body or {}).get("runner")
    said = note if isinstance(note, dict) and is_here(body, state) else {}
    alive = bool(said) and processes.is_alive(said["pid"], said["start"], said["boot"])
    return {"alive": alive, "pid": said.get("pid"), "since": said.get("since")}


def health(sources: Sources) -> str:
    """The word of `status` alone: what awareness says about the system."""
    failing = any(
        failed(last)
        for agent in sources.config.agents.values()
        if agent.enabled and (last := sources.runs.last_ended(agent.id)) is not None
    )
    return _word(sources, open_ones(sources.store, sources.cache), bad=failing)


def _word(sources: Sources, told: Iterable[Alert], *, bad: bool) -> str:
    waits = any(alert.needs_a_person for alert in told) or _refused(sources)
    return DEGRADED if bad or waits or sources.trouble or low_disk(sources.config) else OK


def _refused(sources: Sources) -> bool:
    """Whether an account waits for its limit or for a login; a pause is somebody's wish."""
    accounts = map(sources.accounts.of, sources.accounts.names(sources.config))
    return any(account.blocked or account.limited_until for account in accounts)


def failed(run: "Run") -> bool:
    """Whether an ended run was no success; one that says nothing of its agent is neither."""
    return run.outcome not in UNJUDGED and run.row is not None and not run.row.advances


def low_disk(config: HomeConfig) -> str:
    """One line when less than `limits.min_free` is free, so that nothing may start; else ""."""
    room = os.statvfs(config.state if config.state.exists() else config.root)
    free, least = room.f_bavail * room.f_frsize, config.limits.min_free
    return "" if free >= least else f"{free >> 20} MiB are free, limits.min_free is {least >> 20}"


def in_all(
    sources: Sources,
    leader: Body,
    agents: list[Body],
    lines: dict[str, int],
    told: Iterable[Alert],
) -> str:
    """The word of `status`: what it gathered, `lines` being the damaged ones by log, decides."""
    if not leader["alive"]:
        return DOWN
    failing = any(agent["failing"] for agent in agents)
    return _word(sources, told, bad=failing or bool(lines))
