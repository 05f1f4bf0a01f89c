"""What a run may do through fleet, what it is told, and how much it sees at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Fleet
from fleet.cli.commands import COMMANDS, is_operators
from fleet.text import tokens

OPERATORS = [name for name in COMMANDS if is_operators(name)]
ARGUMENTS = {
    "init": ["new"], "run": ["outreach"], "halt": ["--all"], "logs": ["last"],
    "context": ["outreach"], "replay": ["last"], "diff": ["last", "last"],
    "agent": ["retire", "outreach"], "channel": ["retire", "strategy"], "shadow": ["list"],
    "seen": ["strategy#1"], "explain": ["last"],
    "skip": ["outreach", "--to", "now"], "backup": ["../x.zip"], "restore": ["x.zip"],
    "retract": ["outreach", "--reason", "x"],
}  # fmt: skip


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_run_may_not_use_the_operators_half(
    home: Path, fleet: Fleet, run_env, tmp_path: Path, name: str
) -> None:
    """Every operators' command is exit 5 with a run's token, and changes nothing."""
    env = run_env("outreach")
    before = tree(tmp_path)

    refused = fleet(name, *ARGUMENTS.get(name, []), env=env)

    assert (refused.returncode, refused.stdout) == (5, "")
    assert "operators" in refused.stderr
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["post", "whoami", "events", "claims", "status", "init"])
def test_a_process_of_a_run_without_its_token_is_nobody(
    home: Path, fleet: Fleet, name: str
) -> None:
    """FLEET_RUN_ID without a token, here or in a parent, is exit 5 for every command."""
    words = [name, *{"post": ["strategy", "hi"], "init": ["new"]}.get(name, [])]
    here = fleet(*words, env={"FLEET_RUN_ID": "019b2e00-0000-7000-8000-000000000009"})
    program = (
        "import os, subprocess, sys; env = {**os.environ}; del env['FLEET_RUN_ID'];"
        "argv = [sys.executable, '-m', 'fleet', *sys.argv[1:]];"
        "sys.exit(subprocess.run(argv, env=env).returncode)"
    )
    below = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "FLEET_RUN_ID": "019b2e00-0000-7000-8000-000000000009"},
        capture_output=True,
        check=False,
    )

    assert (here.returncode, below.returncode) == (5, 5)


def test_the_token_decides_who_writes(home: Path, fleet: Fleet, run_env) -> None:
    """A record's author and run come from the token; --as is refused and says who one is."""
    env = run_env("outreach")

    posted = fleet("post", "strategy", "hi", env=env)
    message = json.loads(fleet("read", "strategy", "--json").stdout)
    refused = [
        fleet("--as", name, "post", "strategy", "hi", env=env)
        for name in ("reply-handler", "outreach", "operator", "system", "nobody")
    ]

    assert posted.stdout == "posted strategy#1\n"
    assert message["from_agent"] == "outreach"
    assert [r.returncode for r in refused] == [5] * 5
    assert all("you are outreach" in r.stderr for r in refused)


def test_reserved_and_unknown_names_cannot_be_taken(home: Path, fleet: Fleet) -> None:
    """Outside a run --as takes agents only: exit 5 for reserved names, 4 for unknown ones."""
    for name, code in (("human", 5), ("system", 5), ("all", 5), ("outreech", 4), ("../x", 4)):
        assert fleet("--as", name, "post", "strategy", "hi").returncode == code


def test_a_forged_token_is_refused(home: Path, fleet: Fleet, run_env) -> None:
    """A token with another secret, another run or no shape is exit 5."""
    env = run_env("outreach")
    run, _, secret = env["FLEET_RUN_TOKEN"].partition(".")

    for token in (f"{run}.{'0' * 64}", f"{run}x.{secret}", run, "", "../../x." + secret):
        assert fleet("whoami", env={**env, "FLEET_RUN_TOKEN": token}).returncode == 5


def test_a_run_works_in_its_own_home_only(
    home: Path, fleet: Fleet, run_env, tmp_path: Path
) -> None:
    """--home may only repeat the run's own home."""
    env = run_env("outreach")

    assert fleet("--home", str(home), "whoami", env=env).returncode == 0
    assert fleet("--home", str(tmp_path), "whoami", env=env).returncode == 5
    assert fleet("--home", str(tmp_path / "none"), "whoami", env=env).returncode == 5


def test_files_of_the_agents_folders_are_read_and_no_others(
    home: Path, fleet: Fleet, run_env, tmp_path: Path
) -> None:
    """--file and @F read regular files below the agent's folders; links are refused."""
    env = run_env("outreach")
    work = home / "work" / "outreach"
    work.mkdir(parents=True)
    secret = tmp_path / "secret.json"
    secret.write_text('{"competitor": "a", "newPrice": "b"}')
    (work / "own.json").write_text(secret.read_text())
    (work / "link.json").symlink_to(secret)
    (work / "out").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    os.link(secret, work / "hard.json")
    run_folder = home / "state" / "run" / env["FLEET_RUN_ID"]
    (run_folder / "own.json").write_text(secret.read_text())

    for name in ("own.json", str(work / "own.json"), str(run_folder / "own.json")):
        assert fleet("post", "strategy", "--file", name, env=env, cwd=work).returncode == 0
        emitted = fleet("emit", "pricing-change", "--data", f"@{name}", env=env, cwd=work)
        assert emitted.returncode == 0
    for name in (
        "link.json", "hard.json", "out/secret.json", str(secret), "../../fleet.yaml", "pipe", ".",
        "missing.json", "/proc/self/environ", str(home / "state" / "FORMAT"),
    ):  # fmt: skip
        assert fleet("post", "strategy", "--file", name, env=env, cwd=work).returncode == 5, name
        refused = fleet("emit", "pricing-change", "--data", f"@{name}", env=env, cwd=work)
        assert refused.returncode == 5, name


