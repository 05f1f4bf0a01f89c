"""Care of the state from the command line: verify, reindex, skip."""

import click

from fleet.cli.audit import index
from fleet.cli.grammar import command
from fleet.cli.home import say_findings
from fleet.cli.output import say, say_done, say_json
from fleet.cli.session import Session, pass_session
from fleet.errors import EndedBadly
from fleet.units import counted

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@command("verify", examples=["fleet verify", "fleet verify --json"])
@AS_JSON
@pass_session
def verify_command(session: Session, *, as_json: bool) -> None:
    """Read every record and document, and name each damaged one by file and line."""
    from fleet.ops.verify import verify

    findings = verify(session.fleet)
    say_findings(findings, as_json=as_json, well="every record and document can be read")
    if faults := sum(found.severity == "error" for found in findings):
        raise EndedBadly(f"{counted(faults, 'error')} in {session.fleet.places.state}")


@command("reindex", examples=["fleet reindex"])
@AS_JSON
@pass_session
def reindex_command(session: Session, *, as_json: bool) -> None:
    """Drop every cache and compute it again, the index of the audit too; nothing else changes."""
    from fleet.ops.reindex import reindex

    count = reindex(session.fleet) + 1
    with index(session) as at_hand:
        at_hand.refresh()
    if as_json:
        say_json({"caches": count})
    else:
        say(f"{counted(count, 'cache')} computed again")


@command("skip", examples=["fleet skip outreach --to events#97", "fleet skip outreach --to now"])
@click.argument("agent")
@click.option("--to", metavar="REF|now", required=True, help="The last event it need not see.")
@pass_session
def skip_command(session: Session, *, agent: str, to: str) -> None:
    """Move an agent past events it need not see; nothing is deleted."""
    fleet = session.fleet
    place = fleet.bus.skip(fleet.author, agent, to)
    say_done(f"{agent} is past events#{place.seq}")
