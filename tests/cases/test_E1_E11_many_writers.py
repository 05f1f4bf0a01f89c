"""Many writers of one log, its rotation, and those who follow it."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from calls import call, many
from fleets import Scripted, until

SIZES = (1, 300, 4_095, 20_000, 60_000)
EMITS = """
import sys
from pathlib import Path
from fleet.wiring import open_fleet
name, count, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
fleet = open_fleet(Path(sys.argv[1]), env={})
for number in range(count):
    payload = {"n": f"{name}-{number}", "fill": "ä" * (size // 2)}
    fleet.bus.emit(fleet.author, "note", payload)
"""


def test_no_two_records_are_welded(scripted: Scripted, tmp_path: Path) -> None:
    """E1: 6 processes emit and post 240 texts of up to 60 KB at once: each line is one record."""
    scripted.agent("worker", "true")
    texts = [[f"{name}{n} " + "x" * SIZES[n % 5] for n in range(20)] for name in "abcdef"]

    def write(own: list[str]) -> None:
        emits = [call("emit", "note", "--data", "-", stdin=json.dumps({"n": one})) for one in own]
        posts = [call("post", "strategy", "-", stdin=one[:9_000]) for one in own]
        done = many(tmp_path, [*emits, *posts], {"FLEET_HOME": str(scripted.root)})
        assert {one.code for one in done} == {0}, done

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, texts))

    whole = sorted(text for own in texts for text in own)
    events, posts = _lines(scripted, "events"), _lines(scripted, "channels/strategy")
    assert sorted(one["payload"]["n"] for one in events) == whole
    assert sorted(one["text"] for one in posts) == sorted(text[:9_000] for text in whole)
    assert [one["seq"] for one in events] == list(range(1, 121))
    assert scripted.call("verify").returncode == 0


def test_those_who_follow_a_log_see_each_event_once_over_its_rotation(scripted: Scripted) -> None:
    """E11: 8 writers fill a segment and begin the next; each of 3 followers gets all, in order.

    An agent that read none of it is told the true count, and begins with the oldest.
    """
    scripted.agent("worker", "cat > /dev/null; echo done")
    assert scripted.call("emit", "note", "n=first").returncode == 0
    options = [("--limit", "999"), ("--limit", "7"), ("--type", "note")]
    outs = [scripted.root.parent / f"follower-{number}" for number in range(3)]
    writers = [
        subprocess.Popen([sys.executable, "-c", EMITS, str(scripted.root), name, "40", "60000"])
        for name in "abcdefgh"
    ]
    assert until(lambda: scripted.fleet.store.head("events") > 1)
    followers = [_follow(scripted, *pair) for pair in zip(outs, options, strict=True)]

    codes = [writer.wait(60) for writer in writers]
    complete = until(lambda: all(out.read_bytes().count(b"\n") >= 321 for out in outs), 30)
    for follower in followers:
        follower.kill()
        follower.wait()

    assert codes == [0] * 8
    assert len(list((scripted.root / "state" / "events").glob("*.jsonl"))) == 2
    assert complete
    for out in outs:
        seqs = [json.loads(line)["seq"] for line in out.read_bytes().splitlines()]
        assert seqs == list(range(1, 322))
    explained = scripted.call("context", "worker", "--explain").stdout
    (row,) = [row.split() for row in explained.splitlines() if row.startswith("events ")]
    assert int(row[1]) + int(row[2]) == 321
    assert "events#1 " in scripted.call("context", "worker").stdout


def _follow(home: Scripted, out: Path, options: tuple[str, ...]) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "fleet", "--home", str(home.root), "events", "--json"]
    with out.open("wb") as file:
        return subprocess.Popen(
            [*argv, "--after", "0", "-f", *options], stdout=file, env=os.environ
        )


def _lines(home: Scripted, log: str) -> list[dict[str, object]]:
    """Every line of a log's files, each of which must be JSON by itself."""
    files = sorted((home.root / "state" / log).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
