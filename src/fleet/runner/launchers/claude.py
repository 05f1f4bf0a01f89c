"""Plans a run of the `claude` CLI: its flags, its settings, its environment, its login.

The set of flags and variables is the one that was run on versions 2.1.197 and 2.1.332; what each
is for stands beside it. It starts nothing.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import fleet
from fleet.config.env_file import CREDENTIALS, env_file_of, read_env_file
from fleet.config.model import Agent, HomeConfig
from fleet.places import Places
from fleet.runner.launchers import environment
from fleet.runner.launchers.shape import Plan

SWITCHES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # it would wait for them without limit
    "CLAUDE_CODE_MAX_RETRIES": "3",  # of 10: a bad key would cost three minutes
    "API_TIMEOUT_MS": "120000",  # of 600 s
    "MCP_CONNECTION_NONBLOCKING": "0",  # else its first turn may come before its servers
}
HOOK_TIMEOUT = 5  # seconds
KEEP_DAYS = 3650  # of 30, after which the CLI deletes transcripts by itself


def plan(
    agent: Agent,
    config: HomeConfig,
    *,
    run: str,
    folder: Path,
    context_md: str,
    prompt_md: str,
    environ: Mapping[str, str],
    token: str,
    fleet_bin: Path | None,
) -> Plan:
    """The plan; arguments as `launchers.plan` says.

    Raises:
        BadHome: `claude: env_file` is missing, not private, or no list of NAME=VALUE.
    """
    env = _logged_in(environment.allowed(environ) | SWITCHES, config, environ)
    env |= environment.asked(environ, agent)
    has_key = any(env.get(name) for name in CREDENTIALS)
    if has_key:  # a key works anywhere, and parallel runs would share one configuration file
        env.setdefault("CLAUDE_CONFIG_DIR", str(Places(config.root).claude_folder(agent.id)))
    elif environ.get("CLAUDE_CONFIG_DIR"):  # the user's own login, where the user keeps it
        env.setdefault("CLAUDE_CONFIG_DIR", environ["CLAUDE_CONFIG_DIR"])
    home = Path(env.get("HOME", "/"))
    claude_home = Path(env.get("CLAUDE_CONFIG_DIR", home / ".claude"))
    env |= environment.own(env, agent, config, run=run, token=token, fleet_bin=fleet_bin)
    return Plan(
        argv=(_program(config.claude.path, env["PATH"], home), *_flags(agent, run, folder)),
        env=env,
        cwd=agent.cwd,
        files={
            "context.md": context_md.encode(),
            "prompt.md": prompt_md.encode(),
            "settings.json": json.dumps(settings(config.state, own=has_key), indent=1).encode(),
        },
        stdin=("prompt.md",),
        folders=(claude_home,) if has_key else (),
        format="claude",
        transcript=claude_home / "projects",
    )


def program(config: HomeConfig, environ: Mapping[str, str]) -> str:
    """The CLI that runs of agents without a PATH of their own are started with.

    A path; where no such program is found the name as fleet.yaml has it.
    """
    env = environment.allowed(environ)
    return _program(config.claude.path, environment.search_path(env), Path(env.get("HOME", "/")))


def settings(state: Path, *, own: bool) -> dict[str, object]:
    """The CLI's settings for a run: fleet's state is out of its reach, fleet's calls are allowed.

    With the home as its working folder a run could else read channels that it is no member of.

    Args:
        state: the home's state.
        own: whether its folder of configuration is fleet's: then fleet decides how long its
            transcripts stay. The user's own one the CLI keeps tidy as the user wants it.
    """
    keep = {"cleanupPeriodDays": KEEP_DAYS} if own else {}
    hook = [sys.executable, "-I", "-S", str(Path(fleet.__file__).with_name("hook.py"))]
    call = {"type": "command", "command": shlex.join(hook), "timeout": HOOK_TIMEOUT}
    return keep | {
        "permissions": {
            "deny": [
                f"{tool}(/{place}/**)"
                for place in sorted({str(state), str(state.resolve())})
                for tool in ("Read", "Edit")
            ]
        },
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [call]}]},
    }


def _flags(agent: Agent, run: str, folder: Path) -> list[str]:
    # The prompt comes by stdin: argv has limits, and everybody may read it.
    flags = ["-p", "--output-format", "stream-json", "--verbose", "--session-id", run]
    if agent.model is not None:
        flags += ["--model", agent.model]
    if agent.max_turns is not None:
        flags += ["--max-turns", str(agent.max_turns)]
    if agent.budget.per_run is not None:
        flags += ["--max-budget-usd", f"{agent.budget.per_run:g}"]
    # No settings, no CLAUDE.md and no MCP servers of whoever wrote something into the folder.
    flags += ["--setting-sources", "", "--settings", str(folder / "settings.json")]
    flags += ["--strict-mcp-config", "--permission-mode", "dontAsk"]
    flags += ["--tools", ",".join(agent.tools)]
    if agent.allowed_tools:
        flags += ["--allowedTools", *agent.allowed_tools]
    for extra in agent.add_dirs:
        flags += ["--add-dir", extra]
    flags += ["--append-system-prompt-file", str(folder / "context.md")]
    return [*flags, *agent.claude_args]


def _logged_in(
    env: dict[str, str], config: HomeConfig, environ: Mapping[str, str]
) -> dict[str, str]:
    """`env` with the credentials of the env file, or without such a file those of `environ`.

    A file that has a login has the only one: another in the runner's environment could win.
    """
    said: dict[str, str] = {}
    if path := env_file_of(config):
        said = read_env_file(path)
    if any(said.get(name) for name in CREDENTIALS):
        env = {name: value for name, value in env.items() if name not in CREDENTIALS}
    else:
        env |= {name: environ[name] for name in CREDENTIALS if environ.get(name)}
    return env | said


def _program(path: str, search: str, home: Path) -> str:
    """`claude: path` as a file where it can be found; else as it is, for the keeper to name."""
    if path.startswith("~/"):
        return str(home / path[2:])
    return shutil.which(path, path=search) or path
