"""What fleet tells people to type: every example works, every named command is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

import fleet
from calls import call, many
from fleet.cli.app import fleet_command
from fleet.cli.commands import COMMANDS, LATER, LATER_OPTIONS
from fleet.text import tokens
from grown import examples, grown, in_a_run

SOURCE = Path(fleet.__file__).parent
NAMED = re.compile(r"(?<![\w./-])fleet (?:--(?:as|home) [^\s,]+ )*([a-z][a-z-]*)")
PROSE = {
    "cannot", "command", "existed", "in", "is", "keeper", "knows", "makes", "may", "needs", "of",
    "reads", "started", "that", "with", "writes", "wrote",
}  # fmt: skip
READING = {
    "read", "channels", "inbox", "agents", "events", "schema", "find", "claims", "whoami",
}  # fmt: skip


def test_every_example_of_the_agents_works_in_a_home_from_init(tmp_path: Path) -> None:
    """Each example in an agent's help is done when a run of outreach copies it.

    Every write is answered by one line of at most 60 tokens.
    """
    root = grown(tmp_path)
    work, env = in_a_run(root)

    lines = examples(operators=False)
    for words, done in zip(lines, many(work, [call(*w) for w in lines], env), strict=True):
        assert done.code == 0, (words, done.err)
        if words[0] not in READING and "show" not in words:
            assert done.out.count("\n") == 1, words
            assert tokens(done.out) <= 60, words


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
