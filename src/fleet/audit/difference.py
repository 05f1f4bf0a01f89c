"""Why two runs were not the same: what differs between what they were made from, told and worth.

Values for a person and a program; the lists are bounded, and say how much they leave out.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from difflib import unified_diff
from typing import NamedTuple, TypeVar

from fleet.audit.replay import Replayed, replay
from fleet.config.portable import to_json
from fleet.context import Section
from fleet.errors import EndedBadly
from fleet.records import Body
from fleet.runs import Run
from fleet.wiring import Fleet

T = TypeVar("T")

MOST = 40  # entries of one list
DIFF_LINES = 40  # of one template's difference
_NAMES = ("id", "file")  # of an agent: they say who it is, not how it works


class Change(NamedTuple):
    """One thing that differs; None where it is not there."""

    name: str
    before: object
    after: object


class Difference(NamedTuple):
    """What differs between two runs; lists of at most `MOST` entries.

    Attributes:
        before: the one run.
        after: the other.
        ends: outcome, reason, cost and the like.
        config: fields such as `agents.outreach.interests`; `agent.…` where two agents are compared.
        templates: by name the lines of a unified difference, at most `DIFF_LINES`.
        sections: tokens, items and what was left out, of the sections that differ.
        lanes: where each lane stood.
        given: health, claims and the version of fleet.
        only_before: references that only the one was shown.
        only_after: references that only the other was shown.
        left_out: by list, how many entries it does not have.
        notes: what could not be compared, and why.
    """

    before: Run
    after: Run
    ends: list[Change]
    config: list[Change]
    templates: dict[str, list[str]]
    sections: list[Change]
    lanes: list[Change]
    given: list[Change]
    only_before: list[str]
    only_after: list[str]
    left_out: dict[str, int]
    notes: list[str]

    def as_json(self) -> Body:
        """The object that `--json` prints."""
        lists = {
            name: [change._asdict() for change in getattr(self, name)]
            for name in ("ends", "config", "sections", "lanes", "given")
        }
        return {
            "before": self.before.id,
            "after": self.after.id,
            "agents": [self.before.agent, self.after.agent],
            **lists,
            "templates": self.templates,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "left_out": self.left_out,
            "notes": self.notes,
        }


def difference(fleet: Fleet, before: Run, after: Run) -> Difference:
    """What differs between two runs, of one agent or of two."""
    notes: list[str] = []
    left_out: dict[str, int] = {}
    one, two = (_replayed(fleet, run, notes) for run in (before, after))

    def cut(name: str, found: list[T]) -> list[T]:
        if len(found) > MOST:
            left_out[name] = len(found) - MOST
        return found[:MOST]

    def changes(name: str, of: Callable[[Replayed], Mapping[str, object]]) -> list[Change]:
        return cut(name, _changes(of(one), of(two))) if one and two else []

    return Difference(
        before=before,
        after=after,
        ends=_changes(_ends(before), _ends(after)),
        config=cut("config", _config(one, two)) if one and two else [],
        templates=_templates(one, two) if one and two else {},
        sections=changes("sections", _sections),
        lanes=changes("lanes", _lanes),
        given=changes("given", _given),
        only_before=cut("only_before", [ref for ref in before.shown if ref not in after.shown]),
        only_after=cut("only_after", [ref for ref in after.shown if ref not in before.shown]),
        left_out=left_out,
        notes=notes,
    )


def _replayed(fleet: Fleet, run: Run, notes: list[str]) -> Replayed | None:
    try:
        found = replay(fleet, run)
    except EndedBadly as fault:
        notes.append(str(fault))
        return None
    if found.changed:
        why = "; ".join(found.reasons)
        notes.append(f"what {run.ref} was told cannot be built exactly: {why}")
    return found


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[Change]:
    """Each name whose value differs, in the order of `before`, then of `after`."""
    pairs = ((name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after)))
    return [Change(*pair) for pair in pairs if pair[1] != pair[2]]


def _ends(run: Run) -> dict[str, object]:
    known = run.as_json()
    names = ("agent", "outcome", "reason", "cost_usd", "turns", "tokens_in", "tokens_out")
    ends = {name: known[name] for name in (*names, "events_shown", "attempt")}
    if run.ended and run.started:
        took = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.started)
        ends["seconds"] = round(took.total_seconds(), 1)
    return ends


def _config(one: Replayed, two: Replayed) -> list[Change]:
    """Own fields first: they are nearly always why."""
    before, after = to_json(one.config), to_json(two.config)
    names = [one.run.agent, two.run.agent]
    found = list(_fields("", before, after))
    if names[0] == names[1]:
        own = f"agents.{names[0]}."
        return sorted(found, key=lambda change: not change.name.startswith(own))
    agents = [_agent(said, name) for said, name in zip((before, after), names, strict=True)]
    return [*_fields("agent.", *agents), *found]


def _agent(said: Body, name: str) -> Body:
    agents = said["agents"]
    own = agents[name] if isinstance(agents, dict) else {}
    return {field: value for field, value in own.items() if field not in _NAMES}


def _fields(prefix: str, before: Body, after: Body) -> Iterator[Change]:
    for name, one, two in _changes(before, after):
        if isinstance(one, dict) and isinstance(two, dict):
            yield from _fields(f"{prefix}{name}.", one, two)
        else:
            yield Change(prefix + name, one, two)


def _templates(one: Replayed, two: Replayed) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, before, after in _changes(one.templates, two.templates):
        texts = (str(before or "").splitlines(), str(after or "").splitlines())
        lines = list(unified_diff(*texts, name, name, lineterm="", n=0))[2:]
        more = [f"… {len(lines) - DIFF_LINES} more lines"] if len(lines) > DIFF_LINES else []
        found[name] = lines[:DIFF_LINES] + more
    return found


def _sections(side: Replayed) -> dict[str, object]:
    return {one.name: _cost(one) for one in side.context.sections}


def _cost(section: Section) -> Body:
    return {"tokens": section.tokens, "items": section.items, "left_out": section.left_out}


def _lanes(side: Replayed) -> dict[str, object]:
    return {lane: place.seq for lane, place in side.context.lanes.items()}


def _given(side: Replayed) -> dict[str, object]:
    given = side.made.given
    held = [claim.key for claim in given.claims]
    return {"health": given.health, "claims": held, "fleet": side.made.fleet}
