"""`fleet up` as a service of the user's own: what is to be written where, and writing it.

It knows the two kinds of service managers by their modules; starting the service is theirs.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fleet.config.env_file import CREDENTIALS
from fleet.errors import BadHome, Held, Rejected
from fleet.runner.launchers import claude, environment
from fleet.runner.service import launchd, systemd
from fleet.runner.service.shape import Service
from fleet.text import SURROGATE, escape
from fleet.wiring import Fleet

MARGIN = 60.0  # seconds beyond the longest grace: sweeping, masking and recording what was stopped
LONGEST = 60  # characters of the home's name in the name of a file
_UNSAYABLE = re.compile(f"[\x00-\x1f\x7f]|{SURROGATE}")
_THEIRS = frozenset({"HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"})
"""What any service manager gives, this unit says, or a run does without."""


class Planned(NamedTuple):
    """A service that is ready to be written.

    Attributes:
        path: the file.
        text: all of it.
        home: the home that it starts.
        commands: what starts it, argv by argv.
        hint: a further command to know, as a line.
    """

    path: Path
    text: str
    home: Path
    commands: tuple[tuple[str, ...], ...]
    hint: str


def plan(fleet: Fleet, env: Mapping[str, str], platform: str = sys.platform) -> Planned:
    """The service of this home for the user who calls.

    Args:
        fleet: the home.
        env: the caller's environment: where its files of this kind lie, and its PATH.
        platform: as in `sys.platform`.

    Raises:
        BadHome: this installation has no `fleet` command.
        Rejected: a path holds what no unit can say.
    """
    program = environment.folder_of_fleet() / "fleet"
    if not os.access(program, os.X_OK):
        raise BadHome(f"there is no program {program}", "install fleet with pip or pipx")
    config = fleet.config
    service = Service(
        name=_file_name(config.name),
        title=escape(config.name),
        program=str(program),
        home=str(config.root),
        path=_search_path(env),
        user=Path(env.get("HOME") or Path.home()),
        stop_within=MARGIN + max((one.grace for one in config.agents.values()), default=0.0),
    )
    for part in (service.program, service.home, service.path):
        _require_plain(part)
    kind = launchd if platform == "darwin" else systemd
    path = kind.folder(service, env) / kind.file_name(service)
    return Planned(path, kind.text(service), config.root, kind.commands(path), kind.hint(service))


def _file_name(name: str) -> str:
    """The home's name as it can stand in a file's and a unit's name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name, flags=re.ASCII)[:LONGEST].strip("-.") or "home"


def _search_path(env: Mapping[str, str]) -> str:
    """The caller's folders of programs, so that the CLI is found as it is now.

    Relative ones are left out, and what is not there.
    """
    folders = (env.get("PATH") or environment.SYSTEM_PATH).split(":")
    here = [one for one in folders if one.startswith("/") and Path(one).is_dir()]
    return ":".join(dict.fromkeys([*here, *environment.SYSTEM_PATH.split(":")]))


def _require_plain(text: str) -> None:
    """Refuse what would end a line of a unit, or is no text.

    Raises:
        Rejected: `text` has a control character, or is no UTF-8.
    """
    if _UNSAYABLE.search(text):
        raise Rejected(
            f"a service cannot name {text!r}: it has a control character, or is no UTF-8",
            "rename that folder",
        )


# What is there already --------------------------------------------------------------------------


def is_written(planned: Planned) -> bool:
    """Whether the file says all of this already.

    Raises:
        Held: something else has its place: another home's service, a link, a file of somebody's.
    """
    path = planned.path
    if not os.path.lexists(path):
        return False
    said = path.read_text("utf-8", "replace") if path.is_file() and not path.is_symlink() else None
    home = home_of(said) if said is not None else None
    if said is None or home is None:
        what = "a link" if path.is_symlink() else "not fleet's"
        raise _taken(planned, what, "move it away, or give the home another name: in fleet.yaml")
    if home != str(planned.home):
        fix = "give one of the two another name: in fleet.yaml"
        raise _taken(planned, f"of the home {home}", fix)
    return said == planned.text


def home_of(text: str) -> str | None:
    """The home that a file of this kind starts; None when fleet did not write it."""
    return systemd.home_of(text) or launchd.home_of(text)


def _taken(planned: Planned, whose: str, fix: str) -> Held:
    return Held(f"{planned.path} is {whose}", fix, key=str(planned.path), holder=whose)


def write(planned: Planned) -> None:
    """Write the file as a whole, and the folders above it.

    Raises:
        OSError: it could not be written; what stood there stands.
    """
    path = planned.path
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(planned.text.encode())
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


# What the service will not have -------------------------------------------------------------------


def twins(planned: Planned) -> Iterator[str]:
    """Other files beside it that start the same home, as one that was renamed since has."""
    for path in sorted(planned.path.parent.glob(f"*{planned.path.suffix}")):
        said = path.read_text("utf-8", "replace") if path.is_file() else ""
        if path != planned.path and home_of(said) == str(planned.home):
            yield f"{path.name} starts this home too: disable and remove it"


def notes(fleet: Fleet, env: Mapping[str, str]) -> Iterator[str]:
    """What works from this terminal and would not in the service, a line each."""
    config = fleet.config
    agents = list(config.agents.values())
    asks_claude = any(agent.launch == "claude" for agent in agents)
    passed = {name for agent in agents for name in agent.env_pass}
    wanted = environment.PASSED | passed | {"CLAUDE_CONFIG_DIR", *CREDENTIALS}
    lost = sorted(name for name in wanted - _THEIRS if env.get(name))
    if logins := [name for name in lost if name in CREDENTIALS]:
        yield f"the service has no {_and(logins)}: a login belongs into claude: env_file, 0600"
    elif asks_claude and config.claude.env_file is None:
        yield "fleet.yaml has no claude: env_file: a login for when nobody is there belongs into it"
    if rest := [name for name in lost if name not in CREDENTIALS]:
        yield f"the service has no {_and(rest)}, which runs from this terminal get"
    if asks_claude:
        found = claude.program(config, {**env, "PATH": _search_path(env)})
        if not os.access(found, os.X_OK):
            yield f"no program {config.claude.path} is found: say claude: {{path: …}} in fleet.yaml"


def _and(names: Iterable[str]) -> str:
    return ", ".join(names)
