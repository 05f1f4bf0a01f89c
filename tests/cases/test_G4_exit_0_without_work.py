"""Runs that exit 0 and did nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

from fakeclaude import claude_agent, fake_claude
from fleets import Scripted

COMMANDS = {
    "nothing": "cat > /dev/null",
    "spaces": "cat > /dev/null; printf '  \\n\\n\\t'",
    "only-stderr": "cat > /dev/null; echo warming up >&2",
    "at-once": ":",
}
ANSWERS = {
    "empty-text": 'result["result"] = ""',
    "blank-text": 'result["result"] = " \\n"',
    "no-turns": 'result["num_turns"] = 0',
}
ANSWER_AS_TOLD = "\n".join(
    f'if os.environ["FLEET_AGENT"] == "{name}":\n    {line}' for name, line in ANSWERS.items()
)
NAMES = [*COMMANDS, *ANSWERS]


def test_no_work_is_no_success(scripted: Scripted) -> None:
    """G4: exit 0 without output, answer or model call is `empty`, consumes nothing, fails `run`.

    After three such runs in a row there is one alert about the agent.
    """
    for name, script in COMMANDS.items():
        scripted.agent(name, script)
    fake_claude(scripted, ANSWER_AS_TOLD)
    for name in ANSWERS:
        claude_agent(scripted, name)
    event = scripted.call("emit", "note", "n=1").stdout.strip()

    with ThreadPoolExecutor(3) as pool:
        codes = list(pool.map(lambda name: scripted.call("run", name).returncode, NAMES))
    again = [scripted.call("run", name) for name in ("nothing", "no-turns") for _ in range(2)]

    assert codes == [8] * len(NAMES)
    assert {done.returncode for done in again} == {8}
    assert {(run.outcome, run.delivered) for run in scripted.runs()} == {("empty", (event,))}
    assert all(event in scripted.call("context", name).stdout for name in ("spaces", "no-turns"))
    status = json.loads(scripted.call("status", "--json").stdout)
    alerts = [(one["kind"], one["subject"]) for one in status["alerts"]]
    assert alerts == [("failing", "nothing"), ("failing", "no-turns")]
    assert {agent["state"] for agent in status["agents"]} == {"failing"}


def test_a_cli_that_ends_without_a_word_is_no_success(scripted: Scripted) -> None:
    """G4: a CLI that exits 0 and printed nothing at all has failed too."""
    fake_claude(scripted, "result = None")
    claude_agent(scripted, "worker")

    assert scripted.call("run", "worker").returncode == 8

    (run,) = scripted.runs()
    assert run.outcome in {"empty", "crashed"}
    assert run.advance == {}
