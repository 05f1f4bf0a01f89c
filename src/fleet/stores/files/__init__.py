"""The files store: logs and documents as plain files; `state/README.md` describes its format."""

from fleet.places import FORMAT
from fleet.stores.files.cache import FilesCache
from fleet.stores.files.store import FilesStore

__all__ = ["FORMAT", "FilesCache", "FilesStore"]
