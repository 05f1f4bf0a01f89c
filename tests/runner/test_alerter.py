"""`on_alert`: each new alert reaches the operator's command once, whatever that command does."""

import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet import alerts
from fleet.alerts import acknowledge, open_ones, raise_alert
from fleet.runner import alerter as module
from fleet.runner.alerter import Alerter
from fleet.wiring import Fleet, open_fleet
from fleets import Scripted, running, until

NOW = module.datetime(2026, 12, 1, tzinfo=None)
TAKE = "cat >> told"


class Told:
    """A home with an `on_alert`, and the chore that serves it."""

    def __init__(self, root: Path, script: str) -> None:
        self.home = Scripted(root / "home", extra=f"on_alert: {json.dumps(['sh', '-c', script])}\n")
        self.home.agent("alice", "true")
        self.said: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Another runner."""
        self.fleet: Fleet = self.home.fleet
        self.chore = Alerter(self.said.append)

    def raised(self, *subjects: str, kind: str = "loop") -> None:
        """Alerts about these."""
        for subject in subjects:
            raise_alert(self.fleet.store, kind=kind, subject=subject, what="w", done="d", fix="f")

    def look(self) -> None:
        """One pass."""
        self.chore.look(self.fleet, NOW)

    def looked(self, number: int) -> bool:
        """Whether, after passes, so many alerts were told."""

        def there() -> bool:
            self.look()
            return len(self.heard()) >= number and not self.busy

        return until(there)

    def settled(self) -> None:
        """Passes until no process runs."""

        def idle() -> bool:
            self.look()
            return not self.busy

        assert until(idle)

    @property
    def busy(self) -> bool:
        """Whether a process runs."""
        return self.chore._errand is not None

    def heard(self) -> list[dict[str, object]]:
        """What the command was given."""
        path = self.home.root / "told"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kinds(self) -> list[str]:
        """Kinds of the open alerts."""
        return [one.kind for one in open_ones(self.fleet.store, self.fleet.cache)]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are short here."""
    monkeypatch.setattr(module, "PAUSE", 0.0)


def test_what_is_open_and_new_is_told_once(tmp_path: Path) -> None:
    """One JSON object for each, on standard input; a restarted runner tells nothing again."""
    told = Told(tmp_path, TAKE)
    told.raised("a", "b")

    assert told.looked(1)
    told.raised("c")
    assert told.looked(2)
    told.restart()
    told.settled()
    told.raised("d", kind="shadow")
    assert told.looked(3)

    first, second, third = told.heard()
    assert (first["ref"], first["more"], second["ref"], second["more"]) == (
        "alerts#2", 1, "alerts#3", 0,
    )  # fmt: skip
    assert {name: third[name] for name in ("kind", "subject", "what", "done", "fix", "home")} == {
        "kind": "shadow", "subject": "d", "what": "w", "done": "d", "fix": "f", "home": "test",
    }  # fmt: skip
    assert told.said == []


def test_what_was_acknowledged_before_is_not_told(tmp_path: Path) -> None:
    """Of alerts from before `on_alert` was set only those that are open are told."""
    told = Told(tmp_path, TAKE)
    told.raised("old", "old")
    acknowledge(told.fleet.store, told.fleet.cache, None, by="operator", person=None)
    told.settled()
    assert told.heard() == []

    told.raised("x", kind="shadow")
    told.raised("y")
    told.raised("z", kind="shadow")

    assert told.looked(1)
    (one,) = told.heard()
    assert (one["subject"], one["more"]) == ("y", 2)  # the one that needs a person


def test_a_burst_is_few_processes_not_a_thousand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process each 5 s at most, never two together: what comes meanwhile is told as one."""
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "PAUSE", 5.0)
    told = Told(tmp_path, "mkdir one && cat >> told && rmdir one")
    told.raised("first")
    assert told.looked(1)
    body = {"op": "alert", "kind": "loop", "what": "w", "done": "d", "fix": "f"}
    drafts = [alerts.Draft(body | {"subject": str(number)}) for number in range(990)]
    told.fleet.store.append(alerts.STREAM, drafts)
    for number in range(9):
        told.raised(f"late-{number}")
        told.settled()
    assert len(told.heard()) == 1

    clock.now += 5
    assert told.looked(2)

    told.settled()
    assert [one["more"] for one in told.heard()] == [0, 998]
    assert told.said == []


def test_a_command_that_fails_is_said_once_and_tried_at_the_next(tmp_path: Path) -> None:
    """A failure moves nothing: it is an alert of its own, never told, until one is taken."""
    told = Told(tmp_path, "echo x >> tries; echo no route >&2; test -e works && cat >> told")
    told.raised("a")
    told.settled()
    for _ in range(3):
        told.look()
    assert not told.busy
    assert (told.home.root / "tries").read_text() == "x\n"  # its own complaint is no reason to try
    told.raised("b")
    told.settled()

    assert told.said == ["on_alert: sh exited with 1: no route"]
    assert told.kinds() == ["loop", "on-alert", "loop"]
    told.home.put("works", "")
    told.raised("c")
    assert told.looked(1)

    (one,) = told.heard()
    assert (one["subject"], one["more"]) == ("c", 2)
    assert told.kinds() == ["loop"] * 3  # fleet itself closes what it sees is over
    told.restart()
    told.settled()
    assert len(told.heard()) == 1


def test_a_command_that_failed_is_tried_again_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that was gone for a while needs no further alert to be told of the last one."""
    monkeypatch.setattr(module, "AGAIN", 0.2)
    told = Told(tmp_path, "test -e works && cat >> told")
    told.raised("a")
    told.settled()
    assert told.heard() == []
    told.home.put("works", "")

    assert until(lambda: told.look() or told.heard())
    told.settled()
    assert [one["subject"] for one in told.heard()] == ["a"]
    assert told.kinds() == ["loop"]


