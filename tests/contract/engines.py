"""The stores that the contract runs over: what each needs, and what it can do."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleet.ports import Store
from fleet.records import Instant
from fleet.stores.clock import system_clock
from fleet.stores.files import FilesStore
from fleet.stores.ram import RamStore

SEGMENT = 4096  # bytes: small, so that every longer case crosses a rotation


@dataclass(frozen=True)
class Engine:
    """One store: how to open it on a folder, and whether processes can share it."""

    name: str
    make: Callable[[Path, Callable[[], Instant]], Store]
    shared: bool

    def open(self, folder: Path, clock: Callable[[], Instant] = system_clock) -> Store:
        """The store on `folder`; on the same folder again it is the same store, if shared."""
        return self.make(folder, clock)


def _ram(_folder: Path, clock: Callable[[], Instant]) -> Store:
    return RamStore(clock)


def _files(folder: Path, clock: Callable[[], Instant]) -> Store:
    return FilesStore(folder / "state", clock=clock, segment_bytes=SEGMENT)


ENGINES = [Engine("ram", _ram, shared=False), Engine("files", _files, shared=True)]
BY_NAME = {engine.name: engine for engine in ENGINES}
