"""A disk that is full, read-only or broken: one clear line, nothing changed, and then it works."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.errors import Unavailable, Unsettled
from fleet.records import Draft
from fleet.stores.files import FilesStore, disk
from stores.proofs import Worker, printed, segment


@pytest.fixture
def filled(store: FilesStore) -> FilesStore:
    """A store with one record and one document."""
    store.append("events", [Draft({"n": 1})])
    store.put("memory/a", {"n": 1}, expect=0)
    return store


def tree(state: Path) -> dict[str, bytes]:
    """Every file that holds something, but for the locks."""
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file() and path.parent.name != "locks"
    }


@pytest.mark.parametrize("verb", ["append", "put"])
def test_a_file_size_limit_changes_nothing(
    filled: FilesStore, state: Path, worker: Worker, verb: str
) -> None:
    """A write that fits only in part is taken back, and said in one line with exit code 75."""
    limit = segment(state).stat().st_size + 1000
    before = tree(state)

    ((kind, code, *line),) = printed(worker("limited", "RLIMIT_FSIZE", limit, verb))

    assert (kind, code) == ("Unavailable", "75")
    assert "limit" in " ".join(line)
    assert tree(state) == before
    assert filled.append("events", [Draft({"n": 2})])[0].seq == 2
    assert filled.put("memory/a", {"n": 2}, expect=1) == 2
    assert filled.verify() == []


@pytest.mark.parametrize("verb", ["append", "put"])
def test_no_descriptors_changes_nothing(
    filled: FilesStore, state: Path, worker: Worker, verb: str
) -> None:
    """Without file descriptors nothing is written, and the line says which limit it is."""
    before = tree(state)

    ((kind, code, *line),) = printed(worker("limited", "RLIMIT_NOFILE", 3, verb))

    assert (kind, code) == ("Unavailable", "75")
    assert "no file descriptors are left" in " ".join(line)
    assert tree(state) == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "open_file", "rename"])
def test_an_error_anywhere_changes_nothing(
    filled: FilesStore, state: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    """Whichever call fails, the answer is one line that names the trouble, and all is as before."""
    before = tree(state)

    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as broken:
        broken.setattr(disk, call, fail)
        for use in (
            lambda: FilesStore(state).append("events", [Draft({"n": 2})]),
            lambda: filled.put("memory/a", {"n": 2}, expect=1),
        ):
            if call == "rename" and use.__code__.co_names[0] == "FilesStore":
                continue
            with pytest.raises(Unavailable) as caught:
                use()
            assert "\n" not in str(caught.value)

    after = tree(state)
    after.pop("memory/a.json.prev", None)
    assert after == before
    assert filled.append("events", [Draft({"n": 2})])[0].seq == 2
    assert filled.put("memory/a", {"n": 2}, expect=1) == 2


def test_a_failed_sync_says_which_id_settles_it(
    filled: FilesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed sync the outcome is unknown; the id in the error, used again, settles it."""

    def fail(_fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(disk, "sync_file", fail)
        with pytest.raises(Unsettled) as given:
            filled.append("events", [Draft({"n": 2}, key="K")])
        with pytest.raises(Unsettled) as made:
            filled.append("events", [Draft({"n": 3})])
        with pytest.raises(Unsettled):
            filled.sync("events")

    assert given.value.id == "K"
    assert "repeat it with the id K" in str(given.value)
    assert filled.append("events", [Draft({"n": 2}, key="K")])[0].seq == 2
    assert filled.append("events", [Draft({"n": 3}, id=made.value.id)])[0].seq == 3
    assert filled.head("events") == 3


def test_a_failed_sync_of_a_folder_leaves_a_document_unknown(
    filled: FilesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document whose folder could not be synced may be replaced or not: it says so."""

    def fail(_path: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(disk, "sync_folder", fail)

    with pytest.raises(Unsettled, match="read it and decide again"):
        filled.put("memory/a", {"n": 2}, expect=1)


AS_NOBODY = """
import os, sys
from pathlib import Path
from fleet.errors import FleetError
from fleet.records import Draft
from fleet.stores.files import FilesStore
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for use in (
    lambda s: s.append("events", [Draft({"n": 2})]),
    lambda s: s.read("events", 0, 9),
    lambda s: s.put("memory/a", {"n": 2}, expect=1),
    lambda s: s.get("memory/a"),
):
    try:
        use(FilesStore(Path(sys.argv[1])))
        print("done")
    except FleetError as error:
        print(error.exit_code, error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_state_is_left_alone(filled: FilesStore, state: Path) -> None:
    """Whoever may not read the folder gets one line, not a traceback, and changes nothing."""
    for folder in state.parents:
        if folder.name.startswith(("pytest-", "test_", "home")):
            folder.chmod(0o755)
    before = tree(state)

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(state)], capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("75 ") and "permission denied" in line for line in lines)
    assert tree(state) == before
