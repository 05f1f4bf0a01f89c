"""Who wrote a record is decided by the run's token, whatever the writer says."""

from pathlib import Path

from calls import Actor, Call, call
from fleets import Scripted

OTHERS = ("marketing-strategist", "operator", "human", "system", "all", "fleet", "nobody", "../x")


def writes(**env: str | None) -> list[Call]:
    """One of each kind of write."""
    return [
        call("post", "strategy", "hi", **env),
        call("emit", "note", "n=1", **env),
        call("claim", "lead:x", **env),
        call("report", "did it", **env),
    ]


def test_a_run_writes_under_its_own_name_only(tmp_path: Path) -> None:
    """F5: `--as` anybody, the human too, is refused in a run and says who one is."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "outreach")
    Actor(home, "marketing-strategist")
    words = [(*write.argv,) for write in writes()]

    tried = actor.does(*(call("--as", name, *one) for name in OTHERS for one in words))

    assert {one.code for one in tried} == {5}
    assert all("you are outreach" in one.err for one in tried)
    assert [stream for stream in home.fleet.store.streams("", "", 99) if "chan" in stream] == []
    assert home.fleet.store.head("events") == 0


def test_the_environment_makes_nobody_else(tmp_path: Path) -> None:
    """F5: another FLEET_AGENT changes nothing; another run, token or none at all is refused."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "outreach")
    other = Actor(home, "marketing-strategist")
    other.does()
    (theirs,) = home.runs("marketing-strategist")
    forged = f"{theirs.id}.{'0' * 64}"

    ok = actor.does(*writes(FLEET_AGENT="marketing-strategist", USER="root", LOGNAME="operator"))
    changes: list[dict[str, str | None]] = [
        {"FLEET_RUN_TOKEN": None},
        {"FLEET_RUN_TOKEN": None, "FLEET_RUN_ID": None},
        {"FLEET_RUN_TOKEN": None, "FLEET_RUN_ID": theirs.id},
        {"FLEET_RUN_TOKEN": forged, "FLEET_RUN_ID": theirs.id},
        {"FLEET_RUN_TOKEN": forged},
        {"FLEET_RUN_TOKEN": ""},
        {"FLEET_RUN_ID": theirs.id},
    ]
    refused = actor.does(*(one for change in changes for one in writes(**change)))

    assert [one.code for one in ok] == [0] * 4
    assert [one.code for one in refused] == [5] * len(refused)
    mine = home.runs("outreach")[1]
    for stream in ("channels/strategy", "events"):
        (record,) = home.fleet.store.read(stream, 0, 9).records
        assert (record.body["from_agent"], record.body["run"]) == ("outreach", mine.id)
        assert "by" not in record.body
    assert mine.report == "did it"
    assert not home.runs("marketing-strategist")[0].report


def test_what_a_text_says_about_its_author_is_text(tmp_path: Path) -> None:
    """F5: names of fleet's own fields in a payload, a post or a note stay inside of it."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "outreach")

    done = actor.does(
        call("emit", "note", "n=1", "from_agent=operator", "run=x", "by=human", "seq=9", "id=z"),
        call("post", "strategy", 'x","from_agent":"operator","op":"post'),
        call("claim", "k", "--note", "by operator"),
    )

    assert [one.code for one in done] == [0] * 3
    (event,) = home.fleet.store.read("events", 0, 9).records
    assert (event.seq, event.body["from_agent"]) == (1, "outreach")
    assert event.body["payload"] == {
        "n": "1", "from_agent": "operator", "run": "x", "by": "human", "seq": "9", "id": "z"
    }  # fmt: skip
    (post,) = home.fleet.store.read("channels/strategy", 0, 9).records
    assert post.body["from_agent"] == "outreach"


def test_a_person_borrows_agents_names_only_and_is_seen(tmp_path: Path) -> None:
    """F5: outside of runs `--as` takes agents only, and the record says which person it was."""
    home = Scripted(tmp_path / "home")
    Actor(home, "outreach")

    codes = {name: home.call("--as", name, "post", "strategy", "x").returncode for name in OTHERS}
    assert home.call("--as", "outreach", "post", "strategy", "x").returncode == 0

    assert set(codes.values()) == {4, 5}
    assert [codes[name] for name in ("operator", "human", "system")] == [5] * 3
    (post,) = home.fleet.store.read("channels/strategy", 0, 9).records
    assert (post.body["from_agent"], post.body["run"]) == ("outreach", None)
    assert set(post.body["by"]) == {"tty", "pid", "uid"}
