"""The past from the command line: seen, explain, timeline."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet.cli.audit import CLIP, index, item
from fleet.cli.grammar import LIMIT, command, moment
from fleet.cli.hints import again
from fleet.cli.history import require_past_agent
from fleet.cli.inputs import argument
from fleet.cli.output import (
    INDENT,
    flush,
    local,
    retracted_mark,
    say,
    say_objects,
    table,
)
from fleet.cli.session import Session, pass_session
from fleet.errors import NotAllowed

if TYPE_CHECKING:
    from fleet.audit.explain import Explained, Told
    from fleet.audit.timeline import Asked
    from fleet.records import Record
    from fleet.runs import Run
    from fleet.runs.reads import Read

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
ITEMS = 50
EACH = 20
LOOK = 5.0  # seconds between two looks for logs that are new
SOME = 8  # references of one read in a line


@command("seen", examples=["fleet seen strategy#412", "fleet seen events#97 --json"])
@click.argument("ref")
@click.option("--limit", type=LIMIT, default=ITEMS, help=f"At most so many ({ITEMS}).")
@AS_JSON
@pass_session
def seen_command(session: Session, *, ref: str, limit: int, as_json: bool) -> None:
    """Runs whose prompt showed the record or that read it, the newest first."""
    from fleet.audit.seen import seen

    _require_person(session, "seen")
    with index(session) as at_hand:
        found = seen(session.fleet, at_hand, argument(ref), limit)
    if as_json:
        say_objects(session, (sight.as_json() for sight in found.sights))
        return
    rows = [
        [sight.run.ref, sight.run.agent, sight.how, *_when(session, sight.run)]
        for sight in found.sights
    ]
    for line in table(rows) if rows else [f"no run was shown {found.ref}"]:
        say(line)
    if found.total > len(found.sights):
        say(f"more: {again(session, ['seen', ref], {'--limit': found.total})}")


@command("explain", examples=["fleet explain outreach~1", "fleet explain strategy#412"])
@click.argument("ref")
@click.option("--limit", type=LIMIT, default=EACH, help=f"At most so many of each list ({EACH}).")
@AS_JSON
@pass_session
def explain_command(session: Session, *, ref: str, limit: int, as_json: bool) -> None:
    """What a run had been told, read and did; for a record, its author's run until then."""
    from fleet.audit.explain import explain

    _require_person(session, "explain")
    with index(session) as at_hand:
        found = explain(session.fleet, at_hand, argument(ref))
    if as_json:
        say_objects(session, [found.as_json(limit)])
        return
    for line in _explained(session, found, limit):
        say(line)
    longest = max(len(found.told), len(found.read), len(found.did))
    if longest > limit:
        say(f"more: {again(session, ['explain', ref], {'--limit': longest})}")


@command(
    "timeline",
    examples=["fleet timeline --since 3h", "fleet timeline outreach", "fleet timeline --run last"],
)
@click.argument("agent", required=False)
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant: oldest first.")
@click.option("--until", metavar="WHEN", help="As --since.")
@click.option("--after", metavar="REF", help="Only what followed this record, oldest first.")
@click.option("--before", metavar="REF", help="Only what preceded this record.")
@click.option("--run", "run", metavar="RUN", help="Only what this run did.")
@click.option("--limit", type=LIMIT, default=ITEMS, help=f"At most so many ({ITEMS}).")
@click.option("-f", "follow", is_flag=True, help="Go on with what happens from now on.")
@AS_JSON
@pass_session
def timeline_command(
    session: Session,
    *,
    agent: str | None,
    since: str | None,
    until: str | None,
    after: str | None,
    before: str | None,
    run: str | None,
    limit: int,
    follow: bool,
    as_json: bool,
) -> None:
    """All logs merged in time: the newest last, or from a place on with --since or --after."""
    from fleet.audit.timeline import Asked, timeline

    _require_person(session, "timeline")
    if agent is not None:
        require_past_agent(session, agent)
    if run is not None:
        _of_run(session, run, limit, as_json=as_json)
        return
    asked = Asked(
        session.fleet.config.names_of(agent) if agent else (),
        moment(session, since, "--since"),
        moment(session, until, "--until"),
        _record(session, after),
        _record(session, before),
    )
    places = _heads(session)
    found = timeline(session.fleet, asked, limit + 1)
    shown = found[:limit] if asked.forward else found[-limit:]
    rest: dict[str, object] = {}
    if len(found) > limit:
        rest = {"--until": until, "--limit": limit}
        rest |= {"--after": _ref(shown[-1])} if asked.forward else {"--before": _ref(shown[0])}
    words = ["timeline", *([agent] if agent else [])]
    _say(session, shown, again(session, words, rest) if rest else "", as_json=as_json)
    if follow:
        _follow(session, places, asked, as_json=as_json)


