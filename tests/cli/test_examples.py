"""What fleet tells people to type: every example works, every named command is there."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

import fleet
from calls import call, many
from fleet.cli.app import fleet_command
from fleet.cli.commands import COMMANDS, LATER, LATER_OPTIONS, is_operators
from fleet.cli.grammar import Command
from fleet.homes import copy
from fleet.identity import SYSTEM, issue_token
from fleet.records import Body, Draft
from fleet.runs import Verdict
from fleet.wiring import open_fleet
from reference import leaves

NOT_HERE = {
    "init",
    "demo",
    "up",
    "stop",
    "run",
    "doctor",
    "logs",
    "shadow",
    "replay",
    "diff",
    "restore",
}  # they start or need more
RUN = "019b2e00-0000-7000-8000-000000000001"
REMEMBERED = [
    *("lesson", "goal", "goal", "plan", "strength", "weakness", "research", "plan", "goal"),
    *("lesson", "lesson", "lesson", "lesson"),
]  # from L1 to L13
TASK = (
    '{"taskId": "17", "title": "x", "assignedTo": "outreach", "createdBy": "orchestrator",'
    ' "priority": "high", "description": "x"}'
)
SOURCE = Path(fleet.__file__).parent
NAMED = re.compile(r"(?<![\w./-])fleet (?:--(?:as|home) [^\s,]+ )*([a-z][a-z-]*)")
PROSE = {
    "cannot", "command", "existed", "in", "is", "keeper", "knows", "makes", "may", "needs", "of",
    "reads", "started", "that", "with", "writes",
}  # fmt: skip


def examples(*, operators: bool) -> list[list[str]]:
    """The words of each example of one half, without those of `NOT_HERE` and here-documents."""
    found: list[list[str]] = []
    for name, leaf in leaves().items():
        if is_operators(name) == operators and name.partition(" ")[0] not in NOT_HERE:
            assert isinstance(leaf, Command)
            found += [_words(line) for line in leaf.examples]
    return [words for words in found if words and "--" not in words and "--check" not in words]


def _words(line: str) -> list[str]:
    """What follows `fleet`; nothing for a here-document, whose other lines are lines too."""
    return shlex.split(line)[1:] if line.startswith("fleet ") and "<<" not in line else []


def grown(tmp_path: Path) -> Path:
    """A home from `init` with strategy#412, events#97 for outreach, two runs and its memory."""
    root = tmp_path / "grown"
    copy("growth", root)
    fleet = open_fleet(root, env={})
    store = fleet.store
    for number in range(2):
        run = f"019b2e00-000{number}-7000-8000-000000000009"
        fleet.runs.start(SYSTEM, "outreach", run, slot=f"hand:{run}")
        fleet.runs.finish("outreach", run, Verdict("ok"), ended="2026-11-30T10:00:00.000+00:00")
    post: Body = {"op": "post", "text": "x", "reply_to": None, "thread": None, "pin": False}
    store.append("channels/strategy", [Draft({**post, "from_agent": "a", "run": None})] * 412)
    event: Body = {"op": "event", "type": "reply-received", "payload": {}, "cause": None}
    event |= {"from_agent": "a", "to_agent": "outreach", "hops": 0, "run": None}
    store.append("events", [Draft(event)] * 97)
    said = {"finding": "x", "source": "y", "category": "success", "importance": "low", "run": run}
    memory = [Draft({"op": op, "text": f"{n}", **said}) for n, op in enumerate(REMEMBERED)]
    store.append("memory-log/outreach", memory)
    return root


def test_every_example_of_the_agents_works_in_a_home_from_init(tmp_path: Path) -> None:
    """Each example in an agent's help is done when a run of outreach copies it."""
    root = grown(tmp_path)
    work = root / "work" / "outreach"
    work.mkdir(parents=True)
    (work / "notes.md").write_text("notes")
    (work / "task.json").write_text(TASK)
    token = issue_token(open_fleet(root, env={}).store, RUN, "outreach", "", 600.0, 0)
    env = {"FLEET_HOME": str(root), "FLEET_RUN_ID": RUN, "FLEET_RUN_TOKEN": token}

    lines = examples(operators=False)
    for words, done in zip(lines, many(work, [call(*w) for w in lines], env), strict=True):
        assert done.code == 0, (words, done.err)


def test_every_example_of_the_operators_works_in_a_home_from_init(tmp_path: Path) -> None:
    """Each example in an operator's help that starts nothing is done in a home from `init`."""
    root = grown(tmp_path)

    lines = examples(operators=True)
    done = many(root, [call(*words) for words in lines], {"FLEET_HOME": str(root)})
    for words, one in zip(lines, done, strict=True):
        assert one.code == 0, (words, one.err)


def named() -> Iterator[tuple[str, str]]:
    """Each `fleet WORD` in a text of the program that somebody may read, with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            if isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else ""
            if isinstance(text, str):
                yield from ((str(path), word) for word in NAMED.findall(text))
    for path in sorted(SOURCE.rglob("*.j2")):
        yield from ((str(path), word) for word in NAMED.findall(path.read_text()))


def test_no_message_names_a_command_that_is_not_there() -> None:
    """Every `fleet WORD` in a message, hint or template names a command of this version."""
    wrong = [place for place in named() if place[1] not in COMMANDS and place[1] not in PROSE]

    assert wrong == []
    assert not PROSE & set(COMMANDS)


def test_what_is_for_later_is_not_there_yet() -> None:
    """A command or option that is said to be missing is missing."""
    assert not set(LATER) & set(COMMANDS)
    ctx = click.Context(fleet_command)
    for name, options in LATER_OPTIONS.items():
        command = fleet_command.get_command(ctx, name)
        assert command is not None
        assert not set(options) & {opt for param in command.params for opt in param.opts}
