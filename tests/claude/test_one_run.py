"""The real CLI, planned and kept as every run is, against the stub: what comes of it is on disk."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.runner.probes.messages_stub import MessagesStub, bash, call, say
from fleet.runner.probes.trial import FIRST_LINE, Trial
from fleets import until

pytestmark = pytest.mark.claude

Start = Callable[..., MessagesStub]
Launch = Callable[..., Trial]


def test_a_run_that_works_is_ok(stub: Start, launch: Launch) -> None:
    """The model reads context and prompt, its call of fleet runs, and the files say success."""
    server = stub(bash("fleet post ops 'hello'"), say("I told the others."))

    run = launch(server, model="claude-haiku-4-5", max_turns=5)

    assert (run.exit["returncode"], run.exit["ended_by"]) == (0, "exit")
    assert run.result()["result"] == "I told the others."
    assert run.result()["session_id"] == run.id
    assert (run.verdict.outcome, run.verdict.denials) == ("ok", ())
    assert (run.root / "calls").read_text() == "outreach post ops hello\n"
    first, second = server.asked
    assert "# You are outreach" in first.system()
    assert FIRST_LINE in first.everything()
    assert "fleet did post" in second.news()
    assert [tool["name"] for tool in first.body["tools"]] == ["Bash", "Read"]
    assert run.left() == set()


def test_a_run_knows_itself_and_nothing_else(stub: Start, launch: Launch) -> None:
    """A Bash call has the run's own variables, and none of the runner's that were not allowed."""
    server = stub(bash("fleet env"), say("Done."))

    run = launch(server, environ={"CLAUDECODE": "1", "AWS_SECRET_ACCESS_KEY": "made-up"})

    assert run.verdict.outcome == "ok"
    lines = (run.root / "env").read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (env["FLEET_RUN_ID"], env["FLEET_AGENT"]) == (run.id, "outreach")
    assert env["FLEET_HOME"] == str(run.root)
    assert env["CLAUDE_CONFIG_DIR"] == str(run.root / "state/claude/outreach")
    assert "AWS_SECRET_ACCESS_KEY" not in env
    assert list((run.root / "state/claude/outreach/projects").rglob(f"{run.id}.jsonl"))


def test_the_hook_lifts_what_the_cli_would_refuse(stub: Start, launch: Launch) -> None:
    """Inline JSON in a quoted here-document, and one followed by `&&`, run without a denial."""
    body = '{"css": "a { b: \'c\' }", "price": "$40"}'
    command = f"fleet emit t --data - <<'EOT' && fleet post ops 'it is {{out}}'\n{body}\nEOT"
    server = stub(bash(command), say("Done."))

    run = launch(server)

    assert run.result()["permission_denials"] == []
    assert (run.root / "input").read_text() == body + "\n"
    assert (run.root / "calls").read_text().splitlines()[1] == "outreach post ops it is {out}"


def test_a_denied_tool_is_on_record(stub: Start, launch: Launch) -> None:
    """What is no call of fleet is refused, the model is told so, and the verdict names it."""
    server = stub(bash("fleet post ops x; touch made"), bash("touch made"), say("I could not."))

    run = launch(server)

    assert run.verdict.outcome == "ok_with_denials"
    assert len(run.verdict.denials) == 2
    assert not (run.work / "made").exists()
    assert not (run.root / "calls").exists()


def test_state_cannot_be_read(stub: Start, launch: Launch, home: Path) -> None:
    """With the home as its folder a run reads the operator's files, and nothing under state."""
    secret = home / "state/channels/secret"
    secret.parent.mkdir(parents=True)
    secret.write_text("said in private")
    (home / "open.txt").write_text("said in public")
    server = stub(
        call("Read", file_path=str(secret)),
        bash("cat state/channels/secret"),
        bash("grep -h private state/channels/*"),
        bash("cat open.txt"),
        say("Done."),
    )

    run = launch(server, cwd=home)

    assert run.exit["returncode"] == 0
    assert len(server.asked) == 5
    assert all("said in private" not in asked.everything() for asked in server.asked)
    assert "said in public" in server.asked[4].news()


def test_a_file_named_in_a_context_is_not_read(stub: Start, launch: Launch) -> None:
    """`@path` in the context stays four letters more; it pulls no file into the request."""
    server = stub(say("Done."))
    context = "# You are outreach\n\nA post says:\n@/etc/passwd\n"

    run = launch(server, context=context)

    assert run.verdict.outcome == "ok"
    assert "@/etc/passwd" in server.asked[0].system()
    assert "root:x:" not in server.asked[0].everything()


def test_a_long_prompt_arrives(stub: Start, launch: Launch) -> None:
    """A prompt and a context of 300 kB each reach the model whole."""
    server = stub(say("Done."))

    run = launch(server, context="c " * 150_000 + "END-C", prompt="p " * 150_000 + "END-P")

    assert run.verdict.outcome == "ok"
    assert "END-C" in server.asked[0].system()
    assert "END-P" in server.asked[0].everything()


def test_a_stop_while_the_model_thinks(stub: Start, launch: Launch) -> None:
    """A run that is stopped while it waits for the model is killed, not successful."""
    server = stub(say("Too late.", delay=60))
    run = launch(server, grace=3)
    assert until(lambda: server.asked)

    run.keeper.terminate()

    assert run.exit["ended_by"] == "stopped"
    assert run.verdict.outcome == "killed"
    assert run.left() == set()


def test_nothing_of_the_key_is_written(stub: Start, launch: Launch) -> None:
    """No file in the run folder or the CLI's folder holds the key or the run's token."""
    server = stub(bash("fleet post ops hi"), say("Done."))

    run = launch(server)

    assert run.verdict.outcome == "ok"
    for path in [*run.folder.rglob("*"), *(run.root / "state/claude").rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            assert server.environ()["ANTHROPIC_API_KEY"].encode() not in content, path
            assert f"{run.id}.0000".encode() not in content, path


def test_a_cli_that_stays_behind_its_result_is_a_success(stub: Start, launch: Launch) -> None:
    """What hangs when the result is there is stopped, whatever it waits for; the result counts."""
    stays = {"type": "command", "command": "sleep 600", "timeout": 600}

    run = launch(stub(say("Done.")), hooks={"SessionEnd": [{"hooks": [stays]}]}, after_result=1)

    assert run.exit["ended_by"] == "after_result"
    assert run.verdict.outcome == "ok"
    assert run.left() == set()


@pytest.mark.prove
def test_the_cli_deletes_no_old_transcript(stub: Start, launch: Launch, home: Path) -> None:
    """A transcript of 40 days stays, though the CLI deletes those of 30 when nothing is said."""
    project = home / "state/claude/outreach/projects/-old"
    project.mkdir(parents=True)
    old = project / "0193a1b2-0000-7000-8000-0123456789ab.jsonl"
    old.write_text('{"type":"user"}\n')
    before = time.time() - 40 * 86_400
    os.utime(old, (before, before))
    server = stub(bash("sleep 5; fleet post ops 'hello'"), say("Done."))

    run = launch(server)

    assert run.verdict.outcome == "ok"
    assert old.exists()
