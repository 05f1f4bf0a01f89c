"""What becomes of files that programs wrote."""

import json
import random
import stat
from pathlib import Path

import pytest

from fleet.masking import outputs
from fleet.masking.kinds import is_mask
from fleet.masking.outputs import LINE, mask_file
from fleet.masking.run_files import mask_run

KEY = "sk-ant-api03-abcDEF1234567890"
PEM = f"-----BEGIN PRIVATE KEY-----\n{'QUJDRA==' * 8}\n-----END PRIVATE KEY-----"


def masked(tmp_path: Path, data: bytes, secrets: tuple[str, ...] = ()) -> bytes:
    """`data` after its file was masked."""
    path = tmp_path / "out"
    path.write_bytes(data)
    assert mask_file(path, secrets) == (path.read_bytes() != data)
    return path.read_bytes()


def test_json_lines_stay_json_lines(tmp_path: Path) -> None:
    """A line that is JSON is masked as the value that it is: names, nested and escaped JSON."""
    inner = json.dumps({"apiKey": "plainwords", "n": 1})
    lines = [{"type": "x", "n": 1.5, "é": "ü"}, {"API_KEY": "plainwords"}, {"text": inner}]
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)

    found = masked(tmp_path, data.encode()).decode().splitlines()

    assert found[0] == json.dumps(lines[0], ensure_ascii=False)
    assert json.loads(found[1]) == {"API_KEY": "[masked:api-key]"}
    assert json.loads(json.loads(found[2])["text"]) == {"apiKey": "[masked:api-key]", "n": 1}


def test_anything_else_is_text(tmp_path: Path) -> None:
    """Keys in plain lines, keys of several lines and torn JSON are masked; other bytes stay."""
    data = f'hi {KEY}\n{PEM}\n{{"a": "{KEY}\n'.encode() + b"\xff\xfe \xc3\n"

    assert masked(tmp_path, data) == (
        b'hi [masked:anthropic-key]\n[masked:private-key]\n{"a": "[masked:anthropic-key]\n'
        b"\xff\xfe \xc3\n"
    )


@pytest.mark.parametrize("secret", [KEY, PEM, "password: hunter2", "plain words 12"])
def test_a_secret_is_found_wherever_the_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    """Files are read in pieces; a secret across two of them is masked like any other."""
    monkeypatch.setattr(outputs, "TEXT", 4096)
    monkeypatch.setattr(outputs, "KEPT", 512)
    before = "".join(random.Random(5).choices(["word ", "a line\n", "x" * 30 + " "], k=400))
    after = "and so on\n" * 300

    for at in range(4096 - 512 - 200, 4096 - 512 + 200, 3):
        text = before[:at]
        found = masked(
            tmp_path, f"{text}\n{secret}\n{after}".encode(), ("plain words 12",)
        ).decode()

        mask = found.removeprefix(f"{text}\n").removesuffix(f"\n{after}").removeprefix("password: ")
        assert is_mask(mask), (at, mask)


def test_a_huge_line_stays_one_json_line(tmp_path: Path) -> None:
    """A line of several MiB is masked in pieces and is JSON still; its image is untouched."""
    image = "iVBORw0KGgo" * (3 * LINE // 11)
    data = json.dumps({"image": image, "text": KEY, "password": "plainwords"}).encode() + b"\n"

    found = json.loads(masked(tmp_path, data))

    assert found["image"] == image
    assert (found["text"], found["password"]) == ("[masked:anthropic-key]", "[masked:password]")


def test_links_are_not_followed_and_failures_change_nothing(tmp_path: Path) -> None:
    """Through a link nothing is masked; where nothing can be written the file stays as it is."""
    (tmp_path / "real").write_text(KEY)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "out").write_text(KEY)
    (tmp_path / "out.masked").mkdir()

    for name in ("link", "out"):
        with pytest.raises(OSError, match=name):
            mask_file(tmp_path / name)

    assert (tmp_path / "real").read_text() == KEY
    assert (tmp_path / "out").read_text() == KEY


def test_a_runs_own_files_are_masked_and_no_others(tmp_path: Path) -> None:
    """A run's folder and its transcript in the state are masked; a user's own transcripts stay."""
    run, other = "0193a1b2-0000-7000-8000-0123456789ab", "0193a1b2-0000-7000-8000-0123456789ac"
    state = tmp_path / "state"
    folder, inside, outside = state / "run" / run, state / "claude/a/projects", tmp_path / "claude"
    names = ["stdout.jsonl", "stderr.log", "keeper.json", "context.md"]
    paths = {folder / name for name in names}
    for projects in (inside, outside):
        paths |= {projects / "p" / f"{run}.jsonl", projects / "p" / f"{other}.jsonl"}
        paths.add(projects / "p" / run / "subagents" / "x.jsonl")
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"text": KEY}) + "\n")
    (folder / "stdout.jsonl").chmod(0o644)

    for projects in (inside, outside):
        mask_run(folder, run, str(projects), ())

    left = {path for path in paths if KEY in path.read_text()}
    assert left == {
        inside / "p" / f"{other}.jsonl",
        *(path for path in paths if path.is_relative_to(outside)),
    }
    assert stat.S_IMODE((folder / "stdout.jsonl").stat().st_mode) == 0o600
    assert {path.name for path in folder.iterdir()} == set(names)
