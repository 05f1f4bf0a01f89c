"""Documents as files: read without a lock, replaced by rename under one, the copy before kept.

A damaged file is never taken for a missing one: the copy before it stands in, or nothing does.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fleet.errors import Conflict, Rejected, Stale, Unavailable, Unsettled
from fleet.records import MAX_DOCUMENT, Body, Guard, Instant, claim_document, rfc3339
from fleet.stores import codec, names
from fleet.stores.files import disk
from fleet.stores.files.layout import Layout
from fleet.stores.files.locks import Lock

SUFFIX, PREVIOUS = ".json", ".prev"


class Stored(NamedTuple):
    """What the files of a document say.

    Attributes:
        body: the newest readable one, None when there is no document.
        version: of `body`; of the unreadable file where the copy before it stands in.
        page: the bytes of the file, None when it is missing.
        damage: why the file itself could not be used, "" when it could.
    """

    body: Body | None
    version: int
    page: bytes | None
    damage: str = ""


class Documents:
    """The documents below one state folder.

    Args:
        layout: where they are.
        clock: stamps them, and decides about claims.
        timeout: seconds to wait for a document's lock at most.
    """

    def __init__(self, layout: Layout, clock: Callable[[], Instant], timeout: float) -> None:
        self._layout = layout
        self._clock = clock
        self._timeout = timeout

    def load(self, key: str) -> Stored:
        """The document `key`.

        Raises:
            Unavailable: it is damaged, and so is the copy before it.
        """
        path = self._layout.document(key)
        if not disk.check_folder(os.path.dirname(path)):
            return Stored(None, 0, None)
        page, version, body, damage = _read(path, key)
        if page is not None and not damage:
            return Stored(body, version, page)
        before, version, body, worse = _read(f"{path}{PREVIOUS}", key)
        if page is None and before is None:
            return Stored(None, 0, None)
        if before is None or worse:
            where = self._layout.relative(path)
            raise Unavailable(
                f"{where} is damaged ({damage or 'missing'}) and has no good copy before it",
                "restore it from a backup, or remove it to start without it",
            )
        # The file that cannot be read had the next version: whoever saw it may still replace it.
        return Stored(body, version + 1, page, damage or "the file is missing")

    def put(self, key: str, body: Body, expect: int | None, guard: Guard | None) -> int:
        """What `Store.put` promises."""
        names.check_document(key)
        own = guard is not None and claim_document(guard.key) == key
        if guard is not None and not own and key.startswith("claims/"):
            raise Rejected(
                f"{key} cannot be written under a guard on {guard.key}", "guard it by itself"
            )
        fresh = self._layout.make_document_folder(key)
        with self.guarded(None if own else guard), self._lock(key, shared=False):
            if guard is not None and own:
                self._check(guard)
            found = self.load(key) if expect is not None else self._whatever(key)
            if expect not in {found.version, None}:
                raise Conflict(
                    f"{key} has version {found.version}, not {expect}",
                    "read it and decide again",
                )
            version = found.version + 1
            page = codec.encode_document(key, version, rfc3339(self._clock().wall), body)
            self._replace(key, found, page, fresh=fresh and not found.version)
        return version

    def _whatever(self, key: str) -> Stored:
        """The document `key`, or what stands in its place when no copy of it can be read."""
        try:
            return self.load(key)
        except Unavailable:
            path = self._layout.document(key)
            page, _, _, damage = _read(path, key)
            before, _, _, worse = _read(f"{path}{PREVIOUS}", key)
            if before is not None:
                self._set_aside(f"{path}{PREVIOUS}", worse)
            return Stored(None, 0, page, damage or "the file is missing")

    @contextmanager
    def guarded(self, guard: Guard | None) -> Iterator[None]:
        """Hold the claim still while something is written under `guard`.

        Raises:
            Stale: the claim does not permit it.
        """
        if guard is None:
            yield
            return
        self._layout.make()
        with self._lock(claim_document(guard.key), shared=True):
            self._check(guard)
            yield

    def _check(self, guard: Guard) -> None:
        claim = self.load(claim_document(guard.key)).body
        if not guard.permits(claim, self._clock()):
            raise Stale(
                f"the claim on {guard.key} does not permit this write",
                "read the claim and decide again",
            )

    def _lock(self, key: str, *, shared: bool) -> Lock:
        return Lock(self._layout.document_lock(key), key, timeout=self._timeout, shared=shared)

    def _replace(self, key: str, found: Stored, page: bytes, *, fresh: bool) -> None:
        path = self._layout.document(key)
        folder = os.path.dirname(path)
        if found.damage and found.page is not None:
            self._set_aside(path, found.damage)
        with disk.staged(f"{path}.tmp", page):
            # Only now: a page that does not fit must leave the copy before it as it is.
            if found.page is not None and not found.damage:
                disk.replace(f"{path}{PREVIOUS}", found.page, durable=False)
            disk.rename(f"{path}.tmp", path)
        try:
            disk.sync_folder(folder)
            if fresh:
                disk.sync_folder(os.path.dirname(folder))
        except OSError as error:
            raise Unsettled(
                f"the sync of {key} failed ({error.strerror}), it may be replaced",
                "read it and decide again",
                id=key,
            ) from error

    def _set_aside(self, path: str, damage: str) -> None:
        from fleet.stores.files import quarantine

        quarantine.set_aside(self._layout, path, 0, None, damage, wall=self._clock().wall)


def _read(path: str, key: str) -> tuple[bytes | None, int, Body | None, str]:
    """(bytes, version, body, damage) of one file; bytes None when it is missing."""
    try:
        page = disk.read_all(path, MAX_DOCUMENT)
    except FileNotFoundError:
        return None, 0, None, ""
    try:
        named, version, body = codec.decode_document(page)
    except ValueError as fault:
        return page, 0, None, str(fault)
    if named != key:
        return page, 0, None, f"it is the document {named[:80]}"
    return page, version, body, ""


def keys(layout: Layout, prefix: str, after: str, limit: int) -> list[str]:
    """What `Store.keys` promises, from the names of the files."""
    found = [key for key in _all_keys(layout, prefix) if key.startswith(prefix) and key > after]
    return sorted(found)[:limit]


def _all_keys(layout: Layout, prefix: str) -> Iterator[str]:
    folders = [(f"{kind}/", folder) for kind, folder in layout.kinds(prefix)]
    for begin, folder in [("", layout.root), *folders]:
        for path, _ in files(folder):
            key = _key_of(path, begin)
            if key is not None:
                yield key


def _key_of(path: str, begin: str) -> str | None:
    """The document's name: in the file's name, or in the file where that was shortened."""
    encoded = os.path.basename(path).removesuffix(SUFFIX)
    if "~" not in encoded:
        rest = names.decode(encoded)
        return None if rest is None else begin + rest
    try:
        return codec.decode_document(disk.read_all(path, MAX_DOCUMENT))[0]
    except (ValueError, OSError):
        return None


def files(folder: str) -> list[tuple[str, str]]:
    """(path of the document, path of the copy before it) of all documents in `folder`."""
    try:
        listed = os.listdir(folder)
    except FileNotFoundError:
        return []
    ends = (SUFFIX, f"{SUFFIX}{PREVIOUS}")
    paths = {f"{folder}/{name.removesuffix(PREVIOUS)}" for name in listed if name.endswith(ends)}
    return [(path, f"{path}{PREVIOUS}") for path in sorted(paths)]
