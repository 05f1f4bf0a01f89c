"""Agents and channels are added, changed, renamed and retired without touching anything else."""

import errno
from pathlib import Path

import pytest

from conftest import Fleet as Call
from fleet.context import build
from fleet.errors import BadHome, Held, Rejected, Unavailable, Unknown, Usage
from fleet.identity import SYSTEM, Author
from fleet.ops import roster
from fleet.records import Place
from fleet.runs.outcome import Verdict
from fleet.wiring import Fleet, open_fleet
from people import OPERATOR, in_run


def opened(root: Path) -> Fleet:
    """The home, read anew."""
    return open_fleet(root, env={}, strict=True)


def files_of(root: Path) -> dict[str, bytes]:
    """Every file that the operator wrote."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "state" not in path.parts
    }


@pytest.fixture
def commented(home: Path) -> Path:
    """The home with comments, quotes and odd spaces in every file that names an agent."""
    channel = home / "channels/outreach-review.yaml"
    channel.write_text(
        "name: Outreach Review  # people\npurpose: Review outreach\nmembers:\n"
        "  - outreach      # mails\n  - 'reply-handler'   # answers\n# the end\n"
    )
    fleet_yaml = home / "fleet.yaml"
    fleet_yaml.write_text(
        fleet_yaml.read_text() + "accounts:\n  main: {agents: [ outreach,reply-handler ]}  # one\n"
    )
    return home


def test_a_rename_changes_the_name_and_no_other_byte(commented: Path, fleet: Call) -> None:
    """After `agent rename` each file is the old one with that word exchanged, and is valid."""
    before = files_of(commented)

    done = fleet("agent", "rename", "outreach", "first-touch", env={"FLEET_HOME": str(commented)})

    assert done.returncode == 0, done.stderr
    after = files_of(commented)
    renamed = {
        name: data.replace(b"outreach", b"first-touch")
        for name, data in before.items()
        if name in {"agents/reply-handler.yaml", "channels/outreach-review.yaml", "fleet.yaml"}
    }
    for name in ("agents/reply-handler.yaml", "channels/outreach-review.yaml"):
        renamed[name] = renamed[name].replace(b"first-touch-review", b"outreach-review")
        renamed[name] = renamed[name].replace(b"Review first-touch", b"Review outreach")
    renamed["agents/first-touch.yaml"] = before["agents/outreach.yaml"] + b"formerly: [outreach]\n"
    assert {name: data for name, data in after.items() if before.get(name) != data} == renamed
    assert set(before) - set(after) == {"agents/outreach.yaml"}
    assert "prompts/outreach.md.j2" in done.stdout  # what speaks to a model is left to a person
    assert "first-touch" in opened(commented).config.agents


def test_a_renamed_agent_goes_on_where_it_was(home: Path) -> None:
    """Places, pauses and the working folder go along; what was written keeps the old name."""
    fleet = opened(home)
    price = {"competitor": "Cursor", "newPrice": "20"}
    seen = fleet.bus.emit(OPERATOR, "pricing-change", price)
    fleet.bus.skip(OPERATOR, "outreach", seen.ref)
    waiting = fleet.bus.emit(OPERATOR, "pricing-change", price)
    mine = fleet.talk.post(in_run("outreach"), "strategy", "mine")
    fleet.controls.set("outreach", "paused", by="operator", reason="a test")
    (home / "work/outreach").mkdir(parents=True)
    (home / "work/outreach/leads.csv").write_text("sarah")

    roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")

    fleet = opened(home)
    assert [e.ref for e in fleet.bus.events(for_agent="first-touch")] == [waiting.ref]
    assert fleet.talk.get(OPERATOR, mine.ref).from_agent == "outreach"
    assert fleet.controls.of("first-touch").paused.endswith("a test")
    assert (home / "work/first-touch/leads.csv").read_text() == "sarah"
    with pytest.raises(Unknown, match="outreach is called first-touch now"):
        fleet.bus.emit(OPERATOR, "pricing-change", price, to="outreach")


def test_a_renamed_agent_remembers(home: Path) -> None:
    """Its memory goes on, and its last run is told, though both stand under the old name."""
    fleet = opened(home)
    outreach = in_run("outreach")
    fleet.runs.start(SYSTEM, "outreach", str(outreach.run), slot="hand:1")
    fleet.runs.report(outreach, "mailed four", next="mike on Friday")
    fleet.runs.finish("outreach", str(outreach.run), Verdict("ok"), ended="2026-11-30T20:00:00Z")
    fleet.memory.learn(outreach, "Case studies triple replies")

    roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")

    fleet = opened(home)
    own, other = (
        build(fleet.sources(), fleet.config.agents[name], run="r").context_md
        for name in ("first-touch", "reply-handler")
    )
    assert "mike on Friday" in own
    learned = fleet.memory.learn(in_run("first-touch"), "case studies triple replies!")
    assert (learned.how, learned.live) == ("merged", 1)
    assert "[first-touch] ok" in other
    assert "mailed four" in other


def test_a_rename_that_was_cut_short_is_finished_by_repeating_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever writing stops, the same command finishes, and nothing is there twice."""
    for writes in range(3):
        fleet = open_fleet(home, env={})
        old = next(name for name in fleet.config.agents if name.startswith("outreach"))
        with monkeypatch.context() as patch:
            _full_after(writes, patch)
            with pytest.raises(Unavailable, match="repeat the command"):
                roster.rename(fleet, OPERATOR, "agent", old, f"outreach-{writes}")

        roster.rename(open_fleet(home, env={}), OPERATOR, "agent", old, f"outreach-{writes}")

        agents = opened(home).config.agents
        assert old not in agents
        assert agents[f"outreach-{writes}"].formerly.count(old) == 1


