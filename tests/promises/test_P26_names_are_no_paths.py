"""P26: no name becomes a path, nothing foreign is followed, only the owner looks in."""

import os
import stat
from pathlib import Path

import pytest

from calls import Call, call, many, tree
from fleet.cli.commands import COMMANDS
from fleets import Scripted

HOSTILE = ["../../outside", "/etc/passwd", "..", ".", "", "a/../../x", "x" * 300, "a\nb", "~root"]
BY_NAME: dict[str, list[list[str]]] = {
    "post": [
        ["NAME", "x"],
        ["strategy", "x", "--reply-to", "NAME#1"],
        ["strategy", "x", "--id", "NAME"],
    ],
    "reply": [["NAME#1", "x"], ["NAME", "x"]],
    "send": [["NAME", "x"], ["outreach", "x", "--id", "NAME"]],
    "read": [
        ["NAME"],
        ["NAME+outreach"],
        ["strategy", "--thread", "NAME#1"],
        ["strategy", "--after", "NAME"],
    ],
    "react": [["NAME#1", "agree"], ["strategy#1", "NAME"]],
    "pin": [["NAME#1"]],
    "unpin": [["NAME#1"]],
    "emit": [
        ["NAME", "n=1"],
        ["pricing-change", "competitor=x", "newPrice=1", "--to", "NAME"],
        ["pricing-change", "competitor=x", "newPrice=1", "--cause", "NAME"],
        ["pricing-change", "competitor=x", "newPrice=1", "--id", "NAME"],
        ["pricing-change", "competitor=NAME", "newPrice=1", "--in", "1d", "--id", "NAME"],
        ["pricing-change", "competitor=NAME", "newPrice=NAME"],
        ["contact-made", "email=NAME", "method=x"],
        ["task-created", "taskId=1", "title=x", "assignedTo=NAME"],
    ],
    "events": [["--for", "NAME"], ["--type", "NAME"], ["--after", "NAME"]],
    "ack": [["NAME"]],
    "schema": [["show", "NAME"]],
    "metric": [
        ["record", "NAME", "views", "1"],
        ["record", "x", "NAME", "1"],
        ["show", "NAME"],
        ["show", "--agent", "NAME", "--name", "NAME"],
    ],
    "memory": [
        ["show", "--agent", "NAME"],
        ["show", "--agent", "outreach", "--after", "NAME"],
        ["plan", "note", "NAME", "x"],
        ["revert", "--run", "NAME"],
        ["revert", "--run", "NAME", "--agent", "NAME"],
    ],
    "lesson": [["drop", "NAME"]],
    "goal": [["achieve", "NAME"]],
    "research": [["drop", "NAME"], ["add", "x", "--source", "NAME"]],
    "strength": [["add", "x", "--lesson", "NAME"]],
    "weakness": [["drop", "NAME/W1"]],
    "claim": [["NAME"]],
    "renew": [["NAME"]],
    "release": [["NAME"]],
    "claims": [["NAME"], ["--history", "NAME"]],
    "ask": [["x", "--id", "NAME"], ["x", "--options", "NAME,b"]],
    "answer": [["NAME", "yes"], ["NAME#1", "yes"]],
    "remind": [["NAME", "x"], ["1d", "NAME", "--id", "NAME"]],
    "deadletters": [["retry", "NAME"], ["retry", "NAME#1"]],
    "alerts": [["ack", "NAME"], ["ack", "NAME#1"]],
    "run": [["NAME"], ["NAME", "--dry-run"]],
    "pause": [["NAME"]],
    "resume": [["NAME"]],
    "halt": [["NAME"]],
    "runs": [["NAME"]],
    "logs": [["NAME"], ["NAME~1"]],
    "context": [["NAME"]],
    "replay": [["NAME"], ["NAME~1"]],
    "diff": [["NAME", "outreach"], ["NAME", "NAME"]],
    "show": [["NAME"], ["NAME#1"], ["NAME/L1"], ["NAME~1"]],
    "find": [["NAME"], ["x", "--in", "NAME"], ["x", "--agent", "NAME"], ["x", "--before", "NAME"]],
    "seen": [["NAME"], ["NAME#1"]],
    "explain": [["NAME"], ["NAME#1"]],
    "timeline": [["NAME"], ["--run", "NAME"]],
    "recap": [["--per", "NAME"]],
    "retract": [["NAME", "--reason", "x"], ["strategy#1", "--reason", "NAME", "--dry-run"]],
    "skip": [["NAME", "--to", "now"], ["outreach", "--to", "NAME"]],
    "shadow": [["list", "NAME"], ["accept", "NAME"], ["drop", "NAME"]],
    "agent": [
        ["new", "NAME", "description=x"],
        ["set", "NAME", "model=x"],
        ["rename", "NAME", "x"],
        ["rename", "outreach", "NAME"],
        ["retire", "NAME"],
    ],
    "channel": [
        ["new", "NAME", "name=x", "purpose=x", "members=all"],
        ["set", "NAME", "keep=5"],
        ["rename", "NAME", "x"],
        ["rename", "strategy", "NAME"],
        ["retire", "NAME"],
    ],
}
NAMELESS = {
    "agents", "channels", "inbox", "report", "whoami", "init", "check", "doctor", "demo",
    "version", "up", "stop", "status", "next", "verify", "reindex", "backup", "restore", "migrate",
    "trim", "install-service", "forecast",
}  # fmt: skip


