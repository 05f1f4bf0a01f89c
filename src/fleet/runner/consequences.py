"""What a run's end means for what starts next: money, account, retry, breaker, wake, alerts.

Everything here may be repeated, by any process and at any time: it follows from records, is written
by compare-and-set, and each alert has its key. It judges no run and starts none.
"""

import zlib
from datetime import datetime, timedelta

from fleet.accounts import Ended, account_of
from fleet.alerts import raise_alert
from fleet.config.env_file import CREDENTIALS
from fleet.config.model import Agent
from fleet.controls import FLEET, local
from fleet.records import wall_of
from fleet.runner import breaker, cliwatch, closing, money, wakes
from fleet.runner.slots import Slots
from fleet.runs import Run
from fleet.status import failed
from fleet.units import counted
from fleet.wiring import Fleet

FAILING_AFTER = 3  # failures in a row after which a person is told
WORKED = frozenset({"ok", "ok_with_denials", "incomplete", "max_turns", "budget"})
"""Outcomes that an account without login, or at its limit, cannot have."""
RETRY_BASE = 30.0  # seconds from the end of a first attempt to the next; doubled each time
RETRY_LONGEST = 900.0
RETRY_SPREAD = 0.25  # of the wait, to both sides: what failed together is not repeated together


def after(fleet: Fleet, run: Run) -> None:
    """Draw the consequences of `run`; of one that has not ended there are none.

    Raises:
        TryAgain: the store refused; what is missing is done when this is repeated.
    """
    config = fleet.config
    agent = config.agents.get(run.agent) or config.agents.get(config.called_now(run.agent))
    if run.ended is None or agent is None:
        return
    money.close(fleet, run.id)
    money.tell(fleet, agent)
    _tell_account(fleet, agent, run)
    _retry(fleet, agent, run)
    _break(fleet, agent, run)
    _tell_when_failing(fleet, agent)
    wakes.after(fleet, agent, run)
    cliwatch.after(fleet, run)
    closing.close_over(fleet)


def of_the_last_runs(fleet: Fleet) -> None:
    """Draw those of every agent's newest run: whoever recorded its end may have died then."""
    last = [run for agent in fleet.config.agents if (run := fleet.runs.last_ended(agent))]
    for run in sorted(last, key=lambda run: str(run.ended)):
        after(fleet, run)


# The account ---------------------------------------------------------------------------------


def _tell_account(fleet: Fleet, agent: Agent, run: Run) -> None:
    name = account_of(agent)
    ended = wall_of(str(run.ended))
    span = Ended(run.id, wall_of(run.started) if run.started else ended, ended)
    if run.outcome == "rate_limited":
        if fleet.accounts.park(name, span, run.limit_until, run.reason):
            _tell_of_limit(fleet, name, run)
    elif run.outcome == "auth":
        if fleet.accounts.block(name, span, run.reason):
            _tell_of_block(fleet, name, agent, run)
    elif run.outcome in WORKED:
        fleet.accounts.got_through(name, span)


def _tell_of_limit(fleet: Fleet, name: str, run: Run) -> None:
    until = fleet.accounts.of(name).limited_until
    if until is None:
        return  # it was over before anybody came to say so
    raise_alert(
        fleet.store,
        kind="limit",
        subject=name,
        what=f"account {name} has met its usage limit: {run.reason}",
        done=f"{_agents(fleet, name)} start after {local(until, fleet.config.timezone)}",
        fix=f"nothing, or fleet resume --account {name} where it is lifted before",
        key=f"limit/{name}/{run.id}",
    )


def _tell_of_block(fleet: Fleet, name: str, agent: Agent, run: Run) -> None:
    raise_alert(
        fleet.store,
        kind="auth",
        subject=name,
        what=f"account {name} cannot log in: {run.reason}",
        done=f"{_agents(fleet, name)} do not start",
        fix=f"{_login(fleet, agent)}, then fleet resume --account {name}",
        key=f"auth/{name}/{run.id}",
    )


