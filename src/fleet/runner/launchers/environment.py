"""The environment of a run: an allow-list, never the runner's own. Nothing here is logged."""

import os
import pwd
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fleet.config.env_file import CREDENTIALS, env_file_of, read_env_file
from fleet.config.model import Agent, HomeConfig
from fleet.errors import BadHome
from fleet.masking import secret_values

DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
PASSED = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
"""What any run gets of the runner's environment."""


def allowed(environ: Mapping[str, str]) -> dict[str, str]:
    """What any run gets of `environ`, with the names that a service manager leaves out."""
    env = {name: value for name, value in environ.items() if name in PASSED}
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


def of_a_gate(environ: Mapping[str, str], agent: Agent, config: HomeConfig) -> dict[str, str]:
    """What the agent's gate gets: as a run, but no login and no word for fleet itself."""
    env = allowed(environ) | asked(environ, agent)
    env = {name: value for name, value in env.items() if name not in CREDENTIALS}
    return env | {"PATH": search_path(env), "FLEET_HOME": str(config.root), "FLEET_AGENT": agent.id}


def secrets(environ: Mapping[str, str], config: HomeConfig) -> tuple[str, ...]:
    """What runs of this home are given that must not be written, as `masking.mask` takes it."""
    said = dict(environ)
    if path := env_file_of(config):
        with suppress(BadHome):  # the file is gone, and so is the knowledge of what was in it
            said |= read_env_file(path)
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
    """What is fleet's own and comes last: who the run is, and a PATH on which `fleet` is first."""
    return {
        "PATH": search_path(env, fleet_bin),
        "FLEET_HOME": str(config.root),
        "FLEET_AGENT": agent.id,
        "FLEET_RUN_ID": run,
        "FLEET_RUN_TOKEN": token,
    }


def search_path(env: Mapping[str, str], fleet_bin: Path | None = None) -> str:
    """The PATH of a run: the folder of `fleet`, then those of `env`.

    Folders that are not absolute are left out: a run could put programs there.
    """
    folders = (env.get("PATH") or SYSTEM_PATH).split(":")
    absolute = [folder for folder in folders if folder.startswith("/")]
    return ":".join([str(fleet_bin or folder_of_fleet()), *absolute])


def of_errands(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """What the operator's own commands get: what runs get, a desktop, and no login of the CLI."""
    env = allowed(environ) | {name: environ[name] for name in DESKTOP if name in environ}
    env = {name: value for name, value in env.items() if name not in CREDENTIALS}
    return env | {"PATH": search_path(env), "FLEET_HOME": str(root)}


def folder_of_fleet() -> Path:
    """Where this installation's `fleet` command is: beside its Python, or among the user's own."""
    beside = Path(sys.executable).parent
    user = Path(sysconfig.get_path("scripts", f"{os.name}_user"))
    return user if (user / "fleet").exists() and not (beside / "fleet").exists() else beside
