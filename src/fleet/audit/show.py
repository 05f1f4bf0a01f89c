"""One record or run, whole, to whom may see it."""

from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.lines import reason_of
from fleet.audit.references import MEMORY, Meant, meant, ref_to
from fleet.audit.rights import Rights
from fleet.audit.said import REPORT, said
from fleet.errors import Unknown
from fleet.logs import record_at
from fleet.ports import first_kept
from fleet.records import Body, Record
from fleet.runs import Run

if TYPE_CHECKING:
    from fleet.audit.index import Index
    from fleet.wiring import Fleet


class Shown(NamedTuple):
    """What a reference leads to.

    Attributes:
        ref: as it is printed.
        record: the record; of a run the first of it, or what the author may see of it.
        run: the run, None for a record.
        retracted: why it was taken back, None when it was not.
    """

    ref: str
    record: Record
    run: Run | None
    retracted: str | None

    def as_json(self) -> Body:
        """What `--json` prints: a run as `fleet runs` does, any other record with its body."""
        if self.run:
            return self.run.as_json()
        record, says = self.record, said(self.record)
        return {
            "ref": self.ref,
            "stream": record.stream,
            "seq": record.seq,
            "id": record.id,
            "at": record.at,
            "key": record.key,
            "author": says.author,
            "type": says.word,
            "run": record.body.get("run"),
            "retracted": self.retracted,
            "body": record.body,
        }


def show(fleet: "Fleet", index: "Index", text: str) -> Shown:
    """The record or run that `text` means, for the author of `fleet`.

    Of another agent's run an agent is shown its report.

    Raises:
        Unknown, Usage: see `meant`; or there is no such record (any more).
        NotAllowed: it is not the author's to see, or was taken back.
    """
    means, rights = meant(fleet, index, text), Rights(fleet)
    rights.require(means.stream)
    run = run_of(fleet, index, means.run) if means.run else None
    record = record_meant(fleet, means)
    if run and not rights.sees(record):
        means, record, run = _report(fleet, index, rights, run)
    if not rights.sees(record):
        raise rights.refusal(means.ref)
    retracted = run.retracted if run else reason_of(fleet, record)
    if retracted is not None and not rights.everything:
        raise Unknown(f"{means.ref} was retracted", "do not rely on it, and leave it")
    return Shown(ref_to(record) if run is None else run.ref, record, run, retracted)


def run_meant(fleet: "Fleet", index: "Index", text: str) -> Run:
    """The run that `text` means, for a person.

    Raises:
        Unknown: it means no run, or see `meant`.
    """
    means = meant(fleet, index, text)
    if not means.run:
        raise Unknown(f"{means.ref} is a record and no run", "fleet runs lists runs")
    return run_of(fleet, index, means.run)


def run_of(fleet: "Fleet", index: "Index", run: str) -> Run:
    """The run of that whole id, wherever it stands in its log.

    Raises:
        Unknown: its records were trimmed.
    """
    for span in index.runs(run, 1):
        found = fleet.runs.within(span.agent, span.run, span.first, span.last)
        if found:
            return found
    raise Unknown(f"the records of run {run} are gone: they were trimmed")


def record_meant(fleet: "Fleet", means: Meant) -> Record:
    """The record that was meant.

    Raises:
        Unknown: there is none, it was trimmed, or its line is damaged.
    """
    record = record_at(fleet.store, means.stream, means.seq)
    if record is not None:
        return record
    head = fleet.store.head(means.stream)
    if 0 < means.seq < first_kept(fleet.store, means.stream):
        raise Unknown(f"{means.ref} was trimmed", "its segment is below state/archive")
    if 0 < means.seq <= head:
        raise Unknown(f"{means.ref} cannot be read", "fleet verify names the damage")
    newest = f"the newest is {means.stream.rpartition('/')[2]}#{head}" if head else "it is empty"
    if means.stream.startswith(MEMORY):
        newest = "fleet memory show lists what there is"
    raise Unknown(f"there is no {means.ref}", newest)


def _report(fleet: "Fleet", index: "Index", rights: Rights, run: Run) -> tuple[Meant, Record, None]:
    """The report of another agent's run, all of it that an agent may see."""
    reports = [seq for _, seq, word in index.written_by(run.id) if word == REPORT]
    record = record_at(fleet.store, f"runs/{run.agent}", reports[-1]) if reports else None
    if record is None:
        raise rights.refusal(f"the run {run.ref} of {run.agent}")
    return Meant(ref_to(record), record.stream, record.seq), record, None
