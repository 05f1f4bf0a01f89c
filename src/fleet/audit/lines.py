"""One line about any record: what `find`, `timeline` and `explain` list."""

from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.references import MEMORY, RUNS, ref_to
from fleet.audit.said import Said, said
from fleet.records import Body, Record
from fleet.retractions import Retractions

if TYPE_CHECKING:
    from fleet.wiring import Fleet


class Line(NamedTuple):
    """A record in short.

    Attributes:
        ref: as it is printed.
        record: the record.
        says: what it says.
        retracted: why it was taken back, None when it was not.
    """

    ref: str
    record: Record
    says: Said
    retracted: str | None

    def as_json(self) -> Body:
        """What `--json` prints."""
        return {
            "ref": self.ref,
            "stream": self.record.stream,
            "seq": self.record.seq,
            "at": self.record.at,
            "author": self.says.author,
            "type": self.says.word,
            "run": self.record.body.get("run"),
            "text": self.says.text,
            "retracted": self.retracted,
        }


def line(fleet: "Fleet", record: Record) -> Line:
    """The line about `record`."""
    return Line(ref_to(record), record, said(record), reason_of(fleet, record))


def reason_of(fleet: "Fleet", record: Record) -> str | None:
    """Why the record was taken back, of a run's log and of a memory with the run; else None."""
    retractions = Retractions(fleet.store, fleet.cache)
    if record.stream.startswith((RUNS, MEMORY)):
        return retractions.reason_of_run(str(record.body.get("run")))
    return retractions.reason_of(record.stream, record.seq)
