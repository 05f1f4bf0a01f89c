"""A run ends at its limits, with the word for the limit that it met."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.keeper import output
from keeper.kept import Kept, until

Keep = Callable[..., Kept]
RESULT = json.dumps({"is_error": False, "type": "result"})


def test_a_command_that_never_ends_meets_its_timeout(keep: Keep) -> None:
    """After `timeout` the command is stopped, and what it wrote until then is kept."""
    began = time.monotonic()
    kept = keep("echo so far; exec sleep 60", timeout=0.5)

    said = kept.exit()

    assert (said["ended_by"], said["reason"]) == ("timeout", "still running after 0.5 s")
    assert said["signal"] == 2
    assert kept.out() == "so far\n"
    assert time.monotonic() - began < 5


def test_silence_is_a_stall(keep: Keep) -> None:
    """Without output for `idle_timeout` the command is stopped, long before its timeout."""
    kept = keep("for i in 1 2 3; do echo $i; sleep 0.4; done; exec sleep 60", idle_timeout=1)

    said = kept.exit()

    assert (said["ended_by"], said["reason"]) == ("stalled", "no sign of life for 1 s")
    assert kept.out() == "1\n2\n3\n"


def test_standard_error_is_a_sign_of_life(keep: Keep) -> None:
    """A command that writes to standard error alone does not stall."""
    kept = keep("for i in 1 2 3 4 5; do echo $i >&2; sleep 0.4; done", idle_timeout=1.2)

    assert kept.exit()["ended_by"] == "exit"


def test_a_growing_transcript_is_a_sign_of_life(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's own transcript and its subagents' count; another session's does not."""
    projects = tmp_path_factory.mktemp("projects")
    monkeypatch.setattr(output, "TRANSCRIPT_EVERY", 0.0)
    transcript = output.Transcript(str(projects), "r1")
    (projects / "-home-work").mkdir()

    def write(name: str) -> bool:
        path = projects / "-home-work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write("{}\n")
        return transcript.grew()

    assert not transcript.grew()
    assert write("r1.jsonl")
    assert not transcript.grew()
    assert not write("r2.jsonl")
    assert write("r1/subagents/agent-7.jsonl")
    assert write("r1.jsonl")


@pytest.mark.prove
def test_a_silent_command_whose_transcript_grows_lives_on(keep: Keep, tmp_path: Path) -> None:
    """Without a word on its outputs it is not stalled while the CLI's own record of it grows."""
    projects = tmp_path / "projects"
    (projects / "-work").mkdir(parents=True)
    grows = f"for i in 1 2 3 4 5 6 7 8; do echo {{}} >> {projects}/-work/$FLEET_RUN_ID.jsonl"
    limits = {"transcript": str(projects), "idle_timeout": 6.5, "format": "claude"}
    kept = [keep(f"{grows}; sleep 1.5; done; exit 7", **limits), keep("exec sleep 60", **limits)]

    assert [one.exit(30)["ended_by"] for one in kept] == ["exit", "stalled"]


def test_a_command_that_stays_after_its_result_is_a_success(keep: Keep) -> None:
    """With the result there it gets `after_result` seconds, then is stopped as `after_result`."""
    script = f"echo '{RESULT}'; exec sleep 60"
    kept = keep(script, format="claude", after_result=0.5, idle_timeout=0.1)

    said = kept.exit()

    assert (said["ended_by"], said["result_seen"]) == ("after_result", True)
    assert kept.out() == RESULT + "\n"


def test_another_result_starts_that_time_anew(keep: Keep) -> None:
    """A session with several results is not cut short between them."""
    script = f"for i in 1 2 3 4; do echo '{RESULT}'; sleep 0.7; done; echo end; exit 5"
    kept = keep(script, format="claude", after_result=1.4)

    said = kept.exit()

    assert (said["ended_by"], said["returncode"]) == ("exit", 5)
    assert kept.out().endswith("end\n")


def test_only_a_whole_line_of_that_type_is_a_result(keep: Keep) -> None:
    """The word in other places, half a line, and text that is no JSON are no result."""
    lines = [
        '{"type": "user", "text": "\\"type\\":\\"result\\""}',
        '["type", "result"]',
        '{"type": "result"',
        "[" * 5000 + '"result"',
    ]
    script = "cat; printf '%s' '{\"type\": \"result\"}'; exec sleep 60"
    kept = keep(script, "\n".join(lines).encode() + b"\n", format="claude", timeout=1)

    said = kept.exit()

    assert (said["ended_by"], said["result_seen"]) == ("timeout", False)


def test_a_plain_command_has_no_results(keep: Keep) -> None:
    """For `format: command` a line that looks like a result changes nothing."""
    kept = keep(f"echo '{RESULT}'; exec sleep 60", after_result=0.1, timeout=1)

    assert kept.exit()["ended_by"] == "timeout"


def test_waiting_costs_next_to_nothing(keep: Keep) -> None:
    """A keeper that waits for a silent command uses less than a twentieth of a core."""
    kept = keep("sleep 3")
    stat = Path(f"/proc/{kept.alive()['pid']}/stat")

    def spent() -> float:
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    before = spent()
    assert not until(lambda: kept.process.poll() is not None, 2)
    assert spent() - before < 0.1
