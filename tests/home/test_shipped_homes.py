"""The homes that ship: complete, telling the seed's story, and written out faithfully."""

import json
import os
import re
from itertools import combinations
from pathlib import Path

import pytest

from fleet import homes
from fleet.cli.commands import COMMANDS, OPERATOR_HEADINGS
from fleet.config import check
from fleet.config.changes import Changes
from fleet.errors import NotAllowed, Unknown, Usage
from fleet.schemas import Registry
from fleet.stores.ram import RamCache

AGENTS = {
    "outreach",
    "reply-handler",
    "onboarding",
    "retention",
    "win-back",
    "competitor-watch",
    "competitor-gap",
    "marketing-strategist",
    "content-engine",
    "growth-analyst",
    "campaign-manager",
    "reddit-scout",
    "trend-scout",
    "customer-listener",
    "orchestrator",
}
MEMBERS = {
    "strategy": "all",
    "outreach-review": "[outreach, reply-handler, onboarding, retention, win-back]",
    "competitive-intel": "[competitor-watch, competitor-gap, marketing-strategist, content-engine]",
    "content-collab": "[content-engine, growth-analyst, campaign-manager, marketing-strategist]",
    "agent-learning": "all",
}
REQUIRED = {
    "contact-made": ["email", "method"],
    "lead-converted": ["email", "plan"],
    "reply-received": ["email", "classification"],
    "competitive-insight": ["competitor", "summary", "source", "credibility"],
    "pricing-change": ["competitor", "oldPrice", "newPrice", "source"],
    "feature-launch": ["competitor", "feature", "summary"],
    "customer-intel": ["summary", "source", "platform"],
    "reddit-insight": ["summary", "source", "credibility", "score"],
    "github-trend": ["repoName", "stars", "summary"],
    "task-created": ["taskId", "assignedTo", "title"],
    "content-ready": ["draftId", "contentType", "title"],
    "campaign-created": ["campaignId", "targetSegment"],
}
MAPS = {
    "outreach": (
        "[reply-handler, onboarding, marketing-strategist]",
        "[contact-made, lead-converted, reply-received]",
        "[strategy, outreach-review]",
    ),
    "competitor-watch": (
        "[competitor-gap, marketing-strategist, content-engine]",
        "[competitive-insight, pricing-change, feature-launch]",
        "[strategy, competitive-intel]",
    ),
    "content-engine": (
        "[marketing-strategist, competitor-watch, growth-analyst]",
        "[customer-intel, reddit-insight, competitive-insight]",
        "[content-collab, competitive-intel, agent-learning]",
    ),
}
GROWTH = homes.template("growth")


def field(file: Path, name: str) -> str:
    """The text after `name: ` in a YAML file, a line as it was written."""
    found = re.search(rf"^{name}: (.*)$", file.read_text(), re.MULTILINE)
    assert found is not None, f"{file} has no {name}"
    return found.group(1)


def names(folder: str, suffix: str) -> set[str]:
    """The growth home's files in `folder`, without their ending."""
    return {file.name.removesuffix(suffix) for file in (GROWTH / folder).glob(f"*{suffix}")}


def test_the_growth_home_has_the_fifteen_agents() -> None:
    """There is a file and a prompt for each of the fifteen agents, and for nobody else."""
    assert names("agents", ".yaml") == AGENTS
    assert names("prompts", ".md.j2") - {"base"} == AGENTS


def test_the_five_channels_have_their_members() -> None:
    """Each channel admits whom the seed names."""
    assert names("channels", ".yaml") == set(MEMBERS)
    for channel, members in MEMBERS.items():
        assert field(GROWTH / "channels" / f"{channel}.yaml", "members") == members


def test_the_twelve_event_types_require_their_fields() -> None:
    """Each type requires exactly the seed's fields, describes itself and each property."""
    assert names("schemas", ".json") == set(REQUIRED)
    for name, required in REQUIRED.items():
        schema = json.loads((GROWTH / "schemas" / f"{name}.json").read_text())

        assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
        assert schema["title"] == name
        assert schema["description"]
        assert schema["required"] == required
        assert set(required) <= set(schema["properties"])
        assert all(p["description"] for p in schema["properties"].values())