def _full_after(writes: int, patch: pytest.MonkeyPatch) -> None:
    """The disk takes so many of the operator's files and then no more."""
    real, left = Path.replace, [writes]

    def replace(self: Path, target: Path) -> Path:
        left[0] -= self.suffix == ".new"
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    patch.setattr(Path, "replace", replace)


def test_nothing_that_waits_for_the_old_name_is_lost(home: Path) -> None:
    """An event or message to the agent, or a claim that it keeps, refuses the rename."""
    fleet = opened(home)
    task = {"taskId": "t", "assignedTo": "outreach", "title": "t"}
    fleet.bus.emit(OPERATOR, "task-created", task)
    with pytest.raises(Rejected, match="1 event addressed to outreach wait"):
        roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")
    fleet.bus.skip(OPERATOR, "outreach", "now")
    place = Place(fleet.talk.send(OPERATOR, "outreach", "a word").seq)
    with pytest.raises(Rejected, match="1 direct message to outreach wait"):
        roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")
    fleet.cursors.advance("outreach", {"channels/operator+outreach": place})
    author = Author("outreach", None, "", agent=False)
    fleet.claims.take(author, "lead:a", keep=3600.0)
    with pytest.raises(Rejected, match="outreach keeps lead:a"):
        roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")

    fleet.claims.release(author, "lead:a")
    roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")


def test_an_agent_that_runs_is_neither_renamed_nor_retired(home: Path) -> None:
    """While its run holds the agent's claim both are refused, and no file changes."""
    fleet = opened(home)
    fleet.claims.take_system("agent:outreach", holder="outreach", run="r", ttl=60)
    before = files_of(home)

    with pytest.raises(Held, match="outreach is running"):
        roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")
    with pytest.raises(Held, match="outreach is running"):
        roster.retire(fleet, OPERATOR, "agent", "outreach")

    assert files_of(home) == before


def test_a_retired_agent_leaves_its_history_and_no_mention(commented: Path, fleet: Call) -> None:
    """Its file and every mention go, the runner accepts that at once, and its posts stay."""
    before = opened(commented)
    post = before.talk.post(in_run("outreach"), "strategy", "I was here")

    done = fleet("agent", "retire", "outreach", env={"FLEET_HOME": str(commented)})

    assert done.returncode == 0, done.stderr
    after = before.reopened()
    assert after.config.warning == ""
    assert "outreach" not in after.config.agents
    assert after.talk.get(OPERATOR, post.ref).from_agent == "outreach"
    channel = (commented / "channels/outreach-review.yaml").read_text()
    assert channel.endswith("members:\n  - 'reply-handler'   # answers\n# the end\n")


