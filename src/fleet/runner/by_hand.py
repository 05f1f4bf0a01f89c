"""One run by a person, who waits for its end: the rules of `decide`, the steps of any launch."""

import signal
import time
from collections.abc import Callable

from fleet import identity
from fleet.accounts import account_of
from fleet.config.model import Agent
from fleet.errors import NotStarted, Unavailable
from fleet.records import new_id
from fleet.runner import cliwatch, lead, money, settle
from fleet.runner.decide import decide
from fleet.runner.deliverer import deliver
from fleet.runner.launch import reserve, start
from fleet.runner.live import Live, is_over, stop_keeper
from fleet.runner.situation import Asked, gather, moment
from fleet.runner.slots import Slots
from fleet.runner.state import START, Decision, Slot
from fleet.runs import Run
from fleet.status import LOW_DISK_FIX
from fleet.wiring import Fleet

FIXES = {
    "halted": "fleet resume {agent}",
    "low_disk": LOW_DISK_FIX,
    "daily_runs": "raise max_runs_per_day in agents/{agent}.yaml, or wait for tomorrow",
    "auth_blocked": "mend the login, then fleet resume --account {account}",
    "waiting_for_limit": "wait, or fleet resume --account {account} when the limit is lifted",
}


def run_by_hand(
    fleet: Fleet,
    agent_id: str,
    *,
    on_line: Callable[[str], None] = lambda _line: None,
    take_over: bool = False,
) -> Run:
    """Run one agent now, by a person, and wait for it, also in a paused home.

    Told to stop (SIGINT, SIGTERM) it stops the run first and still records how it ended.

    Args:
        fleet: the home.
        agent_id: an agent of it.
        on_line: takes what happens, a line each.
        take_over: make this copy of a home the one whose agents run.

    Raises:
        NotAllowed: the author is a run.
        Held: the agent runs already, or this is a copy of a home that runs elsewhere.
        NotStarted: halted, or no place under the cap.
    """
    identity.require_operator(fleet.author, "run")
    agent = fleet.config.agents[agent_id]
    run = new_id(fleet.store.now().wall)
    slot = f"hand:{run}"
    money.mend(fleet)  # what the dead had reserved is nobody's
    _require_start(fleet, agent_id, slot)
    if taken := lead.settle_in(fleet, take_over=take_over):
        on_line(taken)
    settle.reconcile(fleet)
    deliver(fleet)
    if agent.launch == "claude":
        cliwatch.learn_by_hand(fleet)
    try:
        reserve(fleet, agent, run)
    except NotStarted as fault:
        if fault.reason == "over_budget":
            _over_budget(fleet, agent, slot, fault.what)
        raise
    live = start(fleet, agent, run, slot=slot, by=fleet.author)
    Slots(fleet.store).by_hand(agent_id, slot, run)
    if live is None:
        return fleet.runs.find(run)
    on_line(f"{agent_id} started {run}")
    _wait(fleet, live)
    return settle.settle(fleet, agent_id, run)


def _require_start(fleet: Fleet, agent: str, slot: str) -> None:
    """Ask `decide` whether a person may start the agent now.

    Raises:
        NotStarted: it may not, and the reason is named.
    """
    now = moment(fleet)
    asked = Asked({agent: [Slot(slot, now, now)]})
    state, faults = gather(fleet, asked, now)
    if faults:
        raise Unavailable(faults[agent])
    (decision,) = decide(fleet.config, state, now)
    if decision.result == START:
        return
    fix = FIXES.get(decision.result, "")
    if decision.result == "over_budget":
        fix = money.fix_of(fleet, fleet.config.agents[agent])
        _over_budget(fleet, fleet.config.agents[agent], slot, decision.detail)
    account = account_of(fleet.config.agents[agent])
    what = f"{agent} not started ({decision.result}): {decision.detail}"
    raise NotStarted(what, fix.format(agent=agent, account=account), reason=decision.result)


def _over_budget(fleet: Fleet, agent: Agent, slot: str, detail: str) -> None:
    """Put on record, whoever asked, that a budget held; the other refusals a person just reads."""
    now = moment(fleet)
    decision = Decision(agent.id, Slot(slot, now, now), "over_budget", detail)
    Slots(fleet.store).refused_by_hand(decision)
    money.tell(fleet, agent, refused=True)


def _wait(fleet: Fleet, live: Live) -> None:
    """Wait for the run's end; the first SIGINT or SIGTERM stops it, and waiting goes on."""

    def stop(*_: object) -> None:
        live.told = live.told or stop_keeper(fleet, live.run, "fleet run was stopped")

    old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not is_over(fleet, live):
            time.sleep(0.05)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
