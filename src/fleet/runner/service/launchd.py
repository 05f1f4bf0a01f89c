"""A launchd agent of macOS, as text; nothing is written or asked here. See launchd.plist(5)."""

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from fleet.runner.service.shape import Service

PAUSE = 30  # seconds at least between two starts; a home with errors is tried so often


def folder(service: Service, env: Mapping[str, str]) -> Path:  # noqa: ARG001 - no choice here
    """Where the user's own agents lie."""
    return service.user / "Library" / "LaunchAgents"


def file_name(service: Service) -> str:
    """`fleet.growth.plist`."""
    return f"fleet.{service.name}.plist"


def text(service: Service) -> str:
    """The whole property list."""
    log = str(_log(service))
    said = {
        "Label": f"fleet.{service.name}",
        "ProgramArguments": [service.program, "--home", service.home, "up"],
        "EnvironmentVariables": {"PATH": service.path},
        "RunAtLoad": True,
        # Started again after a crash, not after a stop. launchd knows no exit codes that end it.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": PAUSE,
        # A crash leaves the keepers alive; a stop asks the runner, which ends them first.
        "AbandonProcessGroup": True,
        "ExitTimeOut": round(service.stop_within),
        "ProcessType": "Standard",  # `Background` would slow the agents down
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(said, sort_keys=False).decode()


def commands(path: Path) -> tuple[tuple[str, ...], ...]:
    """Load and start it, now and at every login."""
    return (("launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)),)


def hint(service: Service) -> str:
    """What to know beside the commands."""
    return f"tail -f '{_log(service)}'   # what the runner says"


def _log(service: Service) -> Path:
    return service.user / "Library" / "Logs" / f"fleet-{service.name}.log"


def home_of(text: str) -> str | None:
    """The home of a list that `text` wrote; None of any other file."""
    try:
        said = plistlib.loads(text.encode())
        program, flag, home, word = said["ProgramArguments"]
    except (ValueError, KeyError, TypeError, plistlib.InvalidFileException):
        return None
    ours = (flag, word) == ("--home", "up") and str(program).endswith("/fleet")
    return str(home) if ours else None