def test_a_new_agent_and_a_new_channel_are_valid_at_once(home: Path, fleet: Call) -> None:
    """`new` writes a file that `check` accepts, with a template of the agent's own."""
    env = {"FLEET_HOME": str(home)}
    fields = ("description=Watches: rankings", "schedule=*/5 * * * *", "budget.per_run=0.5")
    agent = fleet("agent", "new", "seo-scout", *fields, env=env)
    channel = fleet("channel", "new", "rankings", "name=R", "purpose=p", "members=all", env=env)
    assert (agent.returncode, channel.returncode) == (0, 0), agent.stderr + channel.stderr

    config = opened(home).config

    made = config.agents["seo-scout"]
    assert (made.description, made.schedule[0].cron) == ("Watches: rankings", "*/5 * * * *")
    assert made.budget.per_run == 0.5
    assert made.prompt == "seo-scout.md.j2"
    assert config.channels["rankings"].members is None


def test_an_edit_that_would_break_the_home_writes_nothing(home: Path, fleet: Call) -> None:
    """A typo, a wrong value and a name that is taken are refused with the line to write."""
    env = {"FLEET_HOME": str(home)}
    before = files_of(home)

    typo = fleet("agent", "set", "outreach", "shedule=@daily", env=env)
    value = fleet("channel", "set", "strategy", "keep=many", env=env)
    taken = fleet("agent", "rename", "outreach", "reply-handler", env=env)

    assert (typo.returncode, value.returncode, taken.returncode) == (3, 3, 3)
    assert "did you mean 'schedule'?" in typo.stderr
    assert "must be a whole number" in value.stderr
    assert "the agent reply-handler is there already" in taken.stderr
    assert files_of(home) == before


def test_a_renamed_channel_keeps_its_messages_and_their_references(home: Path, fleet: Call) -> None:
    """Unread messages stay unread, old references go on, and both names are understood."""
    env = {"FLEET_HOME": str(home)}
    before = opened(home)
    first = before.talk.post(in_run("reply-handler"), "outreach-review", "before")

    done = fleet("channel", "rename", "outreach-review", "mail-review", env=env)
    posted = fleet("post", "mail-review", "after", env=env)
    answered = fleet("reply", "mail-review#1", "to the first", env=env)

    assert done.returncode == 0, done.stderr
    assert (posted.stdout, answered.stdout) == ("outreach-review#2\n", "outreach-review#3\n")
    config = opened(home).config
    assert config.agents["outreach"].channels == ("strategy", "outreach-review")
    assert "channels: [strategy, mail-review]" in (home / "agents/outreach.yaml").read_text()
    digest = opened(home).talk.digest("outreach", "outreach-review", 0, 9)
    assert [m.ref for m in digest.messages] == [first.ref, "outreach-review#2", "outreach-review#3"]
    assert "before" in fleet("read", "mail-review", env=env).stdout

    again = fleet("channel", "rename", "mail-review", "letters", env=env)
    assert again.returncode == 0, again.stderr
    assert opened(home).config.channels["outreach-review"].alias == "letters"


def test_two_channels_never_share_a_log(home: Path) -> None:
    """A log that another channel has, or whose name one bears, is a fault of the file."""
    other = home / "channels/outreach-review.yaml"
    other.write_text(other.read_text() + "log: strategy\n")

    with pytest.raises(BadHome, match=r"the log strategy belongs to channels/strategy\.yaml"):
        _ = opened(home).config


def test_a_channel_cannot_be_called_like_a_log_of_fleets_own(home: Path) -> None:
    """`new` and `rename` refuse it as a mistake in the words, and write nothing."""
    before = files_of(home)

    with pytest.raises(Usage, match="no channel can be called 'metrics'"):
        roster.add(opened(home), OPERATOR, "channel", "metrics", {"name": "M"})
    with pytest.raises(Usage, match="no channel can be called 'alerts'"):
        roster.rename(opened(home), OPERATOR, "channel", "strategy", "alerts")
    with pytest.raises(Usage, match="no agent can be called 'last'"):
        roster.add(opened(home), OPERATOR, "agent", "last", {"description": "d"})

    assert files_of(home) == before