def test_nothing_is_lost_when_the_runner_dies_before_it_is_told(tmp_path: Path) -> None:
    """What a command did not take before the runner died is told by the next one."""
    told = Told(tmp_path, "test -e works && cat >> told")
    told.raised("a")
    told.settled()
    told.home.put("works", "")

    told.restart()

    assert told.looked(1)
    assert told.heard()[0]["subject"] == "a"


def test_a_changed_command_is_tried_at_once(tmp_path: Path) -> None:
    """Mending `on_alert` needs no new alert."""
    told = Told(tmp_path, "exit 1")
    told.raised("a")
    told.settled()
    text = (told.home.root / "fleet.yaml").read_text().replace("exit 1", TAKE)
    told.home.put("fleet.yaml", text)

    told.fleet = told.fleet.reopened()

    assert told.looked(1)
    assert "on-alert" not in told.kinds()


def test_a_hanging_command_is_killed_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its limit the whole session is killed; meanwhile every look returns at once."""
    monkeypatch.setattr(module, "LIMIT", 0.5)
    told = Told(tmp_path, "trap '' TERM; sleep 60 & echo $! > child; wait")
    told.raised("a")
    slowest = 0.0

    def over() -> bool:
        nonlocal slowest
        begin = time.thread_time()
        told.look()
        slowest = max(slowest, time.thread_time() - begin)
        return not told.busy

    assert until(over)

    child = int((told.home.root / "child").read_text())
    assert told.said == ["on_alert: sh did not end within 0.5 s and was killed"]
    assert until(lambda: not Path(f"/proc/{child}").exists())
    assert slowest < 0.1


@pytest.mark.parametrize("argv", [["/nowhere/at-all"], ["no-such-command"]])
def test_a_command_that_is_not_there_is_said(tmp_path: Path, argv: list[str]) -> None:
    """A command that cannot be started counts as one that failed."""
    told = Told(tmp_path, TAKE)
    told.fleet.__dict__["config"] = told.fleet.config._replace(on_alert=tuple(argv))
    told.raised("a")

    told.settled()

    assert told.said == [f"on_alert: {argv[0]} could not be started: No such file or directory"]
    assert "on-alert" in told.kinds()


def test_it_gets_no_login_and_no_run(tmp_path: Path) -> None:
    """Its environment is an allow-list: no key, no other variable, its home, and a desktop."""
    told = Told(tmp_path, "env > env; cat >> told")
    own = {"ANTHROPIC_API_KEY": "sk-x", "FLEET_RUN_ID": "r", "SECRET": "s", "DISPLAY": ":0"}
    told.fleet = open_fleet(told.home.root, env={"PATH": os.environ["PATH"], **own})
    told.raised("a")
    assert told.looked(1)

    names = dict(line.split("=", 1) for line in (told.home.root / "env").read_text().splitlines())

    assert names["DISPLAY"] == ":0"
    assert names["FLEET_HOME"] == str(told.home.root)
    assert not {"ANTHROPIC_API_KEY", "FLEET_RUN_ID", "SECRET", "FLEET_RUN_TOKEN"} & set(names)


def test_a_restored_log_is_told_from_where_it_stands(tmp_path: Path) -> None:
    """When the log of alerts was put back, what is raised then is told, and nothing is skipped."""
    told = Told(tmp_path, TAKE)
    told.raised("a", "b", "c")
    assert told.looked(1)
    segments = told.home.root / "state" / "alerts"
    (segment,) = segments.glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().splitlines(keepends=True)[0])
    (told.home.root / "state" / "locks" / "log.alerts").unlink()
    told.restart()
    told.raised("d")

    assert told.looked(2)

    assert told.heard()[1]["subject"] == "d"


def test_a_runner_tells_and_takes_its_command_along(tmp_path: Path) -> None:
    """`fleet up` tells what is raised while it runs; a command that goes on ends with it."""
    script = "cat >> told; echo $$ > pid; exec sleep 60"
    home = Scripted(tmp_path / "home", extra=f"on_alert: {json.dumps(['sh', '-c', script])}\n")
    home.agent("alice", "true")
    with running(home) as up:
        raise_alert(home.fleet.store, kind="loop", subject="a", what="w", done="d", fix="f")
        pid = home.root / "pid"
        assert until(lambda: pid.exists() and pid.read_text().strip())
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(20) == 0

    assert not Path(f"/proc/{int(pid.read_text())}").exists()
    assert json.loads((home.root / "told").read_text())["subject"] == "a"
