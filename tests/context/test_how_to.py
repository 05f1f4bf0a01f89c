"""Every command that an agent is taught works as it is written there."""

import re
import subprocess
from pathlib import Path

import pytest

from conftest import Fleet, Write
from fleet import identity
from fleet.cli.commands import COMMANDS, is_operators
from fleet.context.examples import of_home
from fleet.context.how_to import build
from fleet.homes import copy
from fleet.hook import is_fleet_only
from fleet.stores.files import FilesStore
from fleet.text import tokens
from fleet.wiring import open_fleet

TEXT = build("outreach", [], [], 700).text
FORMS = [
    "fleet claim lead:sarah@acme.com",
    "fleet release lead:sarah@acme.com",
    "fleet emit reply-received email=sarah@acme.com classification=interested",
    "fleet metric record draft-17 views 1200",
    "fleet reply competitive-intel#412 'Yes, drafting it'",
    "fleet react competitive-intel#412 agree",
    "fleet send operator 'The mail account is locked'",
    "fleet inbox --all",
    "fleet ask 'mail these 300?'",
    "fleet remind 3d 'ask mike'",
    "fleet lesson add 'Case studies triple replies' --importance high",
    "fleet find 'Cursor pricing'",
    "fleet show events#97",
    "fleet report 'mailed 4 leads, 1 bounced' --next 'ask mike on Friday'",
    "fleet report --idle 'no new leads'",
    "fleet schema list",
    "fleet --help",
]
TAUGHT = {form.split()[1] for form in FORMS} - {"metric", "schema", "--help"}
TEACHING = "{% block context %}{{ how_to }}{% endblock %}{% block task %}Work.{% endblock %}"
POST = TEXT[TEXT.index("fleet post") : TEXT.index("\nEOT") + 4]


@pytest.fixture
def in_a_run(home: Path, write: Write, fleet: Fleet) -> dict[str, str]:
    """The environment of a run of outreach, in a home with the channel of the example."""
    write("channels/competitive-intel.yaml", "name: Intel\npurpose: Findings\nmembers: all\n")
    store = FilesStore(home / "state")
    token = identity.issue_token(store, "run-1", "outreach", "", 600.0, 0)
    return {"FLEET_RUN_TOKEN": token, "FLEET_RUN_ID": "run-1"}


