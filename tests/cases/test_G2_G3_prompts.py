"""How a prompt reaches the CLI: by a file that ends, whatever its size, and seen by nobody."""

import hashlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from fakeclaude import claude_agent, fake_claude
from fleets import Scripted

READS = {
    "to-the-end": "cat > /dev/null; echo done",
    "again": "cat > /dev/null; cat > /dev/null; echo done",
    "a-line": "read line; read line; read line; echo done",
    "not-at-all": "echo done",
    "in-a-child": "sh -c 'cat > /dev/null' & wait; echo done",
    "terminal": "test -t 0 && cat < /dev/tty; echo done",
}
TELLS = """
ps = subprocess.run(["ps", "-eo", "args", "-ww"], capture_output=True, text=True).stdout
result["result"] = json.dumps({
    "prompt": hashlib.sha256(prompt).hexdigest(),
    "context": hashlib.sha256(context).hexdigest(),
    "sizes": [len(prompt), len(context)],
    "seen": "needle-in-the" in ps or "needle-in-the" in repr(os.environ),
})
"""


def _pipe() -> int:
    """An input that never says anything and never ends."""
    return os.pipe()[0]


def _terminal() -> int:
    return pty.openpty()[1]


@pytest.mark.parametrize("stdin", [_pipe, _terminal])
def test_a_run_never_waits_for_more_input(scripted: Scripted, stdin: Callable[[], int]) -> None:
    """G2: whatever its own input is, and however a command reads, its input ends and so does it."""
    for name, script in READS.items():
        scripted.agent(name, script, "timeout: 10s")
    fake_claude(scripted, "sys.stdin.buffer.read(); os.read(0, 1)")
    claude_agent(scripted, "cli", "timeout: 10s")
    names = [*READS, "cli"] if stdin is _pipe else ["to-the-end", "terminal", "cli"]
    source = stdin()

    codes = {name: _start(scripted, name, source).wait(30) for name in names}
    with suppress(OSError):
        os.close(source)

    assert codes == dict.fromkeys(names, 0)
    assert {run.outcome for run in scripted.runs()} == {"ok"}


def _start(home: Scripted, agent: str, stdin: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "fleet", "--home", str(home.root), "run", agent],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("kib", [4, 128, 300])
def test_a_large_prompt_arrives_whole(scripted: Scripted, kib: int) -> None:
    """G3: 300 KB of task and 128 KiB of context reach the CLI byte for byte, by files alone.

    Nothing of them is in an argument or the environment of any process.
    """
    task = "needle-in-the task " + "wörter " * (kib * 64)
    scripted.put("prompts/task.md.j2", task)
    scripted.put(
        "prompts/base.md.j2",
        "{% block context %}needle-in-the context {{ '" + "x" * min(kib, 128) * 1000 + "' }}"
        "{% endblock %}{% block task %}{% for half in (1, 2) %}{% include 'task.md.j2' %}"
        "{% endfor %}{% endblock %}",
    )
    fake_claude(scripted, TELLS)
    claude_agent(scripted, "worker")

    done = scripted.call("run", "worker", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    folder = scripted.root / "state" / "run" / json.loads(done.stdout)["id"]
    output = (folder / "stdout.jsonl").read_text().splitlines()[-1]
    told = json.loads(json.loads(output)["result"])
    for name in ("prompt", "context"):
        data = (folder / f"{name}.md").read_bytes()
        assert told[name] == hashlib.sha256(data).hexdigest()
    assert (folder / "prompt.md").read_text().count(task.strip()) == 2
    assert told["sizes"][0] > kib * 1000
    assert told["seen"] is False
