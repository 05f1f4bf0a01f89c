"""Outcomes: numbers that were measured of what agents made, and what they say to its maker.

A number is recorded by whoever measured it, agent or person, of a subject by its name. Nothing is
measured here, and no number leads to anything by itself.
"""

import math
import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from fleet.errors import Rejected
from fleet.logs import newest, record_at
from fleet.metrics.digest import Digest, digest
from fleet.metrics.subjects import EVENTS, Announced, announced
from fleet.metrics.values import STREAM, Row, is_metric, values
from fleet.ports import Cache, Store
from fleet.records import MAX_KEY, Body, Draft, Record, Sieve, rfc3339, wall_of
from fleet.retractions import Retractions

if TYPE_CHECKING:
    from fleet.identity import Author

__all__ = ["HORIZON", "STREAM", "Announced", "Digest", "Metrics", "metric_json", "number"]

HORIZON = 3 * 86400.0  # seconds after its announcement at which a subject is judged
SKEW = 60.0  # seconds that a measurement may lie ahead of the store's clock
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXACT = 2**53  # whole numbers up to here are stored as such
_Wanted = Callable[[str, str, float], bool]  # subject, metric, when it was measured
_SAME = ("from_agent", "subject", "name", "value")  # a repeated id means the same measurement


class Metrics:
    """The numbers of one home."""

    def __init__(self, store: Store, cache: Cache) -> None:
        self._store = store
        self._cache = cache
        self._retractions = Retractions(store, cache)

    def record(
        self,
        author: "Author",
        subject: str,
        name: str,
        value: float,
        *,
        at: float | None = None,
        key: str | None = None,
    ) -> Record:
        """Store one number, durable when it returns.

        Args:
            author: who measured it.
            subject: of what, one line of at most 200 bytes; best one that an event announced.
            name: which metric: 1 to 64 of `a-z 0-9 _ . -`.
            value: a finite number.
            at: when it was measured (epoch seconds), None for now.
            key: the caller's id: repeated with the same number it is the first record again.

        Raises:
            Rejected: one of these is not so, it was measured in the future, or `key` stands for
                another number.
        """
        now = self._store.now().wall
        _check(subject, name, value, now, at)
        link = self.announced(subject)
        body: Body = {
            "op": "metric",
            "subject": subject,
            "name": name,
            "value": value,
            "measured": rfc3339(now if at is None else at),
            "announced": link.at if link else None,
            "from_agent": author.name,
            "run": author.run,
        }
        if author.by is not None:
            body["by"] = author.by
        return self._store.append(STREAM, [Draft(body, key=key, same=_SAME)])[0]

    def announced(self, subject: str) -> Announced | None:
        """Who announced `subject`; None when nobody did, or too many others since."""
        return self._announced().get(subject)

    def subjects(self) -> list[str]:
        """Every subject that is known to be announced, the oldest first."""
        return list(self._announced())

    def digest(self, names: Collection[str], now: float, horizon: float = HORIZON) -> Digest:
        """What an agent announced and how it did by `now` (epoch seconds).

        Args:
            names: the agent's, also those that it had.
            now: the moment.
            horizon: seconds after the announcement at which subjects are compared.
        """
        own = [link for link in self._announced().values() if link.agent in names]
        return digest(own, self._values(horizon) if own else {}, now, horizon)

    def listing(
        self,
        subject: str | None = None,
        *,
        name: str | None = None,
        names: Collection[str] = (),
        since: float | None = None,
        limit: int = 50,
    ) -> list[tuple[Record, Announced | None]]:
        """Numbers with who announced their subject, the newest last, at most `limit`.

        Args:
            subject: every number of it; None for the newest of each subject and metric.
            name: only this metric.
            names: only subjects that an agent of these names announced.
            since: only what was measured since (epoch seconds).
            limit: how many, the newest.
        """
        links = self._announced()

        def wanted(about: str, metric: str, wall: float) -> bool:
            link = links.get(about)
            return (
                subject in {None, about}
                and name in {None, metric}
                and (not names or (link is not None and link.agent in names))
                and (since is None or wall >= since)
            )

        found = (
            self._newest(wanted, limit) if subject is None else self._all(subject, wanted, limit)
        )
        return [(record, links.get(str(record.body["subject"]))) for record in found]

    def _newest(self, wanted: _Wanted, limit: int) -> list[Record]:
        """The record of each subject's and metric's newest value, in the order of the log."""
        numbers = sorted(
            row.newest.seq
            for subject, metrics in self._values(HORIZON).items()
            for name, row in metrics.items()
            if wanted(subject, name, row.newest.wall)
        )
        found = (record_at(self._store, STREAM, seq) for seq in numbers[-limit:])
        return [record for record in found if record]

    def _all(self, subject: str, wanted: _Wanted, limit: int) -> list[Record]:
        """Every record of `subject`, those left out that were retracted."""
        retracted = self._retractions.of(STREAM)

        def has(record: Record) -> bool:
            body = record.body
            if not is_metric(record) or record.seq in retracted:
                return False
            return wanted(str(body["subject"]), str(body["name"]), wall_of(str(body["measured"])))

        sieve = Sieve({"subject": frozenset({subject})})
        return newest(self._store, STREAM, self._store.head(STREAM), limit, has, sieve)

    def _announced(self) -> dict[str, Announced]:
        return announced(self._store, self._cache, self._retractions.of(EVENTS))

    def _values(self, horizon: float) -> dict[str, dict[str, Row]]:
        return values(self._store, self._cache, horizon, self._retractions.of(STREAM))


def number(text: str) -> float:
    """The number that a person or a program wrote: `1200`, `-3`, `0.042`, `1e6`.

    Raises:
        Rejected: it is none, or not finite.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        from fleet.text import clip

        raise Rejected(
            f"{clip(text, 40)!r} is no finite number", "write digits only: 1200 or 0.042, no unit"
        )
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def metric_json(record: Record, link: Announced | None) -> Body:
    """What `--json` prints of a number; `announced` is null for a subject that nobody announced."""
    said = {name: record.body.get(name) for name in ("subject", "name", "value", "measured")}
    made = link and {"ref": link.ref, "agent": link.agent, "at": link.at, "type": link.type}
    return {
        "ref": record.ref,
        "seq": record.seq,
        "id": record.id,
        "at": record.at,
        **said,
        "from_agent": record.body.get("from_agent"),
        "run": record.body.get("run"),
        "announced": made,
    }


def _check(subject: str, name: str, value: float, now: float, at: float | None) -> None:
    if not subject.strip() or not subject.isprintable() or len(subject.encode()) > MAX_KEY:
        what = f"a subject is one line of 1 to {MAX_KEY} bytes"
        raise Rejected(what, "say what its event said: draftId, campaignId")
    if not _NAME.fullmatch(name):
        from fleet.text import clip

        what = f"{clip(name, 80)!r} cannot be the name of a metric"
        raise Rejected(what, "use a-z, 0-9, _, . and -, at most 64: views, click-rate")
    if isinstance(value, bool) or not math.isfinite(value):
        raise Rejected(f"{value!r} is no finite number", "write digits only: 1200 or 0.042")
    if at is not None and at > now + SKEW:
        raise Rejected(
            f"{rfc3339(at)} is in the future", "say when it was measured: --at 3h is 3 hours ago"
        )
