"""A home from the command line: init, check, doctor, demo, version."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import command
from fleet.cli.output import flush, say, say_done, say_error, say_json
from fleet.cli.session import Session, pass_session
from fleet.errors import BadHome, EndedBadly, Usage
from fleet.places import find_home
from fleet.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.errors import Finding

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
JSON_VERSION = 1  # of what --json prints: grows when a key changes its meaning, never for a new key


@command("init", examples=["fleet init growth", "fleet init mine --minimal"])
@click.argument("folder", metavar="DIR")
@click.option("--minimal", is_flag=True, help="Two agents instead of the growth fleet.")
def init_command(folder: str, *, minimal: bool) -> None:
    """Write a home into DIR, paused, and say what to do next."""
    from fleet.cli.hints import line
    from fleet.homes import copy

    if folder == "" or folder.startswith("-"):
        raise Usage(f"'{folder}' cannot be a home", "name a folder, like fleet init growth")
    root = Path(folder)
    around = _home_around(root)
    written = copy("minimal" if minimal else "growth", root)
    if around:
        say_error(f"note: {root} lies inside another home, {around}: from here on it is its own")
    say_done(f"wrote {len(written)} files to {root}, paused: nothing runs before you say so. Next:")
    for word in ("check", "next", "up"):
        say(f"  {line('--home', str(root), word)}")


def _home_around(root: Path) -> Path | None:
    """The home that the folder `root`, which need not be there, lies in; None when in none."""
    try:
        return find_home(None, {}, root.resolve().parent)
    except BadHome:
        return None


@command("check", examples=["fleet check", "fleet check --json"])
@AS_JSON
@pass_session
def check_command(session: Session, *, as_json: bool) -> None:
    """Every fault of the operator's files at once, and what the maps forgot."""
    from fleet.ops.check import check

    findings = check(session.root)
    say_findings(findings, as_json=as_json, well="the home is valid")
    if faults := _errors(findings):
        raise BadHome(
            f"{counted(faults, 'error')} in {session.root}", "mend them, then check again"
        )


@command("doctor", examples=["fleet doctor", "fleet doctor --claude"])
@click.option("--claude", "probes", is_flag=True, help="Probe the CLI, against a stub; seconds.")
@AS_JSON
@pass_session
def doctor_command(session: Session, *, probes: bool, as_json: bool) -> None:
    """Is this machine fit for a fleet: locks, disk, clock, zones, the CLI, the state's files."""
    from fleet.ops.doctor import doctor

    findings = doctor(session.fleet)
    if probes:
        from fleet.runner.probes import probe

        findings = [*findings, *probe(session.fleet.config, session.env)]
    say_findings(findings, as_json=as_json, well="this machine is fit")
    if faults := _errors(findings):
        raise EndedBadly(counted(faults, "error"), "mend them, then ask the doctor again")


@command("demo", examples=["fleet demo --fast"])
@click.option("--fast", is_flag=True, help="As fast as the machine can.")
def demo_command(*, fast: bool) -> None:
    """The growth fleet in a temporary home, agents played by a labelled stand-in, sped up."""
    from fleet.demo.show import demo

    def echo(line: str) -> None:
        say(line)
        flush()

    raise click.exceptions.Exit(demo(fast=fast, echo=echo))


@command("version", examples=["fleet version --json"])
@AS_JSON
def version_command(*, as_json: bool) -> None:
    """Versions of the program, of the state on disk, and of what --json prints."""
    from fleet.stores.files import FORMAT

    cli = version("fleet-agents")
    if as_json:
        say_json({"cli": cli, "state": FORMAT, "json": JSON_VERSION})
    else:
        say(f"fleet {cli}, state format {FORMAT}, JSON {JSON_VERSION}")


def say_findings(findings: "Sequence[Finding]", *, as_json: bool, well: str) -> None:
    """Print findings, errors last (where a terminal shows them), or that all is `well`."""
    if as_json:
        for found in findings:
            say_json(
                {
                    "severity": found.severity,
                    "file": found.file,
                    "line": found.line,
                    "what": found.what,
                    "fix": found.fix,
                }
            )
        return
    for severity in ("note", "warning", "error"):
        for found in findings:
            if found.severity == severity:
                say(f"{severity}: {found}")
    if not _errors(findings):
        say(well)


def _errors(findings: "Sequence[Finding]") -> int:
    return sum(found.severity == "error" for found in findings)
