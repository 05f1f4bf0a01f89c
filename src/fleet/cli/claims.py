"""Exclusive rights from the command line: claim, renew, release, claims."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import DURATION, LIMIT, command, moment
from fleet.cli.inputs import argument
from fleet.cli.output import Item, local, say_items, say_json, say_objects, say_written, table
from fleet.cli.session import Session, pass_session
from fleet.errors import Usage
from fleet.records import wall_of
from fleet.units import age

if TYPE_CHECKING:
    from fleet.claims import Claim
    from fleet.records import Body, Record

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
TTL = click.option("--ttl", type=DURATION, metavar="30m", help="Hold it at most so long.")


@command(
    "claim",
    tail=True,
    examples=[
        "fleet claim lead:sarah@acme.com",
        "fleet claim lead:sarah@acme.com --keep 3d --note 'waiting for an answer'",
        "fleet claim report:weekly --once 7d -- ./bin/weekly-report",
    ],
)
@click.argument("words", metavar="KEY", nargs=-1, required=True)
@TTL
@click.option("--keep", type=DURATION, metavar="3d", help="Hold it beyond this run.")
@click.option("--once", type=DURATION, metavar="7d", help="Refuse if it was completed since.")
@click.option("--wait", type=DURATION, metavar="10s", default=0.0, help="Wait so long for it.")
@click.option("--note", metavar="TEXT", default="", help="Why, for whoever looks.")
@AS_JSON
@pass_session
def claim_command(
    session: Session,
    *,
    words: tuple[str, ...],
    ttl: float | None,
    keep: float | None,
    once: float | None,
    wait: float,
    note: str,
    command: tuple[str, ...],
    as_json: bool,
) -> None:
    """Take the exclusive right to KEY until this run ends, and print the fencing token.

    With `-- CMD` it is held while CMD runs and completed when CMD exits 0; the exit code is CMD's.
    """
    key = _one_key(words)
    fleet = session.fleet
    argv: list[str] = []
    if command and keep is not None:
        raise Usage(
            "--keep holds a claim beyond its run, a command gives it back when it ends",
            "leave one of them out",
        )
    if command:
        from fleet.cli.held import allowed

        argv = allowed(session, command)
    claim = fleet.claims.take(
        fleet.author,
        key,
        ttl=ttl,
        keep=keep,
        once=once,
        wait=wait,
        note=argument(note),
        for_command=bool(argv),
    )
    if argv:
        from fleet.cli.held import run_held

        raise click.exceptions.Exit(run_held(session, claim, argv, ttl))
    _say_claim(session, claim, "CLAIMED", as_json=as_json)


@command("renew", examples=["fleet renew lead:sarah@acme.com --ttl 1h"])
@click.argument("key")
@TTL
@AS_JSON
@pass_session
def renew_command(session: Session, *, key: str, ttl: float | None, as_json: bool) -> None:
    """Hold a claim of yours longer, from now on."""
    fleet = session.fleet
    claim = fleet.claims.renew(fleet.author, argument(key), ttl=ttl)
    _say_claim(session, claim, "RENEWED", as_json=as_json)


@command("release", examples=["fleet release lead:sarah@acme.com"])
@click.argument("key")
@click.option("--completed", is_flag=True, help="What it stood for is done: see claim --once.")
@AS_JSON
@pass_session
def release_command(session: Session, *, key: str, completed: bool, as_json: bool) -> None:
    """Give a claim back before its time."""
    fleet = session.fleet
    fleet.claims.release(fleet.author, argument(key), completed=completed)
    fields = {"key": key, "released": True}
    say_written(session, as_json=as_json, fields=fields, line=f"released {key}")


@command("claims", examples=["fleet claims", "fleet claims --history lead:sarah@acme.com"])
@click.argument("prefix", required=False, default="")
@click.option("--history", metavar="KEY", help="Who held this key, and when.")
@click.option("--since", metavar="WHEN", help="With --history: 3h, 03:00, a date or an instant.")
@click.option("--until", metavar="WHEN", help="As --since.")
@click.option("--limit", type=LIMIT, help="At most so many.")
@AS_JSON
@pass_session
def claims_command(
    session: Session,
    *,
    prefix: str,
    history: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Live claims, or those whose key begins with PREFIX."""
    claims = session.fleet.claims
    _ = session.fleet.author
    if history is not None:
        records = claims.history(argument(history))
        if not records:
            raise claims.never_claimed(history)
        first, last = moment(session, since, "--since"), moment(session, until, "--until")
        records = [record for record in records if _in_time(record, first, last)]
        _say_history(session, records[-limit:] if limit else records, as_json=as_json)
        return
    live = claims.live(argument(prefix))[:limit]
    if as_json:
        say_objects(session, map(_json, live))
        return
    zone = session.zone
    rows = [[c.key, c.holder, f"until {local(c.expires, zone)}", _kept(c)] for c in live]
    lines = table(rows) if rows else []
    items = [Item(line, claim.note) for line, claim in zip(lines, live, strict=True)]
    none = f"no live claim begins with {prefix}" if prefix else "no live claims"
    say_items(session, items, none=none)


def _in_time(record: "Record", first: float | None, last: float | None) -> bool:
    at = wall_of(record.at)
    return (first is None or at >= first) and (last is None or at <= last)


def _one_key(words: tuple[str, ...]) -> str:
    """The key; two words were meant to be one."""
    if len(words) == 1:
        return argument(words[0])
    from fleet.cli.hints import line

    raise Usage("a key is one word", f"say {line('claim', ':'.join(words))}")


def _json(claim: "Claim") -> dict[str, object]:
    return {
        "key": claim.key,
        "holder": claim.holder,
        "run": claim.run,
        "token": claim.token,
        "expires": claim.expires,
        "note": claim.note,
    }


def _kept(claim: "Claim") -> str:
    return "kept" if claim.keep else f"run {claim.run}" if claim.run else ""


def _say_claim(session: Session, claim: "Claim", word: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"key": claim.key, "token": claim.token, "expires": claim.expires})
        return
    left = wall_of(claim.expires) - session.fleet.store.now().wall
    line = f"{word} {claim.key} for {age(left)} (token {claim.token})"
    say_written(session, as_json=False, fields={"token": claim.token}, line=line)


def _say_history(session: Session, records: "list[Record]", *, as_json: bool) -> None:
    if as_json:
        say_objects(session, map(_past, records))
        return
    zone = session.zone
    items = [
        Item(
            f"{local(r.at, zone)} · {r.body.get('op')} by {r.body.get('holder')}",
            str(r.body.get("note") or ""),
            r.ref if r.seq else "",
        )
        for r in records
    ]
    say_items(session, items)


def _past(record: "Record") -> "Body":
    """A change of a claim: in the log its key is called `claim`, `key` is reserved there."""
    said = {name: record.body.get(name) for name in ("op", "holder", "run", "token", "note")}
    ref = record.ref if record.seq else None
    return {"ref": ref, "at": record.at, "key": record.body.get("claim"), **said}
