"""P28: secrets are masked at every write of fleet's; the environment is never written down."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from calls import Actor, call, many, tree
from fakeclaude import claude_agent, fake_claude
from fleet import blobs
from fleet.cli.commands import COMMANDS
from fleet.runner.live import read_json
from fleet.stores.ram import RamStore
from fleets import Scripted, until

KEY = "sk-ant-api03-abcDEF1234567890"
SAY_ENVIRONMENT = "import os; print(*(f'{k}={v}' for k, v in os.environ.items()), sep='\\n')"


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home without agents."""
    return Scripted(tmp_path / "home")


def holding(home: Scripted, *secrets: str) -> dict[str, list[str]]:
    """Which of `secrets` stand in which files of the state, and of the cache in it."""
    found = {
        name: [secret for secret in secrets if secret.encode() in data]
        for name, data in tree(home.root / "state").items()
    }
    return {name: secrets for name, secrets in found.items() if secrets}


def test_the_environment_is_never_written(home: Scripted) -> None:
    """P28: after a run that was given secrets no file of the state holds a value of a variable."""
    (home.root / "keys.env").write_text("ANTHROPIC_API_KEY=FromTheFile-1\nOTHER=InTheFile-2\n")
    (home.root / "keys.env").chmod(0o600)
    fake_claude(home, 'subprocess.run(["fleet", "post", "strategy", "hi"], check=True)')
    config = home.root / "fleet.yaml"
    config.write_text(config.read_text().replace("claude: {", "claude: {env_file: keys.env, "))
    claude_agent(home, "worker", "env: {pass: [PASSED, DB_PASSWORD]}")
    environ = {"PASSED": "PassedOn-3", "DB_PASSWORD": "PassedOn-4", "NOT_PASSED": "Unknown-5"}

    done = home.call("run", "worker", env=environ)
    for argv in (["status"], ["logs", "worker"], ["context", "worker"], ["doctor"], ["next"]):
        home.call(*argv, env=environ)

    assert done.returncode == 0, done.stdout + done.stderr
    assert holding(home, "FromTheFile-1", "InTheFile-2", *environ.values()) == {}


@pytest.mark.parametrize("filler", ["", "as large as no document may be " * 20_000])
def test_what_is_kept_to_be_built_again_holds_no_secret(filler: str) -> None:
    """P28: copies of templates and config are masked, also where they are kept compressed."""
    store = RamStore()
    contents: list[str | dict[str, object]] = [
        f"{filler}{KEY}",
        {"API_KEY": "plainwords", "x": filler},
    ]

    names = [blobs.keep(store, content) for content in contents]

    kept = [blobs.load(store, name) for name in names if name]
    assert kept == [f"{filler}[masked:anthropic-key]", {"API_KEY": "[masked:api-key]", "x": filler}]


def test_what_a_run_was_given_is_masked_when_it_says_it(home: Scripted) -> None:
    """P28: a run that prints and posts its environment leaves no secret of it, its token included.

    The values are masked because of their variables' names; those of others stay.
    """
    actor = Actor(home, "worker", "env: {pass: [DB_PASSWORD, TEAM]}")
    home.agent("printer", "", f"command: {json.dumps([sys.executable, '-c', SAY_ENVIRONMENT])}",
               "env: {pass: [DB_PASSWORD, TEAM], set: {SHOP_TOKEN: tok-plain-abc}}")  # fmt: skip
    environ = {"DB_PASSWORD": "horse-staple", "TEAM": "blue-horse"}
    post = call("post", "strategy", "it is horse-staple of blue-horse")

    assert home.call("run", "printer", env=environ).returncode == 0
    (run,) = home.runs("printer")
    os.environ.update(environ)
    done = actor.does(post, call("whoami"), call("whoami", "--json"))

    said = (home.root / "state" / "run" / run.id / "stdout.jsonl").read_text()
    lines = dict(line.split("=", 1) for line in said.splitlines())
    assert lines["FLEET_RUN_TOKEN"] == "[masked:run-token]"
    assert lines["DB_PASSWORD"] == lines["SHOP_TOKEN"] == "[masked:environment]"
    assert (lines["TEAM"], lines["FLEET_RUN_ID"]) == ("blue-horse", run.id)
    assert "it is [masked:environment] of blue-horse" in home.call("read", "strategy").stdout
    assert [one.code for one in done] == [0, 0, 0]
    # Your own files may hold anything, and the cache is a copy of them.
    assert set(holding(home, "horse-staple", "tok-plain-abc")) == {"cache/config"}


def test_no_command_prints_the_token(home: Scripted) -> None:
    """P28: whatever a run calls, well or badly, its token is never in the answer."""
    from fleet.identity import issue_token

    home.agent("worker", "true")
    run = "0193a1b2-0000-7000-8000-0123456789ab"
    token = issue_token(home.fleet.store, run, "worker", "", 600.0, 0)
    secret = token.rpartition(".")[2]
    bad = f"{run}.{'ab' * 32}"
    words = [[name] for name in COMMANDS] + [[name, "--json"] for name in COMMANDS]
    words += [["post", "strategy", token], ["claim", token], ["read", token], ["emit", "note"]]
    words += [["post", "strategy", "x", "--id", token]]
    calls = [call(*argv) for argv in words if argv[0] not in {"up", "demo", "init"}]
    env = {"FLEET_HOME": str(home.root), "FLEET_RUN_ID": run}

    done = many(home.root, calls, env | {"FLEET_RUN_TOKEN": token})
    refused = many(home.root, calls[:4], env | {"FLEET_RUN_TOKEN": bad})

    assert [one for one in (*done, *refused) if secret in one.out + one.err or bad in one.err] == []
    assert sum(one.code == 3 and "holds a secret" in one.err for one in done) == 2
    assert holding(home, secret) == {}


def test_where_the_keeper_was_killed_whoever_settles_masks(home: Scripted) -> None:
    """P28: `kill -9` of the keeper leaves no secret in the run's files once the run has an end."""
    home.put("key", KEY)
    says = f"cat > in; cat {home.root}/key; cat {home.root}/key >&2; touch said; sleep 60"
    home.agent("worker", says)
    runner = home.start("run", "worker")
    assert until((home.root / "work" / "worker" / "said").exists)
    (folder,) = (home.root / "state" / "run").iterdir()
    assert KEY in (folder / "stdout.jsonl").read_text()
    pid = read_json(folder / "alive.json")["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    assert runner.wait(20) == 8

    assert (folder / "stdout.jsonl").read_text() == "[masked:anthropic-key]"
    assert holding(home, KEY) == {}


def test_transcripts_in_the_state_are_masked(home: Scripted) -> None:
    """P28: what the CLI itself keeps about a run below `state/claude` is masked at its end too."""
    says = (
        "folder = Path(os.environ['CLAUDE_CONFIG_DIR']) / 'projects' / 'p'; folder.mkdir(parents=1)"
        f"; (folder / (flags['--session-id'] + '.jsonl')).write_text('{KEY}')"
    )
    fake_claude(home, says)
    claude_agent(home, "worker")

    done = home.call("run", "worker", env={"ANTHROPIC_API_KEY": "sk-ant-made-up-for-this-test"})

    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (home.root / "state" / "claude").rglob("*.jsonl")
    assert path.read_text() == "[masked:anthropic-key]"
    assert holding(home, KEY, "made-up-for-this-test") == {}
