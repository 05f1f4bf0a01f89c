"""Files that are broken, half written, gone or edited while `fleet up` runs."""

import json
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from fleet.alerts import Alert, open_ones
from fleet.runner import loop, reload
from fleet.wiring import Fleet
from fleets import Scripted

DONE = "cat > /dev/null; echo done"
Step = Callable[[], object]
Script = Generator[Step, list[str], None]

AGENT, HOME = "agents/first.yaml", "fleet.yaml"


def times(count: int) -> Step:
    """A step that has come true when it was asked so often."""
    left = iter(range(count, -1, -1))
    return lambda: next(left) == 0


def driven(home: Scripted, steps: Script, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A real runner, here; before each pass it is asked whether the next step has come true.

    It looks at files and runs more often, so that the test waits less; returns what it said.
    """
    monkeypatch.setattr(reload, "EVERY", 0.05)
    monkeypatch.setattr(loop, "QUIET_WAIT", 0.02)
    monkeypatch.setattr(loop, "BUSY_WAIT", 0.02)
    said: list[str] = []
    waiting = next(steps)
    passes = 0

    def over() -> bool:
        nonlocal waiting, passes
        passes += 1
        if passes > 600:
            pytest.fail(f"it waits in vain at line {steps.gi_frame.f_lineno}: {said}")
        while waiting():
            passes = 0
            try:
                waiting = steps.send(said)
            except StopIteration:
                return True
        return False

    loop.up(home.root, env=home.environ(), echo=said.append, until=over)
    return said


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_instead(path: Path) -> None:
    target = path.with_suffix(".elsewhere")
    path.rename(target)
    path.symlink_to(target)


KINDS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": _cut,
    "only blanks": lambda path: path.write_bytes(b"\n# nothing\n"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "gone": Path.unlink,
    "a folder": _folder_instead,
    "a link": _link_instead,
    "unreadable": lambda path: path.chmod(0),
}
"""What becomes of a file; nothing is unreadable to root."""


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """Two agents, one of which is due all the time."""
    home = Scripted(tmp_path / "home")
    home.agent("first", DONE, schedule="{every: 1h}")
    home.agent("second", DONE, schedule="{every: 1s}")
    return home


def test_whatever_becomes_of_a_file_the_last_good_config_goes_on(
    home: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H6: each kind is told once, by one line and one alert, and no agent is dropped.

    `status` says so until the file is mended; then it is picked up, and the alert is closed.
    """
    shutil.copytree(home.root, tmp_path / "good")
    (tmp_path / "unreadable").touch(mode=0)
    vain = {"unreadable"} if os.access(tmp_path / "unreadable", os.R_OK) else set()
    kinds = [(file, kind) for file in (HOME, AGENT) for kind in KINDS if kind not in vain]

    def edits() -> Script:
        said: list[str] = yield lambda: True
        for file, kind in kinds:
            path, before = home.root / file, len(said)
            KINDS[kind](path)
            yield lambda before=before: _errors(said[before:])  # type: ignore[misc]
            yield times(10)  # it is not said at every look
            (told,) = _errors(said[before:])
            assert file in told, (file, kind)
            assert [(one.count, file in one.what) for one in _told(home)] == [(1, True)]
            status = home.call("status", "--json")
            state = json.loads(status.stdout)
            assert {one["id"] for one in state["agents"]} == {"first", "second"}, (file, kind)
            assert all(one["next_due"] for one in state["agents"]), (file, kind)
            assert (state["health"], "last good" in status.stderr) == ("degraded", True)
            _restore(path, tmp_path / "good" / file)
            yield lambda before=before: "no errors any more" in "".join(said[before:])  # type: ignore[misc]
            assert not _told(home)
        began = len(home.runs("second"))
        home.agent("first", DONE, schedule="{every: 2h}")
        yield lambda: _in_force(said)
        yield lambda: len(home.runs("second")) > began

    said = driven(home, edits(), monkeypatch)

    assert len(_in_force(said)) == 1
    assert {run.outcome for run in home.runs()} == {"ok"}


@pytest.mark.parametrize("file", [HOME, AGENT])
def test_what_is_valid_for_a_moment_is_never_in_force(
    home: Scripted, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H6: a file cut at the end of a line, whose rest an editor writes a moment later."""
    home.put(HOME, (home.root / HOME).read_text() + "budget: {per_day: 25}\n")
    home.agent("first", DONE, "max_runs_per_day: 1", schedule="{every: 1h}")
    path = home.root / file
    whole = path.read_text()

    def edits() -> Script:
        said: list[str] = yield lambda: True
        looked = reload.Reload.look
        looks = []

        def look(*given: Any) -> Fleet | None:
            looks.append(looked(*given))
            return looks[-1]

        monkeypatch.setattr(reload.Reload, "look", look)
        monkeypatch.setattr(reload, "EVERY", 0.0)
        path.write_text("".join(whole.splitlines(keepends=True)[:-1]))
        yield times(1)
        path.write_text(whole)
        yield times(20)
        assert not any(looks)
        path.write_text(whole + "# an edit\n")
        yield lambda: _in_force(said)

    said = driven(home, edits(), monkeypatch)

    assert len(_in_force(said)) == 1
    assert not _errors(said)


def test_agents_come_change_and_go_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H6: an agent that is taken away while its slot waits has a reason on record, and no run.

    One whose file is edited, or taken away, while it runs ends as it would have; a new one starts.
    """
    home = Scripted(tmp_path / "home", concurrency=1)
    waits = "cat > /dev/null; while [ ! -e ../go ]; do sleep 0.05; done; echo done"
    home.agent("first", waits, schedule="{every: 1s}")
    home.agent("second", DONE)
    home.agent("third", DONE)

    def edits() -> Script:
        said: list[str] = yield lambda: True
        yield lambda: home.runs("first")
        home.agent("second", DONE, schedule="{every: 1s}")
        yield lambda: _in_force(said)
        yield lambda: _open(home, "second")
        assert home.call("agent", "retire", "second").returncode == 0
        yield lambda: not _open(home, "second")
        home.agent("first", DONE, schedule="{every: 3h}")
        yield lambda: len(_in_force(said)) > 2
        (home.root / AGENT).unlink()
        assert home.call("check").returncode == 0  # that is how one says that it was meant
        home.agent("fourth", DONE, schedule="{every: 1s}")
        yield lambda: "2 agents" in _in_force(said)[-1]
        (home.root / "work" / "go").touch()
        yield lambda: home.ended("fourth")

    driven(home, edits(), monkeypatch)

    fires = [record.body for record in home.fires()]
    of_second = {(one["result"], one["detail"]) for one in fires if one["agent"] == "second"}
    assert of_second >= {("not_here", "no agent has this name")}
    assert not home.runs("second")
    assert [(run.outcome, run.agent) for run in home.runs("first")] == [("ok", "first")]


def _errors(said: list[str]) -> list[str]:
    return [line for line in said if "has errors" in line]


def _in_force(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("config ")]


def _open(home: Scripted, agent: str) -> object:
    return (home.fleet.store.get(f"schedule/{agent}")[0] or {}).get("open")


def _told(home: Scripted) -> list[Alert]:
    fleet = home.fleet
    return [one for one in open_ones(fleet.store, fleet.cache) if one.kind == reload.KIND]


def _restore(path: Path, good: Path) -> None:
    """Put the file back, as a whole, with a time of change of its own."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    new = path.with_name(".new")
    shutil.copyfile(good, new)
    new.replace(path)
    path.with_suffix(".elsewhere").unlink(missing_ok=True)
