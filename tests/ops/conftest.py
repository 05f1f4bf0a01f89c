"""What the tests of the operator's care share."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from fleets import Scripted

SHAPE = Path(__file__).parents[2] / "docs" / "json" / "finding.json"


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """A home without agents; each test adds its own."""
    return Scripted(tmp_path / "home")


@pytest.fixture
def shaped_findings() -> Callable[[str], list[dict[str, object]]]:
    """Parses JSON lines, each held to the documented shape of a finding."""

    def parse(stdout: str) -> list[dict[str, object]]:
        schema = json.loads(SHAPE.read_text())
        found = [json.loads(line) for line in stdout.splitlines()]
        for one in found:
            jsonschema.validate(one, schema)
        return found

    return parse
