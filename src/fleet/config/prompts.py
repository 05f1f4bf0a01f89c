"""The operator's templates while he edits: which are broken, and the last good text of these.

It renders none, and knows no template language: whoever asks brings what tells a fault.
"""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from fleet.config.fingerprint import YOUNG
from fleet.masking import mask

if TYPE_CHECKING:
    from fleet.ports import Cache

NAME = "prompts"
FOLDER = "prompts"


class _Known(TypedDict):
    """One template: what it looked like ([] while it may change unseen), its fault, a good text."""

    stamp: list[int]
    fault: str
    good: str | None


class Prompts:
    """The templates of the home at `root`; `fault_of` says what is wrong with a name and bytes."""

    def __init__(self, root: Path, cache: "Cache", fault_of: Callable[[str, bytes], str]) -> None:
        self._root = root / FOLDER
        self._cache = cache
        self._fault_of = fault_of
        self._known: dict[str, _Known] | None = None

    def look(self) -> str:
        """One line about the templates that are broken now, "" without any; costs their stamps."""
        faults = [known["fault"] for known in self._looked_at().values() if known["fault"]]
        more = f" (and {len(faults) - 1} more: fleet check)" if len(faults) > 1 else ""
        return f"{faults[0]}{more}" if faults else ""

    def instead(self) -> Mapping[str, str] | None:
        """Every file of the folder by name, the last good text of those that are broken.

        None while no broken one has a good text: then the folder itself serves.
        """
        looked_at = self._looked_at().items()
        good = {name: known["good"] for name, known in looked_at if known["fault"]}
        kept = {name: text for name, text in good.items() if text is not None}
        if not kept:
            return None
        root = self._root.resolve()
        files = (path for path in sorted(root.rglob("*")) if path.is_file())
        inside = (path for path in files if path.resolve().is_relative_to(root))
        texts = {str(path.relative_to(root)): _text(path) for path in inside}
        return texts | kept

    def _looked_at(self) -> dict[str, _Known]:
        known = self._load() if self._known is None else self._known
        fresh = {
            str(path.relative_to(self._root)): path
            for path in sorted(self._root.glob("**/*.j2"))
            if path.is_file()
        }
        found = {name: self._one(name, path, known.get(name)) for name, path in fresh.items()}
        if found != known:
            self._cache.save(NAME, json.dumps(found).encode())
        self._known = found
        return found

    def _load(self) -> dict[str, _Known]:
        known: dict[str, _Known] = json.loads(self._cache.load(NAME) or b"{}")
        return known

    def _one(self, name: str, path: Path, known: _Known | None) -> _Known:
        stamp = _stamp(path)
        if known and stamp and known["stamp"] == stamp:
            return known
        data = _bytes(path)
        good = known["good"] if known else None
        if data is not None and good is not None and data == good.encode():
            return {"stamp": stamp, "fault": "", "good": good}
        fault = "it cannot be read" if data is None else self._fault_of(name, data)
        if data is not None and not fault:
            return {"stamp": stamp, "fault": "", "good": _kept(data.decode())}
        where = fault if fault.startswith(f"{FOLDER}/") else f"{FOLDER}/{name}: {fault}"
        kept = "its last good text is in force" if good is not None else "no run can begin with it"
        return {"stamp": stamp, "fault": f"{where}: {kept}", "good": good}


def _kept(text: str) -> str | None:
    """The text, for the day on which the file is broken; none that holds a secret is kept."""
    return text if mask(text) == text else None


def _stamp(path: Path) -> list[int]:
    """What changes with the file; [] where it is so young that a change may not show in it."""
    try:
        seen = path.stat()
    except OSError:
        return []
    young = time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) <= YOUNG
    return [] if young else [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _text(path: Path) -> str:
    return (_bytes(path) or b"").decode("utf-8", "replace")
