"""Help: both halves, an example for every command, and the reference in docs/."""

import re
from pathlib import Path

import click
import pytest

from conftest import Fleet
from fleet.cli.commands import ALIASES, COMMANDS, is_operators
from fleet.cli.grammar import Command
from reference import cli_reference, leaves

REFERENCE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_help_shows_both_halves_to_a_person(fleet: Fleet) -> None:
    """Outside a run `fleet --help` lists every command under its heading."""
    shown = fleet("--help").stdout

    for name, entry in COMMANDS.items():
        assert re.search(rf"^  (\S+, )?{name},? ", shown, re.MULTILINE), name
        assert entry.line in shown
    assert shown.index("(operators)") > shown.index("report")


@pytest.mark.parametrize("words", leaves())
def test_every_help_has_examples_that_parse(words: str) -> None:
    """Each command's help has a text, and every example in it is a line that click accepts."""
    command = leaves()[words]
    ctx = click.Context(command, info_name=words)

    assert isinstance(command, Command)
    assert command.help
    assert command.examples
    assert all(line in command.get_help(ctx) for line in command.examples)


@pytest.mark.parametrize("words", leaves())
def test_every_option_says_what_it_does(words: str) -> None:
    """No shown option is without help or unit."""
    for param in leaves()[words].params:
        if isinstance(param, click.Option) and not param.hidden:
            assert param.help, param.name


def test_every_alias_leads_to_a_command() -> None:
    """Hidden words name commands that exist and hide none."""
    assert set(ALIASES.values()) <= set(COMMANDS)
    assert not set(ALIASES) & set(COMMANDS)


def test_the_reference_is_what_help_says() -> None:
    """docs/cli.md is made from the help: `python tests/reference.py > docs/cli.md`."""
    assert REFERENCE.read_text() == cli_reference()


def test_agents_and_operators_do_not_share_a_heading() -> None:
    """A heading belongs to one half, so that a run's help leaves nothing out by accident."""
    halves: dict[str, set[bool]] = {}
    for name, entry in COMMANDS.items():
        halves.setdefault(entry.heading, set()).add(is_operators(name))

    assert all(len(half) == 1 for half in halves.values())