def test_a_task_is_addressed_and_a_contact_is_claimed() -> None:
    """task-created goes to the agent in its field; contact-made guards the lead."""
    task = json.loads((GROWTH / "schemas" / "task-created.json").read_text())
    contact = json.loads((GROWTH / "schemas" / "contact-made.json").read_text())

    assert task["x-to"] == "{assignedTo}"
    assert contact["x-claim"] == "lead:{email}"


def test_drafts_and_campaigns_are_measured_apart() -> None:
    """A campaign that bears its draft's name is another subject; who makes them is told numbers."""
    subjects = {
        name: json.loads((GROWTH / "schemas" / f"{name}.json").read_text())["x-subject"]
        for name in ("content-ready", "campaign-created")
    }
    told = [
        file.stem
        for file in (GROWTH / "agents").glob("*.yaml")
        if "\nmetrics: true\n" in file.read_text()
    ]

    assert subjects == {
        "content-ready": "{draftId}",
        "campaign-created": "campaign:{campaignId}",
    }
    assert sorted(told) == ["campaign-manager", "content-engine", "growth-analyst"]


@pytest.mark.parametrize("agent", sorted(MAPS))
def test_the_maps_of_the_seed_are_kept(agent: str) -> None:
    """The three agents whose maps the seed shows have exactly these maps."""
    file = GROWTH / "agents" / f"{agent}.yaml"

    found = tuple(field(file, name) for name in ("collaborators", "interests", "channels"))

    assert found == MAPS[agent]


def test_every_event_type_has_a_reader() -> None:
    """No type is emitted into the void: somebody is interested in each, tasks by their address."""
    wanted = " ".join(
        field(file, "interests") for file in sorted((GROWTH / "agents").glob("*.yaml"))
    )

    assert [name for name in REQUIRED if name not in wanted] == []


def test_prompts_share_nothing_but_their_base() -> None:
    """No line of more than 40 characters stands in two agents' prompts."""
    lines = {
        file.name: {line.strip() for line in file.read_text().splitlines() if len(line) > 40}
        for file in (GROWTH / "prompts").glob("*.j2")
    }

    shared = {(a, b): lines[a] & lines[b] for a, b in combinations(sorted(lines), 2)}

    assert {pair: both for pair, both in shared.items() if both} == {}


def test_prompts_are_job_descriptions() -> None:
    """Each is 150 to 350 words, extends the base, and says how the run ends and when it is idle."""
    for agent in AGENTS:
        text = (GROWTH / "prompts" / f"{agent}.md.j2").read_text()

        assert text.startswith('{% extends "base.md.j2" %}\n{% block task %}\n'), agent
        assert 150 <= len(text.split()) <= 350, agent
        assert "fleet report '" in text, agent
        assert "fleet report --idle" in text, agent


def test_prompts_only_emit_what_the_schemas_accept() -> None:
    """Every `fleet emit TYPE …` that a prompt shows names a type and gives its required fields."""
    for name in ("growth", "minimal"):
        home = homes.template(name)
        for file in sorted((home / "prompts").glob("[!b]*.j2")):  # not the base
            for kind, rest in re.findall(r"fleet emit ([a-z-]+)([^`\n]*)", file.read_text()):
                schema = json.loads((home / "schemas" / f"{kind}.json").read_text())
                missing = [field for field in schema["required"] if f"{field}=" not in rest]
                assert missing == [], f"{file.name}: emit {kind}{rest}"


def test_prompts_only_name_commands_of_agents() -> None:
    """Every `fleet COMMAND` that a prompt shows exists, and is none of an operator's."""
    known = {name for name, e in COMMANDS.items() if e.heading not in OPERATOR_HEADINGS}
    for name in homes.NAMES:
        for file in sorted((homes.template(name) / "prompts").glob("[!b]*.j2")):
            shown = set(re.findall(r"(?:`|^ *)fleet ([a-z]+)", file.read_text(), re.MULTILINE))
            assert shown <= known, file.name


