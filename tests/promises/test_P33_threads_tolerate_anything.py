"""P33: a thread whose parents are missing, or run in a circle, is read, answered and shown."""

import json
from pathlib import Path

import pytest

from calls import Actor, Call, call, many
from fleet.records import Draft
from fleets import Scripted

SHAPES: dict[str, list[str | None]] = {
    "missing": ["strategy#900"],
    "itself": ["strategy#1"],
    "circle of two": ["strategy#2", "strategy#1"],
    "circle of three with a tail": ["strategy#3", "strategy#1", "strategy#2", "strategy#3"],
    "forward": ["strategy#2", None],
    "another channel": ["elsewhere#1"],
    "no reference": ["nonsense", "strategy#", "#1", "strategy#-1", "strategy#1e9", ""],
    "a long chain": [None, *(f"strategy#{n}" for n in range(1, 400))],
    "a long chain into nothing": [f"strategy#{n}" for n in range(401, 200, -1)],
}


def posts(shape: list[str | None]) -> list[Draft]:
    """Messages that answer what the shape says, as another version or a person may write them."""
    return [
        Draft({"op": "post", "from_agent": "other", "text": f"text {number}", "reply_to": parent,
               "thread": parent, "pin": number == 1, "run": "r"})
        for number, parent in enumerate(shape, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_broken_thread_is_like_any_other(tmp_path: Path, shape: str) -> None:
    """P33: every command that looks at threads answers in time, whatever the parents are."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    parents = SHAPES[shape]
    home.fleet.store.append("channels/strategy", posts(parents))
    last = f"strategy#{len(parents)}"
    env = {"FLEET_HOME": str(home.root)}
    ways: list[Call] = [
        call("read", "strategy", "--thread", last, "--json"),
        call("read", "strategy", "--thread", "strategy#1", "--json"),
        call("read", "strategy", "--json", "--limit", "999"),
        call("context", "worker"),
        call("verify"),
    ]

    done = many(home.root, ways, env)
    answered = actor.does(call("reply", last, "an answer"), call("react", last, "agree"))

    assert {one.code for one in (*done, *answered)} == {0}, (done, answered)
    thread = [json.loads(line)["ref"] for line in done[0].out.splitlines()]
    assert last in thread
    assert len(set(thread)) == len(thread)
    assert len(done[2].out.splitlines()) == len(parents)
    assert f"text {len(parents)}" in actor.prompt
    (again,) = many(home.root, ways[:1], env)
    assert json.loads(again.out.splitlines()[-1])["text"] == "an answer"


def test_a_damaged_parent_is_a_missing_one(tmp_path: Path) -> None:
    """P33: when the first message of a thread is lost, its answers are still a thread."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    actor.does(
        call("post", "strategy", "first"),
        call("reply", "strategy#1", "second"),
        call("reply", "strategy#2", "third"),
    )
    (segment,) = (home.root / "state" / "channels" / "strategy").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"first", b"fiRst"))

    shown, more = actor.does(
        call("read", "strategy", "--thread", "strategy#3", "--json"),
        call("reply", "strategy#3", "fourth"),
    )

    texts = [json.loads(line)["text"] for line in shown.out.splitlines()]
    assert texts == ["second", "third"]
    assert more.code == 0
    assert home.call("verify").returncode == 8
