"""Edits of several of the operator's files that belong together: checked as a whole, then written.

What a file says is changed by `edit`; which files an edit touches is its caller's business.
"""

import os
from pathlib import Path

from fleet.config import crosscheck, sources, yamltext
from fleet.config.build import build
from fleet.config.edit import Edit
from fleet.errors import BadHome, Rejected, Unavailable
from fleet.places import HOME_FILE

_MENTIONS = {
    "fleet": crosscheck.FLEET_REFERENCES,
    "agents": crosscheck.AGENT_REFERENCES,
    "channels": crosscheck.CHANNEL_REFERENCES,
}


class Changes:
    """What the files of the home at `root` would say; `write` makes it so."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._planned: dict[str, bytes | None] = {}

    @property
    def files(self) -> tuple[str, ...]:
        """The files that would change, in the order in which they are written."""
        return tuple(self._planned)

    def edit(self, file: str) -> Edit:
        """The file's text as it would be, to be changed and handed to `keep`.

        Raises:
            BadHome: it cannot be read.
        """
        return Edit(self.read(file), file)

    def read(self, file: str) -> bytes:
        """The bytes that the file would have; raises as `edit`."""
        planned = self._planned.get(file)
        if planned is not None:
            return planned
        try:
            return (self._root / file).read_bytes()
        except OSError as fault:
            raise BadHome(f"{file} cannot be read: {fault.strerror}", "fleet check") from None

    def keep(self, file: str, data: bytes | None) -> None:
        """Let `file` hold `data`; None takes it away."""
        if data is None or self._planned.get(file) is not None or self._differs(file, data):
            self._planned[file] = data

    def rename(self, kind: str, old: str, new: str) -> None:
        """Write `new` wherever a file names the agent or channel `old`; `kind` says which.

        Raises:
            Rejected: it cannot be done without touching more, see `Edit`.
        """
        for file in self._files():
            edit = self.edit(file)
            for path in self._mentions(edit, file, kind, old):
                edit.replace(path, new)
            self.keep(file, edit.data)

    def forget(self, kind: str, name: str) -> None:
        """Take every list item that is `name`, or is about it, out of its list.

        Raises:
            Rejected: as `rename`.
        """
        for file in self._files():
            edit = self.edit(file)
            for path in reversed(self._mentions(edit, file, kind, name)):
                item = max(at for at, part in enumerate(path) if isinstance(part, int))
                edit.remove(path[: item + 1])
            self.keep(file, edit.data)

    def _files(self) -> list[str]:
        """Every file that can name an agent or a channel, as they would be."""
        found = sources.read(self._root, self._planned)
        return [HOME_FILE, *(source.file for source in (*found.agents, *found.channels))]

    def _mentions(self, edit: Edit, file: str, kind: str, name: str) -> list[yamltext.Path]:
        folder = file.partition("/")[0].removesuffix(".yaml")
        return [
            path
            for wanted, pattern in _MENTIONS[folder]
            if wanted == kind
            for path, text in crosscheck.texts(edit.tree, pattern)
            if text == name
        ]

    def write(self) -> None:
        """Write everything, each file whole or not at all, in the order in which it was kept.

        Raises:
            Rejected: the home would have an error that it has not now; nothing is written.
            Unavailable: a file could not be written; those before it are, and repeating the
                command finishes.
        """
        before = {(f.file, f.what) for f in build(self._root).errors}
        after = [
            f for f in build(self._root, self._planned).errors if (f.file, f.what) not in before
        ]
        if after:
            more = f" (and {len(after) - 1} more)" if len(after) > 1 else ""
            raise Rejected(f"the home would have an error: {after[0]}{more}", "nothing was written")
        for file, data in self._planned.items():
            try:
                _replace(self._root / file, data)
            except OSError as fault:
                what = f"{file} could not be written: {fault.strerror}"
                raise Unavailable(what, "repeat the command") from None

    def _differs(self, file: str, data: bytes) -> bool:
        path = self._root / file
        return not path.exists() or path.read_bytes() != data


def _replace(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
        return
    new = path.with_name(f".{path.name}.new")
    # Whoever may write these files may name the commands that run.
    mode = path.stat().st_mode & 0o755 if path.exists() else 0o644
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
