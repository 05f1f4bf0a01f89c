"""Prepares one run and starts its keeper: claims, context, token, run folder, record, process."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from fleet import identity, processes
from fleet.config.model import Agent, HomeConfig
from fleet.context import RenderFailed, build
from fleet.errors import BadHome, Held, NotStarted, Rejected
from fleet.identity import SYSTEM
from fleet.runner import settle
from fleet.runner.launchers import Plan, plan
from fleet.runner.live import Live
from fleet.runs.outcome import Verdict
from fleet.wiring import Fleet

MARGIN = 120.0  # seconds that claims and token outlive the run's own limits: time to settle it


def reserve(fleet: Fleet, agent: Agent, run: str) -> None:
    """Take the claim of the agent and one place under the cap, for as long as the run may last.

    Raises:
        Held: the agent runs already.
        NotStarted: no place is free (reason `cap`).
    """
    ttl = agent.timeout + agent.grace + MARGIN
    key = f"agent:{agent.id}"
    fleet.claims.take_system(key, holder=agent.id, run=run, ttl=ttl)
    for place in range(1, fleet.config.concurrency + 1):
        try:
            fleet.claims.take_system(f"cap:{place}", holder=agent.id, run=run, ttl=ttl)
        except Held:
            continue
        return
    fleet.claims.release_system(key, run=run)
    raise NotStarted(
        f"{fleet.config.concurrency} runs are alive, as many as fleet.yaml's concurrency allows",
        "try again when one has ended",
        reason="cap",
    )


def start(
    fleet: Fleet, agent: Agent, run: str, *, slot: str, attempt: int = 1, caught_up: bool = False
) -> Live | None:
    """Launch the reserved run; None when it could not be prepared (its record says why).

    Raises:
        TryAgain: the store refused; no run is on record and nothing is reserved any more.
    """
    try:
        ready(fleet, agent)
        prepared = _prepare(fleet, agent, run)
    except (RenderFailed, BadHome, Rejected) as fault:
        outcome = "render_failed" if isinstance(fault, RenderFailed) else "config"
        fleet.runs.start(SYSTEM, agent.id, run, slot=slot, attempt=attempt, caught_up=caught_up)
        settle.finish(fleet, agent.id, run, Verdict(outcome, str(fault)))
        return None
    except BaseException:
        settle.release(fleet, run)
        raise
    fleet.runs.start(SYSTEM, agent.id, run, slot=slot, attempt=attempt, caught_up=caught_up)
    return Live(run, agent.id, _spawn(fleet.config.run_folder(run), prepared))


def ready(fleet: Fleet, agent: Agent) -> None:
    """Before a context is built: lanes repaired, advanced and begun, poison set aside."""
    fleet.bus.repair_lanes(agent.id)
    fleet.cursors.advance(agent.id, fleet.runs.last_ok_advance(agent.id))
    fleet.begin_lanes(agent)
    settle.set_aside_poison(fleet, agent.id)


def _prepare(fleet: Fleet, agent: Agent, run: str) -> Plan:
    """Build the context and write the run folder; nothing is launched yet."""
    context = build(fleet.sources(), agent, run=run, durable=True)
    lifetime = agent.timeout + agent.grace + MARGIN
    token = identity.issue_token(
        fleet.store, run, agent.id, fleet.config.hive, lifetime, context.hops
    )
    made = plan(
        agent,
        fleet.config,
        run=run,
        folder=fleet.config.run_folder(run),
        context_md=context.context_md,
        prompt_md=context.prompt_md,
        environ=fleet.env,
        token=token,
    )
    _write_folder(fleet.config, agent, run, made, context.manifest)
    return made
