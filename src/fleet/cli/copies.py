"""Copies of a home from the command line: backup, restore, and migrate, which makes one first."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.home import say_findings
from fleet.cli.output import bar, say, say_done, say_error
from fleet.cli.session import Session, pass_session
from fleet.errors import BadHome, EndedBadly, Usage
from fleet.units import counted, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.errors import Finding


@command("backup", examples=["fleet backup ../growth.zip", "fleet backup ../g.zip --without-work"])
@click.argument("file")
@click.option("--without-work", is_flag=True, help="Leave the agents' folders below work/ out.")
@pass_session
def backup_command(session: Session, *, file: str, without_work: bool) -> None:
    """Write the home to FILE, a zip: your files, the state, and work/. Agents may go on meanwhile.

    Caches and locks are left out, and what lies outside of the home, hidden folders like .git,
    and symbolic links. FILE is yours only (0600) and must not exist.
    """
    from fleet.ops.backup import backup

    fleet = session.fleet
    target = _file(file)
    with fleet.maintained(shared=True), bar("backup") as progress:
        made = backup(
            fleet.places,
            target,
            wall=fleet.store.now().wall,
            work=not without_work,
            least=fleet.config.limits.min_free,
            progress=progress,
        )
    for path, why in made.left_out:
        say_error(f"note: left out {path}: {why}")
    packed = format_size(target.stat().st_size)
    files = f"{counted(len(made.files), 'file')}, {format_size(made.size)}"
    say_done(f"backed up {files} to {file} ({packed})")


@command("restore", examples=["fleet restore growth.zip", "fleet restore growth.zip other"])
@click.argument("file")
@click.argument("folder", metavar="[DIR]", required=False)
def restore_command(*, file: str, folder: str | None) -> None:
    """Unpack the backup FILE into DIR, new or empty (default: its home's name, here); verify it.

    Nothing is written before all of FILE was checked, and nothing is left when it is damaged.
    """
    from fleet.cli.hints import line
    from fleet.ops.restore import restore

    source = _file(file)
    target = _file(folder) if folder else Path.cwd() / _name(source)
    with bar("restore") as progress:
        made = restore(source, target, progress)
    files = f"{counted(len(made.files), 'file')}, {format_size(made.size)}"
    say_done(f"restored {files} to {target}, as of {made.made} on {made.host}")
    findings = list(_verified(target))
    say_findings(findings, as_json=False, well="every record and document can be read")
    if Path(made.home) != target:
        word = line("--home", str(target), "up", "--take-over")
        say(f"it was {made.home}: when nothing runs there any more, {word}")
    if any(found.severity == "error" for found in findings):
        raise EndedBadly(f"{target} has errors", "it is what the home was when it was backed up")


@command("migrate", examples=["fleet migrate", "fleet migrate --backup ../before.zip"])
@click.option(
    "--backup", metavar="FILE", help="Where the backup goes (a new file beside the home)."
)
@pass_session
def migrate_command(session: Session, *, backup: str | None) -> None:
    """Change a state that an older fleet wrote to this one's format, after a backup; stop first.

    Broken off, it is begun again by the same word.
    """
    from fleet.ops.migrate import migrate
    from fleet.places import FORMAT, Places

    with bar("backup") as progress:
        changed = migrate(
            Places(session.root),
            _file(backup) if backup is not None else None,
            wall=time.time(),
            say=say,
            progress=progress,
        )
    if not changed:
        say_done(f"the state is current: {FORMAT}")


def _file(text: str) -> Path:
    if not text or text.startswith("-"):
        raise Usage(f"'{text}' is no name of a file", "say fleet backup FILE, fleet restore FILE")
    return Path(os.path.abspath(text))  # noqa: PTH100 - a link in it is what the person named


def _name(source: Path) -> str:
    from fleet.ops.packing import manifest_of, opened

    if not source.is_file():
        raise Usage(f"there is no file {source}", "name a file that fleet backup wrote")
    with opened(source) as archive:
        name = Path(manifest_of(archive).home).name
    if not name:
        raise Usage(
            "the backup does not say what its home was called", "say fleet restore FILE DIR"
        )
    return name


def _verified(root: Path) -> "Iterator[Finding]":
    """What `verify` says of the new home, after a line with its figures."""
    from fleet.errors import Finding
    from fleet.ops.restore import figures
    from fleet.ops.verify import verify
    from fleet.wiring import open_fleet

    fleet = open_fleet(root, env={})
    try:
        said = figures(fleet)
        say(f"{said['logs']} logs with {said['records']} records, {said['documents']} documents")
        yield from verify(fleet)
    except BadHome as fault:
        yield from fault.findings or [Finding("error", "", 0, fault.what, fault.fix)]
