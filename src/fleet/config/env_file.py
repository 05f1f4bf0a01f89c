"""The file that `claude: env_file` names: a login, or other variables, for the CLI's runs."""

import os
import stat
from pathlib import Path

from fleet.config.model import HomeConfig
from fleet.errors import BadHome

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""The variables that log the CLI in."""


def env_file_of(config: HomeConfig) -> Path | None:
    """Where it is, a relative name being one in the home; None when fleet.yaml names none."""
    name = config.claude.env_file
    return None if name is None else config.root / Path(name).expanduser()


def read_env_file(path: Path) -> dict[str, str]:
    """The names and values of `fleet.yaml`'s `claude: env_file`.

    Lines are NAME=VALUE; empty ones and those that begin with `#` say nothing, quotes round a
    value are taken off, and nothing is expanded.

    Raises:
        BadHome: it cannot be read, belongs to another user, others may read it, or a line is none.
    """
    try:
        with path.open(encoding="utf-8") as file:
            facts = os.fstat(file.fileno())
            if facts.st_uid != os.getuid():
                raise BadHome(f"{path} belongs to another user", "use an env_file of your own")
            if stat.S_IMODE(facts.st_mode) & 0o077:
                raise BadHome(f"others may read {path}", f"chmod 600 {path}")
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadHome(f"cannot read {path}: {why}", "see env_file in fleet.yaml") from None
    return dict(
        _pair(path, number, line.strip())
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    name, equals, value = line.removeprefix("export ").partition("=")
    # Never the line itself in a message: it may be a key without its name.
    if not equals or not name.isidentifier() or not name.isascii() or "\0" in value:
        raise BadHome(f"{path}:{number}: this is no NAME=VALUE", "one of these a line")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return name, value
