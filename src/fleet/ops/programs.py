"""Whether the programs that the agents' files name are on this machine; it starts none of them."""

import os
import shutil
import sysconfig
from collections.abc import Iterator

from fleet.config.model import Agent, HomeConfig
from fleet.errors import Finding


def missing(config: HomeConfig) -> Iterator[Finding]:
    """A warning for each agent of `launch: command` whose program cannot be started here."""
    for agent in config.agents.values():
        if agent.enabled and agent.launch == "command" and not _found(agent):
            what = f"{agent.id} is launched with {agent.command[0]}, which is not found"
            fix = "install it, or correct command (a path is relative to the agent's cwd)"
            yield Finding("warning", agent.file, 0, what, fix)


def _found(agent: Agent) -> bool:
    """As a run finds it: a path from the agent's folder, a name on a PATH that has fleet's own."""
    program = agent.command[0]
    if "/" in program:
        return shutil.which(agent.cwd / program) is not None
    folders = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    return shutil.which(program, path=folders) is not None