def shell(line: str, fleet: Fleet, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """`line` as bash splits it, its here-document on standard input."""
    command, _, rest = line.partition("\n")
    argv = re.sub(r" <<'EOT'$", "", command)
    words = subprocess.run(
        [
            "bash",
            "-c",
            f"for word in {argv.removeprefix('fleet ')}; do printf '%s\\0' \"$word\"; done",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")[:-1]
    return fleet(*words, stdin=rest.removesuffix("EOT"), env=env)


def test_every_form_stands_in_the_text() -> None:
    """The list of forms that the next test runs is complete: no other call is taught."""
    rest = TEXT.replace(POST, "")
    for form in FORMS:
        assert form in rest
        rest = rest.replace(form, "")

    assert set(re.findall("fleet ([a-z-]+)", rest)) == set()


def test_only_agents_commands_are_taught() -> None:
    """No command of the operators' half, and none that does not exist yet."""
    words = re.findall(r"fleet ([a-z]+) ", "\n".join([*FORMS, POST]))
    assert words
    assert not [word for word in TAUGHT if word not in COMMANDS or is_operators(word)]


def test_the_hook_allows_every_form() -> None:
    """What is taught passes the CLI's own question without a person."""
    assert [form for form in [*FORMS, POST] if not is_fleet_only(form)] == []


def test_the_growth_fleet_is_taught_what_each_needs(tmp_path: Path) -> None:
    """In 700 tokens each of its agents learns every command, and to measure where it is told."""
    root = tmp_path / "growth"
    copy("growth", root)
    fleet = open_fleet(root, env={})
    config, schemas = fleet.config, fleet.schemas

    for agent in config.agents.values():
        shown = of_home(config, agent, schemas)
        text = build(agent.id, agent.interests, list(config.types), 700, shown).text
        assert tokens(text) <= 700, agent.id
        assert ("fleet metric record" in text) == agent.metrics
        assert [word for word in TAUGHT if f"fleet {word} " not in text] == []
        assert f"Types: {agent.interests[0]}" in text, agent.id


def test_every_form_works_in_a_run(in_a_run: dict[str, str], fleet: Fleet) -> None:
    """Each line is run by a real shell and the real command line, and exits 0."""
    posted = shell(POST, fleet, in_a_run)
    assert (posted.returncode, posted.stderr) == (0, "")

    for form in FORMS:
        done = shell(form.replace("#412", "#1").replace("#97", "#1"), fleet, in_a_run)
        assert (done.returncode, done.stderr) == (0, ""), form


OTHERS = {
    "none at all": ([], []),
    "only a channel": (["desk"], []),
    "only a type": ([], ["{}"]),
    "words and numbers": (
        ["desk"],
        [
            """{"required": ["who", "mail", "n"], "properties": {"who": {"enum": ["a b"]},
            "mail": {"type": "string"}, "n": {"type": "integer", "minimum": 4}}}"""
        ],
    ),
    "a type that no example fits": (
        ["desk"],
        ['{"required": ["x"], "properties": {"x": {"type": "string", "pattern": "^[0-9]{9}$"}}}'],
    ),
    "one under a claim": (["desk"], ['{"required": ["draft"], "x-claim": "draft:{draft}"}']),
    "one for an agent only": (
        ["desk"],
        ['{"required": ["to"], "properties": {"to": {"type": "string"}}, "x-to": "{to}"}', "{}"],
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_the_examples_are_of_this_home(kind: str, write: Write, fleet: Fleet) -> None:
    """In any home an agent is taught its own channel and a type of the home, and both work."""
    channels, types = OTHERS[kind]
    write("fleet.yaml", "name: other\ntimezone: UTC\npaused: false\n")
    write(
        "agents/writer.yaml",
        f"description: Writes\nschedule: null\nprompt: w.md.j2\nchannels: {channels}\n",
    )
    root = write("prompts/w.md.j2", TEACHING).parents[1]
    write("channels/closed.yaml", "name: C\npurpose: Not its own\nmembers: []\n")
    for name in channels:
        write(f"channels/{name}.yaml", "name: D\npurpose: Desk\nmembers: all\n")
    for number, schema in enumerate(types):
        text = f'{{"description": "A fact", "type": "object", {schema[1:]}'.replace(", }", "}")
        write(f"schemas/fact-{number}.json", text)
    store = FilesStore(root / "state")
    token = identity.issue_token(store, "run-1", "writer", "", 600.0, 0)
    env = {"FLEET_HOME": str(root), "FLEET_RUN_TOKEN": token, "FLEET_RUN_ID": "run-1"}

    taught = fleet("context", "writer", env={"FLEET_HOME": str(root)}).stdout

    assert "competitive-intel" not in taught
    assert "reply-received" not in taught
    assert ("fleet post" in taught, "is an event" in taught) == (bool(channels), bool(types))
    calls = re.findall(r"^fleet post .*\n.*\nEOT", taught, re.MULTILINE)
    calls += re.findall(r"fleet (?:emit|schema show) [^\n]*?(?= says|$)", taught, re.MULTILINE)
    calls += [call.replace("#412", "#1") for call in re.findall(r"fleet react \S+ agree", taught)]
    assert len(calls) == 2 * len(channels) + bool(types)
    for call in calls:
        done = shell(call, fleet, env)
        assert (done.returncode, done.stderr) == (0, ""), call


def test_a_type_that_the_agent_is_there_to_emit_comes_first(home: Path, write: Write) -> None:
    """What it is expected to emit is the example, else what it does not wait for itself."""
    (home / "schemas" / "reply-received.json").unlink()
    agent = "description: x\nschedule: null\nprompt: outreach.md.j2\ninterests: [contact-made]\n"
    write("agents/outreach.yaml", agent)
    write("agents/reply-handler.yaml", agent + "expects: {any_of: [{event: contact-made}]}\n")
    fleet = open_fleet(home, env={})

    taught = {
        name: of_home(fleet.config, fleet.config.agents[name], fleet.schemas).emit.split()[2]
        for name in ("outreach", "reply-handler")
    }

    assert taught == {"outreach": "pricing-change", "reply-handler": "contact-made"}
