"""Waking and quiet hours as a person sees them: a real `fleet up`, real runs, real commands."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleets import Scripted, running, until
from wallclock import WallClock

BELL_ONLY = """
from fleet.runner import loop
loop.QUIET_WAIT = loop.BUSY_WAIT = 60.0
from fleet.__main__ import main
main()
"""
DUSK = datetime(2027, 3, 1, 21, 58, tzinfo=UTC)


def test_an_event_of_another_process_wakes_at_once(scripted: Scripted) -> None:
    """The runner hears of it and does not wait for its next look, which here is a minute off."""
    scripted.agent("worker", "cat > /dev/null; echo done", "wake_on: {types: [note]}")
    assert scripted.call("emit", "note", "n=old").returncode == 0
    words = [sys.executable, "-c", BELL_ONLY, "--home", str(scripted.root), "up"]
    log = scripted.root.parent / "up.log"
    with log.open("wb") as file, subprocess.Popen(words, stdout=file, stderr=file) as up:
        try:
            assert until(lambda: b"up: " in log.read_bytes(), 20), log.read_text()
            assert until(lambda: _emitted_and_woken(scripted), 20), log.read_text()
        finally:
            up.terminate()
            assert up.wait(20) == 0, log.read_text()

    assert {run.outcome for run in scripted.runs()} <= {"ok", "killed"}
    assert [run.slot[:5] for run in scripted.runs()] == ["wake:"]


def _emitted_and_woken(home: Scripted) -> bool:
    """Emit until the thread that watches has begun; one event is enough for the wake."""
    home.call("emit", "note", "n=new")
    return until(home.runs, 1.0)


def test_slots_of_the_night_run_once_at_its_end(scripted: Scripted, tmp_path: Path) -> None:
    """Quiet hours: every slot has a record, `next` and `status` say until when, 06:00 runs once."""
    clock = WallClock(tmp_path / "clock")
    quiet = 'quiet: "22:00-06:00"'
    wakes = "wake_on: {types: [note]}"
    scripted.agent("night", "cat > /dev/null; echo done", quiet, wakes, schedule='"30 * * * *"')
    scripted.agent("owl", "cat > /dev/null; echo done", quiet, wakes)
    clock.set(DUSK)

    with running(scripted, env=clock.env) as up:
        scripted.call("emit", "note", "n=1")
        assert until(lambda: len(scripted.ended()) == 2, 10), up.said()
        clock.set(DUSK + timedelta(minutes=33))
        assert until(lambda: _results(scripted, "night")[-1:] == ["quiet_hours"], 10), up.said()
        coming = scripted.call("next", "--days", "0.2", env=clock.env).stdout
        scripted.call("emit", "note", "n=2")
        clock.set(DUSK + timedelta(hours=7, minutes=33))
        assert until(lambda: _results(scripted, "night").count("coalesced") >= 7, 10), up.said()
        assert until(lambda: _results(scripted, "owl")[-1:] == ["quiet_hours"], 10), up.said()
        status = json.loads(scripted.call("status", "--json", env=clock.env).stdout)
        said = scripted.call("status", env=clock.env).stdout
        assert len(scripted.runs()) == 2
        clock.set(DUSK + timedelta(hours=8, minutes=2, seconds=1))
        assert until(lambda: len(scripted.ended()) == 4, 10), up.said()
        up.stop()

    assert coming.count("quiet_hours until 06:00") == coming.count("night") > 2
    waits = {one["id"]: one["not_started"] for one in status["agents"]}
    assert {name: (one["result"], one["waits"]) for name, one in waits.items()} == {
        "night": ("quiet_hours", True), "owl": ("quiet_hours", True),
    }  # fmt: skip
    assert datetime.fromisoformat(waits["owl"]["until"]) == datetime(2027, 3, 2, 6, tzinfo=UTC)
    assert "waits: owl wake quiet_hours: until 06:00" in said
    runs = {run.agent: run for run in reversed(scripted.runs())}
    assert runs["night"].slot == "2027-03-02T05:30:00+00:00"
    assert len(scripted.runs()) == 4
    assert _results(scripted, "night").count("started") == 1


def _results(home: Scripted, agent: str) -> list[object]:
    """What is on record about the agent's scheduled slots."""
    fires = [fire.body for fire in home.fires() if fire.body["agent"] == agent]
    return [fire["result"] for fire in fires if agent == "owl" or str(fire["slot"])[0].isdigit()]
