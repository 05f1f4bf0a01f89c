"""What a run is started with: the CLI's measured flags, an allow-list of variables, one login."""

import json
import os
import pwd
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet.config.model import Agent, Budget, Claude, HomeConfig
from fleet.errors import BadHome
from fleet.keeper.files import Order
from fleet.runner.launchers import Plan, plan

RUN = str(uuid.uuid4())
TOKEN = f"{RUN}.{'0' * 64}"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")

Make = Callable[..., Plan]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make({"HOME": …}, launch="command", …)` plans a run of an agent with these fields."""

    def do(
        environ: dict[str, str] | None = None, claude: Claude | None = None, **said: Any
    ) -> Plan:
        root = tmp_path / "home"
        agent = Agent("outreach", "agents/outreach.yaml", "d", "p.md.j2", root / "work/outreach")
        config = HomeConfig(root, "v1", claude=claude or Claude())
        return plan(
            agent._replace(**said),
            config,
            run=RUN,
            folder=config.run_folder(RUN),
            context_md="# Context\n",
            prompt_md="Go.\n",
            environ=environ or {},
            token=TOKEN,
            fleet_bin=tmp_path / "bin",
        )

    return do


@pytest.fixture
def env_file(tmp_path: Path) -> Callable[..., Claude]:
    """`env_file("A=b", mode=0o600)` writes one and returns the `claude:` that names it."""

    def write(text: str | bytes, mode: int = 0o600) -> Claude:
        path = tmp_path / "env"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return Claude(env_file=str(path))

    return write


def flag(made: Plan, name: str) -> str:
    """The word after `name`."""
    return made.argv[made.argv.index(name) + 1]


# The command ------------------------------------------------------------------------------------


def test_the_cli_is_called_with_the_measured_flags(make: Make, tmp_path: Path) -> None:
    """Every flag that the runs on both versions had is there, and the prompt is not."""
    made = make(
        model="sonnet",
        max_turns=7,
        add_dirs=("/data", "/more"),
        budget=Budget(per_run=0.8),
        claude_args=("--fallback-model", "haiku"),
        allowed_tools=("Bash(fleet *)", "Bash(./bin/send-mail *)"),
    )

    folder = tmp_path / "home/state/run" / RUN
    assert list(made.argv) == [
        *("claude", "-p", "--output-format", "stream-json", "--verbose", "--session-id", RUN),
        *("--model", "sonnet", "--max-turns", "7", "--max-budget-usd", "0.8"),
        *("--setting-sources", "", "--settings", str(folder / "settings.json")),
        *("--strict-mcp-config", "--permission-mode", "dontAsk", "--tools", "Bash,Read"),
        *("--allowedTools", "Bash(fleet *)", "Bash(./bin/send-mail *)"),
        *("--add-dir", "/data", "--add-dir", "/more"),
        *("--append-system-prompt-file", str(folder / "context.md")),
        *("--fallback-model", "haiku"),
    ]
    assert made.stdin == ("prompt.md",)
    assert made.format == "claude"


def test_what_the_agent_does_not_say_is_not_passed(make: Make) -> None:
    """Without model, turns, budget, folders or rules there is no such flag; no tools is none."""
    made = make(tools=(), allowed_tools=())

    for name in ("--model", "--max-turns", "--max-budget-usd", "--add-dir", "--allowedTools"):
        assert name not in made.argv
    assert flag(made, "--tools") == ""


def test_a_plain_command_reads_context_then_prompt(make: Make, tmp_path: Path) -> None:
    """`launch: command` is the operator's argv, both texts are files for its stdin."""
    made = make(launch="command", command=("codex", "exec", "-"))

    assert made.argv == ("codex", "exec", "-")
    assert made.stdin == ("context.md", "prompt.md")
    assert made.files == {"context.md": b"# Context\n", "prompt.md": b"Go.\n"}
    assert (made.format, made.transcript) == ("command", None)
    assert made.cwd == tmp_path / "home/work/outreach"


@pytest.mark.parametrize("launch", ["claude", "command"])
def test_the_order_is_one_a_keeper_takes(make: Make, launch: str) -> None:
    """keeper.json has the names the keeper knows, the agent's limits, and no secret."""
    agent = Agent("a", "f", "d", "p", Path("/w"), timeout=60, idle_timeout=30, grace=9)
    made = make({"ANTHROPIC_API_KEY": "made-up"}, launch=launch, command=("x",))

    said = json.loads(json.dumps(made.order(RUN, agent)))

    order = Order(**said)
    assert (order.run, order.timeout, order.idle_timeout, order.grace) == (RUN, 60, 30, 9)
    assert (order.argv, order.format) == (list(made.argv), made.format)
    for secret in ("made-up", TOKEN):
        assert secret not in json.dumps(said)
        assert secret not in repr(made)


def test_the_cli_is_found_on_the_path_or_left_to_the_keeper(make: Make, tmp_path: Path) -> None:
    """A name becomes the file that PATH has for it; a missing one stays, so that it is named."""
    program = tmp_path / "tools" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    found = make({"PATH": f"/nowhere:{program.parent}"})
    missing = make({"PATH": "/nowhere"})
    named = make({"PATH": "/nowhere"}, claude=Claude(path=str(program)))
    at_home = make({"PATH": "/nowhere", "HOME": "/h"}, claude=Claude(path="~/bin/claude"))

    assert [made.argv[0] for made in (found, missing, named, at_home)] == [
        str(program),
        "claude",
        str(program),
        "/h/bin/claude",
    ]


# Settings ---------------------------------------------------------------------------------------


def test_state_is_out_of_reach(make: Make, tmp_path: Path) -> None:
    """Reading and editing under the home's state is denied by absolute rules."""
    said = json.loads(make().files["settings.json"])

    state = tmp_path.resolve() / "home/state"
    assert f"Read(/{state}/**)" in said["permissions"]["deny"]
    assert f"Edit(/{state}/**)" in said["permissions"]["deny"]
    assert str(state).startswith("/")


def test_the_hook_in_the_settings_runs_anywhere(make: Make, tmp_path: Path) -> None:
    """The hook's command line works in sh with an empty environment and another folder."""
    said = json.loads(make().files["settings.json"])
    (entry,) = said["hooks"]["PreToolUse"]
    (hook,) = entry["hooks"]
    asked = {"hook_event_name": "PreToolUse", "tool_name": "Bash"}
    asked["tool_input"] = {"command": "fleet inbox"}  # type: ignore[assignment]

    done = subprocess.run(
        ["/usr/bin/env", "-i", "/bin/sh", "-c", hook["command"]],
        input=json.dumps(asked).encode(),
        capture_output=True,
        cwd=tmp_path,
        check=True,
    )

    assert (entry["matcher"], hook["type"], hook["timeout"]) == ("Bash", "command", 5)
    assert shlex.split(hook["command"])[0] == sys.executable
    assert b'"permissionDecision": "allow"' in done.stdout


# The environment --------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", ["claude", "command"])
def test_a_run_gets_an_allow_list(make: Make, launch: str) -> None:
    """Of the runner's environment only listed names pass; the CLI's own of a parent never do."""
    parent = {
        "PATH": "/usr/bin",
        "HOME": "/h",
        "USER": "u",
        "LANG": "de_DE.UTF-8",
        "TZ": "UTC",
        "HTTPS_PROXY": "http://p",
        "no_proxy": "x",
        "NODE_EXTRA_CA_CERTS": "/ca",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": "http://b",
        "TONE": "warm",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "AWS_SECRET_ACCESS_KEY": "s",
        "SSH_AUTH_SOCK": "/s",
        "PYTHONPATH": "/p",
        "FLEET_RUN_ID": "other",
        "FLEET_RUN_TOKEN": "other",
        "FLEET_HOME": "/other",
    }

    env = make(parent, launch=launch, command=("x",), env_pass=("TONE", "ABSENT")).env

    for name in ("HOME", "USER", "LANG", "TZ", "HTTPS_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS"):
        assert env[name] == parent[name]
    assert (env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"]) == ("k", "http://b")
    assert (env["TONE"], env["LOGNAME"]) == ("warm", "u")
    for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "ABSENT"):
        assert name not in env
    for name in ("AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PYTHONPATH"):
        assert name not in env


def test_a_run_knows_who_it_is(make: Make, tmp_path: Path) -> None:
    """Home, agent, run and token are the run's own, and `fleet` comes first on its PATH."""
    env = make({"PATH": "/usr/bin:/bin"}, env_set={"FLEET_AGENT": "x", "LANGUAGE": "en"}).env

    assert env["FLEET_HOME"] == str(tmp_path / "home")
    assert (env["FLEET_AGENT"], env["LANGUAGE"]) == ("outreach", "en")
    assert (env["FLEET_RUN_ID"], env["FLEET_RUN_TOKEN"]) == (RUN, TOKEN)
    assert env["PATH"] == f"{tmp_path / 'bin'}:/usr/bin:/bin"


def test_fleet_is_found_without_being_told_where(tmp_path: Path) -> None:
    """The PATH of a run begins with a folder in which this installation's `fleet` is."""
    agent = Agent("a", "f", "d", "p", tmp_path, launch="command", command=("x",))
    texts = {"context_md": "", "prompt_md": "", "token": TOKEN, "run": RUN, "folder": tmp_path}

    made = plan(agent, HomeConfig(tmp_path, "v"), environ={}, **texts)  # type: ignore[arg-type]

    assert (Path(made.env["PATH"].split(":")[0]) / "fleet").exists()


def test_no_relative_folder_is_on_the_path(make: Make, tmp_path: Path) -> None:
    """A folder that depends on where the run stands is dropped: it could hold another `fleet`."""
    assert make({"PATH": ".::bin:/usr/bin:"}).env["PATH"] == f"{tmp_path / 'bin'}:/usr/bin"


def test_an_empty_environment_is_filled_in(make: Make, tmp_path: Path) -> None:
    """As under cron: HOME, USER, LOGNAME, LANG and a PATH are there all the same."""
    env = make({}).env

    user = pwd.getpwuid(os.getuid())
    assert (env["HOME"], env["USER"], env["LOGNAME"]) == (user.pw_dir, user.pw_name, user.pw_name)
    assert env["LANG"] == "C.UTF-8"
    assert env["PATH"] == f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin"


def test_the_switches_are_set_for_the_cli_only(make: Make) -> None:
    """The CLI's measured switches are set, an agent's file may change one, a command has none."""
    env = make({}, env_set={"API_TIMEOUT_MS": "5000"}).env
    other = make({}, launch="command", command=("x",)).env

    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert env["DISABLE_AUTOUPDATER"] == "1"
    assert env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "3"
    assert env["MCP_CONNECTION_NONBLOCKING"] == "0"
    assert env["API_TIMEOUT_MS"] == "5000"
    assert not [name for name in other if name.startswith("CLAUDE")]


# The login --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_with_a_key_each_agent_has_its_own_cli_folder(make: Make, tmp_path: Path, key: str) -> None:
    """A key or token in the environment moves the CLI's files into the agent's own folder."""
    made = make({key: "made-up"})

    own = tmp_path / "home/state/claude/outreach"
    assert (made.env[key], made.env["CLAUDE_CONFIG_DIR"]) == ("made-up", str(own))
    assert made.transcript == own / "projects"
    assert made.folders == (own,)


def test_without_a_key_the_users_own_login_is_used(make: Make) -> None:
    """Without key or token the CLI's folder stays where the user's login is."""
    plain = make({"HOME": "/h"})
    moved = make({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/elsewhere"})

    assert "CLAUDE_CONFIG_DIR" not in plain.env
    assert plain.transcript == Path("/h/.claude/projects")
    assert moved.env["CLAUDE_CONFIG_DIR"] == "/elsewhere"
    assert moved.transcript == Path("/elsewhere/projects")


def test_a_login_in_the_env_file_is_the_only_one(
    make: Make, env_file: Callable[..., Claude]
) -> None:
    """What the file says wins whole: a key of the runner's environment does not come along."""
    claude = env_file("# unattended\n\nCLAUDE_CODE_OAUTH_TOKEN='t=1'\nexport EXTRA=a b\n")

    env = make({"ANTHROPIC_API_KEY": "of the shell"}, claude).env

    assert (env["CLAUDE_CODE_OAUTH_TOKEN"], env["EXTRA"]) == ("t=1", "a b")
    assert "ANTHROPIC_API_KEY" not in env
    assert "CLAUDE_CONFIG_DIR" in env


def test_an_env_file_without_a_login_adds_to_the_environment(
    make: Make, env_file: Callable[..., Claude]
) -> None:
    """A file that only sets a proxy leaves the environment's key in force."""
    env = make({"ANTHROPIC_API_KEY": "k"}, env_file("HTTPS_PROXY=http://p\n")).env

    assert (env["ANTHROPIC_API_KEY"], env["HTTPS_PROXY"]) == ("k", "http://p")


def test_the_env_file_is_for_the_cli_only(make: Make, env_file: Callable[..., Claude]) -> None:
    """An agent with `launch: command` sees nothing of it."""
    made = make({}, env_file("ANTHROPIC_API_KEY=k\n"), launch="command", command=("x",))

    assert "ANTHROPIC_API_KEY" not in made.env


@pytest.mark.parametrize(
    ("text", "mode", "what"),
    [
        ("A=b\n", 0o640, "others may read"),
        ("A=b\n", 0o604, "others may read"),
        ("sk-made-up-secret\n", 0o600, ":1: this is no NAME=VALUE"),
        ("A=b\n1A=sk-made-up-secret\n", 0o600, ":2: this is no NAME=VALUE"),
        ("A B=sk-made-up-secret\n", 0o600, ":1: this is no NAME=VALUE"),
        (b"A=\xff\n", 0o600, "it is not UTF-8 text"),
        (b"A=b\0\n", 0o600, ":1: this is no NAME=VALUE"),
    ],
)
def test_a_careless_env_file_is_refused(
    make: Make, env_file: Callable[..., Claude], text: str | bytes, mode: int, what: str
) -> None:
    """A file that others may read, or that is no list of names, is refused in one line."""
    with pytest.raises(BadHome) as refused:
        make({}, env_file(text, mode))

    assert what in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_env_file_is_refused(make: Make, tmp_path: Path) -> None:
    """A file that is not there is named, instead of a run without login."""
    with pytest.raises(BadHome, match=r"cannot read .*nowhere: No such file"):
        make({}, Claude(env_file=str(tmp_path / "nowhere")))


@pytest.mark.skipif(os.getuid() != 0, reason="giving a file away needs root")
def test_another_users_env_file_is_refused(
    make: Make, env_file: Callable[..., Claude], tmp_path: Path
) -> None:
    """A file that belongs to somebody else is refused."""
    claude = env_file("A=b\n")
    os.chown(tmp_path / "env", 12345, 12345)

    with pytest.raises(BadHome, match="belongs to another user"):
        make({}, claude)
