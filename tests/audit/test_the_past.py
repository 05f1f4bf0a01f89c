"""`fleet seen`, `explain` and `timeline` by the real program, after runs that really happened."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calls import Actor, call, many
from fleets import Scripted

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """A writer that was shown a wrong price and spread it, a reader that was shown what it said."""
    home = Scripted(tmp_path_factory.mktemp("past") / "home")
    writer, reader = Actor(home, "writer"), Actor(home, "reader", "collaborators: [writer]")
    home.call("post", "strategy", "events#7 is what this text claims to be")
    home.call("emit", "note", "n=Cursor at $2")
    writer.does(
        call("read", "strategy"),
        call("find", "Cursor"),
        call("post", "strategy", "Cursor costs $2 now"),
        call("claim", "lead:x", "--keep", "1h"),
        call("events", "--json"),
        call("emit", "note", "n=told"),
        call("report", "spread the price"),
    )
    reader.does(call("show", "strategy#1"))
    return home


@pytest.fixture(scope="module")
def ask(home: Scripted) -> Ask:
    """`ask("seen", "events#1")` is what the command prints as JSON."""

    def asked(*words: str) -> list[dict[str, Any]]:
        (done,) = many(home.root, [call("--home", str(home.root), *words, "--json")])
        assert done.code == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    return asked


def test_seen_names_each_run_and_how(home: Scripted, ask: Ask) -> None:
    """A record's readers: by the section of their prompt or by their own reading, with outcome."""
    runs = {run.agent: run.id for run in home.runs()}

    message = [(one["agent"], one["how"]) for one in ask("seen", "strategy#2")]
    price = [(one["agent"], one["run"], one["how"]) for one in ask("seen", "events#1")]
    report = [(one["agent"], one["how"]) for one in ask("seen", "writer")]
    first = ask("seen", "strategy#1")

    assert message == [("reader", "channels")]
    assert sorted(price) == [
        ("reader", runs["reader"], "events"),
        ("writer", runs["writer"], "events"),
        ("writer", runs["writer"], "read"),
    ]
    assert report == [("reader", "awareness")]
    assert {(one["agent"], one["how"]) for one in first} == {
        ("writer", "channels"), ("writer", "read"), ("reader", "channels"), ("reader", "read"),
    }  # fmt: skip
    assert {one["outcome"] for one in first} == {"ok"}


def test_explain_maps_each_line_of_the_prompt_to_its_record(home: Scripted, ask: Ask) -> None:
    """A run: each reference with section, line, author and time, deliveries, reads and deeds."""
    (found,) = ask("explain", "writer")

    assert found["about"] is None
    assert found["files"] is True
    assert found["delivered"] == ["events#1"]
    told = {one["ref"]: one for one in found["prompt"]}
    assert told["events#1"]["section"] == "events"
    assert told["events#1"]["line"].startswith("events#1 · note · operator · ")
    assert told["events#1"]["author"] == "operator"
    assert told["strategy#1"]["line"].startswith("strategy#1 · operator · ")
    assert "events#7" not in told
    commands = [(one["command"].split()[0], one["refs"]) for one in found["read"]]
    assert commands == [
        ("read", ["strategy#1"]),
        ("find", ["events#1"]),
        ("events", ["events#1"]),
    ]
    did = [(one["ref"].partition("#")[0], one["type"]) for one in found["did"]]
    assert did == [
        ("runs/writer", "started"), ("strategy", "post"), ("claims-log", "taken"),
        ("events", "note"), ("runs/writer", "report"), ("runs/writer", "ended"),
    ]  # fmt: skip


def test_explain_of_a_record_stops_at_that_moment(ask: Ask) -> None:
    """A record: its author's prompt, and of its reads and deeds only those until then."""
    (found,) = ask("explain", "strategy#2")
    (by_hand,) = ask("explain", "events#1")
    (short,) = ask("explain", "strategy#2", "--limit", "1")

    assert found["about"]["ref"] == "strategy#2"
    assert [one["command"].split()[0] for one in found["read"]] == ["read", "find"]
    assert [one["type"] for one in found["did"]] == ["started", "post"]
    assert {one["ref"] for one in found["prompt"]} >= {"events#1", "strategy#1"}
    assert by_hand["run"] is None
    assert (len(short["read"]), short["left_out"]["read"]) == (1, 1)


def test_without_the_runs_folder_the_logs_answer(home: Scripted, ask: Ask, tmp_path: Path) -> None:
    """When a run's files are gone, what it was told and had read is known from its record."""
    run = next(run for run in home.runs() if run.agent == "writer")
    folder = home.root / "state" / "run" / run.id
    (before,) = ask("explain", "writer")
    shutil.move(folder, tmp_path / "gone")
    try:
        (after,) = ask("explain", "writer")
        saw = ask("seen", "strategy#1")
    finally:
        shutil.move(tmp_path / "gone", folder)

    assert after["files"] is False
    assert {one["ref"] for one in after["prompt"]} == {one["ref"] for one in before["prompt"]}
    assert after["read"][0]["refs"] == ["strategy#1", "events#1"]
    assert ("writer", "read") in {(one["agent"], one["how"]) for one in saw}


def test_timeline_merges_every_log_in_time(home: Scripted, ask: Ask) -> None:
    """Everything of everybody in its order, each line with a reference that `show` takes."""
    all_ = ask("timeline", "--since", "1h")
    newest = ask("timeline", "--limit", "4")
    of_writer = ask("timeline", "writer")
    of_run = ask("timeline", "--run", "writer")

    assert [one["at"] for one in all_] == sorted(one["at"] for one in all_)
    streams = {one["stream"] for one in all_}
    assert streams >= {"events", "channels/strategy", "claims-log", "runs/writer", "runs/reader"}
    assert newest == all_[-4:]
    assert not any(str(one["text"]).startswith(("agent:", "cap:")) for one in all_)
    assert {one["author"] for one in of_writer} == {"writer"}
    assert of_run == of_writer
    shown = many(
        home.root, [call("--home", str(home.root), "show", one["ref"], "--json") for one in all_]
    )
    for one, done in zip(all_, shown, strict=True):
        said = json.loads(done.out)
        assert (said["stream"], said["seq"]) == (one["stream"], one["seq"])


def test_paging_a_timeline_shows_each_line_once(home: Scripted, ask: Ask) -> None:
    """Both ways, the `more:` line goes on exactly behind or before what was shown."""
    refs = [one["ref"] for one in ask("timeline", "--since", "1h")]
    for words, forward in ((["--since", "1h"], True), ([], False)):
        seen: list[str] = []
        line = ["timeline", *words, "--limit", "3"]
        while line:
            (done,) = many(home.root, [call("--home", str(home.root), *line)])
            *shown, last = done.out.splitlines()
            more = last.partition("more: fleet ")[2].split()
            page = [one.split(" · ")[0] for one in (shown if more else [*shown, last])]
            seen = [*seen, *page] if forward else [*page, *seen]
            line = more[2:]
        assert seen == refs
