"""How an agent's subjects did against each other: medians, ratios, groups; a pure computation.

Every number here comes from a small sample and shows a correlation at most.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from fleet.metrics.subjects import Announced
from fleet.metrics.values import Measured, Row
from fleet.records import wall_of

ENOUGH = 3  # values below which nothing is compared

Rows = Mapping[str, Mapping[str, Row]]
"""By subject and metric what counts, see `values`."""


class Score(NamedTuple):
    """One metric of one subject.

    Attributes:
        name: the metric's.
        measured: its value at the horizon; before the horizon, or without one there, its newest.
        ratio: that value over the usual one; None where that says nothing.
        late: it is past the horizon and was measured only afterwards.
    """

    name: str
    measured: Measured
    ratio: float | None = None
    late: bool = False


class Made(NamedTuple):
    """One subject, how it did, and whether it is too early to judge it."""

    announced: Announced
    scores: tuple[Score, ...]
    early: bool


class Usual(NamedTuple):
    """What one metric of an agent's subjects of one type is at the horizon.

    Attributes:
        type: of the events that announced them.
        metric: the metric's name.
        median: None below `ENOUGH` values.
        refs: the values' records.
    """

    type: str
    metric: str
    median: float | None
    refs: tuple[str, ...]


class Group(NamedTuple):
    """Subjects that share the value of a field: its text, their median, the values' records."""

    value: str
    median: float
    refs: tuple[str, ...]


class Contrast(NamedTuple):
    """Two groups of subjects that differ in one field, the best and the worst by one metric."""

    type: str
    field: str
    metric: str
    best: Group
    worst: Group

    @property
    def ratio(self) -> float | None:
        """The medians' ratio; None where that says nothing."""
        return ratio(self.best.median, self.worst.median)


class Digest(NamedTuple):
    """What an agent made and how it did.

    Attributes:
        horizon: seconds after its announcement at which a subject is judged.
        made: subjects with a value, the most telling first.
        usual: by type and metric, those of the newest subjects first.
        contrasts: the most telling first.
        unmeasured: how many more subjects have no value yet.
    """

    horizon: float
    made: tuple[Made, ...] = ()
    usual: tuple[Usual, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    unmeasured: int = 0


def ratio(value: float, against: float | None) -> float | None:
    """`value` over `against`, None unless both are above zero."""
    return value / against if against and against > 0 and value > 0 else None


def digest(subjects: Sequence[Announced], rows: Rows, now: float, horizon: float) -> Digest:
    """What `rows` say at `now` (epoch seconds) of one agent's `subjects`, oldest first."""
    known = [one for one in subjects if one.subject in rows]
    ripe = [one for one in known if now >= wall_of(one.at) + horizon]
    usual = _usual(ripe, rows)
    made = [_made(one, rows, usual, early=one not in ripe) for one in reversed(known)]
    contrasts = _contrasts(ripe, rows)
    return Digest(
        horizon=horizon,
        made=tuple(sorted(made, key=lambda one: (-_strongest(one.scores), one.early))),
        usual=tuple(usual.values()),
        contrasts=tuple(sorted(contrasts, key=lambda one: -_strength(one.ratio))),
        unmeasured=len(subjects) - len(known),
    )


def _usual(ripe: Sequence[Announced], rows: Rows) -> dict[tuple[str, str], Usual]:
    samples: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for one in reversed(ripe):
        for name, row in rows[one.subject].items():
            if row.then:
                samples[one.type, name].append(row.then)
    return {key: Usual(*key, *_median(taken)) for key, taken in samples.items()}


def _median(taken: Sequence[Measured]) -> tuple[float | None, tuple[str, ...]]:
    values = [measured.value for measured in taken]
    middle = median(values) if len(values) >= ENOUGH else None
    return middle, tuple(measured.ref for measured in taken)


def _made(
    one: Announced, rows: Rows, usual: Mapping[tuple[str, str], Usual], *, early: bool
) -> Made:
    scores = []
    for name, row in rows[one.subject].items():
        if early or row.then is None:
            scores.append(Score(name, row.newest, late=not early))
        else:
            found = ratio(row.then.value, usual[one.type, name].median)
            scores.append(Score(name, row.then, found))
    return Made(one, tuple(sorted(scores, key=lambda score: -_strength(score.ratio))), early)


def _contrasts(ripe: Sequence[Announced], rows: Rows) -> Iterator[Contrast]:
    """For each type, field and metric the best group against the worst one, where they differ."""
    cells: dict[tuple[str, str, str], dict[str, list[Measured]]] = {}
    for one in ripe:
        found = [(name, row.then) for name, row in rows[one.subject].items() if row.then]
        for field, value in one.fields.items():
            text = value if isinstance(value, str) else json.dumps(value)
            for name, measured in found:
                groups = cells.setdefault((one.type, field, name), {})
                groups.setdefault(text, []).append(measured)
    for (kind, field, name), groups in cells.items():
        large = [_group(text, taken) for text, taken in groups.items() if len(taken) >= ENOUGH]
        large.sort(key=lambda group: group.median)
        if large and large[0].median < large[-1].median:
            yield Contrast(kind, field, name, best=large[-1], worst=large[0])


def _group(text: str, taken: Sequence[Measured]) -> Group:
    refs = tuple(measured.ref for measured in taken)
    return Group(text, median(measured.value for measured in taken), refs)


def _strongest(scores: Sequence[Score]) -> float:
    return max((_strength(score.ratio) for score in scores), default=0.0)


def _strength(found: float | None) -> float:
    """How far a ratio is from 1, either way."""
    return abs(math.log(found)) if found else 0.0
