"""What a person does to the runner and its agents: pause, resume, halt, stop."""

import signal

from fleet import identity, processes
from fleet.controls import FLEET
from fleet.errors import Down, Unknown
from fleet.identity import Author
from fleet.runner import lead, settle
from fleet.runner.live import stop_keeper
from fleet.text import one_of
from fleet.wiring import Fleet


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


def resume(fleet: Fleet, author: Author, agent: str | None) -> str:
    """Take pause and halt back; returns the line. Raises as `pause`."""
    identity.require_operator(author, "resume")
    scope = _scope(fleet, agent)
    done = f"resumed {_name(scope)}" if fleet.controls.clear(scope) else "nothing was paused here"
    left = fleet.controls.of(scope)
    if fleet.config.paused:
        return f"{done}; fleet.yaml still says paused: true, write paused: false there"
    if left.paused or left.halted:
        return f"{done}; everybody is still held {left.halted or left.paused}: fleet resume"
    return done


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


def _scope(fleet: Fleet, agent: str | None) -> str:
    if agent is not None and agent not in fleet.config.agents:
        raise Unknown(f"there is no agent {agent!r}", one_of(agent, fleet.config.agents))
    return agent or FLEET


def _name(scope: str) -> str:
    return "every agent" if scope == FLEET else scope


def _of(scope: str) -> str:
    return "" if scope == FLEET else f" {scope}"