@pytest.mark.parametrize("name", homes.NAMES)
def test_the_shipped_homes_have_no_fault(name: str, tmp_path: Path) -> None:
    """A home that was just written passes every check of its files and of its event types."""
    homes.copy(name, tmp_path / "home")

    types = Registry(tmp_path / "home", RamCache())

    assert [str(finding) for finding in check(tmp_path / "home")] == []
    assert [str(finding) for finding in types.check_files()] == []


@pytest.mark.parametrize("name", homes.NAMES)
def test_a_copied_home_is_complete_and_paused(name: str, tmp_path: Path) -> None:
    """Every file of the template arrives as a real file; nothing runs until somebody resumes."""
    written = homes.copy(name, tmp_path / "new" / "home")

    target = tmp_path / "new" / "home"
    here = sorted(p.relative_to(target) for p in target.rglob("*") if not p.is_dir())
    assert written == here
    assert not [p for p in target.rglob("*") if p.is_symlink()]
    assert field(target / "fleet.yaml", "paused").split()[0] == "true"
    assert {"fleet.yaml", "agents", "channels", "schemas", "prompts", ".gitignore"} <= {
        p.name for p in target.iterdir()
    }


def test_the_state_of_a_template_that_ran_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of `state/` only the README arrives: a repository that is used as a home leaks no history."""
    used = tmp_path / "used"
    homes.copy("minimal", used)
    for name in ("state/README.md", "state/events/1.jsonl", "state/FORMAT"):
        (used / name).parent.mkdir(parents=True, exist_ok=True)
        (used / name).write_text("x")
    monkeypatch.setattr(homes, "template", lambda _name: used)

    homes.copy("growth", tmp_path / "new")

    left = [p for p in (tmp_path / "new" / "state").rglob("*") if not p.is_dir()]
    assert [p.name for p in left] == ["README.md"]


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    """A non-empty target is refused with its name, and nothing is written beside what is there."""
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(Usage, match=r"is not empty \(it holds notes\.txt\)"):
        homes.copy("growth", tmp_path)

    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_is_no_target(tmp_path: Path) -> None:
    """A target that is a file is refused and keeps its content."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(Usage, match="is no folder"):
        homes.copy("minimal", tmp_path / "file")

    assert (tmp_path / "file").read_text() == "mine"


def test_a_path_through_a_file_is_named(tmp_path: Path) -> None:
    """A target below a file is one clear error, no traceback."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(NotAllowed, match="cannot write"):
        homes.copy("minimal", tmp_path / "file" / "home")


def test_an_unknown_template_names_the_known_ones() -> None:
    """A wrong name is answered with the names there are."""
    with pytest.raises(Unknown, match="growth and minimal"):
        homes.template("grwoth")


def test_pausing_keeps_the_comment() -> None:
    """Setting `paused` changes that word and nothing else; without the line it is added."""
    text = "name: x\npaused: false                     # why\nconcurrency: 4\n"

    assert (
        homes.paused(text) == "name: x\npaused: true                      # why\nconcurrency: 4\n"
    )
    assert homes.paused("paused: true\n", yes=False) == "paused: false\n"
    assert homes.paused("name: x\n") == "name: x\npaused: true\n"


@pytest.mark.parametrize(("umask", "most"), [(0o000, 0o755), (0o027, 0o750)])
def test_nobody_else_may_write_a_new_home(tmp_path: Path, umask: int, most: int) -> None:
    """Under any umask the operator's files are his to write, and the state his alone."""
    before = os.umask(umask)
    try:
        homes.copy("minimal", tmp_path / "new" / "home")
        changes = Changes(tmp_path / "new" / "home")
        changes.keep("prompts/x.md.j2", b"x")
        changes.write()
    finally:
        os.umask(before)

    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "new").rglob("*")}
    state = tmp_path / "new" / "home" / "state"
    assert (modes.pop(state), modes.pop(state / "README.md")) == (0o700, 0o600)
    for path, mode in modes.items():
        assert mode == (most if path.is_dir() else most & 0o644), path
