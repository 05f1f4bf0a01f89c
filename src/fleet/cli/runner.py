"""The runner from the command line: up, stop, status, next, run, pause, resume, halt."""

from contextlib import suppress
from itertools import islice

import click

from fleet.cli.grammar import LIMIT, command, moment_of
from fleet.cli.output import flush, say, say_done, say_json
from fleet.cli.session import Session, pass_session
from fleet.errors import Down, EndedBadly, Unknown, Usage
from fleet.text import one_of

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
ACCOUNT = click.option("--account", metavar="ACCOUNT", help="All agents that share this account.")
REASON = click.option("--reason", metavar="TEXT", default="", help="Why, for whoever looks.")


TAKE_OVER = click.option(
    "--take-over", is_flag=True, help="This copy of a home is the one that runs from now on."
)


@command("up", examples=["fleet up"])
@TAKE_OVER
@pass_session
def up_command(session: Session, *, take_over: bool) -> None:
    """Wake the agents on their schedules, in the foreground, until stopped."""
    from fleet.runner.loop import up

    _ = session.fleet
    code = up(session.root, env=session.env, echo=_echo, take_over=take_over)
    raise click.exceptions.Exit(code)


@command("stop", examples=["fleet stop", "fleet stop --drain --wait"])
@click.option("--drain", is_flag=True, help="Let what runs end by itself.")
@click.option("--wait", is_flag=True, help="Return when nothing runs any more, see to it.")
@pass_session
def stop_command(session: Session, *, drain: bool, wait: bool) -> None:
    """Stop the runner as SIGTERM does: nothing new starts, what runs ends within its grace."""
    from fleet.runner.control import stop, stop_and_wait

    do = stop_and_wait if wait else stop
    say_done(do(session.fleet, session.fleet.author, drain=drain))


@command("status", examples=["fleet status", "fleet status --check", "fleet status --json"])
@click.option("--check", is_flag=True, help="Exit 8 when not well, 9 when no runner is alive.")
@AS_JSON
@pass_session
def status_command(session: Session, *, check: bool, as_json: bool) -> None:
    """Every agent, run, claim, lag and alert."""
    from fleet.status import DOWN, OK, status

    state = status(session.fleet.seen)
    if as_json:
        say_json(state)
    else:
        from fleet.cli.status import lines

        for line in lines(state, session.zone):
            say(line)
    health = state["health"]
    if check and health == DOWN:
        raise Down("no runner is alive on this home", "fleet up starts one")
    if check and health != OK:
        raise EndedBadly(f"the fleet is {health}", "fleet status says where")


class Days(click.FloatRange):
    """A number of days; `nan` is none, though it is neither too small nor too large."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Days."""
        days = float(super().convert(value, param, ctx))
        if days != days:  # noqa: PLR0124 - what makes it nan
            self.fail(f"'{value}' is no number of days", param, ctx)
        return days


@command("next", examples=["fleet next", "fleet next --days 7 --from 2026-12-01 --json"])
@click.option(
    "--days",
    type=Days(min=0, min_open=True, max=400),
    default=1.0,
    help="So far ahead (1).",
)
@click.option("--from", "start", metavar="TIME", default="now", help="03:00, a date, an instant.")
@click.option("--limit", type=LIMIT, help="At most so many.")
@AS_JSON
@pass_session
def next_command(
    session: Session, *, days: float, start: str, limit: int | None, as_json: bool
) -> None:
    """Slots that come due, in order, in the home's time zone."""
    from fleet.runner.ahead import upcoming
    from fleet.runner.situation import moment

    fleet = session.fleet
    begin = moment_of(session, start, "--from")
    width = max(map(len, fleet.config.agents), default=0)
    for slot in islice(upcoming(fleet, moment(fleet), begin, days), limit):
        if as_json:
            say_json(slot)
        else:
            say(f"{slot['due']}  {slot['agent']:{width}}  {slot['reason']}")


@command("run", examples=["fleet run outreach", "fleet run outreach --dry-run"])
@click.argument("agent")
@click.option("--dry-run", is_flag=True, help="Prepare everything, launch nothing.")
@TAKE_OVER
@AS_JSON
@pass_session
def run_command(
    session: Session, *, agent: str, dry_run: bool, take_over: bool, as_json: bool
) -> None:
    """Run one agent now and wait for it, also in a paused home: same claims, same rules."""
    from fleet.runner.by_hand import run_by_hand
    from fleet.runner.launch import preview

    require_agent(session, agent)
    session.fleet.require_types()
    if dry_run:
        for line in preview(session.fleet, agent):
            say(line)
        return
    on_line = _quietly if as_json else _echo
    run = run_by_hand(session.fleet, agent, on_line=on_line, take_over=take_over)
    if as_json:
        say_json(run.as_json())
    else:
        say(f"{run.agent} {run.outcome}: {run.reason or run.id}")
    raise click.exceptions.Exit(run.row.exit_code if run.row else EndedBadly.exit_code)


@command(
    "pause",
    examples=["fleet pause outreach --reason 'new mail provider'", "fleet pause --account main"],
)
@click.argument("agent", required=False)
@ACCOUNT
@REASON
@pass_session
def pause_command(session: Session, *, agent: str | None, account: str | None, reason: str) -> None:
    """Nothing of AGENT (of nobody, without one) starts by schedule or wake; what runs goes on."""
    from fleet.runner.control import pause, pause_account

    fleet = session.fleet
    if account is None:
        say_done(pause(fleet, fleet.author, agent, reason))
    else:
        _require_one("pause", agent)
        say_done(pause_account(fleet, fleet.author, account, reason))


@command("resume", examples=["fleet resume outreach", "fleet resume --account main"])
@click.argument("agent", required=False)
@ACCOUNT
@pass_session
def resume_command(session: Session, *, agent: str | None, account: str | None) -> None:
    """Take a pause or a halt back; of an account also a refused login and a usage limit."""
    from fleet.runner.control import resume, resume_account

    fleet = session.fleet
    if account is None:
        say_done(resume(fleet, fleet.author, agent))
    else:
        _require_one("resume", agent)
        say_done(resume_account(fleet, fleet.author, account))


def _require_one(word: str, agent: str | None) -> None:
    """Refuse an agent beside an account."""
    if agent is not None:
        ways = f"say fleet {word} AGENT, or fleet {word} --account ACCOUNT"
        raise Usage(f"{word} one agent, or one account", ways)


@command("halt", examples=["fleet halt outreach --reason 'wrong list'", "fleet halt --all"])
@click.argument("agent", required=False)
@click.option("--all", "everybody", is_flag=True, help="Every agent.")
@REASON
@pass_session
def halt_command(session: Session, *, agent: str | None, everybody: bool, reason: str) -> None:
    """Pause, and stop what runs, until `fleet resume`; works without a runner too."""
    from fleet.runner.control import halt

    if (agent is None) != everybody:
        raise Usage("halt one agent, or --all", "say fleet halt AGENT, or fleet halt --all")
    say_done(halt(session.fleet, session.fleet.author, agent, reason))


def require_agent(session: Session, agent: str) -> None:
    """Refuse a name that is no agent's.

    Raises:
        Unknown: with the nearest one.
    """
    agents = session.fleet.config.agents
    if agent not in agents:
        raise Unknown(f"there is no agent '{agent}'", one_of(agent, agents))


def _quietly(_line: str) -> None:
    """Say nothing: standard output is for the JSON."""


def _echo(line: str) -> None:
    """Say it now; a full disk or a reader that left must not end what goes on."""
    with suppress(OSError):
        say(line)
        flush()
