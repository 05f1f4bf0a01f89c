"""The demo's home: the growth fleet with the stand-in in every role."""

import re
import sys
from pathlib import Path

import pytest

from fleet.config import check
from fleet.demo.prompt import AGENTS
from fleet.demo.stage import COLLECTOR, stage
from fleet.errors import Usage


def schedule_of(text: str) -> tuple[float, float]:
    """Seconds of `every` and `offset`."""
    found = re.search(r"^schedule: {every: ([\d.]+)s, offset: ([\d.]+)s}$", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1]), float(found[2])


def test_every_agent_is_played_by_the_stand_in(tmp_path: Path) -> None:
    """Fifteen agents and the collector launch the stand-in with this Python, none calls a model."""
    stage(tmp_path / "demo", fast=False)

    files = sorted((tmp_path / "demo" / "agents").glob("*.yaml"))
    assert [file.stem for file in files] == sorted([*AGENTS, COLLECTOR])
    for file in files:
        text = file.read_text()
        assert f'command: ["{sys.executable}", "-m", "fleet.demo.standin"]' in text
        assert not re.search(
            r"^(model|tools|allowed_tools|quiet|gate|budget|jitter):", text, re.MULTILINE
        )


def test_the_stage_has_no_fault(tmp_path: Path) -> None:
    """The demo's home passes every check of its files."""
    stage(tmp_path / "demo", fast=True)

    assert [str(finding) for finding in check(tmp_path / "demo")] == []


def test_the_maps_stay_as_they_are(tmp_path: Path) -> None:
    """Who sees what is the growth fleet's own: only when and by whom is another."""
    stage(tmp_path / "demo", fast=True)

    acted = (tmp_path / "demo" / "agents" / "outreach.yaml").read_text().splitlines()
    assert "collaborators: [reply-handler, onboarding, marketing-strategist]" in acted
    assert "interests: [contact-made, lead-converted, reply-received]" in acted
    assert "channels: [strategy, outreach-review]" in acted
    assert "wake_on: {types: [reply-received], addressed: true, cooldown: 1s}" in acted


def test_the_slots_are_staggered_and_fast_is_faster(tmp_path: Path) -> None:
    """No two agents share an instant, and `fast` shortens the time between two slots."""
    stage(tmp_path / "slow", fast=False)
    stage(tmp_path / "fast", fast=True)

    slow, fast = (
        [schedule_of(file.read_text()) for file in (tmp_path / name / "agents").glob("*.yaml")]
        for name in ("slow", "fast")
    )
    assert len({offset for _, offset in slow}) == len({offset for _, offset in fast}) == 16
    assert fast[0][0] < slow[0][0]


def test_the_stage_is_not_paused_and_written_once(tmp_path: Path) -> None:
    """The demo's home runs at once; a second demo does not write into the first one's folder."""
    stage(tmp_path / "demo", fast=True)

    assert re.search(
        r"^paused: false", (tmp_path / "demo" / "fleet.yaml").read_text(), re.MULTILINE
    )
    with pytest.raises(Usage):
        stage(tmp_path / "demo", fast=True)
