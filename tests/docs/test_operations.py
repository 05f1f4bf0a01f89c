"""The page for operators: its commands work, and it leaves out no kind of alert and no word."""

import os
import re
import subprocess
import sys
from pathlib import Path

from docs.test_readme import ROOT, blocks
from fleet.runs.outcome import NOT_STARTED

PAGE = ROOT / "docs" / "operations.md"
STUBS = {
    "claude": 'test "$1" = --version && echo "2.1.332 (Claude Code)"',
    "systemctl": ":",
    "loginctl": ":",
    "journalctl": ":",
}
"""Programs that no test has: what they do is theirs."""
NEVER = {"config_invalid"}  # a runner that cannot read its home does not run


def test_an_operator_can_copy_every_block_of_the_page(tmp_path: Path) -> None:
    """The blocks run one after another in one shell, in a growth home, and leave a good login."""
    programs, home = tmp_path / "bin", tmp_path / "user"
    for folder in (programs, home):
        folder.mkdir()
    for name, does in STUBS.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin"
    script = "\n".join(["set -e", "fleet init growth", "cd growth", *blocks("docs/operations.md")])

    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(home), "PYTHONWARNINGS": "error"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (home / ".config" / "systemd" / "user" / "fleet-growth.service").exists()
    assert (home / ".config" / "fleet" / "env").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "growth-copy" / "fleet.yaml").exists()


def test_every_kind_of_alert_has_something_to_do() -> None:
    """The kinds here are those of the page on monitoring, which are those that are raised."""
    kinds = [_kinds(ROOT / "docs" / page) for page in ("operations.md", "monitoring.md")]

    assert kinds[0] == kinds[1] == sorted(set(kinds[0]))


def _kinds(page: Path) -> list[str]:
    """The kinds of the page's table of alerts, in its order."""
    text = page.read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| kind \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)


def test_every_reason_not_to_start_is_named() -> None:
    """Each word that a slot can be closed or deferred with stands in the page."""
    named = set(re.findall(r"`([a-z_]+)`", PAGE.read_text(encoding="utf-8")))

    assert set(NOT_STARTED) - NEVER <= named


def test_what_the_page_links_to_is_there() -> None:
    """No link leads nowhere, and the README leads here."""
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
    assert "(docs/operations.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert os.path.getsize(PAGE) < 20_000  # noqa: PTH202 - a page, not a book
