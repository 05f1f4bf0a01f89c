"""Who reads a post next: the member of its channel that is due first, by the runner's last word.

Computing due slots is too heavy for a post, so this reads what the runner left in the cache.
"""

import json

from fleet.cli.session import Session
from fleet.places import NEXT_DUE
from fleet.talk.direct import pair_of


def next_reader(session: Session, channel: str) -> str:
    """` · next reader content-engine 06:10`, or "" when the cache does not know."""
    fleet = session.fleet
    agents = fleet.config.agents
    now = fleet.store.now().wall
    due = [
        (at, agent, clock)
        for agent, (at, clock) in json.loads(fleet.cache.load(NEXT_DUE) or b"{}").items()
        if at > now and agent in agents and agent != fleet.author.name
        if channel in agents[agent].channels or agent in (pair_of(channel) or ())
    ]
    if not due:
        return ""
    _, agent, clock = min(due)
    return f" · next reader {agent} {clock}"
