"""P34: fleet gives a run no power of its own: no command, no file, no other home."""

import os
from pathlib import Path

import pytest

from calls import Actor, call, tree
from fleet.cli.commands import ALIASES, COMMANDS, is_operators
from fleets import Scripted

SECRET = "a secret that is not the agent's"
OPERATORS = {
    "init": ["new"], "run": ["worker"], "halt": ["--all"], "logs": ["last"],
    "context": ["worker"], "skip": ["worker", "--to", "now"],
    "agent": ["retire", "worker"], "channel": ["retire", "strategy"], "shadow": ["list"],
    "replay": ["last"], "diff": ["last", "last"], "seen": ["strategy#1"], "explain": ["last"],
    "retract": ["last", "--reason", "x"], "backup": ["../home.zip"], "restore": ["home.zip"],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home beside another one, with a secret around."""
    home, other = Scripted(tmp_path / "home"), Scripted(tmp_path / "other")
    Actor(other, "worker")
    other.call("post", "strategy", SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "secret.json").write_text(f'{{"n": "{SECRET}"}}')
    return home


def everything_but_state(folder: Path) -> dict[str, bytes]:
    """Every file around, without what a run may write: its home's state and its own folder."""
    return {
        name: data
        for name, data in tree(folder).items()
        if not name.startswith(("home/state", "home/work"))
    }


def kept(home: Path) -> dict[str, bytes]:
    """What a home holds but for caches: who asks is refused once its files have been read."""
    return {name: data for name, data in tree(home).items() if "cache" not in Path(name).parts}


def test_no_other_home(home: Scripted, tmp_path: Path) -> None:
    """P34: by `--home`, by FLEET_HOME, by standing in it: a run reaches its own home only."""
    actor = Actor(home, "worker")
    other = tmp_path / "other"
    before = kept(other)
    read, write = ["read", "strategy"], ["post", "strategy", "x"]

    refused = actor.does(
        *(call("--home", str(at), *words) for at in (other, tmp_path, "/", "..", other / "agents")
          for words in (read, write)),
        *(call(*words, FLEET_HOME=str(other)) for words in (read, write)),
        *(call("--home", str(other), *words, FLEET_HOME=str(other)) for words in (read, write)),
        *(call(*words, FLEET_HOME=None, cwd=other) for words in (read, write)),
    )  # fmt: skip
    here = actor.does(call("--home", str(home.root), *write), call(*write, cwd=other))

    assert {one.code for one in refused} <= {5, 7}
    assert not any(SECRET in one.out + one.err for one in refused)
    assert [one.code for one in here] == [0, 0]
    assert kept(other) == before


def test_no_file_but_its_own(home: Scripted, tmp_path: Path) -> None:
    """P34: `--file` and `@F` read regular files of the agent's folders; nothing else, by no way."""
    actor = Actor(home, "worker")
    actor.does()
    work = actor.cwd
    (work / "own.txt").write_text("mine")
    (work / "own.json").write_text('{"n": "mine"}')
    (work / "link.txt").symlink_to(tmp_path / "secret.txt")
    (work / "link.json").symlink_to(tmp_path / "secret.json")
    (work / "deep").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    Actor(home, "neighbour")
    beside = home.put("work/neighbour/secret.json", f'{{"n": "{SECRET}"}}')
    names = [
        "link.json", "deep/secret.json", "../../../secret.json", str(tmp_path / "secret.json"),
        "../neighbour/secret.json", str(beside), "pipe", ".", "/dev/zero", "/proc/self/environ",
        "../../fleet.yaml", "../../state/FORMAT", str(work / ".." / ".." / "fleet.yaml"),
        f"{work}/../neighbour/secret.json", "missing", "", "~/x", "\n",
    ]  # fmt: skip

    own = actor.does(
        call("post", "strategy", "--file", "own.txt"),
        call("emit", "note", "--data", "@own.json"),
        call("reply", "strategy#1", "--file", str(work / "own.txt")),
        call("report", "--file", "own.txt"),
    )
    refused = actor.does(
        *(
            call(*words, f"{before}{name}", stdin='{"n": "1"}')
            for name in names
            for before, words in (
                ("", ["post", "strategy", "--file"]),
                ("", ["reply", "strategy#1", "--file"]),
                ("", ["report", "--file"]),
                ("@", ["emit", "note", "--data"]),
            )
        )
    )

    assert [one.code for one in own] == [0] * 4
    assert {one.code for one in refused} == {5}
    assert not any(SECRET in one.out + one.err for one in refused)
    assert home.fleet.store.head("channels/strategy") == 2


def test_no_command_but_what_may_run_lists(home: Scripted, tmp_path: Path) -> None:
    """P34: nothing, or exactly the listed words, is executed on a run's word."""
    touch = ["touch", str(tmp_path / "pwned")]
    tried = [
        touch, ["sh", "-c", " ".join(touch)], ["./bin/tool/../../x"], ["bin/tool"], ["/bin/touch"],
        ["./bin/tool2"], ["./bin/too"], ["env", "./bin/tool"], ["./bin/tool;touch"], [""],
        ["true", "--", *touch],
    ]  # fmt: skip
    none = Actor(home, "none")
    some = Actor(home, "some", "may_run: [./bin/tool, 'true', 'printf ok']")
    tool = home.put("work/some/bin/tool", "#!/bin/sh\nexit 7\n")
    tool.chmod(0o755)

    refused = none.does(*(call("claim", "k", "--", *words) for words in [*tried, ["true"]]))
    also = some.does(*(call("claim", "k", "--", *words) for words in tried[:-1]))
    allowed = some.does(
        call("claim", "k", "--", "./bin/tool", "any", "thing"),
        call("claim", "k", "--", "./bin/tool", cwd=tmp_path),
        call("claim", "k", "--", "printf", "ok"),
        call("claim", "k", "--", "printf", "no"),
        call(*["claim", "k", "--", "true", *touch]),
    )

    assert {one.code for one in (*refused, *also)} == {5}
    assert [one.code for one in allowed] == [7, 7, 0, 5, 0]
    assert not (tmp_path / "pwned").exists()
    assert all("may_run" in one.err for one in refused)


def test_no_operators_command(home: Scripted, tmp_path: Path) -> None:
    """P34: the operator's half, by any name, is exit 5, and leaves home and surroundings alone."""
    actor = Actor(home, "worker")
    actor.does()
    names = [name for name in COMMANDS if is_operators(name)]
    names += [alias for alias, name in ALIASES.items() if is_operators(name)]
    before = everything_but_state(tmp_path)
    controls = [path.name for path in (home.root / "state" / "control").glob("*")]

    calls = [
        call(name, *OPERATORS.get(ALIASES.get(name, name), []), **env)
        for name in names
        for env in ({}, {"FLEET_RUN_TOKEN": None}, {"FLEET_RUN_TOKEN": None, "FLEET_RUN_ID": None})
    ]
    done = actor.does(*calls)

    wrong = [(one.argv, d) for one, d in zip(calls, done, strict=True) if d.code != 5]
    assert wrong == []
    assert {one.out for one in done} == {""}
    assert everything_but_state(tmp_path) == before
    assert [path.name for path in (home.root / "state" / "control").glob("*")] == controls
    assert len(home.runs()) == 2


def test_no_claim_of_fleets_own(home: Scripted) -> None:
    """P34: a run can neither take, free nor prolong what says who runs and how many may."""
    actor = Actor(home, "worker")
    keys = ["agent:worker", "agent:other", "run:x", "cap:1", "cap:99"]

    done = actor.does(
        *(call(verb, key) for key in keys for verb in ("claim", "release", "renew")),
        call("emit", "note", "n=1"),
    )

    assert {one.code for one in done[:-1]} == {5}
    assert done[-1].code == 0
    assert home.fleet.claims.live() == []
