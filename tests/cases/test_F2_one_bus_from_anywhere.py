"""Which home a command means does not depend on where it happens to be called."""

import json
from pathlib import Path

import pytest

from calls import Actor, call, many, tree
from conftest import Fleet
from fleet.cli.commands import COMMANDS
from fleets import Scripted

HOMELESS = {name for name in COMMANDS if name not in {"init", "demo", "version", "restore"}}
ARGUMENTS = {
    "post": ["strategy", "hi"], "reply": ["strategy#1", "hi"], "read": ["strategy"],
    "react": ["strategy#1", "agree"], "pin": ["strategy#1"], "unpin": ["strategy#1"],
    "emit": ["note", "n=1"], "ack": ["events#1"], "schema": ["list"], "claim": ["k"],
    "renew": ["k"], "release": ["k"], "report": ["hi"], "run": ["worker"], "halt": ["--all"],
    "logs": ["last"], "context": ["worker"], "skip": ["worker", "--to", "now"],
    "agent": ["retire", "worker"], "channel": ["retire", "strategy"], "diff": ["last", "last"],
    "explain": ["events#1"], "find": ["hi"], "replay": ["last"], "seen": ["events#1"],
    "retract": ["events#1", "--reason", "x"], "send": ["worker", "hi"], "show": ["events#1"],
    "metric": ["show"], "shadow": ["list"], "backup": ["x.zip"], "deadletters": ["list"],
    "ask": ["what?"], "remind": ["1d", "x"], "recap": ["--per", "note"],
    "memory": ["show"], "lesson": ["add", "x"], "goal": ["add", "x"], "strength": ["add", "x"],
    "research": ["add", "x", "--source", "y"], "weakness": ["add", "x"],
}  # fmt: skip


def test_an_agent_that_changes_folders_stays_in_its_home(tmp_path: Path) -> None:
    """F2: from any folder, those of other fleets too, a run writes to its own home's bus."""
    home, other = Scripted(tmp_path / "home"), Scripted(tmp_path / "other")
    Actor(other, "worker")
    actor = Actor(home, "worker")
    deep = home.put("work/worker/a/b/c/file", "x").parent
    folders = [tmp_path, Path("/"), deep, home.root / "agents", other.root, other.root / "agents"]

    done = actor.does(*(call("emit", "note", f"n={n}", cwd=at) for n, at in enumerate(folders)))

    assert [one.code for one in done] == [0] * len(folders)
    found = [record.body["payload"] for record in home.fleet.store.read("events", 0, 99).records]
    assert found == [{"n": str(number)} for number in range(len(folders))]
    assert not (other.root / "state").exists()
    assert not list(deep.glob("**/state"))


def test_a_folder_that_is_gone_is_no_obstacle(tmp_path: Path) -> None:
    """F2: an agent that stands in a folder which was removed still reaches its own home."""
    home = Scripted(tmp_path / "home")
    home.agent("worker", "cat > /dev/null; mkdir d; cd d; rmdir ../d; fleet emit note n=1")

    assert home.call("run", "worker").returncode == 0
    assert home.fleet.store.head("events") == 1


def test_a_relative_home_reaches_the_run_whole(tmp_path: Path, fleet: Fleet) -> None:
    """F2: `--home .` and a relative FLEET_HOME mean the same folder to the run that they start."""
    home = Scripted(tmp_path / "home")
    home.agent("worker", "cat > /dev/null; cd /; fleet emit note n=$FLEET_HOME")

    by_flag = fleet("--home", "home", "run", "worker", cwd=tmp_path)
    by_name = fleet("run", "worker", env={"FLEET_HOME": "../home"}, cwd=home.root)

    assert (by_flag.returncode, by_name.returncode) == (0, 0)
    found = [record.body["payload"] for record in home.fleet.store.read("events", 0, 9).records]
    assert found == [{"n": str(home.root)}] * 2


def test_a_person_is_in_the_nearest_home_above(home: Path, fleet: Fleet, tmp_path: Path) -> None:
    """F2: without FLEET_HOME, every folder below a home is that home, a copy inside another too."""
    inner = home / "work" / "x" / "inner"
    inner.mkdir(parents=True)
    none = {"FLEET_HOME": None}

    for at in (home, home / "agents", inner):
        assert fleet("post", "strategy", "hi", env=none, cwd=at).returncode == 0
    Actor(Scripted(inner), "worker")
    assert fleet("post", "strategy", "in", env=none, cwd=inner).returncode == 0

    texts = [json.loads(x)["text"] for x in fleet("read", "strategy", "--json").stdout.splitlines()]
    assert texts == ["hi"] * 3
    assert (inner / "state").is_dir()


@pytest.mark.parametrize("named", ["", "none", "gone/x", "file", "nohome", "~nobody/x"])
def test_no_home_is_said_and_nothing_made(tmp_path: Path, named: str) -> None:
    """F2: no home above, or one named that is none: every command exits 7 and creates nothing."""
    (tmp_path / "nohome").mkdir()
    (tmp_path / "file").write_text("x")
    env: dict[str, str | None] = {"FLEET_HOME": named or None}
    before = tree(tmp_path)

    names = sorted(HOMELESS)
    done = many(tmp_path, [call(name, *ARGUMENTS.get(name, [])) for name in names], env)

    assert {name: one.code for name, one in zip(names, done, strict=True) if one.code != 7} == {}
    assert all(one.out == "" and one.err.startswith("fleet: ") for one in done)
    assert tree(tmp_path) == before
