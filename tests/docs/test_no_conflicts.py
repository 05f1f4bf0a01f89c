"""No file of the source carries what a merge left in it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from docs.test_readme import ROOT

MARKS = re.compile(rb"^(<{7}|>{7}|\|{7})( |\r?$)", re.MULTILINE)  # so this file has none itself
MOST = 1 << 20  # bytes; what is larger was not written by a person
BUILT = {"build", "dist", "node_modules", "__pycache__"}


def written(root: Path) -> Iterator[Path]:
    """Every file that a person wrote: hidden folders, and what was built, hold others."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "." and name not in BUILT]
        yield from (Path(folder, name) for name in files)


def test_no_file_has_conflict_markers(tmp_path: Path) -> None:
    """Neither code nor documents, in the whole tree; one that had them would be found."""
    (tmp_path / "page.md").write_text("one\n" + "<" * 7 + " HEAD\ntwo\n")
    looked = list(written(ROOT))

    assert ROOT / "CHANGELOG.md" in looked
    assert [str(path) for path in looked if is_torn(path)] == []
    assert [path.name for path in written(tmp_path) if is_torn(path)] == ["page.md"]


def is_torn(path: Path) -> bool:
    """Whether a line of the file begins as a conflict does."""
    whole = path.is_file() and path.stat().st_size <= MOST
    return whole and MARKS.search(path.read_bytes()) is not None
