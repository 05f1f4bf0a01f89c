"""Records from the command line: show, find."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import LIMIT, command, moment
from fleet.cli.inputs import argument
from fleet.cli.output import Item, local, page, retracted_mark, say_items, say_objects
from fleet.cli.session import Session, pass_session
from fleet.errors import Usage
from fleet.strictjson import dumps

if TYPE_CHECKING:
    from fleet.audit.index import Index
    from fleet.audit.lines import Line
    from fleet.audit.show import Shown

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
FOUND = 20
CLIP = 160  # characters of a record in a line


@command(
    "show",
    examples=["fleet show events#97", "fleet show strategy#412 --json"],
)
@click.argument("ref")
@AS_JSON
@pass_session
def show_command(session: Session, *, ref: str, as_json: bool) -> None:
    """Any record or run, whole. REF: events#97, strategy#412, a run's id, an agent's name."""
    from fleet.audit.show import show

    with index(session) as at_hand:
        shown = show(session.fleet, at_hand, argument(ref))
    if as_json:
        say_objects(session, [shown.as_json()])
    else:
        say_items(session, [_shown(session, shown)])


@command(
    "find",
    examples=[
        "fleet find Cursor",
        "fleet find 'sarah@acme.com' --since 30d",
        "fleet find '\"reply rate\" subject' --in strategy --json",
    ],
)
@click.argument("text")
@click.option("--type", "word", metavar="TYPE", help="Only events of this type, or post, report …")
@click.option("--in", "channel", metavar="CHANNEL", help="Only in this channel.")
@click.option("--agent", metavar="AGENT", help="Only of this author.")
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant.")
@click.option("--until", metavar="WHEN", help="As --since.")
@click.option("--before", metavar="REF", help="Only what is older than this record.")
@click.option("--limit", type=LIMIT, help=f"At most so many (default {FOUND}).")
@AS_JSON
@pass_session
def find_command(
    session: Session,
    *,
    text: str,
    word: str | None,
    channel: str | None,
    agent: str | None,
    since: str | None,
    until: str | None,
    before: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Records that hold every word of TEXT, newest first; "in double quotes" as it stands."""
    from fleet.audit.find import find
    from fleet.audit.show import show

    if not text.strip():
        raise Usage("there is nothing to find", "say fleet find TEXT")
    most = page(session, limit, FOUND, as_json=as_json)
    fleet = session.fleet
    with index(session) as at_hand:
        hits = find(
            fleet,
            at_hand,
            argument(text),
            word=word,
            author=agent,
            stream=_stream(session, channel) if channel else None,
            since=moment(session, since, "--since"),
            until=moment(session, until, "--until"),
            before=show(fleet, at_hand, before).record if before else None,
            limit=most + 1,
        )
    shown = hits[:most]
    if channel:
        from fleet.cli.talk import say_retired

        say_retired(session, channel)
    if as_json:
        say_objects(session, (hit.as_json() for hit in shown))
        return
    rest = ""
    if len(hits) > most:
        from fleet.cli.hints import again

        same = {"--type": word, "--in": channel, "--agent": agent, "--since": since}
        options = {**same, "--until": until, "--limit": limit, "--before": shown[-1].ref}
        rest = again(session, ["find", text], options)
    say_items(
        session, [item(session, hit) for hit in shown], rest, none="no record has these words"
    )


def index(session: Session) -> "Index":
    """The index of the audit; on a terminal a long filling is shown."""
    from fleet.audit.index import Index
    from fleet.cli.progress import bar

    return Index(session.fleet, bar("reading the logs"))


def _stream(session: Session, channel: str) -> str:
    """The log of a channel.

    Raises:
        Unknown: there is no such channel.
    """
    from fleet.audit.references import channel_log

    return channel_log(session.fleet, channel)


def item(session: Session, line: "Line") -> Item:
    """`strategy#412 · 2026-11-30 14:32 · outreach · post: the text`."""
    from fleet.text import clip

    says, at = line.says, local(line.record.at, session.zone)
    head = " · ".join([line.ref, at, says.author or "-", says.word])
    text = clip(" ".join(says.text.split()), CLIP)
    head += f": {text}" if text else ""
    return Item(head + retracted_mark(line.retracted), ref=line.ref)


def _shown(session: Session, shown: "Shown") -> Item:
    """A line that says what it is, and below it its body or what is known of the run."""
    said = shown.as_json()
    if shown.run:
        run = shown.run
        at = local(run.started, session.zone)
        head = f"run {run.ref} · {at} · {run.agent} · {run.outcome or 'running'}"
        body = said
    else:
        at = local(shown.record.at, session.zone)
        head = f"{shown.ref} · {at} · {said['author'] or '-'} · {said['type']}"
        body = shown.record.body
    lines = [
        f"{name}: {value if isinstance(value, str) else dumps(value)}"
        for name, value in body.items()
        if value not in (None, "", [], {})
    ]
    return Item(head + retracted_mark(shown.retracted), "\n".join(lines), shown.ref)
