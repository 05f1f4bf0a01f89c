"""What `status` looks at, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.accounts import Accounts
from fleet.config.model import HomeConfig
from fleet.controls import Controls
from fleet.ports import Cache, Store

if TYPE_CHECKING:
    from fleet.bus import Bus
    from fleet.claims import Claims
    from fleet.ledger import Ledger
    from fleet.runs import Runs, Spending


@dataclass(frozen=True, slots=True)
class Sources:
    """What `status` reads.

    Attributes:
        warning: what is wrong with the operator's files, or "".
        unread: why documents of `store` could not be read, by key: it grows while one reads.
    """

    config: HomeConfig
    store: Store
    cache: Cache
    bus: "Bus"
    runs: "Runs"
    claims: "Claims"
    controls: Controls
    accounts: Accounts
    ledger: "Ledger"
    spending: "Spending"
    warning: str
    unread: Mapping[str, str]

    @property
    def trouble(self) -> str:
        """`warning`, else the documents that could not be read until now, in one line."""
        return self.warning or "; ".join(self.unread.values())
