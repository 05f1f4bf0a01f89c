"""File systems on which locks promise nothing."""

import json
from pathlib import Path

import pytest

from fleets import Scripted

NO_OP = "import fcntl\nfcntl.flock = lambda fd, operation: None\n"
OWN_ONLY = """
import fcntl, os
held = set()
def flock(fd, operation):
    inode = os.fstat(fd).st_ino
    if operation & fcntl.LOCK_UN:
        held.discard(inode)
    elif inode in held:
        raise BlockingIOError
    else:
        held.add(inode)
fcntl.flock = flock
"""


@pytest.mark.parametrize("stub", [NO_OP, OWN_ONLY], ids=["no-op", "own-process-only"])
def test_the_doctor_finds_out(scripted: Scripted, tmp_path: Path, stub: str) -> None:
    """B5: where a lock keeps no other process out `fleet doctor` says so and exits 8."""
    scripted.agent("worker", "true")
    (tmp_path / "sitecustomize.py").write_text(stub)

    done = scripted.call("doctor", "--json", env={"PYTHONPATH": str(tmp_path)})

    errors = [
        line for line in map(json.loads, done.stdout.splitlines()) if line["severity"] == "error"
    ]
    assert done.returncode == 8
    assert ["locks do not exclude here" in one["what"] for one in errors] == [True]
    assert errors[0]["fix"] == "move the home to a local disk"


def test_the_doctor_is_content_on_a_local_disk(scripted: Scripted) -> None:
    """B5: where locks do exclude it finds no error."""
    scripted.agent("worker", "true")

    assert scripted.call("doctor").returncode == 0