def _require_person(session: Session, word: str) -> None:
    """Refuse a person who acts for an agent: it would be shown what others keep to themselves.

    Raises:
        NotAllowed: `--as` names an agent.
    """
    author = session.fleet.author
    if author.name in session.fleet.config.agents:
        raise NotAllowed(
            f"{word} shows what every agent was told and wrote, which {author.name} may not see",
            "leave --as out; find, show and read show what it may see",
        )


def _of_run(session: Session, ref: str, limit: int, *, as_json: bool) -> None:
    """What one run did, of which the index knows the places."""
    from fleet.audit.show import run_meant
    from fleet.audit.timeline import of_run

    with index(session) as at_hand:
        run = run_meant(session.fleet, at_hand, argument(ref))
        found = of_run(session.fleet, at_hand, run)
    rest = again(session, ["timeline", "--run", ref], {"--limit": len(found)})
    _say(session, found[:limit], rest if len(found) > limit else "", as_json=as_json)


def _say(session: Session, records: "Sequence[Record]", rest: str, *, as_json: bool) -> None:
    """One line for each record, and last the command that shows the rest."""
    from fleet.audit.lines import line

    lines = [line(session.fleet, record) for record in records]
    if as_json:
        say_objects(session, (one.as_json() for one in lines))
        return
    for one in lines:
        say(item(session, one).head)
    if rest:
        say(f"more: {rest}")


def _follow(session: Session, places: dict[str, int], asked: "Asked", *, as_json: bool) -> None:
    """Print what happens beyond `places`, until interrupted."""
    from fleet.audit.timeline import fresh

    fleet = session.fleet
    while True:
        flush()
        fleet.store.wait(places, LOOK)
        heads = _heads(session)
        _say(session, list(fresh(fleet, places, heads, asked)), "", as_json=as_json)
        places = heads


def _heads(session: Session) -> dict[str, int]:
    from fleet.audit.said import streams

    store = session.fleet.store
    return {name: store.head(name) for name in streams(store)}


def _record(session: Session, ref: str | None) -> "Record | None":
    from fleet.audit.show import show

    if ref is None:
        return None
    with index(session) as at_hand:
        return show(session.fleet, at_hand, argument(ref)).record


def _ref(record: "Record") -> str:
    """A reference that leads back to this very record: a run's lines are several."""
    from fleet.audit.references import ref_in

    return ref_in(record.stream, record.seq)


# What is explained --------------------------------------------------------------------------------


def _explained(session: Session, found: "Explained", limit: int) -> Iterator[str]:
    """The explanation, line by line, at most `limit` of each list."""
    if found.about:
        yield item(session, found.about).head
    if found.run is None:
        yield "no run wrote it: nobody was shown anything for it"
        return
    yield _of_the_run(session, found.run)
    files = "" if found.complete else " (its files are gone: the logs know the rest)"
    yield f"told: {len(found.told)} references{files}"
    for told in found.told[:limit]:
        yield from _told(session, told)
    if found.delivered:
        yield f"delivered to be consumed: {', '.join(found.delivered[:limit])}"
    yield f"read by itself: {len(found.read)} times"
    for read in found.read[:limit]:
        yield INDENT + _read(session, read)
    yield "did until then:" if found.about else "did:"
    for one in found.did[:limit]:
        yield INDENT + item(session, one).head


def _of_the_run(session: Session, run: "Run") -> str:
    when, outcome = _when(session, run)
    by = f"by {run.by.get('tty') or 'a person'}" if run.by else f"slot {run.slot}"
    why = f": {run.reason}" if run.reason else ""
    return f"run {run.id} · {run.agent} · {by} · {when} · {outcome}{why}"


def _when(session: Session, run: "Run") -> tuple[str, str]:
    """From when to when, and how it ended."""
    started = local(run.started, session.zone)
    ended = f" to {local(run.ended, session.zone)}" if run.ended else ""
    return started + ended, (run.outcome or "running") + retracted_mark(run.retracted)


def _told(session: Session, told: "Told") -> Iterator[str]:
    """What a reference stood for, and the prompt's own line."""
    from fleet.text import clip

    who = "gone"
    if about := told.about:
        who = f"{about.says.author or '-'} · {local(about.record.at, session.zone)}"
        who += f" · {about.says.word}{retracted_mark(about.retracted)}"
    yield f"{INDENT}{told.ref} · {told.section} · {who}"
    text = told.text or (told.about.says.text if told.about else "")
    yield INDENT * 2 + clip(" ".join(text.split()), CLIP)


def _read(session: Session, read: "Read") -> str:
    more = f" and {len(read.refs) - SOME} more" if len(read.refs) > SOME else ""
    at = f"{local(read.at, session.zone)} " if read.at else ""
    return f"{at}{read.command}: {', '.join(read.refs[:SOME])}{more}"
