"""What happened, summed up: `recap --per TYPE` says what results have cost."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.output import local, say, say_json, table
from fleet.cli.runner import Days
from fleet.cli.session import Session, pass_session
from fleet.records import rfc3339
from fleet.units import counted

if TYPE_CHECKING:
    from fleet.audit.recap import Cost, Recap

DAYS = 7.0
CENT = 0.01


@command(
    "recap",
    examples=["fleet recap --per lead-converted", "fleet recap --per reply-received --days 30"],
)
@click.option("--per", "kind", metavar="TYPE", required=True, help="Events that are the results.")
@click.option(
    "--days", type=Days(min=0, min_open=True, max=400), default=DAYS, help="So far back (7)."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_session
def recap_command(session: Session, *, kind: str, days: float, as_json: bool) -> None:
    """What each event of TYPE has cost: the runs that emitted it or what caused it, each once."""
    from fleet.audit.recap import recap

    fleet = session.fleet
    since = fleet.store.now().wall - timedelta(days=days).total_seconds()
    found = recap(fleet, kind, since)
    if as_json:
        say_json(found.as_json())
        return
    for line in _lines(session, found):
        say(line)


def _lines(session: Session, found: "Recap") -> Iterator[str]:
    since = local(rfc3339(found.since), session.zone)
    yield f"{counted(len(found.results), 'result')} ({found.type}) since {since}"
    if found.each is not None:
        yield f"{_dollars(found.each)} each: {_cost(found.led)} led to them"
        rows = [
            [f"  {name}", _dollars(cost.cost), _runs(cost)] for name, cost in found.agents.items()
        ]
        yield from table(rows) if rows else ()
    yield f"{_cost(found.idle)} led to none"


def _cost(cost: "Cost") -> str:
    return f"{_dollars(cost.cost)} of {_runs(cost)}"


def _runs(cost: "Cost") -> str:
    unknown = f" ({cost.unknown} of unknown cost, not in it)" if cost.unknown else ""
    return f"{counted(cost.runs, 'run')}{unknown}"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= CENT or not amount else f"${amount:.4f}"
