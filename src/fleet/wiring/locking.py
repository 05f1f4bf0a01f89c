"""The files store's locks for those who keep others from the files themselves."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from fleet.places import Places

MAINTENANCE = 10.0  # seconds that a backup or a trim waits for the other


def maintenance(places: Places, *, shared: bool) -> AbstractContextManager[object]:
    """See `Fleet.maintained`; for a home that cannot be opened. A home without state needs none."""
    from fleet.stores.files.locks import Lock

    if not places.locks.is_dir():
        return nullcontext()
    path = str(places.locks / "maintenance.lock")
    return Lock(path, "the home's files", timeout=MAINTENANCE, shared=shared)


def file_lock(path: Path, timeout: float) -> AbstractContextManager[object]:
    """The files store's own lock on the lock file `path`, for whoever must know that it works.

    Raises (on entering):
        LockTimeout: not free within `timeout` seconds.
    """
    from fleet.stores.files.locks import Lock

    return Lock(str(path), path.name, timeout=timeout)
