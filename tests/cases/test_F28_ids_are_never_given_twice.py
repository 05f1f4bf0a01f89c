"""Numbers and ids stand for one record for ever, whatever is restored or lost."""

import json
import shutil
from pathlib import Path

from calls import Actor, call, many
from fleets import Scripted


def events(home: Scripted) -> dict[str, str]:
    """The value of each event by its reference."""
    shown = home.call("events", "--json", "--limit", "999").stdout.splitlines()
    return {one["ref"]: one["payload"]["n"] for one in map(json.loads, shown)}


def ids(log: Path) -> list[str]:
    """The id of every record in a log's folder."""
    texts = [path.read_text() for path in sorted(log.glob("*.jsonl"))]
    return [json.loads(line)["id"] for text in texts for line in text.splitlines()]


def waiting(actor: Actor) -> str:
    """The section of events in its last prompt."""
    return actor.prompt.split("## Events")[1].split("## Channels")[0]


def test_a_restored_backup_reuses_no_number_that_was_read(tmp_path: Path) -> None:
    """F28: after an older log is put back, new events have new numbers and all of them arrive."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    env = {"FLEET_HOME": str(home.root)}
    log, kept = home.root / "state" / "events", tmp_path / "backup"
    many(home.root, [call("emit", "note", f"n=old {n}") for n in range(3)], env)
    shutil.copytree(log, kept)
    many(home.root, [call("emit", "note", f"n=lost {n}") for n in range(4)], env)
    actor.does()
    before = ids(log)
    assert "events#7" in actor.prompt

    shutil.rmtree(log)
    shutil.copytree(kept, log)
    many(home.root, [call("emit", "note", f"n=new {n}") for n in range(2)], env)
    actor.does()

    now = events(home)
    fresh = [text for text in now.values() if text.startswith("new")]
    assert [now[f"events#{n}"] for n in (1, 2, 3)] == ["old 0", "old 1", "old 2"]
    assert len(fresh) == 2
    assert all(text in waiting(actor) for text in fresh)
    assert len(set(ids(log))) == len(ids(log))
    assert not set(ids(log)[3:]) & set(before)
    actor.does()
    assert not any(text in waiting(actor) for text in fresh)


def test_a_whole_state_of_yesterday_goes_on(tmp_path: Path) -> None:
    """F28: with all of an older state restored, cursors fit their logs and nothing is skipped."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    env = {"FLEET_HOME": str(home.root)}
    many(home.root, [call("emit", "note", "n=one")], env)
    actor.does()
    shutil.copytree(home.root / "state", tmp_path / "backup")
    (lost,) = many(home.root, [call("emit", "note", "n=lost", "--json")], env)
    shutil.rmtree(home.root / "state")
    shutil.copytree(tmp_path / "backup", home.root / "state")

    (new,) = many(home.root, [call("emit", "note", "n=new", "--json")], env)
    actor.does()

    assert json.loads(new.out)["id"] != json.loads(lost.out)["id"]
    assert "new" in waiting(actor)
    assert home.call("verify").returncode == 0


def test_a_lost_log_does_not_begin_again_below_its_readers(tmp_path: Path) -> None:
    """F28: a log that is gone entirely starts above every known place; nobody misses an event."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    env = {"FLEET_HOME": str(home.root)}
    many(home.root, [call("emit", "note", f"n=old {n}") for n in range(5)], env)
    many(home.root, [call("post", "strategy", f"old {n}") for n in range(5)], env)
    actor.does()
    shutil.rmtree(home.root / "state" / "events")
    shutil.rmtree(home.root / "state" / "channels")

    actor.does()
    many(home.root, [call("emit", "note", "n=brand"), call("post", "strategy", "novel")], env)
    actor.does()

    assert "brand" in actor.prompt
    assert "novel" in actor.prompt
    alerts = [r.body["kind"] for r in home.fleet.store.read("alerts", 0, 99).records]
    assert alerts


def test_an_id_outlives_the_record_it_stands_for(tmp_path: Path) -> None:
    """F28: a reference to a record that is gone says so; it never means another one."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    actor.does(call("post", "strategy", "one"), call("post", "strategy", "two"))
    (segment,) = (home.root / "state" / "channels" / "strategy").glob("*.jsonl")
    first, second = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first[:-20] + b"damaged-damaged-da\n" + second)

    gone, there, new = actor.does(
        call("reply", "strategy#1", "x"),
        call("reply", "strategy#2", "x"),
        call("post", "strategy", "y"),
    )

    assert (gone.code, there.code, new.code) == (4, 0, 0)
    assert "strategy#1" in gone.err
    assert (
        json.loads(actor.home.call("read", "strategy", "--json").stdout.splitlines()[-1])["seq"]
        == 4
    )
