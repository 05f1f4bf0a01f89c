"""What becomes of a run that is over: outcome, record, lanes, claims, dead letters, consequences.

Everything here may be repeated, by any process: the first end on record stands, lanes move to a
maximum, claims are released once. The order is record, lanes, claims, so that an agent whose claim
is free has its outcome on record.
"""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

from fleet import identity, processes
from fleet.alerts import raise_alert
from fleet.config.model import Agent, Expects
from fleet.logs import between
from fleet.masking.run_files import mask_run
from fleet.ops import claude_cli
from fleet.records import Body, Sieve, rfc3339
from fleet.runner import consequences, money
from fleet.runner.launchers import environment
from fleet.runner.live import (
    STOP_FILE,
    is_its_own,
    keeper_alive,
    left_of,
    read_json,
    whole,
)
from fleet.runs import Run, reads
from fleet.runs.folder import LEFT, hashes
from fleet.runs.judge import judge_claude, judge_command
from fleet.runs.outcome import Left, Verdict, free_where_nothing_ran, settle_expectations
from fleet.runs.run import places_body, places_of
from fleet.shadow import KIND as SHADOW
from fleet.units import counted
from fleet.wiring import Fleet

NOTHING = Expects()
DEAD_AFTER = 5  # failed attempts after which an event is set aside
STOP_MARGIN = 5.0  # seconds beyond an agent's grace until a stopped run must have its exit.json


def settle_stopped(fleet: Fleet, runs: Collection[str]) -> None:
    """Wait until the stopped `runs` are over (their grace, and a margin) and settle them."""
    for run in (fleet.runs.find(run) for run in runs):
        agent = fleet.config.agents.get(run.agent)
        deadline = time.monotonic() + (agent.grace if agent else 0) + STOP_MARGIN
        while keeper_alive(fleet, run.id) and time.monotonic() < deadline:
            time.sleep(0.05)
        settle(fleet, run.agent, run.id)


def reconcile(fleet: Fleet, *, but: Collection[str] = ()) -> list[Run]:
    """Settle every open run whose keeper is gone; the runs that live come back.

    Args:
        fleet: the home.
        but: runs that the caller watches itself.
    """
    alive: list[Run] = []
    for run in fleet.runs.open():
        if run.id in but:
            continue
        if keeper_alive(fleet, run.id):
            alive.append(run)
        else:
            settle(fleet, run.agent, run.id)
    finish_releases(fleet)
    money.mend(fleet)
    return alive


def finish_releases(fleet: Fleet) -> None:
    """Take from ended runs what they hold: who settled them may have died before it did so."""
    held = {(claim.holder, claim.run) for claim in fleet.claims.live() if not claim.keep}
    for agent, run in held:
        if run is not None and has_ended(fleet, agent, run):
            release(fleet, run)
            identity.end_token(fleet.store, run)


def has_ended(fleet: Fleet, agent: str, run: str) -> bool:
    """Whether the end of the agent's `run` is on record; one that is being prepared has none."""
    found = fleet.runs.of(agent, run)
    return found is not None and not found.open


def settle(fleet: Fleet, agent: str, run: str) -> Run:
    """Judge a run that is over, and put everything in order after it; returns it as recorded."""
    folder = fleet.config.run_folder(run)
    exit_ = read_json(folder / "exit.json")
    if not exit_:
        # Its keeper was killed: nothing supervises what is left, so nothing may be left.
        processes.kill_all(lambda: left_of(fleet, run), within=5.0)
        _mask(fleet, run)
        reason, lost = _why_killed(folder)
        verdict = Verdict("killed", reason, lost=lost)
        return finish(fleet, agent, run, verdict)
    if exit_.get("ended_by") == "stopped" and (said := read_json(folder / STOP_FILE)):
        exit_["reason"] = said.get("reason")
    order = read_json(folder / "keeper.json")
    judge = judge_claude if order.get("format") == "claude" else judge_command
    verdict = judge(exit_, folder / "stdout.jsonl", folder / "stderr.log")
    if order.get("format") == "claude" and not verdict.cli:
        verdict = replace(verdict, cli=_cli(fleet, agent, run, order))
    known = fleet.config.agents.get(agent)
    return finish(fleet, agent, run, verdict, known.expects if known else NOTHING)


def _cli(fleet: Fleet, agent: str, run: str, order: Body) -> str:
    """The CLI's version where the CLI does not say it: what was known at the start, else now."""
    argv = cast("list[str]", order.get("argv") or [""])
    found = fleet.runs.of(agent, run)
    return (found.cli if found else "") or claude_cli.version_of(fleet.store, argv[0])


def _mask(fleet: Fleet, run: str) -> None:
    """Mask what the run wrote, as its keeper would have."""
    folder = fleet.config.run_folder(run)
    transcript = read_json(folder / "keeper.json").get("transcript")
    secrets = environment.secrets(fleet.env, fleet.config)
    with suppress(OSError):
        mask_run(folder, run, str(transcript) if transcript else None, secrets)


