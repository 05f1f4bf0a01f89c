"""Budgets at work: what a run is reserved, when it is refused, and what a person is told.

The adding up is `ledger`'s and `runs.spending`'s; nothing here decides when an agent is due.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from fleet.accounts import account_of
from fleet.alerts import raise_alert
from fleet.config.model import Agent, Budget, HomeConfig
from fleet.controls import FLEET
from fleet.errors import NotStarted, Unavailable
from fleet.ledger import HAIR, UNHEARD_OF, Day, Reservation, Sum, launched_here, too_much
from fleet.places import HOME_FILE
from fleet.records import made_at
from fleet.wiring import Fleet

WARN = 0.8  # of a day's budget: then a person is told


class Bound(NamedTuple):
    """One day's budget and what counts against it.

    Attributes:
        subject: the agent's id, or "fleet".
        whose: the name of it in a sentence.
        file: where the budget stands.
        budget: the budget.
        used: today, reservations included.
        spent: today, by ended runs: what stays used whatever comes.
    """

    subject: str
    whose: str
    file: str
    budget: Budget
    used: Sum
    spent: Sum

    def too_much(self, need: Sum) -> str:
        """Why one more run does not fit; "" when it does."""
        bounds = (self.budget.per_day, self.budget.tokens_per_day)
        return too_much(self.whose, *bounds, self.used, need)

    def fix(self, need: Sum) -> str:
        """What a person does when one more run does not fit."""
        dollars = too_much(self.whose, self.budget.per_day, None, self.used, need)
        field = "per_day" if dollars else "tokens_per_day"
        return f"raise budget.{field} in {self.file}, or wait for tomorrow"

    @property
    def share(self) -> float:
        """The spent part of the budget, of dollars or of tokens, whichever is larger."""
        spent, budget = self.spent, self.budget
        parts = ((spent.cost, budget.per_day), (spent.tokens, budget.tokens_per_day))
        return max((part / most for part, most in parts if most), default=0.0)

    @property
    def line(self) -> str:
        """What was spent of it."""
        dollars, tokens = self.budget.per_day, self.budget.tokens_per_day
        parts = [
            *([] if dollars is None else [f"${self.spent.cost:.2f} of ${dollars:.2f}"]),
            *([] if tokens is None else [f"{self.spent.tokens} of {tokens} tokens"]),
        ]
        return f"{self.whose} used {' and '.join(parts)} today"


def is_bound(config: HomeConfig, agent: Agent) -> bool:
    """Whether a budget of the day holds for the agent, its own or the fleet's."""
    return agent.budget.of_a_day or config.budget.of_a_day


def need(fleet: Fleet, agent: Agent) -> Sum:
    """What one more run of the agent is reserved: `cost` in dollars, `tokens` in and out.

    Dollars: `budget.per_run`, the smaller of agent's and fleet's; else the mean of its newest 20
    runs whose cost is known; else `UNHEARD_OF`. A command that never said what it costs is reserved
    nothing as long as no `budget.per_day` asks. Tokens: the mean of its newest 20; else 0.
    """
    cost, tokens = fleet.spending.typical(agent.id)
    asked = agent.budget.per_day is not None or fleet.config.budget.per_day is not None
    if agent.launch == "command" and cost is None and not asked:
        return Sum(1, 0.0, tokens or 0)
    known = cost if agent.budget.per_run is None else agent.budget.per_run
    return Sum(1, UNHEARD_OF if known is None else known, tokens or 0)


def reserve(fleet: Fleet, agent: Agent, run: str) -> None:
    """Set aside what `run` may cost; whoever calls holds the claim of the agent.

    Raises:
        NotStarted: it does not fit into a budget of today (reason `over_budget`).
    """
    now = _now(fleet)
    day = day_of(fleet, now)
    if day.total == Sum():
        recount(fleet, now)
    names = fleet.config.names_of(agent.id)
    for other in [run for run, held in day.open.items() if held.agent in names]:
        close(fleet, other)  # it is over, or never began: the claim is ours
    held = _reservation(fleet, agent)

    def check(day: Day) -> None:
        for bound in bounds(fleet, agent, day):
            if detail := bound.too_much(held.sum):
                raise NotStarted(detail, bound.fix(held.sum), reason="over_budget")

    fleet.ledger.reserve(run, held, check)


