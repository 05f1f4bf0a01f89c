"""Who reads a post next: the member of its channel that is due first, by the runner's last word.

Computing due slots is too heavy for a post, so this reads what the runner left in the cache.
"""

import json
import time

from fleet.cli.session import Session

CACHE = "next-due"
"""Name in the cache: a JSON object agent -> seconds since the epoch of its next due slot."""


def next_reader(session: Session, channel: str) -> str:
    """` · next reader content-engine 06:10`, or "" when the cache does not know."""
    fleet = session.fleet
    agents = fleet.config.agents
    due = [
        (at, agent)
        for agent, at in _next_due(fleet.cache.load(CACHE)).items()
        if agent in agents and agent != fleet.author.name and channel in agents[agent].channels
    ]
    if not due:
        return ""
    from datetime import datetime

    at, agent = min(due)
    return f" · next reader {agent} {datetime.fromtimestamp(at, session.zone):%H:%M}"


def _next_due(saved: bytes | None) -> dict[str, float]:
    try:
        said = json.loads(saved or b"{}")
    except ValueError:
        return {}
    if not isinstance(said, dict):
        return {}
    now = time.time()
    return {str(k): float(v) for k, v in said.items() if isinstance(v, (int, float)) and v > now}
