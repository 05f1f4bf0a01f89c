"""Prepares one run and starts its keeper: claims, context, token, run folder, record, process."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from fleet import blobs, identity
from fleet.config.model import Agent
from fleet.config.portable import to_json
from fleet.context import Context, RenderFailed, build, made_body, start_of
from fleet.cursors import ADDRESSED, BROADCAST, RETRACTIONS, channel_lane
from fleet.errors import (
    BadHome,
    EndedBadly,
    Held,
    NotStarted,
    Rejected,
    Trimmed,
    TryAgain,
    Unavailable,
    Unknown,
)
from fleet.identity import SYSTEM, Author
from fleet.masking import mask, mask_body, secret_values
from fleet.ops.claude_cli import version_of
from fleet.records import Body, new_id
from fleet.runner import money, settle
from fleet.runner.launchers import Plan, environment, plan
from fleet.runner.live import Live, launching, whole
from fleet.runs import Verdict
from fleet.runs.folder import MADE, hashes
from fleet.units import counted
from fleet.wiring import Fleet

MARGIN = 120.0  # seconds that claims and token outlive the run's own limits: time to settle it
PREPARES = 30.0  # seconds that a launcher may take; one that dies in them blocks nobody longer
OBEYED = frozenset({"keeper.json", "alive.json", "settings.json"})
MADE_MOST = 24 << 10  # bytes in a run's record of what its context was made from
STOPS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def reserve(fleet: Fleet, agent: Agent, run: str) -> None:
    """Take the claim of the agent, a place under the cap and what the run may cost.

    The claims hold until the run is prepared, the money until it has ended.

    Raises:
        Held: the agent runs already.
        NotStarted: no place is free (reason `cap`), or a budget of the day is used up
            (`over_budget`).
    """
    _take(fleet, f"agent:{agent.id}", agent, run)
    try:
        _take_place(fleet, agent, run)
        money.reserve(fleet, agent, run)
    except TryAgain:
        with suppress(TryAgain):  # a disk that is full refuses this too; `PREPARES` ends it then
            settle.release(fleet, run)
        raise


def _take_place(fleet: Fleet, agent: Agent, run: str) -> None:
    """Take a place under the cap, those first that nobody seems to have; raises as `reserve`."""
    places = [f"cap:{place}" for place in range(1, fleet.config.concurrency + 1)]
    held = set(fleet.claims.maybe_held("cap:"))
    for key in sorted(places, key=held.__contains__):
        try:
            _take(fleet, key, agent, run)
        except Held:
            continue
        return
    raise NotStarted(
        f"{_alive(fleet.config.concurrency)}, as many as fleet.yaml's concurrency allows",
        "try again when one has ended",
        reason="cap",
    )


def _alive(number: int) -> str:
    return f"{counted(number, 'run')} {'is' if number == 1 else 'are'} alive"


def _take(fleet: Fleet, key: str, agent: Agent, run: str) -> None:
    """Take one of fleet's own keys, also from a run that has ended: its release was lost.

    Raises:
        Held: another run has it, and is named.
    """
    take = partial(fleet.claims.take_system, key, holder=agent.id, run=run, ttl=PREPARES)
    try:
        take()
    except Held as held:
        claim = fleet.claims.get(key)
        if claim and not (claim.run and settle.has_ended(fleet, claim.holder, claim.run)):
            raise Held(
                f"{held.holder} is already running: {claim.run}",
                f"wait for its end, or fleet halt {held.holder}",
                key=key,
                holder=held.holder,
            ) from None
        fleet.claims.release_system(key, run=claim.run if claim else None)
        take()


def start(
    fleet: Fleet,
    agent: Agent,
    run: str,
    *,
    slot: str,
    attempt: int = 1,
    by: Author = SYSTEM,
    caught_up: bool = False,
    cause: str = "",
) -> Live | None:
    """Launch the reserved run; None when it could not be prepared (its record says why).

    `cause` is the event that woke it, as `events#97`: what the run emits is one wake further away
    from what set it off.

    Raises:
        TryAgain: the store refused; no run is on record and nothing is reserved any more.
    """
    record = partial(
        fleet.runs.start,
        by,
        agent.id,
        run,
        slot=slot,
        attempt=attempt,
        caught_up=caught_up,
        shadow=agent.mode == "shadow",
    )
    try:
        ready(fleet, agent)
        fleet.memory.require_whole(agent.id)
        context, planned = _prepare(fleet, agent, run, cause)
        files = hashes(fleet.config.run_folder(run), MADE)
        facts = cast("Body", context.manifest["facts"])
        cli = version_of(fleet.store, planned.argv[0]) if planned.format == "claude" else None
        record(cli=cli, context=facts, made=_made(fleet, context, files))
    except (RenderFailed, BadHome, EndedBadly, Rejected) as fault:
        record()
        outcome = "render_failed" if isinstance(fault, RenderFailed) else "config"
        settle.finish(fleet, agent.id, run, Verdict(outcome, str(fault)))
        return None
    except OSError as fault:
        settle.release(fleet, run)
        raise Unavailable(
            f"the run folder could not be written ({fault.strerror})", "free the disk, then repeat"
        ) from fault
    except BaseException:
        settle.release(fleet, run)
        raise
    try:
        hold(fleet, agent, run)
        return Live(run, agent.id, _spawn(fleet.config.run_folder(run), planned))
    except Held as fault:
        settle.finish(fleet, agent.id, run, Verdict("killed", f"prepared too late: {fault}"))
        return None
    except OSError as fault:
        verdict = Verdict("launch_failed", f"no process could be started: {fault.strerror}")
        settle.finish(fleet, agent.id, run, verdict)
        return None


def hold(fleet: Fleet, agent: Agent, run: str) -> None:
    """Keep what was reserved for as long as the run may last: whoever finds it can settle it now.

    Raises:
        Held: it took so long to get here that another run of the agent began.
    """
    places = fleet.claims.held_by(run, "cap:")
    for key in (f"agent:{agent.id}", *places):
        ttl = agent.timeout + agent.grace + MARGIN
        fleet.claims.take_system(key, holder=agent.id, run=run, ttl=ttl)


def preview(fleet: Fleet, agent_id: str) -> Iterator[str]:
    """What `fleet run` would launch, a line each; nothing is written and nothing is claimed."""
    agent = fleet.config.agents[agent_id]
    run = new_id(fleet.store.now().wall)
    context = build(fleet.sources(), agent, run=run)
    made = _plan(fleet, agent, run, context, token=f"{run}.{'0' * 64}")
    yield f"would run in {made.cwd}: {mask(shlex.join(made.argv))}"
    yield f"context {len(context.context_md)} characters, task {len(context.prompt_md)} characters"
    yield f"{counted(len(context.shown), 'record')} shown; fleet context {agent_id} prints them"


def ready(fleet: Fleet, agent: Agent) -> None:
    """Before a context is built: lanes repaired, advanced and begun, poison set aside."""
    fleet.bus.repair_lanes(agent.id)
    fleet.runs.sync(agent.id)  # whoever recorded the last end may have died before its sync
    fleet.bus.apply_advance(agent.id, fleet.runs.last_ok_advance(agent.id))
    lanes = [ADDRESSED, BROADCAST, RETRACTIONS, *map(channel_lane, agent.channels)]
    now = fleet.store.now().wall
    fleet.cursors.ensure_started(
        agent.id, lanes, lambda stream: start_of(fleet.store, agent, stream, now)
    )
    settle.set_aside_poison(fleet, agent.id)


def _prepare(fleet: Fleet, agent: Agent, run: str, cause: str = "") -> tuple[Context, Plan]:
    """Build the context and write the run folder; nothing is launched yet."""
    context = build(fleet.sources(), agent, run=run, durable=True)
    config = mask_body(to_json(fleet.config), environment.secrets(fleet.env, fleet.config))
    context.manifest["config_blob"] = blobs.keep(fleet.store, config)
    for text in context.templates.values():
        blobs.keep(fleet.store, text)
    lifetime = agent.timeout + agent.grace + MARGIN
    hive = fleet.config.hive
    shadow = agent.mode == "shadow"
    # A wake stands for all that its run is shown: the longest chain counts.
    hops = max(_hops(fleet, cause), context.hops) if cause else 0
    token = identity.issue_token(
        fleet.store, run, agent.id, hive, lifetime, hops, cause or None, shadow=shadow
    )
    made = _plan(fleet, agent, run, context, token)
    folder = fleet.config.run_folder(run)
    _make_working_folder(agent)
    for place in (folder.parent, folder, *made.folders):
        make_private(place)
    own = {
        "manifest.json": context.manifest,
        "keeper.json": made.order(run, agent),
        "alive.json": launching(folder),  # not taken for dead before its keeper is there
    }
    files = {name: json.dumps(value, indent=1).encode() for name, value in own.items()}
    hidden = secret_values(made.env)
    for name, data in (made.files | files).items():
        # What the keeper and the CLI obey stays as it is until they are done with it.
        plain = data if name in OBEYED else mask(data.decode(), hidden).encode()
        with _new_file(folder / name) as file:
            file.write(plain)
    return context, made


def _hops(fleet: Fleet, cause: str) -> int:
    try:
        return whole(fleet.bus.get(cause).body.get("hops"))
    except (Unknown, Trimmed):  # taken out of the log since: as far away as may be
        return fleet.config.limits.hops


def _made(fleet: Fleet, context: Context, files: Mapping[str, str]) -> Body:
    """What the run's record says of what its context was made from; a blob where that is long."""
    made = made_body(context.manifest, files)
    if len(json.dumps(made)) <= MADE_MOST:
        return made
    return {"blob": blobs.keep(fleet.store, made)}


