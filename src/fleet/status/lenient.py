"""A store for whoever only shows things: a document that cannot be read is named, and left out.

It hides no damage: what was met stands in `unread`. Nobody decides or writes by it.
"""

from typing import Any, cast

from fleet.errors import Unavailable
from fleet.ports import Store
from fleet.records import Body


class _Lenient:
    """See `lenient`; all but documents is the store's own."""

    def __init__(self, store: Store, unread: dict[str, str]) -> None:
        self._store = store
        self._unread = unread

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: str) -> tuple[Body | None, int]:
        """As the store's; (None, 0) for one that cannot be read."""
        try:
            return self._store.get(key)
        except Unavailable as fault:
            self._unread[key] = str(fault)
            return None, 0


def lenient(store: Store, unread: dict[str, str]) -> Store:
    """`store`, but a document that cannot be read counts as none, and `unread` says why, by key."""
    return cast("Store", _Lenient(store, unread))
