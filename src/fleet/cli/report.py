"""A run about itself: report, whoami."""

import click

from fleet.cli.grammar import command
from fleet.cli.inputs import argument, text_of
from fleet.cli.output import say, say_json, say_written
from fleet.cli.session import Session, pass_session
from fleet.errors import Usage

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@command(
    "report",
    examples=[
        "fleet report 'mailed 4 leads, 1 bounced' --next 'follow up on Friday'",
        "fleet report --idle 'no new leads'",
    ],
)
@click.argument("text", required=False)
@click.option("--next", "next_", metavar="TEXT", default="", help="What you mean to do next time.")
@click.option("--idle", metavar="REASON", help="There was nothing to do.")
@click.option("--file", metavar="F", help="Read the text from a file.")
@AS_JSON
@pass_session
def report_command(
    session: Session,
    *,
    text: str | None,
    next_: str,
    idle: str | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Say what this run did: collaborators see it, and you do when you wake."""
    if idle is not None and (text is not None or file is not None):
        raise Usage("either a report or --idle", "say fleet report --idle 'no new leads'")
    if text == "idle":  # as a report it would not satisfy `expects`
        raise Usage("there is no reason", "say fleet report --idle 'REASON'")
    said = idle if idle is not None else text_of(session, text, file, "fleet report 'TEXT'")
    fleet = session.fleet
    record = fleet.runs.report(
        fleet.author, argument(said), next=argument(next_), idle=idle is not None
    )
    fields = {"ref": record.ref, "seq": record.seq, "id": record.id}
    say_written(session, as_json=as_json, fields=fields, line="reported")


@command("whoami", examples=["fleet whoami"])
@AS_JSON
@pass_session
def whoami_command(session: Session, *, as_json: bool) -> None:
    """Your name, run, hive and home."""
    author = session.fleet.author
    if as_json:
        home = str(session.root)
        say_json({"name": author.name, "run": author.run, "hive": author.hive, "home": home})
        return
    run = f", run {author.run}" if author.run else ""
    hive = f", hive {author.hive}" if author.hive else ""
    say(f"{author.name}{run}{hive}, in {session.root}")
