"""P11: disk full, I/O error, read-only, no inodes, no descriptors.

One clear line, a non-zero exit, the store as it was; and the next command works once it is over.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from fleet.records import rfc3339
from fleet.runner import launch
from fleets import Scripted
from promises.forgetful import Mounted

WRITES = {
    "emit": ("emit", "note", f"n={'x' * 9000}"),
    "post": ("post", "strategy", "y" * 9000),
    "claim": ("claim", "lead:a"),
    "pause": ("pause", "worker", "--reason", "disk"),
    "run": ("run", "worker"),
}
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


def prepare(home: Scripted) -> Scripted:
    """A home with records in every log that the writes touch, and warm caches."""
    home.agent("worker", "cat > /dev/null; echo done")
    assert home.call("emit", "note", "n=1").returncode == 0
    assert home.call("post", "strategy", "hello").returncode == 0
    assert home.call("claim", "lead:b").returncode == 0
    assert home.call("run", "worker").returncode == 0
    return home


def tree(home: Scripted) -> dict[str, bytes]:
    """Every record and document; run folders, locks and caches are none."""
    state = home.root / "state"
    found = (path for path in state.rglob("*") if path.suffix in {".json", ".jsonl"})
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in found
        if path.relative_to(state).parts[0] not in {"run", "locks", "cache", "tokens"}
    }


def unclaimed(found: dict[str, bytes]) -> dict[str, bytes]:
    """Without fleet's own claims, which a run that does not start takes and gives back."""
    own = ("claims/agent", "claims/cap", "claims-log/")
    return {name: data for name, data in found.items() if not name.startswith(own)}


def check_refused(home: Scripted, done: "subprocess.CompletedProcess[str]") -> None:
    """One line, exit 75, nothing said to be done."""
    assert done.returncode == 75, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "bug" not in done.stderr
    assert done.stdout == ""


def check_over(home: Scripted) -> None:
    """Every write works, and all is sound."""
    for argv in WRITES.values():
        done = home.call(*argv)
        assert done.returncode == 0, done.stderr
    assert home.call("resume", "worker").returncode == 0
    assert home.call("verify").returncode == 0


def check_all(
    home: Scripted, limit: Callable[[], None] | None = None, but: Collection[str] = ()
) -> None:
    """Each write (`but` some) is refused and changes nothing; reading goes on."""
    before = unclaimed(tree(home))
    for argv in (argv for name, argv in WRITES.items() if name not in but):
        check_refused(home, limited(home, argv, limit))
        after = unclaimed(tree(home))
        assert {name for name in before | after if before.get(name) != after.get(name)} == set()
    for argv in (("events",), ("read", "strategy"), ("status",), ("context", "worker")):
        done = home.call(*argv)
        assert done.returncode == 0, done.stderr


def limited(
    home: Scripted, argv: tuple[str, ...], limit: Callable[[], None] | None
) -> "subprocess.CompletedProcess[str]":
    """One command under a limit of its process."""
    return subprocess.run(
        [sys.executable, "-m", "fleet", "--home", str(home.root), *argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=limit,
    )


# The file system ---------------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """`mounted("-t", "tmpfs", …)` mounts at a folder of the test's own, until it ends."""
    at = tmp_path / "mounted"
    at.mkdir()

    def mount(*argv: str) -> Path:
        subprocess.run(["mount", *argv, str(at)], check=True)
        return at

    yield mount
    subprocess.run(["umount", "-l", str(at)], capture_output=True, check=False)


@ROOT
def test_a_full_disk(mounted: Callable[..., Path]) -> None:
    """Not one block is left: each write is refused; when there is space again it works."""
    at = mounted("-t", "tmpfs", "-o", "size=2m", "tmpfs")
    home = prepare(Scripted(at / "home"))
    with (at / "ballast").open("wb", buffering=0) as ballast:
        for size in (65536, 4096):
            try:
                while ballast.write(bytes(size)) == size:
                    pass
            except OSError:
                continue

    check_all(home)

    (at / "ballast").unlink()
    check_over(home)


@ROOT
def test_no_inodes(mounted: Callable[..., Path]) -> None:
    """No new file can be made: what needs none goes on, the rest is refused in one line."""
    at = mounted("-t", "tmpfs", "-o", "size=20m,nr_inodes=400", "tmpfs")
    home = prepare(Scripted(at / "home"))
    (at / "many").mkdir()
    made = 0
    try:
        while True:
            (at / "many" / str(made)).touch()
            made += 1
    except OSError:
        pass
    before = unclaimed(tree(home))

    for name in ("claim", "pause", "run"):
        check_refused(home, home.call(*WRITES[name]))
        assert unclaimed(tree(home)) == before
    assert home.call("emit", "note", "n=2").returncode == 0
    assert home.call("events").returncode == 0

    for number in range(made):
        (at / "many" / str(number)).unlink()
    check_over(home)


@ROOT
def test_a_read_only_disk(mounted: Callable[..., Path], tmp_path: Path) -> None:
    """Nothing can be written at all: every write says so, every reading command works."""
    made = prepare(Scripted(tmp_path / "made"))
    at = mounted("--bind", str(tmp_path / "made"))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(at)], check=True)

    check_all(Scripted.at(at))

    check_over(made)