def fix_of(fleet: Fleet, agent: Agent) -> str:
    """What a person does about the budget that refuses a run of the agent; "" when none does."""
    wants, day = need(fleet, agent), day_of(fleet, _now(fleet))
    full = (bound for bound in bounds(fleet, agent, day) if bound.too_much(wants))
    return next((bound.fix(wants) for bound in full), "")


def _reservation(fleet: Fleet, agent: Agent) -> Reservation:
    wants = need(fleet, agent)
    return Reservation(agent.id, account_of(agent), wants.cost, wants.tokens, launched_here())


def close(fleet: Fleet, run: str) -> None:
    """Settle what `run` was reserved if it has ended, take it back if it is not on record.

    So whoever may still put it on record must not be alive, or must be the caller.
    """
    held = fleet.ledger.held(run)
    if held is None:
        return
    found = fleet.runs.of(held.agent, run)
    if found is None:
        fleet.ledger.drop(run)
    elif not found.open:
        fleet.ledger.settle(found)


def mend(fleet: Fleet) -> None:
    """Close what is reserved for runs that are over, or whose launcher died before they began.

    Who reserved or ended them was killed before it could.
    """
    now = _now(fleet)
    for moment in (now, now - timedelta(days=1)):
        for run, held in day_of(fleet, moment).open.items():
            dead = not held.launcher_lives()  # asked first: it may put the run on record until then
            if dead or fleet.runs.of(held.agent, run) is not None:
                close(fleet, run)


def day_of(fleet: Fleet, now: datetime) -> Day:
    """The ledger's day of `now`; counted anew where no copy of it can be read."""
    try:
        return fleet.ledger.day(now)
    except Unavailable:
        recount(fleet, now)
        return fleet.ledger.day(now)


def recount(fleet: Fleet, now: datetime) -> None:
    """Make the ledger of the day of `now` what the runs' own records say: they are the truth.

    It was lost, damaged or restored, or an older version of fleet ran earlier on this day.
    """
    logs, date = fleet.runs.agents(), fleet.ledger.local_date(now)

    def account(name: str) -> str:
        agent = _known(fleet, name)
        return account_of(agent) if agent else FLEET

    def counted(day: Day) -> Day:
        known = fleet.spending.recounted(day, logs, account)
        going_on = {
            run.id: _reservation(fleet, agent)._replace(agent=run.agent)
            for run in fleet.runs.open()
            if day.begins <= (made_at(run.id) or 0) < day.ends
            and (agent := _known(fleet, run.agent))
        }
        return known._replace(open=going_on | dict(known.open))

    try:
        fleet.ledger.change(date, counted)
    except Unavailable:
        fleet.ledger.renew(date, counted)


def _known(fleet: Fleet, name: str) -> Agent | None:
    """The agent that has or had this name."""
    return fleet.config.agents.get(fleet.config.called_now(name) or name)


def tell(fleet: Fleet, agent: Agent, *, refused: bool = False) -> None:
    """Tell a person once a day of a budget that is nearly spent, and once of one that is.

    What is reserved may come back, so it tells nothing. `refused`: a run of the agent was, so a
    budget is spent if no further run of it fits beside the ended ones.
    """
    if not is_bound(fleet.config, agent):
        return
    day = fleet.ledger.day(_now(fleet))
    for bound in bounds(fleet, agent, day):
        full = bound._replace(used=bound.spent).too_much(need(fleet, agent)) if refused else ""
        if not full and bound.share < WARN - HAIR:
            continue
        done, kind = "runs start until it is used up", "budget-warning"
        if full or bound.share >= 1 - HAIR:
            done, kind = "no run of it starts until tomorrow", "budget"
        raise_alert(
            fleet.store,
            kind=kind,
            subject=bound.subject,
            what=full or bound.line,
            done=done,
            fix=f"raise the budget in {bound.file}, or let it rest",
            key=f"{kind}/{bound.subject}/{day.date}",
        )


def bounds(fleet: Fleet, agent: Agent, day: Day) -> Iterator[Bound]:
    """The budgets that hold for a run of the agent, and what counts against them on `day`."""
    own, all_of_them = agent.budget, fleet.config.budget
    if own.of_a_day:
        used = fleet.spending.of(agent.id, day)
        yield Bound(agent.id, agent.id, agent.file, own, used.total, used.ended)
    if all_of_them.of_a_day:
        used_by_all = (day.total, day.settled)
        yield Bound(FLEET, "the fleet", HOME_FILE, all_of_them, *used_by_all)


def _now(fleet: Fleet) -> datetime:
    return datetime.fromtimestamp(fleet.store.now().wall, UTC)
