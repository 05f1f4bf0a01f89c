"""What runs were told, built again and compared: replay, diff."""

import sys
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.history import AS_JSON, find_run
from fleet.cli.output import INDENT, flush, say, say_error, say_json
from fleet.cli.session import Session, pass_session
from fleet.errors import EndedBadly
from fleet.strictjson import dumps
from fleet.text import clip, escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.audit.difference import Change
    from fleet.audit.replay import Replayed

LINE = 300  # characters of a line of `diff`


@command("replay", examples=["fleet replay outreach", "fleet replay outreach~1 --json"])
@click.argument("ref", metavar="RUN")
@AS_JSON
@pass_session
def replay_command(session: Session, *, ref: str, as_json: bool) -> None:
    """Build a run's prompt again, byte for byte, and say whether it is what the run was told."""
    from fleet.audit.replay import replay

    found = replay(session.fleet, find_run(session, ref))
    if as_json:
        say_json(_as_json(found))
    else:
        for data in found.files.values():
            _say_bytes(data)
    flush()
    name = found.run.ref
    if found.changed:
        raise EndedBadly(
            f"{' and '.join(found.changed)} of {name} cannot be built as the run was told it",
            "; ".join(found.reasons) or "nothing is known to have changed: fleet verify",
        )
    told = f"these are the bytes that {name} was told"
    edited = f", but its folder's {' and '.join(found.edited)} was changed since"
    gone = "; its own files are gone"
    say_error(told + (edited if found.edited else gone if found.gone else ""))


def _say_bytes(data: bytes) -> None:
    """As they are; on a terminal with control characters visible."""
    text = data.decode()
    sys.stdout.write(escape(text, newlines=True) if sys.stdout.isatty() else text)


def _as_json(found: "Replayed") -> dict[str, object]:
    return {
        "ref": found.run.ref,
        "id": found.run.id,
        "agent": found.run.agent,
        "equal": not found.changed,
        "changed": list(found.changed),
        "edited": list(found.edited),
        "gone": found.gone,
        "reasons": list(found.reasons),
        "fleet": found.made.fleet,
        "config": found.made.config,
        "heads": {stream: place.seq for stream, place in found.made.pins.items()},
        "files": {name: data.decode() for name, data in found.files.items()},
    }


@command("diff", examples=["fleet diff outreach~1 outreach", "fleet diff 019b2e00 last --json"])
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@AS_JSON
@pass_session
def diff_command(session: Session, *, before: str, after: str, as_json: bool) -> None:
    """Why two runs were not the same: config, templates, sections, references, outcome, cost."""
    from fleet.audit.difference import difference

    found = difference(session.fleet, find_run(session, before), find_run(session, after))
    if as_json:
        say_json(found.as_json())
        return
    one, two = found.before, found.after
    say(f"{one.agent} {one.ref} → {two.agent} {two.ref}")
    for title in ("ends", "config", "sections", "lanes", "given"):
        _say_part(title, map(_changed, getattr(found, title)), found.left_out.get(title, 0))
    for name, lines in found.templates.items():
        _say_part(f"prompts/{name}", lines, 0)
    for title, run in (("only_before", one), ("only_after", two)):
        refs = [", ".join(getattr(found, title))] if getattr(found, title) else []
        _say_part(f"shown to {run.ref} only", refs, found.left_out.get(title, 0))
    for note in found.notes:
        say_error(note)


def _say_part(title: str, lines: "Iterable[str]", left_out: int) -> None:
    shown = [clip(line, LINE) for line in lines]
    if left_out:
        shown.append(f"… {left_out} more: add --json")
    if shown:
        say(title)
    for line in shown:
        say(INDENT + line)


def _changed(change: "Change") -> str:
    return f"{change.name}: {_short(change.before)} → {_short(change.after)}"


def _short(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_short(one)}" for name, one in value.items())
    return "nothing" if value is None else value if isinstance(value, str) else dumps(value)