def _plan(fleet: Fleet, agent: Agent, run: str, context: Context, token: str) -> Plan:
    return plan(
        agent,
        fleet.config,
        run=run,
        folder=fleet.config.run_folder(run),
        context_md=context.context_md,
        prompt_md=context.prompt_md,
        environ=fleet.env,
        token=token,
    )


def _make_working_folder(agent: Agent) -> None:
    """Make the agent's own folder.

    Raises:
        BadHome: its file names one that cannot be.
        OSError: the disk is full or broken.
    """
    try:
        make_private(agent.cwd)
    except (NotADirectoryError, PermissionError) as fault:
        why = (fault.strerror or "").lower()
        raise BadHome(f"cwd {agent.cwd} cannot be made: {why}", f"see {agent.file}") from fault


def make_private(folder: Path) -> None:
    """Make `folder` and what is missing above it, each 0700 whatever the umask."""
    for place in (*reversed(folder.parents), folder):
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)


def _new_file(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _spawn(folder: Path, made: Plan) -> subprocess.Popen[bytes]:
    """Start the keeper in a session of its own: no signal of our terminal reaches it.

    A stop that comes before it can listen waits for it: the signals are blocked until then.
    """
    held = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        with _new_file(folder / "keeper.log") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-m", "fleet.keeper", str(folder)],
                env=made.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