def _agents(fleet: Fleet, name: str) -> str:
    agents = fleet.config.agents.values()
    count = sum(account_of(agent) == name for agent in agents)
    return f"its {counted(count, 'agent')}" if name != FLEET else counted(count, "agent")


def _login(fleet: Fleet, agent: Agent) -> str:
    claude = fleet.config.claude
    if agent.launch != "claude":
        return f"log in where {agent.command[0] if agent.command else agent.id} keeps its login"
    if claude.env_file is not None:
        return f"renew the key or token in {claude.env_file}"
    given = agent.env_set if agent.env_set.keys() & set(CREDENTIALS) else fleet.env
    if key := next((name for name in CREDENTIALS if given.get(name)), ""):
        return f"renew {key}"
    return f"log in by {claude.path} /login"


# A retry ---------------------------------------------------------------------------------------


def _retry(fleet: Fleet, agent: Agent, run: Run) -> None:
    """Open the next attempt of the run's slot, where its agent's file asks for one."""
    if run.slot.startswith("hand:"):
        return  # a person is there
    retries = agent.retries
    tried = run.outcome in retries.on and run.attempt <= retries.max
    lost = run.lost and agent.rerun_if_lost and run.attempt == 1
    if tried or lost:
        ended = datetime.fromisoformat(str(run.ended))
        due = ended + timedelta(seconds=_wait(run))
        Slots(fleet.store).open_retry(agent.id, run.slot, run.attempt + 1, due)


def _wait(run: Run) -> float:
    """Seconds from the run's end to its next attempt, the same whoever asks."""
    wait = min(RETRY_BASE * 2.0 ** (run.attempt - 1), RETRY_LONGEST)
    chance = zlib.crc32(run.id.encode()) / 2**32
    return wait * (1 + RETRY_SPREAD * (2 * chance - 1))


# Failures in a row -----------------------------------------------------------------------------


def _break(fleet: Fleet, agent: Agent, run: Run) -> None:
    """Pause an agent that failed too often in a row, and tell a person once."""
    if run.row is None or not run.row.fault:
        return
    failures = breaker.failures_of(fleet, agent.id, fleet.store.now().wall)
    if len(failures) < breaker.PAUSES_AT:
        return
    newest = failures[0]
    said = breaker.said_of(failures)
    began = wall_of(newest.started) if newest.started else wall_of(str(newest.ended))
    paused = fleet.controls.pause_failing(agent.id, run=newest.id, began=began, reason=said)
    if paused:
        raise_alert(
            fleet.store,
            kind="breaker",
            subject=agent.id,
            what=f"{agent.id} {said}",
            done="it is paused, its events wait",
            fix=f"fleet logs {agent.id}, then fleet resume {agent.id}",
            key=f"breaker/{agent.id}/{paused}",
        )


def _tell_when_failing(fleet: Fleet, agent: Agent) -> None:
    """Raise one alert for each streak of failures: of the agent's own, or by nobody's fault."""
    last = fleet.runs.last_ended(agent.id)
    if last is None or last.row is None or not failed(last):
        return
    own = last.row.fault
    seen = list(fleet.runs.list(agent.id, breaker.LOOKED_AT))
    since = breaker.resumed_at(fleet, agent.id, fleet.store.now().wall)
    failures, whole = breaker.streak(seen, since, own=own)
    beyond = not whole and len(seen) == breaker.LOOKED_AT
    if len(failures) < FAILING_AFTER or beyond:
        return  # too short, or longer than one can see: it was told long ago
    kind, whose = ("failing", "by its own fault") if own else ("hindered", "by no fault of its own")
    said = f"{FAILING_AFTER} times in a row {whose}: {last.outcome}, {last.reason}"
    raise_alert(
        fleet.store,
        kind=kind,
        subject=agent.id,
        what=f"{agent.id} failed {said}",
        done="its events wait, its schedule goes on",
        fix=f"fleet logs {agent.id}, fleet context {agent.id}",
        key=f"{kind}/{agent.id}/{failures[-FAILING_AFTER].id}",
    )
