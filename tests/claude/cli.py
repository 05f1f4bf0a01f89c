"""Finds the real CLI, installing it once where that is possible; it is never shipped with fleet."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

OLDER = "2.1.197"
NEWER = "2.1.332"
PACKAGE = "@anthropic-ai/claude-code"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "claude"
MINUTES = 5 * 60  # seconds that an installation may take


class NoCliError(Exception):
    """The CLI cannot be had here; the message says why, in one line."""


def find_cli(version: str) -> Path:
    """The program of exactly that version, or of `FLEET_TEST_CLAUDE` for any.

    Installs it with npm into the repository's cache, once for all who ask at the same time.

    Raises:
        NoCliError: it is not there and cannot be installed.
    """
    if given := os.environ.get("FLEET_TEST_CLAUDE"):
        return Path(given)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _installed(version) or _install(version)


def _installed(version: str) -> Path | None:
    """The native program; the script beside it wants an install step that npm may refuse."""
    modules = CACHE / version / "node_modules" / "@anthropic-ai"
    found = sorted(modules.glob("claude-code-*/claude")) or sorted(modules.glob("*/bin/claude*"))
    return found[0] if found else None


def _install(version: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise NoCliError(f"claude {version}: there is no npm to install it with")
    goal = f"{PACKAGE}@{version}"
    argv = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(CACHE / version), goal]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=MINUTES, check=False)
    except subprocess.TimeoutExpired:
        raise NoCliError(f"claude {version}: npm took more than {MINUTES} s") from None
    found = _installed(version)
    if done.returncode or found is None:
        last = (done.stderr.strip().splitlines() or ["npm left no program"])[-1]
        raise NoCliError(f"claude {version}: {last}")
    return found
