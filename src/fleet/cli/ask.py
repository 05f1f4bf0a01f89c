"""Questions to a person, their answers, and reminders, from the command line: ask, answer, remind.

What wakes the agent is not decided here.
"""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import ahead, command
from fleet.cli.inputs import argument, text_of
from fleet.cli.output import Item, local, say_error, say_items, say_objects, say_written, soon
from fleet.cli.session import Session, pass_session
from fleet.errors import Rejected, Usage
from fleet.strictjson import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.questions import Question
    from fleet.records import Record

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
KEY = click.option("--id", "key", metavar="KEY", help="The same KEY twice is one record.")
FILE = click.option("--file", metavar="F", help="Read the text from a file.")
END = "the answer wakes you: end this run with fleet report"


@command(
    "ask",
    examples=[
        "fleet ask 'mail these 300?'",
        "fleet ask 'which list first?' --options trials,customers,both",
    ],
)
@click.argument("text", required=False)
@click.option(
    "--options", metavar="A,B", default="yes,no", help="What can be answered (default yes,no)."
)
@FILE
@KEY
@AS_JSON
@pass_session
def ask_command(
    session: Session,
    *,
    text: str | None,
    options: str,
    file: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Ask a person, and end the run: the answer wakes you. TEXT `-` reads standard input.

    The same question, asked again while it is open, is that one.
    """
    words = text_of(session, text, file, "fleet ask 'TEXT' --options yes,no")
    fleet = session.fleet
    record = fleet.questions.ask(fleet.author, words, _options(options), key=key)
    say_written(
        session, as_json=as_json, fields=_written(record), line=f"asked {record.ref} · {END}"
    )


@command(
    "answer",
    examples=[
        "fleet answer",
        "fleet answer questions#3 yes",
        "fleet answer questions#4 no --note 'only the 40 that opened our last mail'",
    ],
)
@click.argument("ref", required=False)
@click.argument("option", required=False)
@click.option("--note", metavar="TEXT", default="", help="What the agent is told besides.")
@AS_JSON
@pass_session
def answer_command(
    session: Session, *, ref: str | None, option: str | None, note: str, as_json: bool
) -> None:
    """Answer an agent's question with one of its OPTIONs; without REF, the questions that wait.

    The answer is an event for the agent, and wakes it.
    """
    fleet = session.fleet
    questions = fleet.questions
    if ref is None:
        _list(session, questions.open(), as_json=as_json)
        return
    from fleet.runner.lead import require_original

    require_original(fleet, "answer there, or fleet up --take-over makes this one run")
    questions.tell()  # what a command that was cut off left behind
    question = questions.get(ref)
    said = argument(option) if option is not None else ""
    record = questions.answer(fleet.author, question, said, note=argument(note))
    told = [event for event in questions.tell() if event.key == question.record.ref]
    line = f"answered {question.record.ref} {record.body['option']}"
    reached = [one for one in told if one.body["to_agent"] in fleet.config.agents]
    line += "".join(f" · {one.body['to_agent']} is told by {one.ref}" for one in reached)
    say_written(session, as_json=as_json, fields=_written(record), line=line)
    for one in told:
        if one not in reached:
            to = one.body["to_agent"]
            say_error(f"nobody is told: there is no agent {to}, {one.ref} waits for one")


@command(
    "remind",
    examples=[
        "fleet remind 3d 'ask mike@startup.io again'",
        "fleet remind 03:00 'read the numbers of yesterday'",
        "fleet remind 14d 'the trial of acme.com ends'",
    ],
)
@click.argument("when", required=False)
@click.argument("text", required=False)
@FILE
@KEY
@AS_JSON
@pass_session
def remind_command(
    session: Session,
    *,
    when: str | None,
    text: str | None,
    file: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Note something for yourself: you are woken and told it when it is due.

    WHEN is 3d, 2h, 03:00, a date or an instant, at most 400 days ahead. TEXT `-` reads standard
    input. Without WHEN: what waits for its time, events of `emit --in` too.
    """
    if when is None:
        _coming(session, as_json=as_json)
        return
    words = text_of(session, text, file, f"fleet remind {when} 'TEXT'")
    due = ahead(session, when, "WHEN")
    fleet = session.fleet
    record = fleet.later.remind(fleet.author, words, due=due, when=when, key=key)
    line = f"noted {record.ref} · you are told {due_of(session, record)}"
    say_written(session, as_json=as_json, fields=later_written(record), line=line)


def _coming(session: Session, *, as_json: bool) -> None:
    """What waits for its time: the agent's own, to a person everybody's."""
    from fleet.bus.later import coming_json

    fleet = session.fleet
    names = fleet.config.names_of(fleet.author.name) if session.as_an_agent else ()
    found = fleet.later.coming(names)
    if as_json:
        say_objects(session, map(coming_json, found))
        return
    items = [Item(_when(session, one), dumps(one.body["payload"]), one.ref) for one in found]
    say_items(session, items, none="nothing waits for its time")


def _when(session: Session, record: "Record") -> str:
    """`later#3 · due 2026-12-04 06:10 · reminder-due · outreach → outreach`."""
    body = record.body
    due = f"due {local(str(body['due']), session.zone)}"
    to = f" → {body['to_agent']}" if body["to_agent"] else ""
    return " · ".join([record.ref, due, str(body["type"]), f"{body['from_agent']}{to}"])


def later_written(record: "Record") -> dict[str, object]:
    """What `--json` prints of something that waits for its time."""
    return {**_written(record), "due": record.body["due"]}


def due_of(session: Session, record: "Record") -> str:
    """When something that waits is due, for people: `14:32`, or with its date."""
    return soon(str(record.body["due"]), session.zone)


def _written(record: "Record") -> dict[str, object]:
    return {"ref": record.ref, "seq": record.seq, "id": record.id}


def _options(text: str) -> list[str]:
    """The options in `yes,no`, or in a list in JSON.

    Raises:
        Usage: they are separated by something else.
    """
    if text.lstrip().startswith("["):
        return _listed(text)
    found = [part.strip() for part in argument(text).split(",")]
    if len(found) == 1:
        for sign in "|/;":
            parts = [part.strip() for part in text.split(sign)]
            if len(parts) > 1:
                fix = f"fleet ask 'TEXT' --options {','.join(parts)}"
                raise Usage("options are separated by commas", fix)
    return found


def _listed(text: str) -> list[str]:
    """The options in `["yes", "no"]`: models write lists as JSON."""
    try:
        found = loads(text)
    except Rejected:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Usage("options are separated by commas", "fleet ask 'TEXT' --options yes,no")
    return [str(one).strip() for one in found]


def _list(session: Session, found: "Sequence[Question]", *, as_json: bool) -> None:
    if as_json:
        say_objects(session, (one.as_json() for one in found))
        return
    zone = session.zone
    heads = (
        f"{one.record.ref} · {local(one.record.at, zone)} · {one.agent} · {', '.join(one.options)}"
        for one in found
    )
    items = [Item(head, one.text, one.record.ref) for head, one in zip(heads, found, strict=True)]
    say_items(session, items, none="no question waits")
