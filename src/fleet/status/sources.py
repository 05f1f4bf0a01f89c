"""What `status` looks at, as one value."""

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
    """What `status` reads; `warning` is what is wrong with the operator's files, or ""."""

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
