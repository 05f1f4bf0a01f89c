"""Runs from the command line: runs, logs, context."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import LIMIT, command, moment
from fleet.cli.output import Item, flush, local, retracted_mark, say, say_items, say_json, table
from fleet.cli.runner import require_agent
from fleet.cli.session import Session, pass_session
from fleet.errors import Unknown
from fleet.text import escape, suggest

if TYPE_CHECKING:
    from fleet.runs import Run

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
ITEMS = 50
CHUNK = 1 << 16
LOOK_EVERY = 0.2  # seconds between two looks at a file that grows


@command("runs", examples=["fleet runs outreach", "fleet runs --json --limit 5"])
@click.argument("agent", required=False)
@click.option("--limit", type=LIMIT, default=ITEMS, help="At most so many (50).")
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant.")
@click.option("--until", metavar="WHEN", help="As --since.")
@AS_JSON
@pass_session
def runs_command(
    session: Session,
    *,
    agent: str | None,
    limit: int,
    since: str | None,
    until: str | None,
    as_json: bool,
) -> None:
    """Runs, newest first, with their outcome, cost and report."""
    if agent is not None:
        require_past_agent(session, agent)
    first, last = moment(session, since, "--since"), moment(session, until, "--until")
    runs = session.fleet.runs.list(agent, limit, since=first, until=last)
    if as_json:
        for run in runs:
            say_json(run.as_json())
        return
    zone = session.zone
    lines = (
        table(
            [r.id, r.agent, local(r.started, zone), r.outcome or "running", _cost(r)] for r in runs
        )
        if runs
        else []
    )
    items = [
        Item(line + retracted_mark(run.retracted), run.report or run.reason or "")
        for line, run in zip(lines, runs, strict=True)
    ]
    say_items(session, items)


@command("logs", examples=["fleet logs outreach", "fleet logs last -f"])
@click.argument("ref", metavar="RUN")
@click.option("-f", "follow", is_flag=True, help="Go on until the run ends.")
@pass_session
def logs_command(session: Session, *, ref: str, follow: bool) -> None:
    """What a run printed, and its errors. RUN: an id or its beginning, an agent, agent~1, last."""
    fleet = session.fleet
    run = find_run(session, ref)
    folder = fleet.places.run_folder(run.id)
    if not folder.is_dir():
        raise _no_files(session, run)
    out, err = folder / "stdout.jsonl", folder / "stderr.log"
    place = _print_from(out, 0)
    while follow and not (folder / "exit.json").exists():
        flush()
        time.sleep(LOOK_EVERY)
        place = _print_from(out, place)
    _print_from(out, place)
    if err.exists() and err.stat().st_size:
        say("-- standard error:")
        _print_from(err, 0)


def _no_files(session: Session, run: "Run") -> Unknown:
    """Why nothing can be shown of a run that has no folder."""
    from fleet.ops.retention import limits_of
    from fleet.runs import UNPREPARED

    if run.outcome in UNPREPARED:
        return Unknown(f"run {run.ref} printed nothing, it was not launched", run.reason)
    known = f"fleet explain {run.ref} says what the logs know"
    why = limits_of(session.fleet.config)
    return Unknown(f"the files of run {run.ref} are gone: state/run/{run.id} ({why})", known)


def find_run(session: Session, ref: str) -> "Run":
    """The run that `ref` means; an agent that has not run is told from one that is not there."""
    agents = session.fleet.config.agents
    try:
        return session.fleet.runs.find(ref)
    except Unknown as fault:
        if ref in agents:
            raise Unknown(f"{ref} has not run yet", f"fleet run {ref} runs it now") from None
        raise Unknown(fault.what, suggest(ref, agents) or fault.fix) from None


def require_past_agent(session: Session, agent: str) -> None:
    """Refuse a name that no agent has or had."""
    if agent not in session.fleet.runs.agents():
        require_agent(session, agent)


@command("context", examples=["fleet context outreach", "fleet context outreach --explain"])
@click.argument("agent")
@click.option("--explain", is_flag=True, help="What each section holds and costs.")
@pass_session
def context_command(session: Session, *, agent: str, explain: bool) -> None:
    """What the agent would be told now. Changes nothing."""
    from fleet.context import build

    require_agent(session, agent)
    fleet = session.fleet
    fleet.memory.require_whole(agent)
    context = build(fleet.sources(), fleet.config.agents[agent], run="preview")
    if explain:
        rows: list[list[object]] = [["section", "items", "left out", "tokens"]]
        rows += [[s.name, s.items, s.left_out, s.tokens] for s in context.sections]
        for line in table([*rows, ["all", "", "", sum(s.tokens for s in context.sections)]]):
            say(line)
        return
    for part in (context.context_md, context.prompt_md):
        for line in part.splitlines():
            say(line)


def _cost(run: "Run") -> str:
    return "" if run.cost_usd is None else f"${run.cost_usd:.2f}"


def _print_from(path: Path, place: int) -> int:
    """Print the file's text from byte `place` on, control characters visible; where it ended."""
    if not path.exists():
        return place
    with path.open("rb") as file:
        file.seek(place)
        while chunk := file.read(CHUNK):
            click.echo(escape(chunk.decode("utf-8", "replace"), newlines=True), nl=False)
        return file.tell()
