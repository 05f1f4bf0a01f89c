"""The homes that ship with fleet, and how one is written to a new folder; not how a home is read.

`growth` is the repository's own home (fifteen agents); `minimal` has two. In a source tree the
files of `growth` are links to the repository's folders, in a wheel they are the files themselves.
"""

import os
from importlib import resources
from pathlib import Path

from fleet.errors import NotAllowed, Unknown, Usage

NAMES = ("growth", "minimal")

GITIGNORE = """\
# fleet writes these two; everything else in this home is yours to keep under version control
/state/*
!/state/README.md
/work/
"""


def template(name: str) -> Path:
    """The folder of the home `name`, one of `NAMES`; read it, never write into it.

    Raises:
        Unknown: there is no home of that name.
    """
    if name not in NAMES:
        raise Unknown(f"no template '{name}'", f"there are {' and '.join(NAMES)}")
    return Path(str(resources.files(__name__) / name))


def copy(name: str, target: Path) -> list[Path]:
    """Write the home `name` into `target`, paused; return the files written, relative and sorted.

    `target` and its parents are made when missing.

    Raises:
        Unknown: there is no home of that name.
        Usage: `target` is a file, or a folder that holds anything.
        NotAllowed: the system does not let this user write there.
    """
    source = template(name)
    _require_empty(target)
    try:
        shipped = filter(_ships, (file.relative_to(source) for file in _files(source)))
        written = [_copy_file(source / file, target / file) for file in shipped]
        written.append(_write(target / ".gitignore", GITIGNORE))
    except OSError as error:
        raise NotAllowed(
            f"cannot write {error.filename or target}: {error.strerror}",
            "choose a folder that you may write to",
        ) from error
    return sorted(file.relative_to(target) for file in written)


def _require_empty(target: Path) -> None:
    if target.is_dir():
        found = next(target.iterdir(), None)
        if found is not None:
            raise Usage(
                f"{target} is not empty (it holds {found.name}), nothing was written",
                "name a new or an empty folder",
            )
    elif target.exists() or target.is_symlink():
        raise Usage(f"{target} is no folder, nothing was written", "name a new or an empty folder")


def _files(folder: Path) -> list[Path]:
    # Path.rglob does not enter linked folders, and in a source tree the growth home is made of them
    found: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            found += _files(entry) if entry.name != "__pycache__" else []
        elif entry.is_file():
            found.append(entry)
    return found


def _ships(file: Path) -> bool:
    """Whether `file` is the operator's: what a fleet left in a template's `state/` is not."""
    return file.parts[0] != "state" or file.parts[1:] == ("README.md",)


def _copy_file(source: Path, target: Path) -> Path:
    text = source.read_text(encoding="utf-8")
    return _write(target, paused(text) if source.name == "fleet.yaml" else text)


def _write(target: Path, text: str) -> Path:
    """Write a new file that nobody but its owner may change, whatever the umask.

    The same holds for its folder: who may write there decides what runs. State is his alone.
    """
    private = target.parent.name == "state"
    for folder in (*reversed(target.parent.parents), target.parent):
        if not folder.exists():
            folder.mkdir(mode=0o700 if private and folder == target.parent else 0o755)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(target, flags, 0o600 if private else 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return target


def paused(text: str, *, yes: bool = True) -> str:
    """The text of a fleet.yaml with its top-level `paused` set; comments stay where they are."""
    word = "true" if yes else "false"
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith("paused:"):
            comment = line[line.index("#") :] if "#" in line else ""
            lines[number] = f"paused: {word}".ljust(34 if comment else 0) + (comment or "\n")
            return "".join(lines)
    return "".join([*lines, f"paused: {word}\n"])
