"""The ways to launch a run, one module each; they plan, and a keeper carries the plan out."""

from collections.abc import Mapping
from pathlib import Path

from fleet.config.model import Agent, HomeConfig
from fleet.runner.launchers import claude, command
from fleet.runner.launchers.shape import Plan

__all__ = ["Plan", "plan"]


def plan(
    agent: Agent,
    config: HomeConfig,
    *,
    run: str,
    folder: Path,
    context_md: str,
    prompt_md: str,
    environ: Mapping[str, str],
    token: str,
    fleet_bin: Path | None = None,
) -> Plan:
    """How `agent` is launched, as its `launch:` says.

    Args:
        agent: whose run it is.
        config: the home's configuration.
        run: the run's id, a UUID.
        folder: the run's folder, absolute, in which `Plan.files` will be.
        context_md: what the agent is told.
        prompt_md: what it is to do; begins with a line of fleet's own.
        environ: the runner's environment, of which a run gets an allow-list.
        token: the run's token.
        fleet_bin: the folder of the `fleet` command; None finds that of this installation.

    Raises:
        BadHome: `claude: env_file` is missing, not private, or no list of NAME=VALUE.
    """
    if agent.launch == "claude":
        return claude.plan(
            agent,
            config,
            run=run,
            folder=folder,
            context_md=context_md,
            prompt_md=prompt_md,
            environ=environ,
            token=token,
            fleet_bin=fleet_bin,
        )
    return command.plan(
        agent,
        config,
        run=run,
        context_md=context_md,
        prompt_md=prompt_md,
        environ=environ,
        token=token,
        fleet_bin=fleet_bin,
    )
