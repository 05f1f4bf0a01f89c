"""Every fault fleet raises on purpose, with the exit code the command line gives it.

This module is the tree of errors; it is not where their wording for a terminal is decided.

    FleetError                 1  a bug
    ├── Unprinted              1  done, and the answer could not be printed
    ├── Usage                  2  the words of a command
    ├── Rejected               3  schema, size, encoding, the same id with another body
    ├── Unknown                4  a name that does not exist
    ├── NotAllowed             5  membership, identity, rights
    ├── Held                   6  another one holds the claim, or runs already
    ├── BadHome                7  no home, an invalid one, a format of another version
    ├── EndedBadly             8  a run that is not ok, damage found
    ├── Down                   9  no runner
    └── TryAgain              75  not done, later it may be
        ├── LockTimeout           a lock's deadline passed; the holder is named
        ├── NotStarted            a run that was due and was not started, with the reason
        └── StoreError            what the storage port raises
            ├── Conflict          a document's version moved on
            ├── Stale             a guard refused: the claim is not what the writer believed
            ├── Trimmed           the record asked for was trimmed
            ├── Unavailable       nothing was written
            └── Unsettled         written or not: the same id settles it

A message is one line: what happened, to what; `fix` says what to do.
"""

from collections.abc import Sequence
from typing import NamedTuple


class FleetError(Exception):
    """Something fleet refuses or could not do; `str()` is one line."""

    exit_code = 1

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what}: {fix}" if fix else what)
        self.what = what
        self.fix = fix


class Unprinted(FleetError):
    """A write is done and durable, only its answer could not be printed: nobody may repeat it."""


class Usage(FleetError):
    """The words of a command make no sense; `fix` is the corrected line where it can be guessed."""

    exit_code = 2


class Rejected(FleetError):
    """A record that may not be stored: schema, size, encoding, or an id used for another body."""

    exit_code = 3


class Unknown(FleetError):
    """A name that does not exist; `fix` suggests the nearest one."""

    exit_code = 4


class NotAllowed(FleetError):
    """The author has no right to do this; `fix` says what he may do."""

    exit_code = 5


class Held(FleetError):
    """Another one holds the key.

    Attributes:
        key: the claim's key.
        holder: the agent (or operator) that holds it.
        until: RFC 3339 instant at which it expires, or "" when unknown.
    """

    exit_code = 6

    def __init__(self, what: str, fix: str = "", *, key: str, holder: str, until: str = "") -> None:
        super().__init__(what, fix)
        self.key = key
        self.holder = holder
        self.until = until


class Finding(NamedTuple):
    """One fault or remark of `check`, `verify` or `doctor`.

    Attributes:
        severity: "error", "warning" or "note".
        file: path relative to the home (or absolute when outside), "" when none.
        line: 1-based line, 0 when it has none.
        what: one sentence, what is wrong.
        fix: what to do about it, "" when nothing.
    """

    severity: str
    file: str
    line: int
    what: str
    fix: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.what}" + (f": {self.fix}" if self.fix else "")


class BadHome(FleetError):
    """There is no home here, or its files have errors; all of them are in `findings`."""

    exit_code = 7

    def __init__(self, what: str, fix: str = "", findings: Sequence[Finding] = ()) -> None:
        super().__init__(what, fix)
        self.findings = tuple(findings)


class EndedBadly(FleetError):
    """The thing was done and its result is bad: a failed run, damage, a failed probe."""

    exit_code = 8


class Down(FleetError):
    """No runner is alive on this home."""

    exit_code = 9


class TryAgain(FleetError):
    """Not done; the same words may succeed later."""

    exit_code = 75


class LockTimeout(TryAgain):
    """A lock was not free before the deadline; the message names its holder and the age."""


class NotStarted(TryAgain):
    """A run did not start; `reason` is a word of the outcome table (`paused`, `halted`, …)."""

    def __init__(self, what: str, fix: str = "", *, reason: str) -> None:
        super().__init__(what, fix)
        self.reason = reason


class StoreError(TryAgain):
    """What the storage port raises."""


class Conflict(StoreError):
    """The document has another version than expected: read it and decide again."""


class Stale(StoreError):
    """The guard refused the write: read the claim and decide again."""


class Trimmed(StoreError):
    """The records asked for were trimmed; `first` is the lowest number still kept."""

    def __init__(self, what: str, fix: str = "", *, first: int) -> None:
        super().__init__(what, fix)
        self.first = first


class Unavailable(StoreError):
    """The engine refused or could not be reached; nothing was written."""


class Unsettled(StoreError):
    """A sync failed: the record may be written. Repeating it with `id` settles it."""

    def __init__(self, what: str, fix: str = "", *, id: str) -> None:  # noqa: A002 - the record's own word
        super().__init__(what, fix)
        self.id = id
