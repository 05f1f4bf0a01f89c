"""What a keeper leaves in the run's folder says truly how the run went."""

import hashlib
import json
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet import processes
from keeper.kept import Kept

Keep = Callable[..., Kept]


def test_a_command_that_ends_by_itself_is_told_whole(keep: Keep) -> None:
    """Exit code, output, sizes and both times are in exit.json, and nothing was swept."""
    kept = keep("cat; echo oops >&2; exit 3", b"hello\n")

    said = kept.exit()

    assert (said["run"], said["pid"]) == (kept.run, kept.process.pid)
    assert (said["returncode"], said["signal"], said["ended_by"]) == (3, None, "exit")
    assert (said["stdout_bytes"], said["stderr_bytes"], said["swept"]) == (6, 5, 0)
    assert not said["truncated"]
    assert not said["result_seen"]
    assert said["reason"] == ""
    assert kept.out() == "hello\n"
    assert "T" in said["started"]
    assert said["started"].endswith("+00:00")
    assert said["started"] <= said["ended"]


def test_death_by_a_signal_is_no_exit_code(keep: Keep) -> None:
    """A command that is killed from outside has a signal and no return code."""
    kept = keep("kill -SEGV $$")

    said = kept.exit()

    assert (said["returncode"], said["signal"], said["ended_by"]) == (None, 11, "exit")


def test_alive_names_keeper_and_command(keep: Keep) -> None:
    """Pid, start and boot in alive.json are those of the running processes, and stop being so."""
    kept = keep("touch here; sleep 60 & wait")
    said = kept.alive()

    assert said["pid"] == kept.process.pid
    assert said["run"] == kept.run
    assert processes.is_alive(said["pid"], said["start"], said["boot"])
    assert processes.is_alive(said["child_pid"], said["child_start"], said["boot"])
    assert not processes.is_alive(said["pid"], said["start"] + 1, said["boot"])
    assert not processes.is_alive(said["pid"], said["start"], "another boot")

    kept.process.terminate()
    kept.exit()
    assert not processes.is_alive(said["child_pid"], said["child_start"], said["boot"])


def test_several_input_files_become_one(keep: Keep) -> None:
    """The command reads its context, then its prompt, each on lines of its own, from a file."""
    kept = keep("stat -Lc %F /dev/stdin; cat", b"context\n\n", b"prompt")

    kept.exit()

    assert kept.out() == "regular file\ncontext\nprompt\n"


def test_a_prompt_of_300_kb_arrives_and_stays_out_of_the_command_line(keep: Keep) -> None:
    """Standard input is the whole file, and neither argv nor environment holds any of it."""
    prompt = b"secret plan " * 25_000
    kept = keep("sha256sum; tr '\\0' ' ' < /proc/$$/cmdline; env", prompt)

    kept.exit()

    assert hashlib.sha256(prompt).hexdigest() in kept.out()
    assert "secret plan" not in kept.out()


def test_no_descriptor_is_inherited(keep: Keep) -> None:
    """The command has its three streams and nothing else: no lock of a runner lives on in it."""
    kept = keep("ls /proc/$$/fd")

    kept.exit()

    assert kept.out().split() == ["0", "1", "2"]


def test_a_command_that_reads_to_the_end_of_its_input_ends(keep: Keep) -> None:
    """Standard input is a file with an end, never the keeper's own."""
    kept = keep("cat; echo end", timeout=5)

    assert kept.exit()["ended_by"] == "exit"
    assert kept.out() == "end\n"


def test_five_megabytes_on_both_outputs_are_no_stall(keep: Keep) -> None:
    """A command that writes much is never blocked; head and tail are kept within the cap."""
    block = "head -c 5000000 /dev/zero | tr '\\0' x | fold -w 99"
    kept = keep(f"echo first; {block}; echo last; {block} >&2; sleep 1", output_cap=1 << 21)

    said = kept.exit(10)

    assert (said["returncode"], said["truncated"]) == (0, True)
    assert said["stdout_bytes"] > 5_000_000
    assert said["stderr_bytes"] > 5_000_000
    out = kept.out()
    assert out.startswith("first\n")
    assert out.endswith("last\n")
    assert "bytes are left out here]\n" in out
    for name in ("stdout.jsonl", "stderr.log"):
        assert (1 << 21) - 300 <= (kept.folder / name).stat().st_size <= 1 << 21


