"""An update of the real CLI under `fleet up`: told, probed, tried by one run, accepted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claude.cli import NEWER, OLDER, NoCliError, find_cli
from claude.real_fleet import RealFleet
from fleet import alerts
from fleet.ops import claude_cli
from fleet.runner.probes.messages_stub import MessagesStub, Play, say
from fleet.runs import Run
from fleets import running, until

pytestmark = [pytest.mark.claude, pytest.mark.prove]

Start = Callable[..., MessagesStub]


@pytest.fixture
def versions() -> list[Path]:
    """The programs of both versions, the older one first."""
    if "FLEET_TEST_CLAUDE" in os.environ:
        pytest.skip("FLEET_TEST_CLAUDE names one CLI, an update needs two")
    try:
        return [find_cli(OLDER), find_cli(NEWER)]
    except NoCliError as why:
        pytest.skip(str(why))


def test_an_update_reaches_everybody_by_way_of_one(
    tmp_path: Path, versions: list[Path], stub: Start
) -> None:
    """Each run says its version; the first of the newer one ends before the second begins."""
    program = tmp_path / "claude"
    program.symlink_to(versions[0])
    home = RealFleet(tmp_path / "home", program, stub(Play(lambda _: [say("Done.")])))
    names = ("one", "two", "three")
    for name in names:
        home.claude(name, schedule="{every: 1s}")

    def of(version: str) -> list[Run]:
        return [run for run in home.ended() if run.cli == version]

    with running(home) as up:
        assert until(lambda: {run.agent for run in of(OLDER)} == set(names), 60), up.said()
        (tmp_path / "new").symlink_to(versions[1])
        (tmp_path / "new").replace(program)
        assert until(lambda: {run.agent for run in of(NEWER)} == set(names), 90), up.said()
        assert up.stop() == 0

    assert {run.outcome for run in home.runs()} <= {"ok", "killed"}  # by the stop
    first, second = sorted(of(NEWER), key=lambda run: run.started)[:2]
    assert str(first.ended) < second.started
    assert [one.kind for one in alerts.raised(home.fleet.store, home.fleet.cache, 9)] == [
        "cli-changed"
    ]
    known = claude_cli.known(home.fleet.store)
    assert known is not None
    assert (known.version, known.accepted, known.probed) == (NEWER, NEWER, True)
