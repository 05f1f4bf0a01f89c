"""The environment of a run: an allow-list, never the runner's own. Nothing here is logged."""

import os
import pwd
import stat
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fleet.config.model import Agent, HomeConfig
from fleet.errors import BadHome
from fleet.masking import secret_values

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_PASS = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)


def allowed(environ: Mapping[str, str]) -> dict[str, str]:
    """What any run gets of `environ`, with the names that a service manager leaves out."""
    env = {name: value for name, value in environ.items() if name in _PASS}
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:  # a container may run a user that nobody has named
        pass
    else:
        env.setdefault("HOME", user.pw_dir)
        env.setdefault("USER", user.pw_name)
    if "USER" in env:
        env.setdefault("LOGNAME", env["USER"])
    env.setdefault("LANG", "C.UTF-8")
    return env


def asked(environ: Mapping[str, str], agent: Agent) -> dict[str, str]:
    """What the agent's file passes of `environ`, and what it sets."""
    passed = {name: environ[name] for name in agent.env_pass if name in environ}
    return passed | agent.env_set


def secrets(environ: Mapping[str, str], config: HomeConfig) -> tuple[str, ...]:
    """What runs of this home are given that must not be written, as `masking.mask` takes it."""
    said = dict(environ)
    if config.claude.env_file is not None:
        with suppress(BadHome):  # the file is gone, and so is the knowledge of what was in it
            said |= read_env_file(config.root / Path(config.claude.env_file).expanduser())
    given = (said, *(agent.env_set for agent in config.agents.values()))
    found = {value for names in given for value in secret_values(names)}
    return tuple(sorted(found, key=len, reverse=True))


def own(
    env: Mapping[str, str],
    agent: Agent,
    config: HomeConfig,
    *,
    run: str,
    token: str,
    fleet_bin: Path | None,
) -> dict[str, str]:
    """What is fleet's own and comes last: who the run is, and a PATH on which `fleet` is first.

    Folders of `env`'s PATH that are not absolute are left out: a run could put programs there.
    """
    folders = (env.get("PATH") or SYSTEM_PATH).split(":")
    absolute = [folder for folder in folders if folder.startswith("/")]
    return {
        "PATH": ":".join([str(fleet_bin or folder_of_fleet()), *absolute]),
        "FLEET_HOME": str(config.root),
        "FLEET_AGENT": agent.id,
        "FLEET_RUN_ID": run,
        "FLEET_RUN_TOKEN": token,
    }


def folder_of_fleet() -> Path:
    """Where this installation's `fleet` command is: beside its Python, or among the user's own."""
    beside = Path(sys.executable).parent
    user = Path(sysconfig.get_path("scripts", f"{os.name}_user"))
    return user if (user / "fleet").exists() and not (beside / "fleet").exists() else beside


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
