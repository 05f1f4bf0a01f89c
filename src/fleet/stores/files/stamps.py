"""Whether anything was written since the last look, by the times and sizes of files; opens none.

A folder's time tells of documents, which are renamed into it, and of new logs and segments; the
newest segment's size and time tell of records.
"""

import os
import time
from typing import NamedTuple

from fleet.stores.files import segments
from fleet.stores.files.layout import Layout, subfolders

_TICK = 0.05  # seconds: two changes within a tick of the file system's clock leave one time


class _Listing(NamedTuple):
    """What stood in a folder when its time was `time`; a time that is too new is never believed."""

    time: int
    folders: tuple[str, ...]
    newest: str | None


class Stamps:
    """The stamps of one state folder; it remembers what it listed, so that a look is cheap."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._listed: dict[str, _Listing] = {}

    def look(self) -> dict[str, int]:
        """By kind a number that is another one after something of that kind was written."""
        now = time.time_ns()
        return {kind: hash(self._kind(folder, now)) for kind, folder in self._layout.kinds("")}

    def _kind(self, folder: str, now: int) -> tuple[object, ...]:
        """What is known of a kind's folder, and of those of its logs."""
        listing = self._list(folder, now)
        if listing is None:
            return ()
        logs = [self._log(path, now) for path in listing.folders]
        return (self._said(listing, now), *self._log(folder, now), *logs)

    def _log(self, folder: str, now: int) -> tuple[int, int]:
        """Time and size of a log's newest segment; zeros where there is none."""
        listing = self._list(folder, now)
        if listing is None or listing.newest is None:
            return 0, 0
        try:
            found = os.stat(listing.newest, follow_symlinks=False)
        except FileNotFoundError:
            return 0, 0
        return found.st_mtime_ns, found.st_size

    def _said(self, listing: _Listing, now: int) -> int:
        """The folder's time; while another change could share it, one that differs each look."""
        return listing.time if now - listing.time > _TICK * 1e9 else now

    def _list(self, folder: str, now: int) -> _Listing | None:
        """What stands in a folder, listed again where its time changed; None when it is gone."""
        try:
            changed = os.stat(folder, follow_symlinks=False).st_mtime_ns
        except FileNotFoundError:
            self._listed.pop(folder, None)
            return None
        known = self._listed.get(folder)
        if known is None or known.time != changed or now - changed <= _TICK * 1e9:
            folders = tuple(f"{folder}/{name}" for name in subfolders(folder))
            firsts = segments.list_firsts(folder)
            newest = f"{folder}/{segments.name_of(firsts[-1])}" if firsts else None
            self._listed[folder] = known = _Listing(changed, folders, newest)
        return known
