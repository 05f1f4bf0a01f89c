"""Fields of the operator's files that this version reads and does not act on: it says so."""

from collections.abc import Callable, Iterator, Mapping

from fleet.config.model import Agent, HomeConfig
from fleet.errors import Finding

AGENT_FIELDS: Mapping[str, Callable[[Agent], object]] = {
    "knowledge": lambda agent: agent.knowledge != "read",
    "mcp": lambda agent: agent.mcp,
    "runs_on": lambda agent: agent.runs_on,
}
FIX = "do not rely on it yet"


def inert(config: HomeConfig) -> Iterator[Finding]:
    """A note for each such field that is set."""
    for name, told in AGENT_FIELDS.items():
        agents = [agent for agent in config.agents.values() if told(agent)]
        if agents:
            more = f" (and {len(agents) - 1} more agents)" if len(agents) > 1 else ""
            what = f"{name}: this version does not act on it{more}"
            yield Finding("note", agents[0].file, 0, what, FIX)
