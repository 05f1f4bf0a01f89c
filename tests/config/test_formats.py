"""The READMEs that describe the operator's files say what the program does."""

import re
from pathlib import Path

import pytest

from fleet.config import model
from fleet.config.build import check
from fleet.config.files import RETRIED, SECTIONS, AgentFile, ChannelFile, FleetFile, Part
from fleet.config.sources import MAX_FILE, RESERVED
from fleet.config.yamltext import MAX_DEPTH, MAX_NODES
from fleet.schedules import WORDS
from fleet.units import parse_duration

ROOT = Path(__file__).parents[2]
REQUIRED = "\u2013"  # what stands in place of a default
AGENTS, CHANNELS, FLEET = "agents/README.md", "channels/README.md", "docs/fleet-yaml.md"


def table(file: str) -> dict[str, list[str]]:
    """The cells of each row that begins with a field's name."""
    text = (ROOT / file).read_text()
    rows = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", text, re.MULTILINE)
    return {name: re.split(r" \| ", rest) for name, rest in rows}


@pytest.mark.parametrize(
    ("file", "shape"), [(AGENTS, AgentFile), (CHANNELS, ChannelFile), (FLEET, FleetFile)]
)
def test_every_field_has_its_row(file, shape: type[Part]) -> None:
    """The table names the fields of the program, no more and no fewer, and which are required."""
    names = {info.alias or name for name, info in shape.model_fields.items()}
    required = {name for name, info in shape.model_fields.items() if info.is_required()}
    rows = table(file)

    assert set(rows) == names
    assert {name for name, (_, default, *_) in rows.items() if default == REQUIRED} - {
        "command"  # required in one case only, which its row says
    } == required


@pytest.mark.parametrize(
    "name", ["timeout", "idle_timeout", "grace", "catch_up", "jitter", "start"]
)
def test_durations_of_agents_have_the_default_they_say(name) -> None:
    """A default in the table is the one of the program."""
    defaults = model.Agent._field_defaults

    assert parse_duration(table(AGENTS)[name][1].strip("`")) == defaults[name]


def test_lists_and_limits_are_those_of_the_program() -> None:
    """Names, words and bounds in the text are the program's own."""
    text = (ROOT / AGENTS).read_text()

    assert all(word in text for word in (*WORDS, *RETRIED, *SECTIONS, *RESERVED))
    assert f"{MAX_FILE >> 10} KiB" in text
    assert f"{MAX_DEPTH} levels" in text
    assert f"{MAX_NODES:,} values" in text
    assert f"`{model.Channel('', '', '', '').keep}`" in table(CHANNELS)["keep"]
    assert f"`{model.Channel('', '', '', '').max_pins}`" in table(CHANNELS)["max_pins"]


@pytest.mark.parametrize(
    ("file", "target"), [(AGENTS, "agents/outreach"), (CHANNELS, "channels/a")]
)
def test_the_example_is_valid(home, write, file, target) -> None:
    """The YAML in the text can be copied: the whole home stays valid with it."""
    (example,) = re.findall(
        r"^```yaml\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL
    )

    write(f"{target}.yaml", example.replace(", onboarding, retention, win-back", ""))

    assert check(home) == []
