"""A store whose disk can be full for a while, and whose writer can be killed between two writes."""

from collections.abc import Callable
from typing import Any, cast

from fleet.errors import Unavailable
from fleet.ports import Store

WRITES = frozenset({"append", "append_gap", "put", "make_last"})


class Killed(BaseException):
    """The runner was killed: nothing of it may go on, so nothing may catch this but the play."""


class Disk:
    """What stands between the runner and its store.

    Attributes:
        full: every write is refused.
        left: how many more writes are done before whoever writes is killed; None for no end.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.full = False
        self.left: int | None = None

    @property
    def store(self) -> Store:
        """The store as the runner sees it."""
        return cast("Store", self)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        made = self._checked(call) if name in WRITES else call
        self.__dict__[name] = made  # found at once from now on
        return made

    def _checked(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **options: Any) -> Any:
            if self.left is not None:
                if self.left <= 0:
                    raise Killed
                self.left -= 1
            if self.full:
                raise Unavailable("no space left on device", "free the disk")
            return write(*args, **options)

        return checked
