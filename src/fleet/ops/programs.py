"""Whether the programs that the home's files name are on this machine; it starts none of them."""

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from fleet.config.model import HomeConfig
from fleet.errors import Finding


def missing(config: HomeConfig) -> Iterator[Finding]:
    """A warning for each program that cannot be started here.

    Of agents of `launch: command`, of `on_alert` and of the heartbeat.
    """
    beat = config.heartbeat.run if config.heartbeat else ()
    for name, argv in (("on_alert", config.on_alert), ("heartbeat", beat)):
        if argv and not _found(argv[0], config.root):
            what = f"{name} starts {argv[0]}, which is not found"
            fix = f"install it, or correct {name} (a path is relative to the home)"
            yield Finding("warning", "fleet.yaml", 0, what, fix)
    for agent in config.agents.values():
        launched = agent.enabled and agent.launch == "command"
        if launched and not _found(agent.command[0], agent.cwd):
            what = f"{agent.id} is launched with {agent.command[0]}, which is not found"
            fix = "install it, or correct command (a path is relative to the agent's cwd)"
            yield Finding("warning", agent.file, 0, what, fix)


def _found(program: str, folder: Path) -> bool:
    """As it is started: a path from its folder, a name on a PATH that has fleet's own."""
    if "/" in program:
        return shutil.which(folder / program) is not None
    folders = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    return shutil.which(program, path=folders) is not None
