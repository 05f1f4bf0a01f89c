"""What needs a person, from the command line: alerts, alerts ack."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import LIMIT, command, moment, number_of
from fleet.cli.hints import again
from fleet.cli.output import Item, local, say_done, say_items, say_objects
from fleet.cli.session import Session, pass_session
from fleet.errors import Rejected, Usage

if TYPE_CHECKING:
    from datetime import tzinfo

    from fleet.alerts import Alert

ACK, ALL = "ack", "all"
ITEMS = 50


@command(
    "alerts",
    examples=["fleet alerts", "fleet alerts --all --since 7d", "fleet alerts ack all"],
)
@click.argument("words", metavar="[ack REF…|ack all]", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Acknowledged ones too, one by one.")
@click.option("--since", metavar="WHEN", help="3h, 03:00, a date or an instant.")
@click.option("--limit", type=LIMIT, default=ITEMS, help="At most so many (50), the newest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@pass_session
def alerts_command(
    session: Session,
    *,
    words: tuple[str, ...],
    everything: bool,
    since: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """What needs a person and nobody has acknowledged: what happened, was done, and is to do.

    Alerts of one kind about one subject are shown as one, the last raised at the end. `ack` closes
    those that were raised up to now; raised again they are open again. A question is closed by its
    answer alone.
    """
    if words:
        _acknowledge(session, words, as_json=as_json)
        return
    shown, wider = _found(session, limit, moment(session, since, "--since"), everything=everything)
    if as_json:
        say_objects(session, (alert.as_json() for alert in shown))
        return
    options = {"--all": everything, "--since": since, "--limit": wider}
    rest = again(session, ["alerts"], options) if wider else ""
    items = [Item(_head(alert, session.zone), _body(alert), alert.ref) for alert in shown]
    say_items(session, items, rest, none="nothing is open")


def _found(
    session: Session, limit: int, since: float | None, *, everything: bool
) -> tuple[list["Alert"], int]:
    """The alerts that were asked for, and the limit that shows more; 0 when these are all."""
    from fleet.alerts import open_ones, raised
    from fleet.records import wall_of

    store, cache = session.fleet.store, session.fleet.cache
    if everything:
        found = raised(store, cache, limit + 1, since=since)
        wider = 2 * limit
    else:
        told = open_ones(store, cache)
        found = [one for one in told if since is None or wall_of(one.at) >= since]
        wider = len(found)
    return found[-limit:], wider if len(found) > limit else 0


def _head(alert: "Alert", zone: "tzinfo") -> str:
    """`alerts#12 · 2026-11-30 06:10 · failing outreach · 3 times since 2026-11-28 04:00`."""
    often = f" · {alert.count} times since {local(alert.first, zone)}" if alert.count > 1 else ""
    seen = "" if alert.open else " · acknowledged"
    return f"{alert.ref} · {local(alert.at, zone)} · {alert.kind} {alert.subject}{often}{seen}"


def _body(alert: "Alert") -> str:
    said = (("what", alert.what), ("done", alert.done), ("fix", alert.fix))
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in said if text)


def _acknowledge(session: Session, words: tuple[str, ...], *, as_json: bool) -> None:
    from fleet.alerts import STREAM, acknowledge

    word, *refs = words
    if word != ACK:
        raise Usage(f"'{word}' is no word of fleet alerts", "say fleet alerts ack alerts#12")
    if not refs or (ALL in refs and len(refs) > 1):
        raise Usage("ack needs references, or all", "fleet alerts lists what is open")
    numbers = None if refs == [ALL] else [number_of(ref, STREAM) or 0 for ref in refs]
    fleet, author = session.fleet, session.fleet.author
    _require_answered(session, numbers or [])
    closed = acknowledge(fleet.store, fleet.cache, numbers, by=author.name, person=author.by)
    if as_json:
        say_objects(session, (alert.as_json() for alert in closed))
        return
    for alert in closed:
        how = f"raised {alert.count} times, last as " if alert.count > 1 else ""
        say_done(f"acknowledged {alert.kind} {alert.subject}, {how}{alert.ref}")
    if not closed:
        say_done("nothing of it is open")


def _require_answered(session: Session, numbers: list[int]) -> None:
    """Refuse to close the alert of a question that waits: its agent waits for an answer."""
    from fleet.alerts import about
    from fleet.questions import KIND

    fleet = session.fleet
    told = [about(fleet.store, number) for number in numbers]
    asked = {subject for kind, subject in told if kind == KIND}
    for question in fleet.questions.open() if asked else ():
        if question.record.ref in asked:
            what = f"{question.record.ref} waits for an answer, which closes its alert"
            raise Rejected(what, question.how)
