"""What the tests of the operator's care share."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

SHAPE = Path(__file__).parents[2] / "docs" / "json" / "finding.json"


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
