"""Takes back what a run wrote, or one record: who may, what goes, and who is told.

Nothing is deleted, and nothing that was done in the world is undone: what a claim's completion
says stays. Every step may be repeated, the records that readers ask for come first: a command that
was killed is finished by repeating it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from fleet.alerts import seen_to
from fleet.audit.index import Index
from fleet.audit.references import MEMORY, Meant, meant, ref_in
from fleet.audit.said import REPORT
from fleet.audit.show import record_meant
from fleet.bus.later import STREAM as LATER
from fleet.errors import Rejected, TryAgain, Unknown
from fleet.identity import SYSTEM, require_operator
from fleet.logs import between, record_at
from fleet.questions import KIND
from fleet.questions import STREAM as QUESTIONS
from fleet.records import Body, Record, Sieve
from fleet.retractions import RUNS, Target, check_reason

if TYPE_CHECKING:
    from fleet.identity import Author
    from fleet.wiring import Fleet

CHANNELS = "channels/"
WORDS = {
    "post": "message",
    "react": "reaction",
    "metric": "metric",
    "asked": "question",
    "later": "event to come",
}  # an event is its type
HAVING = (CHANNELS, "metrics", "questions", "later")  # logs that have records of `WORDS`
_PINS = Sieve({"op": frozenset({"pin", "unpin"})})

_Wrote = Sequence[tuple[str, int, str]]
"""(log, number, word) of what a run wrote, as `Index.written_by` says it."""


class Pin(NamedTuple):
    """A pin that a run changed last: the message, and whether it was pinned before the run."""

    channel: str
    seq: int
    pinned: bool

    @property
    def ref(self) -> str:
        """`strategy#412`."""
        return f"{self.channel}#{self.seq}"


class Taken(NamedTuple):
    """What is taken back.

    Attributes:
        ref: what was named: a record, or a run by its short id.
        run: the run's whole id, "" for a record.
        agent: whose run or record it is.
        targets: what is written to the log `retractions`.
        before: references that were taken back earlier.
        reason: why; of the earlier retraction where there is nothing new.
        memory: items that the run added to its agent's memory.
        claims: keys that are released.
        pins: messages whose pin goes back to what it was.
        reported: whether the run reported, so that its report is hidden.
    """

    ref: str
    run: str
    agent: str
    targets: tuple[Target, ...]
    before: tuple[str, ...]
    reason: str
    memory: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    reported: bool = False

    @property
    def tell(self) -> dict[str, list[str]]:
        """By agent that will be told, the references of what it was shown or wrote."""
        told: dict[str, list[str]] = {}
        for target in self.targets:
            for agent in sorted(target.tell):
                told.setdefault(agent, []).append(target.ref)
        return dict(sorted(told.items()))

    @property
    def new(self) -> bool:
        """Whether anything is left to take back."""
        return bool(self.targets or self.claims or self.pins)

    def as_json(self, *, dry_run: bool) -> Body:
        """The object that `--json` prints."""
        return {
            "ref": self.ref,
            "run": self.run or None,
            "agent": self.agent,
            "reason": self.reason,
            "dry_run": dry_run,
            "taken": [{"ref": one.ref, "what": one.what} for one in self.targets],
            "before": list(self.before),
            "memory": list(self.memory),
            "claims": list(self.claims),
            "pins": [pin.ref for pin in self.pins],
            "tell": self.tell,
        }


def retract(
    fleet: "Fleet", author: "Author", text: str, *, reason: str, dry_run: bool = False
) -> Taken:
    """Take back the run or the record that `text` names; repeating it writes nothing new.

    Args:
        fleet: the home.
        author: a person.
        text: a reference.
        reason: one line; agents are told it.
        dry_run: only say what would be done.

    Raises:
        NotAllowed: the author is a run.
        Rejected: no reason, or nothing that can be taken back.
        TryAgain: the run is still going.
        Unknown: there is no such record or run, or it was trimmed.
    """
    require_operator(author, "retract")
    check_reason(reason)
    with Index(fleet) as index:
        named = meant(fleet, index, text)
        taken = _taken(fleet, index, named)
    if not dry_run:
        fleet.retractions.retract(taken.targets, by=author.name, reason=reason, person=author.by)
        _close_questions(fleet, author, (*(one.ref for one in taken.targets), *taken.before))
        if taken.run:
            _undo(fleet, author, taken, reason)
        _take_delivered(fleet, author, named, reason)
    why = reason if taken.targets else _earlier(fleet, named)
    return taken._replace(reason=why)


# What is taken back ------------------------------------------------------------------------------


def _taken(fleet: "Fleet", index: Index, named: Meant) -> Taken:
    return _of_run(fleet, index, named) if named.run else _of_one(fleet, index, named)


def _of_run(fleet: "Fleet", index: Index, named: Meant) -> Taken:
    wrote = index.written_by(named.run)
    run = fleet.runs.find(named.run)
    if run.open:
        raise TryAgain(f"{run.agent}'s run {run.ref} is still going", f"fleet halt {run.agent}")
    found = [record_at(fleet.store, stream, seq) for stream, seq, _ in wrote]
    targets = [
        _target(record, _viewers(index, ref_in(record.stream, record.seq), run.id))
        for record in found
        if record is not None and _word(record)
    ]
    told = _viewers(index, run.ref, run.id) | {run.agent: ""}
    stream = RUNS + run.agent
    last = Target(run.id, stream, named.seq, run.id, "run", run.agent, run.started, told)
    held = fleet.claims.live()
    oldest_first = sorted(targets, key=lambda one: one.written)
    return _sorted_out(fleet, [*oldest_first, last])._replace(
        ref=run.ref,
        run=run.id,
        agent=run.agent,
        memory=tuple(fleet.memory.items_of(run.agent, run.id)),
        claims=tuple(claim.key for claim in held if claim.run == run.id),
        pins=tuple(_pins(fleet, wrote)),
        reported=any(word == REPORT for _, _, word in wrote),
    )


def _of_one(fleet: "Fleet", index: Index, named: Meant) -> Taken:
    record = record_meant(fleet, named)
    if not _word(record):
        raise Rejected(f"{named.ref} cannot be taken back by itself", _instead(record))
    viewers = _viewers(index, named.ref, "")
    author = str(record.body.get("from_agent"))
    by_agent = author in fleet.config.agents or record.body.get("run") is not None
    told = viewers | ({author: ""} if by_agent else {})
    targets = [_target(record, told), *_become(fleet, index, record)]
    return _sorted_out(fleet, targets)._replace(ref=named.ref, agent=author)


def _become(fleet: "Fleet", index: Index, record: Record) -> Iterator[Target]:
    """The event that something which waited for its time has become."""
    event = fleet.later.event_of(record.seq) if record.stream == LATER else None
    if event is not None:
        told = _viewers(index, event.ref, "")
        yield _target(event, told | {str(event.body["from_agent"]): ""})


def _sorted_out(fleet: "Fleet", targets: Sequence[Target]) -> Taken:
    """The targets that are new, and the references of the others."""
    gone = {stream: fleet.retractions.of(stream) for stream in {one.stream for one in targets}}
    new = tuple(one for one in targets if one.seq not in gone[one.stream])
    before = tuple(one.ref for one in targets if one.seq in gone[one.stream])
    return Taken("", "", "", new, before, "")


def _target(record: Record, tell: dict[str, str]) -> Target:
    run = record.body.get("run")
    return Target(
        ref_in(record.stream, record.seq),
        record.stream,
        record.seq,
        run if isinstance(run, str) else None,
        _word(record),
        str(record.body.get("from_agent")),
        record.at,
        tell,
    )


def _word(record: Record) -> str:
    """What people call the record; "" for one that cannot be taken back by itself."""
    op = str(record.body.get("op"))
    if record.stream == "events":
        return str(record.body.get("type")) if op == "event" else ""
    if record.stream.startswith(CHANNELS) and op == "post" and "+" in record.stream:
        return "direct message"
    return WORDS.get(op, "") if record.stream.startswith(HAVING) else ""


def _instead(record: Record) -> str:
    if record.stream.startswith(RUNS):
        return f"fleet retract {record.body.get('run')} takes back the whole run"
    if record.stream.startswith(MEMORY):
        return "its agent drops it from its memory, or retract the run that made it"
    if record.stream.startswith(CHANNELS):
        return "fleet pin and fleet unpin change what is pinned"
    return "a run, an event, a message, a reaction, a metric or a question can"


def _viewers(index: Index, ref: str, but: str) -> dict[str, str]:
    """By agent the newest run that was shown or read `ref`, the run `but` left aside."""
    return {agent: run for agent, run, _ in index.runs_that_saw(ref) if run != but}


def _earlier(fleet: "Fleet", named: Meant) -> str:
    """Why it was taken back before."""
    if named.run:
        return fleet.retractions.reason_of_run(named.run) or ""
    return fleet.retractions.reason_of(named.stream, named.seq) or ""


# What stands on it -------------------------------------------------------------------------------


def _undo(fleet: "Fleet", author: "Author", taken: Taken, reason: str) -> None:
    """The rest of a run: memory, claims, pins, what it staged in shadow mode."""
    fleet.memory.revert(author, taken.agent, taken.run)
    fleet.claims.release_run(taken.run, kept=True)
    for pin in taken.pins:
        change = fleet.talk.pin if pin.pinned else fleet.talk.unpin
        with suppress(Rejected):  # others took its place meanwhile
            change(SYSTEM, pin.ref)
    with suppress(Unknown, Rejected):  # nothing is staged, or a person has decided
        fleet.shadow.drop(author, taken.run, reason)


def _close_questions(fleet: "Fleet", author: "Author", refs: Sequence[str]) -> None:
    """Nobody needs to answer what was taken back."""
    for ref in refs:
        if ref.startswith(f"{QUESTIONS}#"):
            seen_to(fleet.store, fleet.cache, KIND, ref, author.name, author.by)


def _take_delivered(fleet: "Fleet", author: "Author", named: Meant, reason: str) -> None:
    """Take back, too, what became an event while it was taken back.

    `Later.deliver` looks the other way round: so one of the two sees it.
    """
    with Index(fleet) as index:
        late = _taken(fleet, index, named).targets
    fleet.retractions.retract(late, by=author.name, reason=reason, person=author.by)


def _pins(fleet: "Fleet", wrote: _Wrote) -> Iterator[Pin]:
    """The messages whose pin the run was the last to change, if that makes a difference now."""
    own = [(stream, seq) for stream, seq, word in wrote if word in {"pin", "unpin"}]
    for stream in dict.fromkeys(stream for stream, _ in own):
        seqs = {seq for at, seq in own if at == stream}
        first: dict[int, str] = {}
        last: dict[int, int] = {}
        head = fleet.store.head(stream)
        for record in between(fleet.store, stream, min(seqs) - 1, head, sieve=_PINS):
            target = int(str(record.body["target"]))
            last[target] = record.seq
            if record.seq in seqs:
                first.setdefault(target, str(record.body["op"]))
        gone = fleet.retractions.of(stream) | {seq for at, seq, _ in wrote if at == stream}
        for target, op in first.items():
            # What it did first says how the message was: repeating a pin writes nothing.
            pin = Pin(stream.removeprefix(CHANNELS), target, pinned=op == "unpin")
            if target in gone or last[target] not in seqs:
                continue
            with suppress(Unknown):  # trimmed
                if fleet.talk.get(SYSTEM, pin.ref).pinned != pin.pinned:
                    yield pin
