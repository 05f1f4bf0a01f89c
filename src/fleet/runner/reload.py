"""The operator's files while the runner runs: edits come in force, broken ones are told once.

What is read, and that broken files leave the last good config, is the business of `config`.
"""

import time
from collections.abc import Callable
from datetime import datetime

from fleet.alerts import raise_alert, seen_to
from fleet.identity import SYSTEM
from fleet.wiring import Fleet

KIND = "broken-files"
EVERY = 2.0  # seconds between two looks at the files


class Reload:
    """What the files said at the last look, and what was told of them."""

    def __init__(self, echo: Callable[[str], None]) -> None:
        self._echo = echo
        self._next = 0.0
        self._coming = ""  # the version that was read first at the last look
        self._warned = ""
        self._told: bool | None = None  # whether the alert is open; an earlier runner's may be

    def look(self, fleet: Fleet, now: datetime) -> Fleet | None:
        """The home with its files read anew, when they say something else than in `fleet`.

        A new config is believed when two looks find it: between them no editor is half way, and
        a file cut at the end of a line is often a valid one.

        Raises:
            TryAgain: the store refused; the next look goes on.
        """
        if time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + EVERY
        fresh = fleet.reopened()
        self._tell(fresh, fresh.looked_over(), now)
        before, after = fleet.config, fresh.config
        if after.version == before.version:
            self._coming = ""
            return None if after.warning == before.warning else fresh
        if after.warning:  # what was valid for a moment was never in force here
            return fleet.reopened(config=before._replace(warning=after.warning))
        first, self._coming = self._coming, after.version
        return fresh if first == after.version else None

    def _tell(self, fleet: Fleet, warning: str, now: datetime) -> None:
        warned, self._warned = self._warned, warning
        if warning and warning != warned:
            self._echo(f"the home has errors: {warning}")
        elif warned and not warning:
            self._echo("the home has no errors any more")
        if warning and not self._told:
            raise_alert(
                fleet.store,
                kind=KIND,
                subject="fleet",
                what=f"the home's files have errors: {warning}",
                done="what was good last goes on",
                fix="fleet check lists every fault",
                key=f"{KIND}/{now.isoformat()}",
            )
            self._told = True
        elif not warning and self._told is not False:
            seen_to(fleet.store, fleet.cache, KIND, "fleet", SYSTEM.name, None)
            self._told = False
