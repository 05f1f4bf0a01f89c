"""The rules of one claim's document, without I/O: who may have it, for how long, what changes.

The document is `{key, holder, run, token, boot, until_uptime, until_wall, lasts, note, keep,
command, taken_at, completed, last, changed_at}`: `holder` None when it was released, `command`
the process that runs a command under it or None, `completed` `{at_wall, by}` of the newest
completion, `last` the line that belongs to its newest change.
"""

from collections.abc import Callable
from typing import NamedTuple

from fleet.errors import Held, NotAllowed
from fleet.identity import Author
from fleet.records import Body, Instant, is_live, rfc3339
from fleet.text import clip, escape

DEFAULT_TTL = 1800.0  # seconds, outside of a run
_NOTE_SHOWN = 100  # characters
_DRIFT = 1.0  # seconds by which two clocks may differ before one of them was stepped


class Claim(NamedTuple):
    """A live claim.

    Attributes:
        key: what is claimed.
        holder: the agent or operator that holds it.
        run: the run it was taken in, None outside of one.
        token: the fencing token; a later holder's is always larger.
        expires: RFC 3339 instant, by the store's clock.
        note: why, in the holder's words: data of another author.
        keep: it outlives the run.
    """

    key: str
    holder: str
    run: str | None
    token: int
    expires: str
    note: str
    keep: bool


class Wish(NamedTuple):
    """What somebody asks for: to hold `key` for `lasts` seconds from now.

    `own_run_only` is for fleet's own keys: there the same agent in another run is another one.
    `command` is the process that will run a command under it, `inside` says that the asker may be
    within one that runs.
    """

    key: str
    holder: str
    run: str | None
    lasts: float
    note: str = ""
    keep: bool = False
    own_run_only: bool = False
    command: Body | None = None
    inside: bool = False

    def owns(self, body: Body) -> bool:
        """Whether the live claim in `body` is the asker's already."""
        same_run = body["run"] == self.run or not self.own_run_only
        return body["holder"] == self.holder and same_run and self._fits(body)

    def _fits(self, body: Body) -> bool:
        """Whether the command under the claim leaves room for the asker.

        The runs of one agent follow each other, so a run may put its own claim under a command;
        an operator's claim may be that of a person at another terminal.
        """
        running = body.get("command")
        if running is None:
            return self.command is None or bool(self.run and body["run"])
        return self.inside or running == self.command


Decided = tuple[str, Body]
"""The name of the operation, and the document after it."""

Decide = Callable[[Body | None, Instant], Decided | None]
"""From the document (None: never claimed) and the time to what to do; None leaves it as it is."""


def held(wish: Wish, body: Body | None, now: Instant) -> Body:
    """The document once `wish` is granted; the token grows unless the claim was the asker's.

    Raises:
        Held: another one's claim is live.
    """
    before = body or _NEW
    own = is_live(body, now)
    if own and not wish.owns(before):
        raise refusal(before, now, wish.holder)
    if not own:
        before = {**_NEW, "token": number(before["token"]) + 1, "completed": before["completed"]}
    left = max(left_of(before, now), wish.lasts) if own else wish.lasts
    return {
        "key": wish.key,
        "holder": wish.holder,
        "run": wish.run or before["run"],
        "token": int(number(before["token"])),
        "boot": now.boot,
        "until_uptime": now.uptime + left,
        "until_wall": now.wall + left,
        "lasts": wish.lasts,
        "note": wish.note or before["note"],
        "keep": wish.keep or before["keep"],
        "command": wish.command or before.get("command"),
        "taken_at": before["taken_at"] or rfc3339(now.wall),
        "completed": before["completed"],
    }


_NEW: Body = dict.fromkeys(("holder", "run", "command", "taken_at", "completed")) | {
    "token": 0,
    "note": "",
    "keep": False,
}


def freed(body: Body, now: Instant, *, completed: bool = False) -> Decided:
    """The document once its holder gave it up; the token stays, so that the next one grows."""
    if not completed:
        return "released", {**body, "holder": None, "command": None}
    done = {"at_wall": now.wall, "by": body["holder"]}
    return "completed", {**body, "holder": None, "command": None, "completed": done}


def left_of(body: Body, now: Instant) -> float:
    """Seconds until the claim expires, by the clock that `is_live` goes by."""
    if body["boot"] == now.boot:
        return number(body["until_uptime"]) - now.uptime
    return number(body["until_wall"]) - now.wall


def until_of(body: Body, now: Instant) -> float:
    """When the claim expires by the wall clock as it goes now, in epoch seconds.

    As long as nobody stepped that clock the answer is the same each time one asks.
    """
    noted, until = number(body["until_wall"]), now.wall + left_of(body, now)
    return noted if abs(until - noted) < _DRIFT else until


def lasting(author: Author, now: Instant, ttl: float | None, keep: float | None) -> float:
    """For how many seconds a claim of `author` is good.

    Raises:
        NotAllowed: the author's run is over.
    """
    end = author.until
    if keep is not None or end is None:
        return keep or ttl or DEFAULT_TTL
    left = end.uptime - now.uptime if end.boot == now.boot else end.wall - now.wall
    if left <= 0:
        raise NotAllowed(f"run {author.run} is over", "end here")
    return min(ttl or left, left)


def refuse_completed(key: str, body: Body | None, now: Instant, once: float | None) -> None:
    """Refuse a key that anybody completed in the last `once` seconds.

    Raises:
        Held: somebody did; `until` says when it may be done again.
    """
    done = body["completed"] if body else None
    if once is None or not isinstance(done, dict):
        return
    at = number(done["at_wall"])
    if now.wall - at < once:
        from fleet.units import age

        raise Held(
            f"{key} was completed by {done['by']} {age(now.wall - at)} ago",
            "leave it, do something else",
            key=key,
            holder=str(done["by"]),
            until=rfc3339(at + once),
        )


def refusal(body: Body, now: Instant, asker: str = "") -> Held:
    """The error that names who holds the live claim in `body` and why; `until` says until when.

    An `asker` who is the holder himself is told how it ends.
    """
    note = f" ({clip(escape(str(body['note'])), _NOTE_SHOWN)})" if body["note"] else ""
    command = body.get("command")
    pid = command["pid"] if isinstance(command, dict) else 0
    process = f" by process {pid}, which runs a command," if pid else ""
    holder = f"{body['holder']}{process}"
    fix = "leave it, do something else"
    if asker == body["holder"]:
        fix = "wait for its end" if pid else f"fleet release {body['key']} gives it back"
    return Held(
        f"{body['key']} is held by {holder}{note}",
        fix,
        key=str(body["key"]),
        holder=str(body["holder"]),
        until=rfc3339(until_of(body, now)),
    )


def claim_of(body: Body, now: Instant) -> Claim:
    """The live claim that `body` says."""
    return Claim(
        key=str(body["key"]),
        holder=str(body["holder"]),
        run=str(body["run"]) if body["run"] else None,
        token=int(number(body["token"])),
        expires=rfc3339(until_of(body, now)),
        note=str(body["note"]),
        keep=bool(body["keep"]),
    )


def line_of(op: str, after: Body, before: Body | None, version: int, by: Body | None) -> Body:
    """The log's line for a change to `version` of the document."""
    line: Body = {
        "op": op,
        "claim": after["key"],
        "holder": after["holder"] or (before["holder"] if before else None),
        "run": after["run"],
        "token": after["token"],
        "until_wall": after["until_wall"],
        "note": after["note"],
        "version": version,
    }
    return line if by is None else line | {"by": by}


def number(value: object) -> float:
    """A number of a document."""
    return value if isinstance(value, (int, float)) else 0.0
