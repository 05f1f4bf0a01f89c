"""Direct messages from the command line: send, inbox."""

from collections.abc import Mapping, Sequence

import click

from fleet.cli.grammar import LIMIT, command
from fleet.cli.inputs import text_of
from fleet.cli.output import page
from fleet.cli.session import Session, pass_session
from fleet.cli.talk import AS_JSON, KEY, places_of, say_messages, say_posted
from fleet.errors import Usage
from fleet.identity import OPERATOR
from fleet.talk.direct import direct_name

ITEMS = 50


@command(
    "send",
    examples=[
        "fleet send reply-handler 'sarah@acme.com answered on LinkedIn, take it from there'",
        "fleet send operator 'the mail account is locked, who can open it?'",
        "fleet send reply-handler - <<'EOT'",
        "Any text, `backticks` and $(dollars) too.",
        "EOT",
    ],
)
@click.argument("agent")
@click.argument("text", required=False)
@click.option("--file", metavar="F", help="Read the text from a file.")
@KEY
@AS_JSON
@pass_session
def send_command(
    session: Session,
    *,
    agent: str,
    text: str | None,
    file: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Write to one agent, or to `operator`, a person; nobody else reads it but a person.

    It stands in the AGENT's next context. TEXT `-` reads standard input.
    """
    fleet = session.fleet
    if text is None and file is None and agent not in {*fleet.config.agents, OPERATOR}:
        from fleet.cli.hints import line

        fix = f"say {line('send', 'AGENT', agent)} to one whom fleet agents lists"
        raise Usage(f"there is no text, or '{agent}' is it", fix)
    words = text_of(session, text, file, f"fleet send {agent} 'TEXT'")
    record = fleet.talk.send(fleet.author, agent, words, key=key)
    channel = direct_name(fleet.author.name, agent)
    say_posted(session, record, channel, as_json=as_json)


@command("inbox", examples=["fleet inbox", "fleet inbox --all --limit 20"])
@click.option("--all", "everything", is_flag=True, help="Also what was read, and your own.")
@click.option("--limit", type=LIMIT, help=f"At most so many, the newest (default {ITEMS}).")
@AS_JSON
@pass_session
def inbox_command(session: Session, *, everything: bool, limit: int | None, as_json: bool) -> None:
    """Direct messages to you that no run of yours has been shown, newest last.

    To a person: those that came after your own last word. Reading consumes nothing.
    """
    fleet = session.fleet
    most = page(session, limit, ITEMS, as_json=as_json)
    channels = [channel.id for channel in fleet.talk.directs(fleet.author)]
    if everything:
        found = [
            message
            for channel in channels
            for message in fleet.talk.read(fleet.author, channel, limit=most + 1)
        ]
        left = len(found) - most
    else:
        places = _places(session, channels)
        unread = fleet.talk.inbox(fleet.author.name, channels, places, most)
        found = [message for one in unread for message in one.messages if message.seq in one.new]
        left = sum(one.unread for one in unread) - most
    found.sort(key=lambda message: (message.at, message.seq))
    rest = ""
    if left > 0:
        from fleet.cli.hints import again

        rest = again(session, ["inbox"], {"--all": everything, "--limit": most * 2, "--json": True})
    none = "nothing" if everything else "nothing unread: fleet inbox --all shows the rest"
    say_messages(session, found[-most:], rest, none=none, as_json=as_json)


def _places(session: Session, channels: Sequence[str]) -> Mapping[str, int]:
    """By channel of two, the number up to which the caller has read.

    A person has no runs that are shown anything: what a person has answered counts as read.
    """
    fleet = session.fleet
    name = fleet.author.name
    if name in fleet.config.agents:
        return places_of(session, name)
    boards = map(fleet.talk.board, channels)
    return {
        board.channel: max((m.seq for m in board.messages if m.from_agent == name), default=0)
        for board in boards
    }
