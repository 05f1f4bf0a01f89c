"""What a run had been told, had read and did; of a record, the run that wrote it until then.

The prompt's lines come from the run's folder where it is there; what they stood for, and all the
rest, from the logs.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.index import Index
from fleet.audit.index.filling import section_of
from fleet.audit.lines import Line, line
from fleet.audit.references import meant
from fleet.audit.show import run_of, show
from fleet.audit.timeline import of_run
from fleet.errors import FleetError
from fleet.logs import record_at
from fleet.records import Body, Record
from fleet.runs import Run
from fleet.runs.reads import Read, reads

if TYPE_CHECKING:
    from fleet.wiring import Fleet

PROMPT = ("context.md", "prompt.md")
LONGEST = 4 << 20  # bytes of a prompt that are looked through
_REF = re.compile(r"[\w+/-]+#\d+|[\w-]+/[LGRPSW]\d+|[0-9a-f]{8}-[0-9a-f]{4}", re.ASCII)


class Told(NamedTuple):
    """One reference of a prompt.

    Attributes:
        ref: as the prompt prints it.
        section: the part that shows it.
        text: the prompt's line, "" when the run's files are gone or no line shows the reference.
        about: the record it stands for; None when that is gone.
    """

    ref: str
    section: str
    text: str
    about: Line | None

    def as_json(self) -> Body:
        """What `--json` prints of it."""
        about = self.about
        return {
            "ref": self.ref,
            "section": self.section,
            "line": self.text,
            "author": about.says.author if about else None,
            "at": about.record.at if about else None,
            "type": about.says.word if about else None,
            "retracted": about.retracted if about else None,
        }


class Explained(NamedTuple):
    """What there was to know.

    Attributes:
        about: the record that was asked for; None when it was a run.
        run: the run that wrote it, or the run itself; None for what no run wrote.
        told: the prompt's references, in the order of its lines.
        delivered: references of the events that a success of the run consumes.
        read: what it read itself; of a record's run, until then.
        did: what it wrote and what was recorded of it, in the order of time; likewise.
        complete: whether the run's own files are there.
    """

    about: Line | None
    run: Run | None
    told: list[Told]
    delivered: tuple[str, ...]
    read: list[Read]
    did: list[Line]
    complete: bool

    def as_json(self, limit: int) -> Body:
        """What `--json` prints: at most `limit` of each list, and how many are left out."""
        lists: dict[str, list[Body]] = {
            "prompt": [told.as_json() for told in self.told],
            "read": [
                {"at": one.at, "command": one.command, "refs": list(one.refs)} for one in self.read
            ],
            "did": [one.as_json() for one in self.did],
        }
        return {
            "about": self.about.as_json() if self.about else None,
            "run": self.run.as_json() if self.run else None,
            "files": self.complete,
            "delivered": list(self.delivered),
            **{name: items[:limit] for name, items in lists.items()},
            "left_out": {name: max(0, len(items) - limit) for name, items in lists.items()},
        }


def explain(fleet: "Fleet", index: Index, text: str) -> Explained:
    """What the run that `text` means had been told and did; for a record, what its author had.

    Raises:
        Unknown, Usage, NotAllowed: see `show`.
    """
    shown = show(fleet, index, text)
    about = None if shown.run else line(fleet, shown.record)
    run = shown.run or _author(fleet, index, shown.record)
    if run is None:
        return Explained(about, None, [], (), [], [], complete=True)
    folder = fleet.config.run_folder(run.id)
    record = None if shown.run else shown.record
    did = [line(fleet, one) for one in of_run(fleet, index, run) if _until(one.at, record)]
    read = [one for one in _reads(folder, run) if not one.at or _until(one.at, record)]
    lines = _lines(folder)
    told = [_told(fleet, index, ref, run, lines) for ref in run.shown]
    told.sort(key=lambda one: lines.index(one.text) if one.text else len(lines))
    return Explained(about, run, told, run.delivered, read, did, complete=bool(lines))


def _author(fleet: "Fleet", index: Index, record: Record) -> Run | None:
    """The run in which the record was written, or of which it tells."""
    run = record.body.get("run")
    return run_of(fleet, index, run) if isinstance(run, str) and run else None


def _until(at: str, record: Record | None) -> bool:
    return record is None or at <= record.at


def _reads(folder: Path, run: Run) -> Iterable[Read]:
    """What it read, from its folder, else from its record, which knows no times."""
    noted = list(reads(folder))
    return noted or ([Read("", "", run.read)] if run.read else [])


# The prompt's lines -------------------------------------------------------------------------------


def _lines(folder: Path) -> list[str]:
    """Every line that the run was told; none when its files are gone."""
    lines: list[str] = []
    for name in PROMPT:
        try:
            with (folder / name).open("rb") as file:
                lines += file.read(LONGEST).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
    return lines


def _told(fleet: "Fleet", index: Index, ref: str, run: Run, lines: list[str]) -> Told:
    section = "events" if ref in run.delivered else section_of(ref)
    return Told(ref, section, _line_of(ref, lines), _about(fleet, index, ref))


def _line_of(ref: str, lines: list[str]) -> str:
    """The line that shows `ref`: one that begins with it before one that has it inside.

    Lines of others' texts begin with a bar, so no text can take a reference's place.
    """
    inside = ""
    for text in lines:
        if ref not in text:
            continue
        found = _REF.findall(text)
        if found and found[0] == ref and text.lstrip().startswith(ref):
            return text
        if ref in found:
            inside = inside or text
    return inside


def _about(fleet: "Fleet", index: Index, ref: str) -> Line | None:
    """The record that a reference of a prompt stands for; None when it is gone or unknown."""
    try:
        means = meant(fleet, index, ref)
    except FleetError:
        return None
    record = record_at(fleet.store, means.stream, means.seq)
    return line(fleet, record) if record else None
