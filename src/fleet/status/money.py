"""What `status` says of money and tokens, of an agent and of all; it refuses nothing."""

from fleet.config.model import Agent
from fleet.ledger import Day, Sum
from fleet.records import Body
from fleet.status.sources import Sources


def of_agent(sources: Sources, agent: Agent, day: Day) -> Body:
    """An agent's figures of `day`; budgets None without one, dollars and tokens in and out."""
    used = sources.spending.of(agent.id, day)
    return {
        "cost_today": used.ended.cost,
        "reserved": used.reserved.cost,
        "budget_today": agent.budget.per_day,
        "tokens_today": used.ended.tokens,
        "token_budget_today": agent.budget.tokens_per_day,
    }


def of_all(sources: Sources, day: Day) -> Body:
    """The same of the whole fleet; `accounts` by name, "fleet" for agents that none names."""
    budget = sources.config.budget
    names = {*day.accounts, *(held.account for held in day.open.values())}
    return {
        "day": day.date.isoformat(),
        **_figures(day.settled, day.reserved),
        "budget": budget.per_day,
        "token_budget": budget.tokens_per_day,
        "unknown": day.settled.unknown,
        "assumed": day.settled.assumed,
        "accounts": {
            name: _figures(day.accounts.get(name, Sum()), day.on_account(name))
            for name in sorted(names)
        },
    }


def _figures(ended: Sum, reserved: Sum) -> Body:
    return {
        "cost_today": ended.cost,
        "reserved": reserved.cost,
        "tokens_today": ended.tokens,
        "runs": ended.runs + reserved.runs,
    }
