"""What was taken back: the log `retractions`, one record for each target; nothing is deleted.

A reader leaves out what `Retractions.of` names. Who may retract, what a run wrote and who was
shown it is decided elsewhere. The log must never be trimmed: what it hides would come back.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from fleet.errors import Rejected
from fleet.folds import fold
from fleet.logs import record_at
from fleet.ports import Cache, Store
from fleet.records import Body, Draft, Record, new_id

STREAM = "retractions"
MAX_REASON = 300  # bytes of UTF-8
RUNS = "runs/"  # a target in such a log is a run: its report is hidden
_SAME = ("op", "stream", "number")


class Target(NamedTuple):
    """One thing to take back.

    Attributes:
        ref: its reference, or the run's whole id.
        stream: its log; `runs/<agent>` for a run.
        seq: its number there; a run's first record.
        run: the run that wrote it, None outside of one.
        what: an event's type, `message`, `direct message`, `reaction`, `metric` or `run`.
        author: who wrote it.
        written: RFC 3339 instant of the record.
        tell: by agent that is to be told, the run in which it was shown the target; "" for the
            one that wrote it.
    """

    ref: str
    stream: str
    seq: int
    run: str | None
    what: str
    author: str
    written: str
    tell: dict[str, str]


class Mark(NamedTuple):
    """A retracted record in short: number of the retraction, what it was, when it was written."""

    number: int
    what: str
    written: str


class _State(TypedDict):
    """By log and number the `Mark`, and by run the number of its retraction."""

    logs: dict[str, dict[str, list[str | int]]]
    runs: dict[str, int]


class Retractions:
    """What was retracted in one home."""

    def __init__(self, store: Store, cache: Cache) -> None:
        self._store = store
        self._cache = cache

    def of(self, stream: str) -> frozenset[int]:
        """The numbers of the retracted records of `stream`: one look while nothing ever was."""
        return frozenset(map(int, self._state()["logs"].get(stream, ())))

    def marks(self, stream: str) -> dict[int, Mark]:
        """By number, the retracted records of `stream`."""
        rows = self._state()["logs"].get(stream, {}).items()
        return {
            int(seq): Mark(int(number), str(what), str(written))
            for seq, (number, what, written) in rows
        }

    def reason_of(self, stream: str, seq: int) -> str | None:
        """Why record `seq` of `stream` was retracted; None when it was not."""
        mark = self.marks(stream).get(seq)
        return self._reason(mark.number) if mark else None

    def runs(self) -> frozenset[str]:
        """The runs that were retracted."""
        return frozenset(self._state()["runs"])

    def reason_of_run(self, run: str) -> str | None:
        """Why `run` was retracted; None when it was not."""
        number = self._state()["runs"].get(run)
        return self._reason(number) if number else None

    def retract(
        self, targets: Sequence[Target], *, by: str, reason: str, person: Body | None = None
    ) -> list[Record]:
        """Take `targets` back and return what was written: nothing for those taken back before.

        Args:
            targets: what, and who is to be told.
            by: the name of who says so.
            reason: one line for people and for the agents that are told.
            person: `{tty, pid, uid}` of a person.

        Raises:
            Rejected: the reason is blank or over `MAX_REASON` bytes.
        """
        check_reason(reason)
        batch = new_id(self._store.now().wall)
        known: dict[str, frozenset[int]] = {}
        drafts: list[Draft] = []
        for one in targets:
            if one.stream not in known:
                known[one.stream] = self.of(one.stream)
            if one.seq in known[one.stream]:
                continue
            body = _body(one, by=by, reason=reason, batch=batch)
            body |= {"person": person} if person else {}
            key = f"{one.stream}#{one.seq}"  # two at a time: the first reason stands
            drafts.append(Draft(body, "" if drafts else batch, key=key, same=_SAME))
        if not drafts:
            return []
        written = self._store.append(STREAM, drafts)
        return [record for record in written if record.body["batch"] == batch]

    def _reason(self, number: int) -> str:
        record = record_at(self._store, STREAM, number)
        return str(record.body["reason"]) if record else ""

    def _state(self) -> _State:
        if self._store.head(STREAM) == 0:
            return _nothing()
        return fold(self._store, self._cache, STREAM, "targets", "1", _nothing, _step).state


def _nothing() -> _State:
    return {"logs": {}, "runs": {}}


def _step(state: _State, record: Record) -> None:
    body = record.body
    stream, seq = str(body.get("stream")), body.get("number")
    if body.get("op") != "retract" or not isinstance(seq, int):
        return
    row: list[str | int] = [record.seq, str(body.get("what")), str(body.get("written"))]
    state["logs"].setdefault(stream, {})[str(seq)] = row
    if stream.startswith(RUNS):
        state["runs"][str(body.get("run"))] = record.seq


def _body(target: Target, *, by: str, reason: str, batch: str) -> Body:
    return {
        "op": "retract",
        "target": target.ref,
        "stream": target.stream,
        "number": target.seq,
        "run": target.run,
        "reason": reason,
        "by": by,
        "tell": sorted(target.tell),
        "batch": batch,
        "what": target.what,
        "author": target.author,
        "written": target.written,
        "shown_in": {agent: run for agent, run in sorted(target.tell.items()) if run},
    }


def check_reason(reason: str) -> None:
    """Refuse a reason that is blank or over `MAX_REASON` bytes (`Rejected`)."""
    if not reason.strip() or len(reason.encode()) > MAX_REASON:
        raise Rejected(
            "a retraction needs a reason",
            f"--reason 'wrong page', at most {MAX_REASON} bytes: it is told to agents",
        )
