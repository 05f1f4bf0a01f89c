"""From checked files to `config.model`: fleet's defaults under each agent, every path absolute.

Everything that can be wrong has been found before; nothing here reports.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fleet.config import model
from fleet.config.files import AgentFile, ChannelFile, FleetFile
from fleet.config.yamltext import Tree

MERGED = ("budget", "context", "env", "retries")  # parts whose keys add up, not replace


def merged(defaults: dict[str, Tree], own: dict[str, Tree]) -> dict[str, Tree]:
    """The agent's own words over the fleet's: key by key inside `MERGED`, else field by field."""
    together = {**defaults, **own}
    for key in MERGED:
        below, above = defaults.get(key), own.get(key)
        if isinstance(below, dict) and isinstance(above, dict):
            together[key] = _deep(below, above)
    return together


def _deep(below: dict[str, Tree], above: dict[str, Tree]) -> dict[str, Tree]:
    together = {**below, **above}
    for key, value in above.items():
        under = below.get(key)
        if isinstance(value, dict) and isinstance(under, dict):
            together[key] = _deep(under, value)
    return together


def working_folder(root: Path, written: str) -> Path:
    """The absolute folder of `cwd: written`, symlinks not followed."""
    return Path(os.path.normpath(root / os.path.expanduser(written)))  # noqa: PTH111 - never raises


def _logs(channels: Mapping[str, ChannelFile]) -> dict[str, str]:
    """The id of each channel by the name of its file."""
    return {name: said.log or name for name, said in channels.items()}


def home(
    root: Path,
    *,
    version: str,
    fleet: FleetFile,
    agents: Mapping[str, AgentFile],
    channels: Mapping[str, ChannelFile],
    types: tuple[str, ...],
) -> model.HomeConfig:
    """The config of the home at `root`."""
    accounts = _accounts(fleet, tuple(agents))
    owner = {name: account for account, names in accounts.items() for name in names}
    logs = _logs(channels)
    retention = _given(fleet.retention)
    renamed = {
        "runs": "retention_age",
        "run_count": "retention_count",
        "run_bytes": "retention_bytes",
    }
    plain = _given(fleet, "name", "timezone", "store", "paused", "concurrency", "on_alert")
    return model.HomeConfig(
        root=root,
        version=version,
        **plain,
        **{renamed[name]: value for name, value in retention.items()},
        budget=model.Budget(**_given(fleet.budget)),
        claude=model.Claude(**_given(fleet.claude)),
        accounts=accounts,
        vitals=tuple(model.Vital(v.label, v.count, v.window) for v in fleet.vitals or ()),
        hive=(fleet.hives.write if fleet.hives else None) or "",
        limits=model.Limits(**_given(fleet.limits)),
        heartbeat=model.Heartbeat(**_given(fleet.heartbeat)) if fleet.heartbeat else None,
        agents={
            name: _agent(root, name, agent, fleet, owner.get(name, ""), logs)
            for name, agent in agents.items()
        },
        channels={
            logs[name]: _channel(name, logs[name], channel) for name, channel in channels.items()
        },
        types=types,
    )


def _given(part: BaseModel | None, *names: str) -> dict[str, Any]:
    """What a file says, of `names` or of everything; what it leaves out stays the default."""
    if part is None:
        return {}
    chosen = names or tuple(type(part).model_fields)
    said = {name: getattr(part, name) for name in chosen}
    return {name: value for name, value in said.items() if value is not None}


def _accounts(fleet: FleetFile, agents: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    written = {name: account.agents for name, account in (fleet.accounts or {}).items()}
    named = {agent for listed in written.values() for agent in listed or ()}
    rest = tuple(agent for agent in agents if agent not in named)
    return {name: rest if listed is None else listed for name, listed in written.items()}


_PARTS = (
    *("schedule", "cwd", "env", "retries", "budget", "wake_on", "expects", "context", "runs_on"),
    "channels",
)


def _agent(  # noqa: PLR0917 - one file, and what others say about it
    root: Path,
    name: str,
    said: AgentFile,
    fleet: FleetFile,
    account: str,
    logs: Mapping[str, str],
) -> model.Agent:
    plain = [field for field in AgentFile.model_fields if field not in (*_PARTS, "add_dirs")]
    env = said.env
    return model.Agent(
        id=name,
        file=f"agents/{name}.yaml",
        account=account,
        **_given(said, *plain),
        cwd=working_folder(root, said.cwd or f"work/{name}"),
        add_dirs=tuple(str(working_folder(root, folder)) for folder in said.add_dirs or ()),
        schedule=tuple(model.Schedule(**_given(entry)) for entry in said.schedule or ()),
        env_pass=(env.pass_ if env else None) or (),
        env_set=(env.set if env else None) or {},
        retries=model.Retries(**_given(said.retries)),
        budget=_budget(said, fleet),
        wake_on=model.WakeOn(**_given(said.wake_on)) if said.wake_on else None,
        channels=tuple(logs[channel] for channel in said.channels or ()),
        expects=_expects(said, logs),
        context=_context(said),
        runs_on=(said.runs_on.labels if said.runs_on else None) or (),
    )


def _budget(said: AgentFile, fleet: FleetFile) -> model.Budget:
    """A run may cost the smaller of the two; the sums of a day are counted apart."""
    own, all_of_them = _given(said.budget), _given(fleet.budget)
    per_run = [part["per_run"] for part in (own, all_of_them) if "per_run" in part]
    return model.Budget(**{**own, "per_run": min(per_run, default=None)})


def _expects(said: AgentFile, logs: Mapping[str, str]) -> model.Expects:
    if said.expects is None:
        return model.Expects()
    return model.Expects(
        *(
            tuple(
                model.Expectation(**_given(entry, "event", "file"), post=logs.get(entry.post or ""))
                for entry in listed or ()
            )
            for listed in (said.expects.any_of, said.expects.all_of)
        )
    )


def _context(said: AgentFile) -> model.ContextBudget:
    if said.context is None:
        return model.ContextBudget()
    sections = {
        name: model.SectionBudget(**_given(bounds))
        for name, bounds in (said.context.sections or {}).items()
    }
    return model.ContextBudget(**_given(said.context, "max_tokens"), sections=sections)


def _channel(name: str, log: str, said: ChannelFile) -> model.Channel:
    return model.Channel(
        id=log,
        alias=name if name != log else "",
        file=f"channels/{name}.yaml",
        name=said.name,
        purpose=said.purpose,
        members=None if said.members is None else frozenset(said.members),
        **_given(said, "keep", "max_pins"),
    )
