"""What the tests of the command line share: a run's environment, and JSON held to its schema."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from fleet.identity import issue_token
from fleet.wiring import open_fleet

DOCS = Path(__file__).parents[2] / "docs"
RunEnv = Callable[[str], dict[str, str]]
Shaped = Callable[[str, str], list[dict[str, object]]]


@pytest.fixture
def run_env(home: Path) -> RunEnv:
    """`run_env("outreach")` is the environment of a new run of that agent, with its own token."""
    count = 0

    def make(agent: str) -> dict[str, str]:
        nonlocal count
        count += 1
        run = f"019b2e00-0000-7000-8000-{count:012d}"
        token = issue_token(open_fleet(home, env={}).store, run, agent, "", 600.0, 0)
        (home / "state" / "run" / run).mkdir(parents=True)
        return {
            "FLEET_HOME": str(home),
            "FLEET_AGENT": agent,
            "FLEET_RUN_ID": run,
            "FLEET_RUN_TOKEN": token,
        }

    return make


@pytest.fixture
def shaped() -> Shaped:
    """`shaped("event", stdout)` parses JSON lines and holds each to `docs/json/event.json`."""

    def parse(shape: str, stdout: str) -> list[dict[str, object]]:
        schema = json.loads((DOCS / "json" / f"{shape}.json").read_text())
        found = [json.loads(line) for line in stdout.splitlines()]
        for one in found:
            jsonschema.validate(one, schema)
        return found

    return parse
