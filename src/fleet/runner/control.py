"""What a person does to the runner and its agents: pause, resume, halt, stop."""

import signal
import time
from collections.abc import Iterator

from fleet import identity, processes
from fleet.accounts import account_of
from fleet.controls import FLEET
from fleet.errors import Down, EndedBadly, Unknown
from fleet.identity import Author
from fleet.runner import lead, settle
from fleet.runner.breaker import failures_of, held_until, said_of
from fleet.runner.closing import close_over
from fleet.runner.live import stop_keeper
from fleet.text import one_of
from fleet.units import counted
from fleet.wiring import Fleet

STOP_MARGIN = 10.0  # seconds beyond the longest grace in which a runner ends: it records and masks


def pause(fleet: Fleet, author: Author, agent: str | None, reason: str) -> str:
    """Nothing of `agent` (None: of nobody) starts by schedule until `resume`; returns the line.

    Raises:
        NotAllowed: the author is a run.
        Unknown: no such agent.
    """
    identity.require_operator(author, "pause")
    scope = _scope(fleet, agent)
    fleet.controls.set(scope, "paused", by=author.name, reason=reason)
    return f"paused {_name(scope)}: nothing starts by schedule until fleet resume{_of(scope)}"


def pause_account(fleet: Fleet, author: Author, account: str, reason: str) -> str:
    """Nothing of the agents of `account` starts by schedule until it is resumed; returns the line.

    Raises:
        NotAllowed: the author is a run.
        Unknown: no such account.
    """
    identity.require_operator(author, "pause")
    _require_account(fleet, account)
    fleet.accounts.pause(account, by=author.name, reason=reason)
    agents = ", ".join(_agents(fleet, account)) or "no agent has it"
    then = f"fleet resume --account {account}"
    return f"paused account {account} ({agents}): nothing starts by schedule until {then}"


def resume(fleet: Fleet, author: Author, agent: str | None) -> str:
    """Take pause, halt and what failures made of them back; returns the line. Raises as `pause`."""
    identity.require_operator(author, "resume")
    scope = _scope(fleet, agent)
    failures = failures_of(fleet, scope, fleet.store.now().wall) if agent else []
    done = f"resumed {_name(scope)}"
    if not fleet.controls.clear(scope, by=author.name):
        done = "nothing was paused here"
        if held_until(failures):
            done = f"resumed {scope}, which {said_of(failures)}"
    close_over(fleet, author)
    return "; ".join([done, *_still_held(fleet, scope)])


def _still_held(fleet: Fleet, scope: str) -> Iterator[str]:
    """What else holds those who were resumed, each with the way out."""
    left = fleet.controls.of(scope)
    if fleet.config.paused:
        yield "fleet.yaml still says paused: true, write paused: false there"
    elif left.paused or left.halted:
        yield f"everybody is still held {left.halted or left.paused}: fleet resume"
    for account in fleet.accounts.names(fleet.config):
        held = fleet.accounts.of(account).line(fleet.config.timezone)
        if held and (scope == FLEET or scope in _agents(fleet, account)):
            yield f"account {account} is still {held}: fleet resume --account {account}"


def resume_account(fleet: Fleet, author: Author, account: str) -> str:
    """Lift pause, block and limit of `account`; returns the line. Raises as `pause_account`."""
    identity.require_operator(author, "resume")
    _require_account(fleet, account)
    held = fleet.accounts.resume(account, by=author.name)
    close_over(fleet, author)
    return f"resumed account {account}" if held else f"nothing held account {account}"


def halt(fleet: Fleet, author: Author, agent: str | None, reason: str) -> str:
    """Pause, and stop what runs, with or without a runner; returns the line. Raises as `pause`."""
    identity.require_operator(author, "halt")
    scope = _scope(fleet, agent)
    fleet.controls.set(scope, "halted", by=author.name, reason=reason)
    why = f"halted by {author.name}" + (f": {reason}" if reason else "")
    stopped = [run.id for run in fleet.runs.open(agent) if stop_keeper(fleet, run.id, why)]
    settle.settle_stopped(fleet, stopped)
    what = f"stopped {', '.join(stopped)}" if stopped else "nothing was running"
    return f"halted {_name(scope)}: {what}; nothing starts until fleet resume{_of(scope)}"


def stop(fleet: Fleet, author: Author, *, drain: bool) -> str:
    """Stop the runner as SIGTERM does, or with `drain` once what runs has ended; returns the line.

    Raises:
        Down: no runner is alive on this home.
    """
    identity.require_operator(author, "stop")
    leader = lead.leader(fleet)
    if leader is None:
        raise Down("no runner is alive on this home", "fleet up starts one")
    word = signal.SIGUSR1 if drain else signal.SIGTERM
    processes.send_all([leader.pid], word)
    return f"told runner {leader.pid} to {'drain' if drain else 'stop'}"


def stop_and_wait(fleet: Fleet, author: Author, *, drain: bool) -> str:
    """Stop the runner and see that nothing of any run is left; returns the line.

    Without a runner it ends what runs on under its keepers, and what a person runs by hand.

    Raises:
        EndedBadly: the runner does not end; what ran has ended.
    """
    identity.require_operator(author, "stop")
    leader = lead.leader(fleet)
    if leader is not None:
        stop(fleet, author, drain=drain)
    stopped = [] if leader and drain else _stop_keepers(fleet)
    agents = fleet.config.agents.values()
    longest = max((one.grace + (one.timeout if drain else 0) for one in agents), default=0)
    deadline = time.monotonic() + longest + STOP_MARGIN
    while leader and lead.leader(fleet) == leader and time.monotonic() < deadline:
        time.sleep(0.05)
    stopped += _stop_keepers(fleet)  # what the runner was about to launch
    settle.settle_stopped(fleet, stopped)
    if leader and lead.leader(fleet) == leader:
        what = f"the runner {leader.pid} does not end; what ran has ended"
        raise EndedBadly(what, f"kill -9 {leader.pid}")
    return f"nothing runs any more; {counted(len(set(stopped)), 'run')} stopped"


def _stop_keepers(fleet: Fleet) -> list[str]:
    """Tell every keeper to stop its run; those that there were."""
    why = "fleet stop --wait"
    return [run.id for run in fleet.runs.open() if stop_keeper(fleet, run.id, why)]


def _scope(fleet: Fleet, agent: str | None) -> str:
    if agent is not None and agent not in fleet.config.agents:
        raise Unknown(f"there is no agent {agent!r}", one_of(agent, fleet.config.agents))
    return agent or FLEET


def _require_account(fleet: Fleet, account: str) -> None:
    names = fleet.accounts.names(fleet.config)
    if account not in names:
        raise Unknown(f"there is no account {account!r}", one_of(account, names))


def _agents(fleet: Fleet, account: str) -> list[str]:
    agents = fleet.config.agents.values()
    return [agent.id for agent in agents if account_of(agent) == account]


def _name(scope: str) -> str:
    return "every agent" if scope == FLEET else scope


def _of(scope: str) -> str:
    return "" if scope == FLEET else f" {scope}"
