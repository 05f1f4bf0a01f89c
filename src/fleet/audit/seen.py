"""Which runs were shown a record, in which part of their prompt, or read it themselves."""

from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.index import READ, Index
from fleet.audit.references import known_as
from fleet.audit.show import run_of, show
from fleet.records import Body
from fleet.runs import Run
from fleet.runs.reads import reads

if TYPE_CHECKING:
    from fleet.wiring import Fleet


class Sight(NamedTuple):
    """A run that came to know a record.

    Attributes:
        ref: the record's reference.
        run: the run.
        how: the section of its prompt that showed it, or `read`.
    """

    ref: str
    run: Run
    how: str

    def as_json(self) -> Body:
        """What `--json` prints."""
        return {
            "ref": self.ref,
            "agent": self.run.agent,
            "run": self.run.id,
            "how": self.how,
            "started": self.run.started or None,
            "ended": self.run.ended,
            "outcome": self.run.outcome,
            "retracted": self.run.retracted,
        }


class Seen(NamedTuple):
    """Who came to know a record: the newest runs first, and how many there are in all."""

    ref: str
    sights: list[Sight]
    total: int


def seen(fleet: "Fleet", index: Index, text: str, limit: int) -> Seen:
    """The newest `limit` runs that were shown what `text` means, or read it.

    Of a run that goes on it is known what it has read until now.

    Raises:
        Unknown, Usage, NotAllowed: see `show`.
    """
    ref = known_as(show(fleet, index, text).record)
    found = {(run, how) for _, run, how in index.runs_that_saw(ref)}
    for run in fleet.runs.open():
        folder = fleet.config.run_folder(run.id)
        if any(ref in read.refs for read in reads(folder)):
            found.add((run.id, READ))
    newest = sorted(found, reverse=True)
    sights = [Sight(ref, run_of(fleet, index, run), how) for run, how in newest[:limit]]
    return Seen(ref, sights, len(newest))
