"""Makes docs/cli.md from the help of every command: `python tests/reference.py > docs/cli.md`."""

import sys
from textwrap import fill

import click

from fleet.cli.app import fleet_command
from fleet.cli.commands import COMMANDS, TOLERANT, is_operators
from fleet.cli.session import Session

HEAD = """# The command line

Made from `fleet --help` by `python tests/reference.py > docs/cli.md`; a test compares the two.

Exit codes: 0 done · 1 a bug · 2 usage · 3 rejected · 4 unknown name · 5 not allowed · 6 held by
another · 7 no home or an invalid one · 8 ended badly · 9 no runner · 75 not done, try again later.
A write that is done and whose answer cannot be printed is exit 1 and says so: do not repeat it.

BROKEN

Times that people read are in the home's time zone; JSON has RFC 3339 instants.

The home is `--home`, else `$FLEET_HOME` (empty counts as unset), else the nearest folder above.
"""

BROKEN = (
    "While the home's files are broken, what shows or stops something goes on with the last good"
    f" config and a warning ({', '.join(f'`{name}`' for name in sorted(TOLERANT))}); what writes as"
    " a person or starts something is exit 7. A run goes on with the last good config in"
    " everything. A home that lost its fleet.yaml is still found by its state."
)


def cli_reference() -> str:
    """The whole page."""
    head = HEAD.replace("BROKEN", fill(BROKEN, 98, break_on_hyphens=False))
    top = click.Context(
        fleet_command, info_name="fleet", obj=Session(None, None, {}), terminal_width=98
    )
    parts = [head, _block(fleet_command, top)]
    for half, title in ((False, "For agents"), (True, "For operators")):
        parts.append(f"## {title}\n")
        for name in COMMANDS:
            if is_operators(name) == half:
                command = fleet_command.get_command(top, name)
                assert command is not None
                parts += _pages(command, name, top)
    return "\n".join(parts)


def leaves() -> dict[str, click.Command]:
    """Every command and subcommand by the words that call it."""
    ctx = click.Context(fleet_command)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = fleet_command.get_command(ctx, name)
        assert command is not None
        found |= _below(name, command)
    return found


def _below(words: str, command: click.Command) -> dict[str, click.Command]:
    """The command itself, or what is below it when it is a group."""
    if not isinstance(command, click.Group):
        return {words: command}
    found: dict[str, click.Command] = {}
    for name, leaf in command.commands.items():
        found |= _below(f"{words} {name}", leaf)
    return found


def _pages(command: click.Command, name: str, parent: click.Context) -> list[str]:
    ctx = click.Context(command, info_name=name, parent=parent, terminal_width=98)
    pages = [f"### {ctx.command_path}\n", _block(command, ctx)]
    if isinstance(command, click.Group):
        for sub, leaf in command.commands.items():
            pages += _pages(leaf, sub, ctx)
    return pages


def _block(command: click.Command, ctx: click.Context) -> str:
    return f"```\n{command.get_help(ctx)}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(cli_reference())
