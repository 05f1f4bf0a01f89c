"""Runs that write more than a pipe holds, or more than anybody wants to keep."""

import json
import time

from fakeclaude import claude_agent, fake_claude
from fleet.runner.launchers.shape import OUTPUT_CAP
from fleets import Scripted

WRITES = """
line = json.dumps({"type": "assistant", "text": "x" * 1000}) + "\\n"
print(json.dumps({"type": "system", "first": True}))
for _ in range(5000):
    sys.stdout.write(line)
    sys.stderr.write(line)
sys.stdout.flush()
time.sleep(1)
"""


def test_nothing_waits_for_a_reader(scripted: Scripted) -> None:
    """G11: 5 MB on both outputs and a second's pause are a success in less than 10 s.

    Of each output head and tail are kept, with the result, within the cap.
    """
    fake_claude(scripted, WRITES)
    claude_agent(scripted, "worker", "timeout: 15s")
    began = time.monotonic()

    done = scripted.call("run", "worker", "--json")

    assert time.monotonic() - began < 10
    run = json.loads(done.stdout)
    assert (done.returncode, run["outcome"], run["cost_usd"]) == (0, "ok", 0.01)
    folder = scripted.root / "state" / "run" / run["id"]
    for name in ("stdout.jsonl", "stderr.log"):
        assert OUTPUT_CAP // 2 < (folder / name).stat().st_size <= OUTPUT_CAP
    lines = [json.loads(line) for line in (folder / "stdout.jsonl").read_text().splitlines()]
    assert lines[0] == {"type": "system", "first": True}
    assert [line["left_out_bytes"] > 0 for line in lines if line["type"] == "fleet"] == [True]
    assert lines[-1]["result"] == "did the work"


def test_what_a_run_wrote_until_its_timeout_is_kept(scripted: Scripted) -> None:
    """G11: a run that meets its timeout leaves what it wrote, and `logs` shows it."""
    scripted.agent("worker", "seq 100000; echo lost >&2; sleep 60", "timeout: 1s", "grace: 1s")

    assert scripted.call("run", "worker").returncode == 8

    (run,) = scripted.runs()
    assert run.outcome == "timeout"
    shown = scripted.call("logs", "worker").stdout.splitlines()
    assert shown[:100_000] == [str(number) for number in range(1, 100_001)]
    assert shown[-1] == "lost"


def test_a_flood_is_the_runs_own_fault(scripted: Scripted) -> None:
    """G11: a run that never stops writing is ended, `crashed`, with how much it wrote as reason."""
    scripted.agent("worker", "yes")

    done = scripted.call("run", "worker")

    (run,) = scripted.runs()
    assert (done.returncode, run.outcome) == (8, "crashed")
    assert f"it wrote more than {4 * OUTPUT_CAP} bytes" in run.reason
    folder = scripted.root / "state" / "run" / run.id
    assert (folder / "stdout.jsonl").stat().st_size <= OUTPUT_CAP
