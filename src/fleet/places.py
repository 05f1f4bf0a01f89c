"""Where everything of a home lies; this module finds and names paths and never makes one."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fleet.errors import BadHome, Rejected

HOME_FILE = "fleet.yaml"
FORMAT_FILE = "FORMAT"
FORMAT = "fleet-state 1"
"""What that file says: the format that this version writes and reads."""

OLDER, NEWER, NO_FORMAT = "older", "newer", "no format"

NEXT_DUE = "next-due"
"""In the cache, by the runner: JSON, agent -> [epoch seconds of its next due slot, "06:10"]."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)


def find_home(flag: str | None, env: Mapping[str, str], cwd: Path) -> Path:
    """The home, absolute, without symlinks: `--home`, else $FLEET_HOME, else the nearest parent.

    A home may have lost its fleet.yaml for a moment (a half-done edit): a folder whose state is
    there is one. An empty $FLEET_HOME counts as unset.

    Raises:
        BadHome: there is none. Nothing is ever created.
    """
    named = flag or env.get("FLEET_HOME")
    if named:
        root = (cwd / Path(named).expanduser()).resolve()
        if _is_home(root):
            return root
        by = "--home" if flag else "FLEET_HOME"
        raise BadHome(f"{by} names {root}, where there is no {HOME_FILE}", "fleet init makes one")
    start = cwd.resolve()
    for folder in (start, *start.parents):
        if _is_home(folder):
            return folder
    raise BadHome(
        f"no {HOME_FILE} in {start} or above it",
        "go to a home, say --home DIR, set FLEET_HOME, or make one with fleet init DIR",
    )


def safe_name(text: str) -> bool:
    """Whether `text` may be the id of an agent, channel, type or run, and so part of a path."""
    return _NAME.fullmatch(text) is not None


class Places(NamedTuple):
    """The paths of the home at `root`.

    Methods that take a name raise `Rejected` when it is not `safe_name`.
    """

    root: Path

    @property
    def fleet_file(self) -> Path:
        """The operator's fleet.yaml."""
        return self.root / HOME_FILE

    @property
    def agents(self) -> Path:
        """Folder of the agents' YAML files."""
        return self.root / "agents"

    @property
    def channels(self) -> Path:
        """Folder of the channels' YAML files."""
        return self.root / "channels"

    @property
    def schemas(self) -> Path:
        """Folder of the event types' JSON Schemas."""
        return self.root / "schemas"

    @property
    def prompts(self) -> Path:
        """Folder of the templates."""
        return self.root / "prompts"

    @property
    def state(self) -> Path:
        """Everything fleet writes but the agents' working folders."""
        return self.root / "state"

    @property
    def format_file(self) -> Path:
        """The file that says which format the state has."""
        return self.state / FORMAT_FILE

    @property
    def cache(self) -> Path:
        """Derived files; each may be deleted at any moment."""
        return self.state / "cache"

    @property
    def archive(self) -> Path:
        """What caps and trimming took out of sight."""
        return self.state / "archive"

    @property
    def export(self) -> Path:
        """What collectors of metrics read."""
        return self.state / "export" / "fleet.prom"

    @property
    def quarantine(self) -> Path:
        """Bytes that could not be read, with the reason."""
        return self.state / "quarantine"

    @property
    def locks(self) -> Path:
        """Lock files, never unlinked."""
        return self.state / "locks"

    @property
    def runs(self) -> Path:
        """Folder of the run folders."""
        return self.state / "run"

    def run_folder(self, run: str) -> Path:
        """The folder of one run's files."""
        return self.runs / _checked(run)

    def claude_folder(self, agent: str) -> Path:
        """The CLI's own configuration folder for `agent`."""
        return self.state / "claude" / _checked(agent)

    def work(self, agent: str) -> Path:
        """The default working folder of `agent`."""
        return self.root / "work" / _checked(agent)


def _checked(name: str) -> str:
    if not safe_name(name):
        raise Rejected(f"{name!r} cannot be a name", "use a-z, 0-9, _ and -, at most 64 characters")
    return name


def age_of(text: str) -> str:
    """What `text`, which FORMAT says instead of this version's, is: OLDER, NEWER or NO_FORMAT."""
    name, _, number = text.partition(" ")
    known, _, ours = FORMAT.partition(" ")
    if name != known or not (number.isascii() and number.isdigit()):
        return NO_FORMAT
    return NEWER if int(number) > int(ours) else OLDER


def damaged_format(state: Path, text: str) -> BadHome:
    """The refusal of a state whose file FORMAT says `text`, which is no format."""
    what = f"{state}/{FORMAT_FILE} " + (f"says {text[:40]!r}, no format" if text else "is empty")
    return BadHome(what, f"restore it from a backup, or write into it what stood there: {FORMAT}")


def _is_home(folder: Path) -> bool:
    return _is_file(folder / HOME_FILE) or _is_file(folder / "state" / FORMAT_FILE)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on a folder one may not enter