def test_only_what_may_run_lists_is_executed(
    home: Path, fleet: Fleet, run_env, tmp_path: Path
) -> None:
    """`claim … -- CMD` in a run executes what the agent's file lists, and claims nothing else."""
    agent = home / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text() + "may_run: [./bin/mail, 'true']\n")
    mail = home / "work" / "outreach" / "bin" / "mail"
    mail.parent.mkdir(parents=True)
    mail.write_text("#!/bin/sh\nexit 7\n")
    mail.chmod(0o755)
    env = run_env("outreach")

    assert fleet("claim", "lead:a", "--", "./bin/mail", "x", env=env).returncode == 7
    assert fleet("claim", "lead:a", "--", "true", env=env).returncode == 0
    for command in (["sh", "-c", "true"], ["/bin/true"], ["./bin/../bin/mail"], ["env", "true"]):
        refused = fleet("claim", "lead:b", "--", *command, env=env)
        assert refused.returncode == 5
        assert "./bin/mail" in refused.stderr
    assert fleet("claims", "--history", "lead:b", "--json").stdout == ""


def test_writes_answer_in_one_line(home: Path, fleet: Fleet, run_env) -> None:
    """Inside a run every write is answered by one line that says what happened."""
    env = run_env("outreach")

    lines = [
        fleet("post", "strategy", "hi", env=env).stdout,
        fleet("reply", "strategy#1", "hi", env=env).stdout,
        fleet("react", "strategy#1", "agree", env=env).stdout,
        fleet("emit", "task-created", "taskId=1", "assignedTo=outreach", "title=x", env=env).stdout,
        fleet("claim", "lead:a", env=env).stdout,
        fleet("release", "lead:a", env=env).stdout,
        fleet("report", "did it", "--next", "more", env=env).stdout,
        fleet("ack", "events#1", env=env).stdout,
        fleet("ask", "mail these 300?", env=env).stdout,
        fleet("remind", "3d", "look", env=env).stdout,
    ]

    assert [line.count("\n") for line in lines] == [1] * len(lines)
    assert lines[0] == "posted strategy#1\n"
    assert lines[3] == "emitted events#1 to outreach\n"
    assert lines[4] == "CLAIMED lead:a for 9m (token 1)\n"


def test_a_claim_held_by_another_says_what_to_do(home: Path, fleet: Fleet, run_env) -> None:
    """The refusal inside a run names the holder, the time, and what to do."""
    fleet("claim", "lead:a", env=run_env("reply-handler"))

    refused = fleet("claim", "lead:a", env=run_env("outreach"))

    assert refused.returncode == 6
    assert "HELD by reply-handler until " in refused.stderr
    assert "leave it, do something else" in refused.stderr


@pytest.mark.parametrize("size", [1, 300, 12_000])
def test_a_read_stays_small(home: Path, fleet: Fleet, run_env, size: int) -> None:
    """A read in a run shows at most 20 items and 2,000 tokens and ends with the way to the rest."""
    env = run_env("outreach")
    for number in range(23):
        fleet("post", "strategy", f"{number} " + "日本 " * (size // 8))
        words = ["competitor=" + "é" * size, "newPrice=1"]
        fleet("emit", "pricing-change", *words)

    for words, mark in ((["read", "strategy"], "strategy#"), (["events"], "events#")):
        shown = fleet(*words, env=env).stdout
        items = [line for line in shown.splitlines() if line.startswith(mark)]
        assert tokens(shown) <= 2000
        assert len(items) == 20
        assert any(line.startswith(f"more: fleet {words[0]}") for line in shown.splitlines())


def test_paging_in_a_run_reaches_everything(home: Path, fleet: Fleet, run_env) -> None:
    """Following the last lines, an agent sees every message once read from the beginning."""
    env = run_env("outreach")
    for number in range(45):
        fleet("post", "strategy", f"m{number}")

    words, seen = ["read", "strategy", "--after", "0"], []
    while words:
        lines = fleet(*words, env=env).stdout.splitlines()
        seen += [line.strip() for line in lines if line.startswith("  m")]
        more = [line for line in lines if line.startswith("more: fleet ")]
        words = more[0].removeprefix("more: fleet ").split() if more else []

    assert seen == [f"m{number}" for number in range(45)]


def test_help_in_a_run_shows_the_agents_half(home: Path, fleet: Fleet, run_env) -> None:
    """`fleet --help` in a run is at most 40 lines and names no operators' command."""
    shown = fleet("--help", env=run_env("outreach"))
    names = {line.split()[0] for line in shown.stdout.splitlines() if line.startswith("  ")}

    assert shown.returncode == 0
    assert len(shown.stdout.splitlines()) <= 40
    assert {"post", "emit", "claim", "report"} <= names
    assert not names & set(OPERATORS)


def test_a_broken_edit_does_not_stop_a_run(home: Path, fleet: Fleet, run_env) -> None:
    """With broken files a run works on with the last good config and is told on stderr."""
    env = run_env("outreach")
    fleet("whoami", env=env)
    (home / "agents" / "outreach.yaml").write_text("shedule: [\n")

    posted = fleet("post", "strategy", "hi", env=env)
    operator = fleet("post", "strategy", "hi")

    assert (posted.returncode, posted.stdout) == (0, "posted strategy#1\n")
    assert "outreach.yaml" in posted.stderr
    assert operator.returncode == 7
