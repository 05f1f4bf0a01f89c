"""`heartbeat`: a beat says that passes go through, that this runner leads, and that it can tell."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.alerts import open_ones, raise_alert
from fleet.runner import errand, lead
from fleet.runner import heartbeat as module
from fleet.runner.heartbeat import Heartbeat
from fleet.runner.pace import Pace
from fleets import Scripted, until

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class Beating:
    """A home with a heartbeat that this process leads, and its chore under a clock of its own."""

    def __init__(self, root: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
        said = json.dumps(["sh", "-c", script])
        self.home = Scripted(root / "home", extra=f"heartbeat: {{every: 5m, run: {said}}}\n")
        self.home.agent("alice", "true")
        self.fleet = self.home.fleet
        lead.announce(self.fleet.store)
        self.said: list[str] = []
        self.pace = Pace()
        self.chore = Heartbeat(self.said.append, self.pace)
        self.time = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.time)
        for one in (module, errand):
            monkeypatch.setattr(one, "time", clock)

    def passes(self, seconds: float = 0.0) -> None:
        """Time goes by; then passes until no beat goes on."""
        self.time += seconds

        def idle() -> bool:
            self.chore.look(self.fleet, NOW)
            return self.chore._beat is None

        assert until(idle)

    def beats(self) -> int:
        """How many there were."""
        path = self.home.root / "beats"
        return len(path.read_text().splitlines()) if path.exists() else 0


def test_it_beats_as_often_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass beats, then one each `every`, however many passes there are."""
    beating = Beating(tmp_path, "echo x >> beats", monkeypatch)

    for seconds, beats in ((0, 1), (0, 1), (299, 1), (1, 2), (3600, 3), (0, 3)):
        beating.passes(seconds)
        assert beating.beats() == beats
    assert beating.said == []


def test_no_beat_while_passes_fail_or_another_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that could not be finished does not beat, nor does a runner that leads no more."""
    beating = Beating(tmp_path, "echo x >> beats", monkeypatch)
    beating.pace.well = False
    beating.passes()
    assert beating.beats() == 0
    beating.pace.well = True
    lead.retire(beating.fleet.store)
    beating.passes()
    assert beating.beats() == 0

    lead.announce(beating.fleet.store)
    beating.passes()

    assert beating.beats() == 1


def test_no_beat_while_nobody_can_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While `on_alert` fails the fleet would be silent about trouble: the switch must fire."""
    beating = Beating(tmp_path, "echo x >> beats", monkeypatch)
    raise_alert(beating.fleet.store, kind="on-alert", subject="fleet", what="w", done="d", fix="f")
    raise_alert(beating.fleet.store, kind="loop", subject="a", what="w", done="d", fix="f")
    beating.passes()
    assert beating.beats() == 1  # nobody asked to be told

    config = beating.fleet.config._replace(on_alert=("true",))
    beating.fleet.__dict__["config"] = config
    beating.passes(300)

    assert beating.beats() == 1


def test_a_beat_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that does not end is killed at 30 s, and no second one starts meanwhile."""
    beating = Beating(tmp_path, "echo x >> beats; exec sleep 99", monkeypatch)
    beating.chore.look(beating.fleet, NOW)
    beating.time += 29
    beating.chore.look(beating.fleet, NOW)
    assert beating.chore._beat is not None

    beating.passes(2)

    assert beating.said == ["heartbeat: sh did not end within 30 s and was killed"]


def test_beats_that_fail_are_said_once_and_told_at_the_third(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that is away for a moment is no alert; three failures in a row are one."""
    beating = Beating(tmp_path, "test -e works || { echo down >&2; exit 7; }", monkeypatch)
    fleet = beating.fleet

    for count in (0, 0, 1, 1):
        beating.passes(300)
        assert len(open_ones(fleet.store, fleet.cache)) == count
    assert beating.said == ["heartbeat: sh exited with 7: down"]
    beating.home.put("works", "")
    beating.passes(300)
    (beating.home.root / "works").unlink()
    beating.passes(300)

    assert len(beating.said) == 2
    assert [one.count for one in open_ones(fleet.store, fleet.cache)] == [1]
