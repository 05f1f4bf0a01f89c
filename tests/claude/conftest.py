"""The real CLI and runs of it; all of it is skipped, by name, where the CLI cannot be had."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from claude.cli import NEWER, OLDER, NoCliError, find_cli
from fleet.runner.probes.messages_stub import MessagesStub, Play, Turn
from fleet.runner.probes.trial import Trial

FAKE_FLEET = """#!/bin/sh
# Writes down what it is called with, then acts as its first word says.
{ printf '%s' "$FLEET_AGENT"; printf ' %s' "$@"; echo; } >> "$FLEET_HOME/calls"
case "$1" in
  emit) cat >> "$FLEET_HOME/input" ;;
  env) env > "$FLEET_HOME/env" ;;
esac
echo "fleet did $1"
"""


@pytest.fixture(scope="session", params=[OLDER, pytest.param(NEWER, marks=pytest.mark.prove)])
def cli(request: pytest.FixtureRequest) -> Path:
    """The CLI's program: one version in every test run, the newer one in the long proofs."""
    try:
        return find_cli(request.param)
    except NoCliError as why:
        pytest.skip(str(why))


@pytest.fixture
def fleet_bin(tmp_path: Path) -> Path:
    """A folder with a `fleet` that records its calls in the home."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "fleet").write_text(FAKE_FLEET)
    (folder / "fleet").chmod(0o755)
    return folder


@pytest.fixture
def stub() -> Iterator[Callable[..., MessagesStub]]:
    """`stub(turn, …)` or `stub(Play(…), …)`: a listening stub."""
    started: list[MessagesStub] = []

    def start(*script: Turn | Play) -> MessagesStub:
        turns = [one for one in script if isinstance(one, Turn)]
        plays = [one for one in script if isinstance(one, Play)]
        started.append(MessagesStub([*plays, Play(turns)]).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder that is the home of this test's runs; its name is one that needs quoting."""
    root = tmp_path / "a home (of ours)"
    root.mkdir()
    return root


@pytest.fixture
def launch(cli: Path, home: Path, fleet_bin: Path) -> Iterator[Callable[..., Trial]]:
    """`launch(stub, timeout=20, …)` starts a run; keywords go to `Trial` and the agent."""
    started: list[Trial] = []

    def start(stub: MessagesStub, **said: Any) -> Trial:
        started.append(Trial(cli, stub, home, fleet_bin=fleet_bin, **said))
        return started[-1]

    yield start
    for run in started:
        run.end()
