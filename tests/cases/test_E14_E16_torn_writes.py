"""A full disk, a limit, and kill -9 in the middle of a write."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleets import Scripted

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from fleet.__main__ import main
sys.argv[1:2] = []
main()
"""
FULL = """
mount -t tmpfs -o size=4m none "$1"
cp -a "$2/." "$1"
dd if=/dev/zero of="$1/fill" bs=1k 2> /dev/null || true
cd "$1"
before=$(cat state/events/*.jsonl state/control/*.json | cksum)
"$3" -m fleet --home "$1" emit note n="$(printf %06000d 1)"; echo "emit $?"
"$3" -m fleet --home "$1" pause worker --reason full; echo "pause $?"
"$3" -m fleet --home "$1" events --json | wc -l
test "$before" = "$(cat state/events/*.jsonl state/control/*.json | cksum)" && echo same
rm fill
"$3" -m fleet --home "$1" emit note n=2; echo "emit $?"
"$3" -m fleet --home "$1" verify
"""
SAVES = """
import json, os, random, signal, sys, time
from pathlib import Path
from fleet.wiring import open_fleet
root, path = Path(sys.argv[1]), Path(sys.argv[1]) / "state" / "memory" / "worker.json"
for round_ in range(50):
    said, say = os.pipe()
    child = os.fork()
    if not child:
        store = open_fleet(root, env={}).store
        body, version = store.get("memory/worker")
        for number in range((body or {"n": 0})["n"] + 1, 10**9):
            version = store.put("memory/worker", {"n": number, "fill": "x" * 20000}, expect=version)
            os.write(say, b"%d " % number)
    os.close(say)
    first = os.read(said, 64)
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = first
    while part := os.read(said, 65536):
        acknowledged += part
    newest = int(acknowledged.split()[-1])
    found = json.loads(path.read_bytes())
    body = open_fleet(root, env={}).store.get("memory/worker")[0]
    assert body["n"] in (newest, newest + 1), (round_, newest, body["n"])
    assert str(body["n"]) in json.dumps(found)
    os.close(said)
print("sound")
"""


@pytest.fixture
def written(scripted: Scripted) -> Scripted:
    """A home with an event and with a document."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    assert scripted.call("emit", "note", "n=1").returncode == 0
    assert scripted.call("pause", "worker", "--reason", "first").returncode == 0
    return scripted


def test_a_write_that_does_not_fit_leaves_what_was_there(written: Scripted) -> None:
    """E14: where a file may not grow, an emit and a document write fail and change nothing.

    Each says why in one line and exits 75; without the limit the next ones go on.
    """
    (log,) = (written.root / "state" / "events").glob("*.jsonl")
    document = written.root / "state" / "control" / "worker.json"
    before = log.read_bytes(), document.read_bytes()
    limit = log.stat().st_size + 400

    done = [
        _limited(written.root, limit, "emit", "note", "n=" + "x" * 2_000),
        _limited(written.root, limit, "pause", "worker", "--reason", "y" * 2_000),
    ]

    assert [one.returncode for one in done] == [75, 75], done
    assert all("limit" in one.stderr and len(one.stderr.splitlines()) == 1 for one in done)
    assert (log.read_bytes(), document.read_bytes()) == before
    assert written.call("emit", "note", "n=2").stdout.strip() == "events#2"
    assert written.call("pause", "worker", "--reason", "second").returncode == 0
    assert written.call("verify").returncode == 0


def test_a_full_disk_leaves_what_was_there(written: Scripted, tmp_path: Path) -> None:
    """E14: on a disk without room the same holds, reading goes on, and room mends everything."""
    place = tmp_path / "disk"
    place.mkdir()
    argv = ["unshare", "-m", "sh", "-c", FULL, "sh", str(place), str(written.root), sys.executable]
    if shutil.which("unshare") is None or _fails("unshare", "-m", "true"):
        pytest.skip("no file system can be mounted here: it takes root and unshare(1)")

    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    lines = done.stdout.splitlines()
    assert lines[:4] == ["emit 75", "pause 75", "1", "same"], done
    assert lines[4:6] == ["events#2", "emit 0"]
    assert lines[-1] == "every record and document can be read"
    assert ["disk" in line for line in done.stderr.splitlines()] == [True, True], done.stderr


def test_kill_at_any_moment_leaves_the_old_or_the_new(written: Scripted) -> None:
    """E16: 50 times kill -9 while a document is saved: it parses, as the last one or the next."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SAVES, str(written.root)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.stdout == "sound\n", done.stderr
    assert written.call("verify").returncode == 0


def test_kill_of_a_command_that_saves(written: Scripted) -> None:
    """E16: `fleet pause`, killed while it saves, leaves the pause before it or its own."""
    document = written.root / "state" / "control" / "worker.json"
    for round_ in range(8):
        before = document.read_bytes()
        command = subprocess.Popen(
            [sys.executable, "-m", "fleet", "--home", str(written.root), "pause", "worker",
             "--reason", f"round {round_}"],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        while command.poll() is None and document.read_bytes() == before:
            if any(document.parent.glob("*.tmp")):
                break
        command.kill()
        command.wait()
        assert json.loads(document.read_bytes())
        state = json.loads(written.call("status", "--json").stdout)["agents"][0]["state"]
        assert state == "paused"


def _fails(*argv: str) -> bool:
    return subprocess.run(argv, capture_output=True, check=False).returncode != 0


def _limited(root: Path, limit: int, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), "--home", str(root), *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