def finish(fleet: Fleet, agent: str, run: str, verdict: Verdict, expects: Expects = NOTHING) -> Run:
    """Record the end of `run`, then move lanes, release claims, end its token, set poison aside."""
    folder = fleet.config.run_folder(run)
    manifest = read_json(folder / "manifest.json")
    facts = dict(cast("Body", manifest.get("facts") or {}))
    report = fleet.runs.report_of(agent, run)
    left = _left(fleet, agent, run, expects, manifest)
    verdict = free_where_nothing_ran(settle_expectations(verdict, expects, left, report))
    held = fleet.ledger.held(run)
    advance = fleet.bus.narrowed(run, places_of(facts.get("advance")))
    facts["advance"] = places_body(advance)
    ended = rfc3339(fleet.store.now().wall)
    fleet.runs.finish(
        agent,
        run,
        verdict,
        ended=ended,
        context=facts,
        files=hashes(folder, LEFT),
        read=reads.kept(folder),
        reserved=held.sum if held else None,
    )
    return follow(fleet, agent, run)


def follow(fleet: Fleet, agent: str, run: str) -> Run:
    """What comes after an end that is on record: lanes, claims, token, dead letters, consequences.

    Returns the run as recorded.
    """
    fleet.bus.apply_advance(agent, fleet.runs.last_ok_advance(agent))
    release(fleet, run)
    identity.end_token(fleet.store, run)
    set_aside_poison(fleet, agent)
    _tell_when_staged(fleet, agent, run)
    ended = fleet.runs.of(agent, run) or fleet.runs.find(run)
    consequences.after(fleet, ended)
    return ended


def release(fleet: Fleet, run: str) -> None:
    """Release what `run` held: what it was reserved, its own claims (kept ones stay), its place.

    The money first: an agent whose claim is free has it in order.
    """
    money.close(fleet, run)
    fleet.claims.release_run(run)


def set_aside_poison(fleet: Fleet, agent: str) -> None:
    """Put events on which `DEAD_AFTER` runs failed to the dead letters; the lane passes them."""
    if agent not in fleet.config.agents:
        return
    lanes = fleet.bus.lanes(agent, fleet.runs.last_ok_advance(agent))
    attempts = fleet.runs.attempts(agent, lanes)
    for seq in sorted(seq for seq, count in attempts.items() if count >= DEAD_AFTER):
        record = fleet.bus.get(seq)
        failed = [run.id for run in fleet.runs.list(agent, 20) if record.ref in run.delivered]
        fleet.bus.set_aside(agent, record, attempts[seq], failed[:DEAD_AFTER])


def _tell_when_staged(fleet: Fleet, agent: str, run: str) -> None:
    """Raise one alert for a shadow run whose writes wait for a person."""
    if staged := fleet.shadow.staged(run):
        raise_alert(
            fleet.store,
            kind=SHADOW,
            subject=agent,
            what=f"{counted(len(staged), 'write')} of {agent}'s shadow run wait",
            done="nobody but you sees them",
            fix=f"fleet shadow list {run} shows them, then accept or drop",
            key=f"shadow/{run}",
        )


def _left(fleet: Fleet, agent: str, run: str, expects: Expects, manifest: Body) -> Left:
    """What the run left of the things that `expects` names."""
    wanted = (*expects.any_of, *expects.all_of)
    known = fleet.config.agents.get(agent)
    if not wanted or known is None:
        return Left()
    heads = cast("Body", manifest.get("heads") or {})
    posts = {one.post for one in wanted if one.post}
    events = _by_run(fleet, "events", whole(heads.get("events")), run, "type")
    began = datetime.fromisoformat(str(manifest["now"])).timestamp()
    return Left(
        events=frozenset(events),
        posts=frozenset(
            channel
            for channel in posts
            if _by_run(
                fleet, f"channels/{channel}", whole(heads.get(f"channels/{channel}")), run, "op"
            )
        ),
        files=frozenset(
            one.file for one in wanted if one.file and _written(known, one.file, began)
        ),
    )


def _by_run(fleet: Fleet, stream: str, after: int, run: str, name: str) -> set[str]:
    """What field `name` says in the records of `stream` that `run` wrote after number `after`.

    What a shadow run staged counts: it did its part.
    """
    mine = Sieve({"run": frozenset({run})})
    records = between(fleet.store, stream, after, fleet.store.head(stream), sieve=mine)
    staged = (one.body for one in fleet.shadow.staged(run) if one.body["stream"] == stream)
    bodies = [*(record.body for record in records), *(cast("Body", one["body"]) for one in staged)]
    return {str(body.get(name)) for body in bodies}


def _written(agent: Agent, pattern: str, began: float) -> bool:
    # File systems stamp with a coarse clock: what was written in the run's first tick counts.
    return any(path.stat().st_mtime >= began - 0.02 for path in agent.cwd.glob(pattern))


def _why_killed(folder: Path) -> tuple[str, bool]:
    """Why a run has no last word of its keeper, and whether a crash of its host took it."""
    alive = read_json(folder / "alive.json")
    if not is_its_own(folder):
        return "was running elsewhere when this copy was made", False
    if "pid" not in alive:
        return "the runner ended before it was launched", True
    if alive.get("boot") != processes.boot_id():
        return "the machine was restarted", True
    return "its keeper was killed; what was left of it was ended", True
