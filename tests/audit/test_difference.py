"""Why two runs were not the same, by values; and both commands by the real program."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from calls import Done, call, many
from conftest import HOME
from fleet.audit.difference import MOST, Change, Difference, difference
from fleet.runs import Run
from histories import History

SHAPES = Path(__file__).parents[2] / "docs" / "json"


def between(history: History, before: Run, after: Run) -> Difference:
    """What differs between two runs of a history."""
    return difference(history.fleet, before, after)


def test_an_edited_field_is_named(history: History) -> None:
    """The changed field of the agent stands first with both values, the home's others after it."""
    before = history.run()
    history.edit("agents/outreach.yaml", "[reply-received, pricing-change]", "[pricing-change]")
    history.edit("agents/reply-handler.yaml", "{every: 1h}", "{every: 2h}")
    history.edit("fleet.yaml", "name: test", "name: other")

    found = between(history, before, history.run())

    names = [change.name for change in found.config]
    assert names[0] == "agents.outreach.interests"
    assert found.config[0][1:] == (["reply-received", "pricing-change"], ["pricing-change"])
    assert set(names[1:]) == {"name", "agents.reply-handler.schedule"}


def test_an_edited_template_is_shown(history: History) -> None:
    """A template that changed is named with the lines that changed, a new one with its text."""
    before = history.run()
    history.edit("prompts/outreach.md.j2", "Do the work", "{% include 'part.md' %} Do no work")
    (history.root / "prompts" / "part.md").write_text("a part\n")

    found = between(history, before, history.run())

    assert set(found.templates) == {"outreach.md.j2", "part.md"}
    assert any(
        line.startswith("+") and "Do no work" in line for line in found.templates["outreach.md.j2"]
    )
    assert "+a part" in found.templates["part.md"]
    assert found.config == []


def test_what_was_shown_and_what_it_cost(history: History) -> None:
    """References only one run saw, lanes, sections, health, claims and the outcome are told."""
    history.emit()
    history.post("hello")
    before = history.run(code=1, report="")
    history.claim("lead:7")

    found = between(history, before, after := history.run())

    assert Change("outcome", "crashed", "ok") in found.ends
    assert (found.only_before, found.only_after) == ([], [before.ref])
    last = between(history, after, history.run())
    assert set(last.only_before) == {"strategy#1", before.ref}
    assert {change.name: change[1:] for change in last.lanes}["channels/strategy"] == (0, 1)
    assert "events" in {change.name for change in last.sections}
    given = {change.name: change[1:] for change in found.given}
    assert given["claims"] == ([], ["lead:7"])
    assert {change.name: change[1:] for change in last.given}["health"] == ("degraded", "ok")


def test_two_agents_are_compared_field_by_field(history: History) -> None:
    """Runs of two agents: what their files say differently, without the rest of the home."""
    found = between(history, history.run("outreach"), history.run("reply-handler"))

    names = {change.name for change in found.config}
    assert {"agent.interests", "agent.schedule", "agent.prompt"} <= names
    assert all(name.startswith("agent.") for name in names)


def test_the_lists_are_bounded(history: History) -> None:
    """Of many references the first are listed and the others counted."""
    before = history.run()
    for _ in range(MOST + 5):
        history.emit()

    found = between(history, before, history.run())

    assert (len(found.only_after), found.left_out["only_after"]) == (MOST, 6)


def test_what_cannot_be_compared_is_said(history: History) -> None:
    """Without the blobs the ends and references are compared, and a note says what is missing."""
    before, after = history.run(code=1), history.run()
    history.store._documents.clear()

    found = between(history, before, after)

    assert found.ends
    assert found.config == []
    assert all("was not kept" in note for note in found.notes)


# By the real program ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Done]]]:
    """A home in which outreach ran twice, its interests changed between, and what was answered."""
    root = tmp_path_factory.mktemp("ran") / "home"
    for name, text in HOME.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        more = 'launch: command\ncommand: ["cat"]\n' if name.startswith("agents/") else ""
        (root / name).write_text(text + more)
    own = ("--home", str(root))
    calls = [call(*own, "post", "strategy", "hi \u202e there"), call(*own, "run", "outreach")]
    many(root, calls)
    agent = root / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text().replace("[reply-received, pricing-change]", "[]"))
    many(root, [call(*own, "run", "outreach")])
    first = min((root / "state" / "run").iterdir())
    kept = first.rename(tmp_path_factory.mktemp("kept") / "run")
    words = (
        ("replay", "outreach"), ("replay", "outreach~1"), ("replay", "outreach~1", "--json"),
        ("diff", "outreach~1", "outreach"), ("diff", "outreach~1", "last", "--json"),
        ("replay", "nobody"),
    )  # fmt: skip
    yield kept, many(root, [call(*own, *line) for line in words])
    shutil.rmtree(root)


def one(done: Done, shape: str) -> dict[str, Any]:
    """The one JSON line of an answer, held to its schema."""
    (line,) = done.out.splitlines()
    said: dict[str, Any] = json.loads(line)
    jsonschema.validate(said, json.loads((SHAPES / f"{shape}.json").read_text()))
    return said


def test_replay_prints_the_bytes(ran: tuple[Path, list[Done]]) -> None:
    """Exit 0, the files' bytes on standard output, a sentence on the other; JSON has them too."""
    kept, (_, again, as_json, *_) = ran
    told = [(kept / name).read_bytes().decode() for name in ("context.md", "prompt.md")]

    assert (again.code, again.out) == (0, "".join(told))
    assert again.err.startswith("fleet: these are the bytes that ")
    said = one(as_json, "replay")
    assert (said["equal"], list(said["files"].values())) == (True, told)


def test_diff_prints_what_changed(ran: tuple[Path, list[Done]]) -> None:
    """Lines for a person, an object for a program; a name that is not there is exit 4."""
    _, (*_, lines, as_json, unknown) = ran

    assert lines.code == 0
    changed = 'agents.outreach.interests: ["reply-received","pricing-change"] → []'
    assert changed in lines.out.replace('", "', '","')
    said = one(as_json, "difference")
    assert said["config"][0]["name"] == "agents.outreach.interests"
    assert unknown.code == 4
