"""One run as its log tells it: the records of a run merged into the shape that `--json` prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.records import Body, Place, Record
from fleet.runs.outcome import OUTCOMES, Outcome, Verdict

SHORT_ID = 13  # characters of a time-ordered id that hold its whole millisecond


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of one run.

    Attributes:
        id: its id.
        agent: whose run it is.
        slot: the due instant, `wake:<seq>` or `hand:<id>`.
        started: RFC 3339; "" when only its end is left in the log.
        ended: RFC 3339, None while it runs.
        outcome: a word of the outcome table, None while it runs.
        reason: one line, "" when nothing is to say.
        attempt: 1, or more for a retry.
        by: who started it by hand, None for the runner.
        cost_usd: dollars; None when unknown, as for the next three.
        tokens_in: input tokens, cached ones included.
        tokens_out: output tokens.
        turns: as the CLI counts them.
        events_shown: how many events its prompt really showed.
        shown: references of everything its prompt showed, those events first.
        report: what the agent said it did, "" when it said nothing.
        next: what it means to do next.
        idle: it reported that there was nothing to do.
        denials: tools that were denied.
        advance: where its lanes move to, empty unless its outcome advances.
        caught_up: it stood for slots that were missed.
        shadow: what it wrote to others waited for a person.
        limit_until: epoch seconds at which the usage limit it met ends.
        lost: it was killed because its host or its keeper crashed.
        counts_as_ok: with denied tools, yet it left what it should or reported.
        retracted: why it was taken back, None when it was not.
        read: references of what it read after its prompt; known when it has ended.
        read_left_out: how many more it read.
        cli: the version of the CLI that it was, "" when that is not known; None for other commands.
    """

    id: str
    agent: str
    slot: str = ""
    started: str = ""
    ended: str | None = None
    outcome: str | None = None
    reason: str = ""
    attempt: int = 1
    by: Body | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    events_shown: int = 0
    shown: tuple[str, ...] = ()
    report: str = ""
    next: str = ""
    idle: bool = False
    denials: tuple[str, ...] = ()
    advance: Mapping[str, Place] = field(default_factory=dict)
    caught_up: bool = False
    shadow: bool = False
    limit_until: float | None = None
    lost: bool = False
    counts_as_ok: bool = False
    retracted: str | None = None
    read: tuple[str, ...] = ()
    read_left_out: int = 0
    cli: str | None = None

    @property
    def row(self) -> Outcome | None:
        """The row of the outcome table that holds for it; None while it runs."""
        if self.outcome not in OUTCOMES:
            return None
        return Verdict(self.outcome, counts_as_ok=self.counts_as_ok).row

    @property
    def ref(self) -> str:
        """The short name that `find` takes back: the id's instant."""
        return self.id[:SHORT_ID]

    @property
    def delivered(self) -> tuple[str, ...]:
        """References of the events that its events section showed: a success consumes them."""
        return self.shown[: self.events_shown]

    @property
    def open(self) -> bool:
        """Whether it was started and has no end yet."""
        return self.outcome is None

    def as_json(self) -> Body:
        """The object that `--json` prints."""
        return {
            "ref": self.ref,
            "id": self.id,
            "agent": self.agent,
            "slot": self.slot,
            "started": self.started or None,
            "ended": self.ended,
            "outcome": self.outcome,
            "reason": self.reason,
            "cost_usd": self.cost_usd,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "turns": self.turns,
            "cli": self.cli or None,
            "events_shown": self.events_shown,
            "shown": list(self.shown),
            "read": list(self.read),
            "read_left_out": self.read_left_out,
            "report": self.report,
            "idle": self.idle,
            "next": self.next,
            "attempt": self.attempt,
            "by": self.by,
            "denials": list(self.denials),
            "advance": {lane: place.seq for lane, place in self.advance.items()},
            "caught_up": self.caught_up,
            "shadow": self.shadow,
            "retracted": self.retracted,
        }


_SAID = {
    "started": ("slot", "attempt", "by", "caught_up", "shadow", "cli"),
    "report": ("next", "idle"),
}
_SAID["ended"] = (
    *("ended", "outcome", "reason", "cost_usd", "tokens_in", "tokens_out", "turns"),
    *("events_shown", "shown", "denials", "advance", "limit_until", "lost", "counts_as_ok"),
    *("read", "read_left_out", "cli"),
)


def take(known: Body, record: Record) -> None:
    """Put what `record` says about its run into `known`; an unknown operation says nothing."""
    body = record.body
    op = str(body.get("op"))
    if op not in _SAID:
        return
    known["id"] = body.get("run")
    known["agent"] = record.stream.removeprefix("runs/")
    known.update(
        {
            name: body[name]
            for name in _SAID[op]
            if name in body and (name != "cli" or body[name] or name not in known)
        }
    )
    if op == "started":
        known["started"] = record.at
        known["context"] = body.get("context") or {}
    elif op == "report":
        known["report"] = body.get("text")
    elif body.get("idle"):
        known["idle"] = True


def run_of(known: Body) -> Run:
    """The run that `take` gathered; what a started run's context showed counts before its end."""
    names = set(Run.__dataclass_fields__)
    context = known.get("context")
    said = {"shown": [], "events_shown": 0} | (context if isinstance(context, dict) else {})
    told = {"shown": said["shown"], "events_shown": said["events_shown"]} | known
    told["shown"] = tuple(told["shown"])  # type: ignore[arg-type]
    told["read"] = tuple(told.get("read") or ())  # type: ignore[arg-type]
    told["denials"] = tuple(told.get("denials") or ())  # type: ignore[arg-type]
    told["advance"] = places_of(told.get("advance"))
    return Run(**{name: value for name, value in told.items() if name in names})  # type: ignore[arg-type]


def places_of(value: object) -> dict[str, Place]:
    """Lanes' places as a record holds them: `{lane: {"seq": …, "crc": …}}`."""
    lanes = value.items() if isinstance(value, dict) else ()
    return {str(lane): Place(int(said["seq"]), str(said.get("crc", ""))) for lane, said in lanes}


def places_body(places: Mapping[str, Place]) -> Body:
    """The reverse of `places_of`."""
    return {lane: {"seq": place.seq, "crc": place.crc} for lane, place in places.items()}
