"""The operator's files, checked and resolved; this package never writes one of them.

Importing it is light: what reads YAML is loaded only when a file has changed.
"""

from pathlib import Path

from fleet.config.compiled import load, open_config, vanished
from fleet.config.model import HomeConfig
from fleet.errors import Finding

__all__ = ["HomeConfig", "check", "load", "open_config", "vanished"]


def check(root: Path) -> list[Finding]:
    """Every fault of every file of the home at `root` (absolute), by file and line."""
    from fleet.config.build import check as check_files  # the slow path

    return check_files(root)