def test_every_command_that_takes_a_name_is_tried() -> None:
    """P26: a new command is either in the table below or has no name to give."""
    assert set(BY_NAME) | NAMELESS == set(COMMANDS)


def test_no_name_leads_out_of_its_folder(home: Path, tmp_path: Path) -> None:
    """P26: hostile names through every command leave every file outside of `state/` as it was."""
    (tmp_path / "outside").write_text("mine")
    many(home, [call("post", "strategy", "x"), call("status"), call("context", "outreach")])
    before = tree(tmp_path)
    calls = [
        call(command, *(word.replace("NAME", name) for word in words))
        for command, ways in BY_NAME.items()
        for words in ways
        for name in HOSTILE
    ]
    calls += [call("--as", name, "post", "strategy", "x") for name in HOSTILE]

    done = many(home, calls)

    bugs = [(one.argv, d) for one, d in zip(calls, done, strict=True) if d.code == 1]
    assert bugs == []
    after = tree(tmp_path)
    changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    known = {"events", "channels", "claims", "claims-log", "locks", "cache", "alerts", "metrics"}
    known |= {"memory", "memory-log", "later"}
    folders = {Path(name).parts[:3] for name in changed}
    assert folders <= {("home", "state", folder) for folder in known}
    for folder in ("channels", "cursors", "control", "run", "schedule"):
        found = {path.name for path in (home / "state" / folder).glob("*")}
        assert found <= {"strategy", "operator+outreach"}, folder


def files(home: Path) -> list[Path]:
    """Logs, documents, locks and caches of the state, each by its path."""
    return sorted(path for path in (home / "state").rglob("*") if path.is_file())


USES: list[Call] = [
    call("post", "strategy", "y"),
    call("emit", "pricing-change", "competitor=x", "newPrice=1"),
    call("claim", "lead:x"),
    call("pause", "outreach"),
    call("read", "strategy"),
    call("events"),
    call("find", "y"),
    call("claims"),
    call("status"),
    call("context", "outreach"),
    call("verify"),
]


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "fifo"])
def test_what_is_foreign_in_the_store_is_not_followed(
    home: Path, tmp_path: Path, kind: str
) -> None:
    """P26: each file of the state as a link or a pipe: its target is neither read nor written."""
    many(home, USES)
    secret = "a secret of somebody else"
    targets = []
    for number, path in enumerate(files(home)):
        target = tmp_path / f"target-{number}"
        target.write_text(secret)
        targets.append(target)
        path.unlink()
        if kind == "symlink":
            path.symlink_to(target)
        elif kind == "hardlink":
            os.link(target, path)
        else:
            os.mkfifo(path)
    assert len(targets) > 8

    done = many(home, USES)

    assert {one.code for one in done} <= {5, 7, 8, 75}, done
    assert not any(secret in one.out + one.err for one in done)
    assert all(target.read_text() == secret for target in targets)


@pytest.mark.parametrize("name", ["state", "state/events", "state/channels", "state/claims"])
def test_a_linked_folder_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    """P26: a folder of the state that is a link elsewhere takes no write and shows nothing."""
    many(home, USES)
    (home / name).rename(tmp_path / "moved")
    (home / name).symlink_to(tmp_path / "moved")
    before = tree(tmp_path / "moved")

    done = many(home, USES[:3])

    expected = {"state": 3, "state/events": 1, "state/channels": 1, "state/claims": 1}[name]
    assert sum(one.code == 5 for one in done) >= expected, done
    assert tree(tmp_path / "moved") == before


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_may_look_in(tmp_path: Path, umask: int) -> None:
    """P26: whatever the umask lets through, what fleet made is 0600 or 0700, run folders too."""
    scripted = Scripted(tmp_path / "home")
    scripted.agent(
        "worker", "umask 022; cat > mine; fleet post strategy x; fleet claim k; echo done"
    )
    old = os.umask(umask)
    try:
        assert scripted.call("run", "worker").returncode == 0
        scripted.call("pause", "worker")
        scripted.call("status")
    finally:
        os.umask(old)

    state = scripted.root / "state"
    modes = {
        str(path.relative_to(state)): stat.S_IMODE(path.stat().st_mode)
        for path in [state, *state.rglob("*")]
    }
    wrong = {
        name: oct(mode)
        for name, mode in modes.items()
        if mode != (0o700 if (state / name).is_dir() else 0o600)
    }
    assert wrong == {}
    for place in ("work", "work/worker"):
        assert stat.S_IMODE((scripted.root / place).stat().st_mode) == 0o700
