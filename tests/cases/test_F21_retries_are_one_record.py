"""Whoever is not sure whether a write came through repeats it with the same id."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import Actor, call, many
from fleets import Scripted

KINDS = {
    "emit": (["emit", "pricing-change", "competitor=x", "newPrice=1"], "newPrice=2"),
    "emit-to": (
        ["emit", "pricing-change", "competitor=x", "newPrice=1", "--to", "outreach"],
        "reply-handler",
    ),
    "post": (["post", "strategy", "hello"], "other"),
    "pinned": (["post", "strategy", "hello", "--pin"], "--reply-to"),
    "reply": (["reply", "strategy#1", "hello"], "other"),
}


def changed(words: list[str], other: str) -> list[str]:
    """The same command with another content."""
    if other == "--reply-to":
        return [*words[:-1], "--reply-to", "strategy#1"]
    return [*words[:-1], other]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_id_is_the_same_record(home: Path, kind: str) -> None:
    """F21: twice the same is one record and one answer, exit 0; another content is refused."""
    words, other = KINDS[kind]
    stream = "events" if kind.startswith("emit") else "channels/strategy"
    log = home / "state" / stream
    many(home, [call("post", "strategy", "first")])

    first, again = many(home, [call(*words, "--id", "K", "--json")] * 2)
    lines = sum(path.read_bytes().count(b"\n") for path in log.glob("*.jsonl"))
    refused, mine = many(
        home, [call(*changed(words, other), "--id", "K"), call(*words, "--id", "K2", "--json")]
    )

    assert (first.code, again.code) == (0, 0)
    assert json.loads(first.out) == json.loads(again.out)
    assert lines == json.loads(first.out)["seq"]
    assert (refused.code, refused.out) == (3, "")
    assert json.loads(first.out)["ref"] in refused.err
    assert json.loads(mine.out)["seq"] == json.loads(first.out)["seq"] + 1


@pytest.mark.parametrize("kind", ["emit", "post"])
def test_retries_that_overtake_each_other_are_one_record(home: Path, kind: str) -> None:
    """F21: four processes at once with one id: one record, the same answer, all exit 0."""
    words, _ = KINDS[kind]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "fleet", *words, "--id", "K", "--json"],
            env=os.environ.copy(),
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=60)[0] for process in started}

    assert [process.returncode for process in started] == [0] * 4
    assert len(answers) == 1
    assert json.loads(answers.pop())["seq"] == 1


def test_an_id_belongs_to_whoever_gave_it(tmp_path: Path) -> None:
    """F21: a later run of the same agent repeats its record; another agent's same id is refused."""
    home = Scripted(tmp_path / "home")
    one, two = Actor(home, "one"), Actor(home, "two")
    again = [call("emit", "note", "n=1", "--id", "K"), call("post", "strategy", "x", "--id", "K")]

    first, second, other = one.does(*again), one.does(*again), two.does(*again)

    assert [done.out for done in first] == [done.out for done in second]
    assert [done.code for done in (*first, *second)] == [0] * 4
    assert [done.code for done in other] == [3, 3]
    assert home.fleet.store.head("events") == home.fleet.store.head("channels/strategy") == 1
