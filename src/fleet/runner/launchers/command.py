"""Plans a run of `launch: command`: the operator's argv, context and prompt on its stdin."""

from collections.abc import Mapping
from pathlib import Path

from fleet.config.model import Agent, HomeConfig
from fleet.runner.launchers import environment
from fleet.runner.launchers.shape import Plan


def plan(
    agent: Agent,
    config: HomeConfig,
    *,
    run: str,
    context_md: str,
    prompt_md: str,
    environ: Mapping[str, str],
    token: str,
    fleet_bin: Path | None,
) -> Plan:
    """The plan; arguments as `launchers.plan` says."""
    env = environment.allowed(environ) | environment.asked(environ, agent)
    return Plan(
        argv=agent.command,
        env=env | environment.own(env, agent, config, run=run, token=token, fleet_bin=fleet_bin),
        cwd=agent.cwd,
        files={"context.md": context_md.encode(), "prompt.md": prompt_md.encode()},
        stdin=("context.md", "prompt.md"),
    )