def test_a_flood_ends_the_run(keep: Keep) -> None:
    """Over four times the cap the command is stopped and the file is cut all the same."""
    kept = keep("yes", output_cap=100_000)

    said = kept.exit()

    assert said["ended_by"] == "output_cap"
    assert "400000 bytes" in said["reason"]
    assert (kept.folder / "stdout.jsonl").stat().st_size <= 100_000


def test_the_newest_result_survives_the_cut(keep: Keep) -> None:
    """The cut keeps the last result line whole even when it begins before the tail."""
    result = json.dumps({"x": "y" * 60_000, "type": "result"})
    script = "yes '{}' | head -c 200000; echo; cat; yes '[]' | head -n 100"
    kept = keep(script, result.encode() + b"\n", output_cap=100_000, format="claude")

    said = kept.exit()

    assert said["truncated"]
    assert said["result_seen"]
    lines = [json.loads(line) for line in kept.out().splitlines() if line]
    assert json.loads(result) in lines
    assert [line["left_out_bytes"] > 0 for line in lines if "left_out_bytes" in line] == [True]
    assert (kept.folder / "stdout.jsonl").stat().st_size <= 100_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"argv": ["no-such-claude"]}, "cannot start no-such-claude: no such command"),
        ({"argv": ["/nowhere/claude"]}, "cannot start /nowhere/claude: no such command"),
        ({"argv": ["/etc/passwd"]}, "cannot start /etc/passwd: permission denied"),
        ({"cwd": "/nowhere"}, "cannot start /bin/sh: no such folder: /nowhere"),
        ({"argv": ["/bin/echo", "x" * 140_000]}, "cannot start /bin/echo: argument list too long"),
        ({"argv": ["/bin/echo", "a\0b"]}, "cannot start /bin/echo: embedded null byte"),
        ({"argv": []}, "keeper.json: the command is empty"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_start_says_why(keep: Keep, change: dict[str, object], reason: str) -> None:
    """A command that cannot be started ends as `launch` with one line that names it."""
    kept = keep("true", **change)

    said = kept.exit()

    assert (said["ended_by"], said["returncode"], said["signal"]) == ("launch", None, None)
    assert reason in said["reason"]
    assert "\n" not in said["reason"]


def test_a_broken_order_is_a_launch_failure(tmp_path: Path) -> None:
    """Half a keeper.json gives an exit.json that says so, and no traceback."""
    (tmp_path / "keeper.json").write_text('{"run": ')

    done = subprocess.run(
        [sys.executable, "-I", "-m", "fleet.keeper", str(tmp_path)],
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "exit.json").read_text())["ended_by"] == "launch"


def test_without_a_folder_it_says_one_line(tmp_path: Path) -> None:
    """Where nothing can be written the keeper ends at once with one line and exit 1."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "fleet.keeper", str(tmp_path / "nowhere")],
        capture_output=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_its_files_are_for_their_owner_and_hold_no_environment(keep: Keep) -> None:
    """No file of the keeper's is readable by others, and none holds a value of its environment."""
    kept = keep("true", b"", environ={"ANTHROPIC_API_KEY": "made-up-key-4711"})

    kept.exit()

    for name in ("stdout.jsonl", "stderr.log", "alive.json", "exit.json"):
        path = kept.folder / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, name
        assert "made-up-key" not in path.read_text()
    assert {path.name for path in kept.folder.iterdir()} == {
        *("cwd", "in-0.md", "keeper.json"),
        *("stdout.jsonl", "stderr.log", "alive.json", "exit.json"),
    }


def test_a_full_disk_does_not_cost_the_last_word(tmp_path: Path, keep: Keep) -> None:
    """The room for exit.json is taken at the start: it is written when nothing else can be."""
    mount = tmp_path / "small"
    mount.mkdir()
    small = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(mount)]
    if subprocess.run(small, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        kept = keep("sleep 0.3; cat /dev/zero > filler; yes; exit 1", under=mount)
        said = kept.exit()
    finally:
        subprocess.run(["umount", str(mount)], check=True)

    assert (said["returncode"], said["ended_by"]) == (1, "exit")


def test_a_file_size_limit_is_a_launch_failure(tmp_path: Path, keep: Keep) -> None:
    """When not even the room for exit.json can be had, nothing is started."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        kept = keep("touch started")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    said = kept.exit()

    assert said["ended_by"] == "launch"
    assert "file too large" in said["reason"]
    assert not (kept.folder / "cwd" / "started").exists()
    assert (kept.folder / "exit.json").stat().st_size < 2000
