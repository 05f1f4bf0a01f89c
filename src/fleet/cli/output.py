"""Everything fleet prints: JSON lines, or plain lines in which nobody's text is obeyed.

What stands in the lines is the commands' business.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from fleet.cli.session import Session
from fleet.errors import Unprinted
from fleet.strictjson import dumps
from fleet.text import UNSEEN, escape

if TYPE_CHECKING:
    from datetime import tzinfo

    from fleet.records import Record
    from fleet.talk import Message

RUN_ITEMS = 20  # what one read shows inside a run
RUN_TOKENS = 2000  # of it all, the last lines too
FEWEST = 8  # characters: no text has more to a token
INDENT = "  "


def say(line: str) -> None:
    """One plain line on standard output, with every control character visible."""
    plain = line.isascii() and line.isprintable()  # most are, and escaping compiles its pattern
    sys.stdout.write((line if plain else escape(line)) + "\n")


def say_json(value: Mapping[str, object]) -> None:
    """One JSON object on a line of its own; the same value, without a raw control character."""
    text = dumps(value)
    if not text.isascii():
        import re

        text = re.sub(UNSEEN, lambda found: _u(found.group()), text)
    sys.stdout.write(text + "\n")


def say_error(line: str) -> None:
    """One sentence on standard error; where it cannot be written, the exit code has to do.

    It may repeat what the caller gave, so secrets are masked.
    """
    with suppress(OSError):
        from fleet.masking import mask  # help and most commands say nothing here

        sys.stderr.write(f"fleet: {escape(mask(line))}\n")


def flush() -> None:
    """Hand over what was printed: what follows may take long."""
    sys.stdout.flush()


def _u(character: str) -> str:
    pair = character.encode("utf-16-be")
    return "".join(f"\\u{pair[i]:02x}{pair[i + 1]:02x}" for i in range(0, len(pair), 2))


def say_written(
    session: Session, *, as_json: bool, fields: Mapping[str, object], line: str
) -> None:
    """The answer to a write.

    JSON when asked for; one line of words in a run and on a terminal; else the first field alone.

    Raises:
        Unprinted: it cannot be printed; `line` says what is done.
    """
    if session.in_run and session.fleet.staged:
        fields, line = {**fields, "staged": True}, f"{line} (staged: waits for a person's word)"
    with _done(line):
        if as_json:
            say_json(fields)
        elif session.one_line:
            say(line)
        else:
            say(str(next(iter(fields.values()))))


def say_done(line: str) -> None:
    """The answer, one line of words, to something that is done; raises as `say_written`."""
    with _done(line):
        say(line)


@contextmanager
def _done(line: str) -> Iterator[None]:
    try:
        yield
        flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        raise Unprinted(
            f"{line}, but this could not be printed: {fault.strerror}", "do not repeat it"
        ) from None


# Long work ---------------------------------------------------------------------------------------


@contextmanager
def bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while it goes on; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from click import progressbar

    with progressbar(length=1000, label=label, file=sys.stderr, show_pos=False) as shown:

        def move(done: int, total: int) -> None:
            shown.update(min(1000, 1000 * done // max(1, total)) - shown.pos)

        yield move


# Lists ------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """One thing of a list: a line of fleet's own words, and below it what somebody wrote.

    `ref` is the reference of the record that it shows, for the notes of what a run read.
    """

    head: str
    body: str = ""
    ref: str = ""


def page(session: Session, limit: int | None, default: int, *, as_json: bool) -> int:
    """How many items one read shows: at most `RUN_ITEMS` in plain lines of a run."""
    most = limit or default
    return min(most, RUN_ITEMS) if session.in_run and not as_json else most


def upto(head: int, shown: "Sequence[Record] | Sequence[Message]") -> int:
    """How far a follower is: `head` was looked at before `shown` was read, which may go further."""
    return max([head, *(one.seq for one in shown[-1:])])


def going_on(
    shown: "Sequence[Record] | Sequence[Message]",
    since: float | None,
    until: float | None,
    after: str | None,
    before: str | None,
    *,
    forward: bool,
) -> dict[str, object]:
    """The options that go on exactly behind, or before, what was `shown`; times as instants."""
    from fleet.records import rfc3339

    return {
        "--since": None if since is None else rfc3339(since),
        "--until": None if until is None else rfc3339(until),
        "--after": shown[-1].seq if forward else after,
        "--before": before if forward else shown[0].seq,
    }


def say_items(
    session: Session, items: Sequence[Item], rest: str = "", *, none: str = "nothing"
) -> None:
    """Print a list; inside a run only what fits, and last the command that shows the rest.

    Args:
        session: who asks.
        items: in the order in which they are printed.
        rest: the command that shows what `items` leaves out; "" when that is nothing.
        none: what is said, where a write would answer in words, when there are no items.
    """
    shown, last = _fitting(session, items, rest) if session.in_run else (items, [])
    note_read(session, [item.ref for item in shown])
    for item in shown:
        say(item.head)
        for line in item.body.splitlines() if item.body else ():
            say(INDENT + line)
    if not items and none and session.one_line:
        say(none)
    for line in last or ([f"more: {rest}"] if rest else []):
        say(line)


def say_objects(session: Session, objects: Iterable[Mapping[str, object]]) -> None:
    """Print what was read as JSON, one object a line; `ref` is the reference of each."""
    shown: list[str] = []
    for one in objects:
        say_json(one)
        shown.append(str(one.get("ref") or ""))
    note_read(session, shown)


def note_read(session: Session, refs: Sequence[str]) -> None:
    """In a run: note that its command showed `refs`, one for each thing ("" without one)."""
    run = session.fleet.author.run if refs and session.in_run else None
    if run is None:
        return
    from shlex import join

    from fleet.masking import mask
    from fleet.records import rfc3339
    from fleet.runs.reads import Read, note

    at = rfc3339(session.fleet.store.now().wall)
    read = Read(at, mask(join(session.words)), tuple(ref for ref in refs if ref))
    note(session.fleet.config.run_folder(run), read)


def _fitting(
    session: Session, items: Sequence[Item], rest: str
) -> tuple[Sequence[Item], list[str]]:
    """What a run may see of a list, and the lines that say how to see the rest."""
    from fleet.text import tokens

    left = 0 if rest else max(0, len(items) - RUN_ITEMS)
    fitting = _within(RUN_TOKENS, items[:RUN_ITEMS])
    if fitting == items and not rest:
        return items, []
    more = [f"more: {rest}"] if rest else []
    budget = RUN_TOKENS - sum(map(tokens, [*more, _whole(session, left, RUN_ITEMS)]))
    fitting = _within(max(budget, RUN_TOKENS // 4), items[:RUN_ITEMS])
    clipped = sum(a is not b for a, b in zip(items, fitting, strict=False))
    whole = _whole(session, left, clipped)
    return fitting, [*more, *([whole] if whole else [])]


def _whole(session: Session, left: int, clipped: int) -> str:
    """`23 more, 5 clipped: fleet claims --json`; "" when that is all of it."""
    from fleet.cli.hints import line

    counts = [f"{n} {word}" for n, word in ((left, "more"), (clipped, "clipped")) if n]
    return f"{', '.join(counts)}: {line(*session.words, '--json')}" if counts else ""


def _within(budget: int, items: Sequence[Item]) -> Sequence[Item]:
    """The items, the long ones clipped alike so that all together cost at most `budget` tokens."""
    from fleet.text import tokens

    costs = [tokens(_printed(item)) for item in items]
    if sum(costs) <= budget:
        return items
    fair = budget // len(items)
    share = (budget - sum(cost for cost in costs if cost <= fair)) // sum(c > fair for c in costs)
    pairs = zip(items, costs, strict=True)
    return [_clipped(item, share) if cost > fair else item for item, cost in pairs]


def _printed(item: Item) -> str:
    lines = [item.head, *(INDENT + line for line in item.body.splitlines())]
    return escape("\n".join(lines), newlines=True) + "\n"


def _clipped(item: Item, budget: int) -> Item:
    """The item with as much of its body, and then of its head, as costs at most `budget` tokens."""
    from fleet.text import clip, tokens

    short = item
    for name, least in (("body", 1), ("head", budget)):
        text = getattr(item, name)
        length = min(len(text), FEWEST * budget)
        while length > least and tokens(_printed(short)) > budget:
            length = length * 3 // 4
            short = short._replace(**{name: clip(text, length)})
    return short


# What was taken back -----------------------------------------------------------------------------


def retracted_mark(reason: str | None) -> str:
    """What follows the line of a record for people: "" for one that stands."""
    return "" if reason is None else f" · retracted: {reason}"


def reasons_of(session: Session, records: "Sequence[Record]") -> dict[int, str]:
    """By number, why those of `records` (of one log) that were taken back were."""
    if not records:
        return {}
    retractions = session.fleet.retractions
    gone = retractions.of(records[0].stream)
    found = {r.seq: retractions.reason_of(r.stream, r.seq) for r in records if r.seq in gone}
    return {seq: reason for seq, reason in found.items() if reason is not None}


# Times and tables ---------------------------------------------------------------------------------


def local(instant: str, zone: "tzinfo") -> str:
    """An RFC 3339 instant as `2026-11-30 14:32` in `zone`; "-" for "", which nobody knows."""
    if not instant:
        return "-"
    from datetime import datetime

    return datetime.fromisoformat(instant).astimezone(zone).strftime("%Y-%m-%d %H:%M")


def soon(instant: str, zone: "tzinfo") -> str:
    """An RFC 3339 instant as `14:32` when it is today in `zone`, else with its date."""
    from datetime import datetime

    at = datetime.fromisoformat(instant).astimezone(zone)
    today = datetime.now(zone).date() == at.date()
    return at.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


def table(rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows as lines with aligned columns; the last column is not padded."""
    texts = [[escape(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(
            cell if i == len(row) - 1 else cell.ljust(widths[i]) for i, cell in enumerate(row)
        ).rstrip()
        for row in texts
    ]
