"""Links where fleet expects files of its own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import call, many
from fleets import Scripted

MINE = b"the operator's own\n"
PLACES = {
    "locks/log.events": ("emit", "note", "n=2"),
    "events/00000000000000000001.jsonl": ("emit", "note", "n=2"),
    "channels/strategy/00000000000000000001.jsonl": ("post", "strategy", "x"),
    "claims/lead%3Aa.json": ("claim", "lead:a"),
    "control/worker.json": ("pause", "worker"),
    "control/worker.json.tmp": ("pause", "worker"),
    "locks/runner.lock": ("up",),
    "locks/runner.lock.holder.tmp": ("up",),
    "runs/worker/00000000000000000001.jsonl": ("run", "worker"),
}
HARD = ("locks/log.events", "events/00000000000000000001.jsonl", "claims/lead%3Aa.json")


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """A home in which each of these files was written once."""
    home = Scripted(tmp_path_factory.mktemp("used") / "home")
    home.agent("worker", "cat > /dev/null; echo done")
    for argv in sorted(set(PLACES.values()) - {("up",)}):
        assert home.call(*argv).returncode == 0
    home.call("release", "lead:a")
    return home


@pytest.mark.parametrize(
    ("place", "link"),
    [*((place, os.symlink) for place in PLACES), *((hard, os.link) for hard in HARD)],
)
def test_a_link_is_refused_and_its_target_is_as_it_was(
    used: Scripted, tmp_path: Path, place: str, link: Callable[[Path, Path], None]
) -> None:
    """B8: a link at the path of a lock, log, document or temporary file changes no byte elsewhere.

    The command says in one line which path it is, and leaves it alone.
    """
    home = used.copied_to(tmp_path / "home")
    target, path = tmp_path / "mine.txt", home.root / "state" / place
    target.write_bytes(MINE)
    path.unlink(missing_ok=True)
    link(target, path)

    done = home.call(*PLACES[place])

    assert done.returncode == 5, (done.returncode, done.stdout, done.stderr)
    assert path.name in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert target.read_bytes() == MINE
    assert path.samefile(target)


@pytest.mark.parametrize("folder", ["", "events", "locks", "control"])
def test_a_linked_folder_is_refused(used: Scripted, tmp_path: Path, folder: str) -> None:
    """B8: a folder of the state that leads elsewhere is refused, and nothing appears there."""
    home = used.copied_to(tmp_path / "home")
    elsewhere, path = tmp_path / "elsewhere", home.root / "state" / folder
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = {one: one.stat().st_mtime_ns for one in elsewhere.rglob("*")}

    calls = [call("emit", "note", "n=2"), call("post", "strategy", "x"), call("pause", "worker")]
    codes = [done.code for done in many(tmp_path, calls, {"FLEET_HOME": str(home.root)})]

    assert 5 in codes
    assert set(codes) <= {0, 5}
    assert {one: one.stat().st_mtime_ns for one in elsewhere.rglob("*")} == before
