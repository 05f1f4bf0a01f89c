"""Files are the truth and everything else is a cache: marks of a merge are seen, lies are not."""

import json
import re
from pathlib import Path

import pytest

from calls import call, many
from fleets import Scripted

OURS, THEIRS, END = "<<<<<<< HEAD\n", "=======\n", ">>>>>>> branch\n"


def conflicted(path: Path) -> None:
    """The file as a merge leaves it that found two versions of its last line."""
    *lines, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, OURS, last, THEIRS, last, END]))


def filled(home: Path) -> None:
    """Some of everything."""
    done = many(
        home,
        [
            *(call("emit", "pricing-change", f"competitor=c{n}", "newPrice=1") for n in range(5)),
            *(call("post", "strategy", f"post {n}") for n in range(5)),
            call("react", "strategy#2", "agree"),
            call("pin", "strategy#1"),
            call("claim", "lead:x", "--note", "mine"),
            call("pause", "outreach", "--reason", "r"),
        ],
    )
    assert {one.code for one in done} == {0}


READS = [
    call("events", "--json"),
    call("events", "--for", "outreach", "--json"),
    call("read", "strategy", "--json"),
    call("channels", "--json"),
    call("claims", "--json"),
    call("runs", "--json"),
    call("schema", "list", "--json"),
    call("status", "--json"),
    call("context", "outreach"),
]


def seen(home: Path) -> list[str]:
    """What every reading command says, without nonces and times of the moment."""
    done = many(home, READS)
    assert {one.code for one in done} == {0}, done
    return [re.sub(r"fleet-data \w+|[\d:]{5} CET|\d+[smh] ago", "-", one.out) for one in done]


@pytest.mark.parametrize("stream", ["events", "channels/strategy"])
def test_marks_of_a_merge_in_a_log_are_named_and_hide_nothing(home: Path, stream: str) -> None:
    """F24: `verify` names file and line of each mark, good lines are read, and writing works."""
    filled(home)
    (segment,) = (home / "state" / stream).glob("*.jsonl")
    *lines, last = segment.read_text().splitlines(keepends=True)
    segment.write_text("".join([*lines, OURS, THEIRS, END, last]))
    read = call("events", "--json") if stream == "events" else call("read", "strategy", "--json")

    verify, shown = many(home, [call("verify", "--json"), read])

    assert verify.code == 8
    named = {(one["file"], one["line"]) for one in map(json.loads, verify.out.splitlines())}
    assert {line for file, line in named if Path(file).name == segment.name} >= {
        len(lines) + n for n in (1, 2, 3)
    }
    assert len(shown.out.splitlines()) == 5
    more = call("emit", "pricing-change", "competitor=c", "newPrice=1")
    more = more if stream == "events" else call("post", "strategy", "x")
    (done, shown) = many(home, [more, read])
    assert done.code == 0
    assert len(shown.out.splitlines()) == 6


def test_both_sides_of_a_merge_are_read(home: Path) -> None:
    """F24: a log that a merge put together of two copies loses no record of either."""
    filled(home)
    (segment,) = (home / "state" / "events").glob("*.jsonl")
    conflicted(segment)

    (shown,) = many(home, [call("events", "--json")])

    refs = [json.loads(line)["ref"] for line in shown.out.splitlines()]
    assert set(refs) == {f"events#{n}" for n in range(1, 6)}


@pytest.mark.parametrize(
    "name",
    ["fleet.yaml", "agents/outreach.yaml", "channels/strategy.yaml", "schemas/contact-made.json",
     "prompts/outreach.md.j2"],
)  # fmt: skip
def test_marks_of_a_merge_in_the_operators_files_are_named(home: Path, name: str) -> None:
    """F24: `check` names the file and the mark's line; the file is never skipped in silence."""
    many(home, [call("status")])
    lines = (home / name).read_text().splitlines()[:-1]
    conflicted(home / name)

    (check,) = many(home, [call("check", "--json")])

    found = [one for one in map(json.loads, check.out.splitlines()) if one["file"] == name]
    assert check.code == 7
    assert ("error", len(lines) + 1) in {(one["severity"], one["line"]) for one in found}


@pytest.mark.parametrize("name", ["claims", "control", "cursors"])
def test_marks_of_a_merge_in_a_document_are_named(home: Path, name: str) -> None:
    """F24: a damaged document is named by `verify`, and its last good copy or nothing is used."""
    filled(home)
    many(home, [call("skip", "outreach", "--to", to) for to in ("events#2", "now")])
    for path in (home / "state" / name).glob("*.json"):
        conflicted(path)
    damaged = {str(path.relative_to(home)) for path in (home / "state" / name).glob("*.json")}

    verify, status = many(home, [call("verify", "--json"), call("status", "--json")])

    assert verify.code == 8
    named = {one["file"] for one in map(json.loads, verify.out.splitlines())}
    assert {Path(file).name for file in damaged} <= {Path(file).name for file in named}
    assert status.code in {0, 75}, status


def test_everything_derived_comes_back_equal(home: Path) -> None:
    """F24: caches deleted, cut short or altered: every command says the same."""
    filled(home)
    known = seen(home)
    cache = home / "state" / "cache"
    assert list(cache.iterdir())

    for spoil in (
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"post", b"tsop")),
    ):
        for path in list(cache.rglob("*")):
            if path.is_file():
                spoil(path)
        assert seen(home) == known
    (again,) = many(home, [call("reindex")])
    assert again.code == 0
    assert seen(home) == known


def test_a_run_is_shown_the_same_without_caches(tmp_path: Path) -> None:
    """F24: what an agent is told never depends on what was computed before."""
    home = Scripted(tmp_path / "home")
    home.agent("worker", "cat > prompt; fleet report x; exit 1")
    written = [call("emit", "note", "n=1"), call("post", "strategy", "x")]
    many(home.root, written, {"FLEET_HOME": str(home.root)})
    home.call("run", "worker")
    first = home.fleet.runs.last("worker")
    for path in (home.root / "state" / "cache").rglob("*"):
        if path.is_file():
            path.unlink()
    home.call("run", "worker")
    second = home.fleet.runs.last("worker")

    assert first
    assert second
    assert first.id != second.id
    assert first.shown == ("events#1", "strategy#1")
    assert set(first.shown) <= set(second.shown)
