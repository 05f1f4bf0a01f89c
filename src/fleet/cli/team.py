"""Who is there from the command line: agents."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.output import Item, local, say_items, say_json
from fleet.cli.session import Session, pass_session

if TYPE_CHECKING:
    from datetime import tzinfo

    from fleet.records import Body
    from fleet.team import Match

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@command("agents", examples=["fleet agents", "fleet agents --can 'answer a reply about pricing'"])
@click.option("--can", metavar="TEXT", help="Only those whose words fit TEXT, the best first.")
@AS_JSON
@pass_session
def agents_command(session: Session, *, can: str | None, as_json: bool) -> None:
    """Who is there: what each agent is for, good and weak at, and does.

    --can counts words, nothing cleverer: strengths 3, name and description 2, the last report and
    the schedule 1 each, weaknesses -2. Weaknesses that match are shown, not hidden.
    """
    from fleet.status import states
    from fleet.team import look, ranked

    fleet = session.fleet
    mates = [look(fleet.config, fleet.runs, fleet.memory, name) for name in fleet.config.agents]
    found = ranked(mates, can or "")
    if can is not None:
        found = [match for match in found if match.words or match.against]
    now = states(fleet.seen)
    if as_json:
        for match in found:
            say_json(_json(match, now[match.mate.agent.id]))
        return
    zone = session.zone
    say_items(session, [_item(match, now[match.mate.agent.id], zone) for match in found])


def _json(match: "Match", state: str) -> "Body":
    mate = match.mate
    ended = mate.before
    return {
        "id": mate.agent.id,
        "description": mate.agent.description,
        "state": state,
        "last_outcome": ended.outcome if ended else None,
        "last_ended": ended.ended if ended else None,
        "running_since": mate.run.started if mate.run and mate.run.open else None,
        "report": mate.report or None,
        "strengths": [one._asdict() for one in mate.strengths],
        "weaknesses": [one._asdict() for one in mate.weaknesses],
        "score": match.score,
        "matches": list(match.words),
        "against": list(match.against),
    }


def _item(match: "Match", state: str, zone: "tzinfo") -> Item:
    mate = match.mate
    parts = [mate.agent.id, state]
    if mate.run and mate.run.open and mate.run.started:  # whose first record was lost has none
        parts.append(f"since {local(mate.run.started, zone)}")
    if mate.before:
        parts.append(f"{mate.before.outcome} {local(str(mate.before.ended), zone)}")
    if match.words or match.against:
        against = f", but weak at {' '.join(match.against)}" if match.against else ""
        parts.append(f"{match.score} points: {' '.join(match.words) or 'nothing'}{against}")
    body = [mate.agent.description]
    for word, traits in (("good at", mate.strengths), ("weak at", mate.weaknesses)):
        body += [f"{word}: {one.text} ({one.ref})" for one in traits]
    body += [f"reported: {mate.report}"] if mate.report else []
    return Item(" · ".join(parts), "\n".join(body))
