"""A person's word on what a shadow run staged, after a look at the files as they are today.

How staged writes are kept and made is `fleet.shadow`; who may call this is not decided here.
"""

from typing import TYPE_CHECKING, NamedTuple, cast

from fleet.errors import BadHome, Held, NotAllowed, Rejected, TryAgain, Unknown
from fleet.logs import with_key
from fleet.shadow import ACCEPTED
from fleet.talk.members import Members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.identity import Author
    from fleet.records import Body, Record
    from fleet.runs import Run
    from fleet.wiring import Fleet

CHANNELS = "channels/"


class Accepted(NamedTuple):
    """What became of an acceptance.

    Attributes:
        made: what was written now, in order.
        before: the decision of an earlier acceptance, None when this is the first.
        faults: why nothing was written, one line for each write that cannot be made.
    """

    made: list["Record"]
    before: "Record | None" = None
    faults: tuple[str, ...] = ()


def accept(fleet: "Fleet", author: "Author", run: "Run") -> Accepted:
    """Write what `run` staged if today's files let all of it pass; else nothing.

    Raises:
        Unknown: it staged nothing.
        Rejected: it was dropped or retracted, or a claim was lost while writing.
        TryAgain: the run is still going.
    """
    _require_ended(run)
    reason = fleet.retractions.reason_of_run(run.id)
    if reason is not None:
        raise Rejected(f"run {run.ref} was retracted ({reason})", "what it staged stays unwritten")
    decided = fleet.shadow.decision(run.id)
    if decided is not None and decided.body["op"] == ACCEPTED:
        return Accepted([], decided)
    if decided is None and (faults := tuple(_faults(fleet, run.id))):
        return Accepted([], None, faults)
    return Accepted(fleet.shadow.accept(author, run.id))


def drop(fleet: "Fleet", author: "Author", run: "Run", reason: str) -> int:
    """Leave what `run` staged unwritten, for good; how many writes that were.

    Raises:
        Unknown: it staged nothing.
        Rejected: it was accepted already.
        TryAgain: the run is still going.
    """
    _require_ended(run)
    return fleet.shadow.drop(author, run.id, reason)


def _require_ended(run: "Run") -> None:
    if run.open:  # it would stage more after the decision
        raise TryAgain(f"{run.agent}'s run {run.ref} is still going", f"fleet halt {run.agent}")


# What today's files say --------------------------------------------------------------------------


def _faults(fleet: "Fleet", run: str) -> "Iterator[str]":
    left = {record.seq for record in fleet.shadow.left(run)}
    for number, record in enumerate(fleet.shadow.staged(run), 1):
        if record.seq not in left:
            continue
        try:
            _check(fleet, record.body)
        except (Rejected, Unknown, NotAllowed, BadHome, Held) as fault:
            yield f"write {number}, to {record.body['stream']}: {fault}"


def _check(fleet: "Fleet", staged: "Body") -> None:
    """Refuse a write, not made yet, that its agent could not make today."""
    stream, agent, given = str(staged["stream"]), str(staged["agent"]), staged.get("given")
    used = with_key(fleet.store, stream, str(given)) if given is not None else None
    if used is not None:
        raise Rejected(f"the id {given!r} was used for another record ({used.ref})")
    if stream in {"events", "later"}:
        _check_event(fleet, staged)
    elif stream.startswith(CHANNELS):
        members = Members(fleet.store, fleet.config)
        here = members.named(stream.removeprefix(CHANNELS))
        members.require_reader(here.id)
        members.admit(here, fleet.config.called_now(agent) or agent)
    if staged.get("claim"):
        key = str(staged["claim"])
        claim = fleet.claims.get(key)
        if claim is not None and claim.holder != agent:
            what = f"it needs {key}, which another one holds"
            raise Held(what, f"wait for {claim.holder}", key=key, holder=claim.holder)


def _check_event(fleet: "Fleet", staged: "Body") -> None:
    body = cast("Body", staged["body"])
    kind, to = str(body["type"]), body.get("to_agent")
    payload = cast("Body", body["payload"])
    if faults := fleet.schemas.check(kind, payload):
        raise Rejected(f"{kind}: {'; '.join(faults)}")
    if to is not None and to not in fleet.config.agents:
        raise Unknown(f"there is no agent {to!r}", fleet.config.nearest_agent(str(to)))
    named = fleet.schemas.addressee(kind, payload)
    if named not in {None, to}:
        raise Rejected(f"{kind} is addressed to {named!r} by its own field now")
    claim = fleet.schemas.claim_key(kind, payload)
    if claim not in {None, staged.get("claim")}:
        raise Rejected(f"{kind} needs the claim {claim} now, which the run did not ask for")