def test_a_failing_disk(tmp_path: Path) -> None:
    """A write that fails leaves things as they were; after a failed sync the id settles it."""
    (tmp_path / "disk").mkdir()
    with Mounted(tmp_path / "disk", tmp_path / "mounted", seed=11) as disk:
        if disk.why_not:
            pytest.skip(f"no file system in user space here: {disk.why_not}")
        home = prepare(Scripted(disk.at / "home"))
        fault = disk.backing / ".fault"

        fault.write_text("write")
        check_all(home)
        fault.write_text("sync")
        unknown = home.call("emit", "note", "n=2", "--id", "K")
        post = home.call("post", "strategy", "again")
        fault.unlink()

        assert (unknown.returncode, post.returncode) == (75, 75)
        assert "the id K" in unknown.stderr
        (name,) = [word for word in post.stderr.split() if word.count("-") == 4]
        first = json.loads(home.call("emit", "note", "n=2", "--id", "K", "--json").stdout)
        second = json.loads(home.call("emit", "note", "n=2", "--id", "K", "--json").stdout)
        assert first == second
        assert home.fleet.store.head("events") == first["seq"]
        assert len(name) > 30
        check_over(home)


# The process -------------------------------------------------------------------------------------


def test_a_file_size_limit(scripted: Scripted) -> None:
    """A write that would make a file too long is taken back whole, the part that fitted too."""
    home = prepare(scripted)

    def limit(most: int) -> Callable[[], None]:
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    check_all(home, limit(1000), but={"claim", "pause", "run"})
    check_all(home, limit(80), but={"emit", "post"})
    check_over(home)


def test_no_descriptors(scripted: Scripted) -> None:
    """Too few file descriptors: a line that says so, nothing is changed.

    A run that could not even give back what it had reserved blocks its agent for a minute.
    """
    home = prepare(scripted)
    program = (
        "import sys, resource; from fleet.cli import app, bus, talk, claims, runner, output;"
        "import fleet.bus.emitting, fleet.runner.launch, fleet.stores.files, fleet.identity;"
        "most = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_NOFILE, (most, most));"
        "sys.exit(app.run(sys.argv[1:]))"
    )
    refused = set()
    for most in range(3, 7):
        for name in ("emit", "post", "claim", "run"):
            before = unclaimed(tree(home))
            done = subprocess.run(
                [sys.executable, "-c", program, str(most), "--home", str(home.root), *WRITES[name]],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                check_refused(home, done)
                assert name == "run" or unclaimed(tree(home)) == before
                refused.add(name)
                free_within_a_minute(home)
    assert refused == {"emit", "post", "claim", "run"}
    check_over(home)


def free_within_a_minute(home: Scripted) -> None:
    """What a run that never began still holds ends soon; not to wait, it is released here."""
    fleet = home.fleet
    soon = rfc3339(fleet.store.now().wall + launch.PREPARES)
    for claim in fleet.claims.live():
        if claim.key.startswith(("agent:", "cap:")):
            assert claim.expires < soon
            fleet.claims.release_system(claim.key, run=claim.run)
