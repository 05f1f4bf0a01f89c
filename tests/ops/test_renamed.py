"""What an agent did under a former name is its own, to it and to whoever asks for it by today's."""

import json
from pathlib import Path

import pytest

from conftest import Fleet as Call
from fleet.context import build
from fleet.errors import Unknown, Usage
from fleet.identity import SYSTEM
from fleet.ops import roster
from fleet.ops.verify import verify
from fleet.runs.outcome import Verdict
from fleet.wiring import Fleet, open_fleet
from people import OPERATOR, in_run

PRICE = {"competitor": "Cursor", "newPrice": "20"}
RUNS = ("0193aaaa-0000-7000-8000-000000000001", "0193bbbb-0000-7000-8000-000000000002")


def opened(root: Path) -> Fleet:
    """The home, read anew."""
    return open_fleet(root, env={}, strict=True)


def ran(fleet: Fleet, agent: str, run: str) -> None:
    """A run of the agent that reported and ended well."""
    fleet.runs.start(SYSTEM, agent, run, slot="hand:1")
    fleet.runs.report(in_run(agent, run), f"mailed four as {agent}")
    fleet.runs.finish(agent, run, Verdict("ok"), ended="2026-11-30T20:00:00Z")


@pytest.fixture
def renamed(home: Path) -> Path:
    """A home whose outreach ran once, emitted, posted and sent, and is first-touch now."""
    fleet = opened(home)
    ran(fleet, "outreach", RUNS[0])
    author = in_run("outreach", RUNS[0])
    fleet.bus.emit(author, "pricing-change", PRICE)
    fleet.talk.post(author, "strategy", "four were mailed")
    fleet.talk.send(author, "reply-handler", "sarah is yours")
    roster.rename(fleet, OPERATOR, "agent", "outreach", "first-touch")
    return home


def test_what_it_said_under_a_former_name_is_no_news_to_it(renamed: Path) -> None:
    """Its old event, post and direct message wait for the others, and not for itself."""
    fleet = opened(renamed)
    theirs = fleet.bus.emit(in_run("reply-handler"), "pricing-change", PRICE)
    me, other = in_run("first-touch"), in_run("reply-handler")

    own = [channel.id for channel in fleet.talk.directs(me)]
    assert own == ["outreach+reply-handler"]
    assert fleet.talk.inbox("first-touch", own, {}, 9) == []
    assert [one.unread for one in fleet.talk.inbox("reply-handler", own, {}, 9)] == [1]
    assert fleet.talk.digest("first-touch", "strategy", 0, 9).unread == 0
    assert fleet.talk.read(me, "strategy", unread_after=0) == []
    assert len(fleet.talk.read(other, "strategy", unread_after=0)) == 1
    assert [e.ref for e in fleet.bus.events(for_agent="first-touch")] == [theirs.ref]
    assert fleet.bus.lag("first-touch", {}) == 1
    agent = fleet.config.agents["first-touch"]
    context = build(fleet.sources(), agent, run="r")
    assert context.manifest["facts"]["events_shown"] == 1


def test_its_name_finds_the_runs_of_its_former_ones(renamed: Path) -> None:
    """`last`, `list` and `find` go on from the runs under today's name to those under older."""
    before = opened(renamed).runs
    assert before.find("first-touch").id == RUNS[0]

    ran(opened(renamed), "first-touch", RUNS[1])
    roster.rename(opened(renamed), OPERATOR, "agent", "first-touch", "opener")

    runs = opened(renamed).runs
    assert [run.id for run in runs.list("opener", 9)] == [RUNS[1], RUNS[0]]
    assert [runs.find(ref).id for ref in ("opener", "opener~1")] == [RUNS[1], RUNS[0]]
    assert runs.find("outreach").id == RUNS[0]
    assert runs.count_since("opener", 0) == 2
    assert runs.last("opener") == runs.list("opener", 1)[0]
    with pytest.raises(Unknown, match="opener has not run so often"):
        runs.find("opener~2")


def test_every_command_takes_its_name_for_what_it_did(renamed: Path, fleet: Call) -> None:
    """Runs, timeline, find, explain, show, logs and retract answer with what it did before."""
    env = {"FLEET_HOME": str(renamed)}

    def said(*words: str) -> list[dict[str, object]]:
        done = fleet(*words, "--json", env=env)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert [run["id"] for run in said("runs", "first-touch")] == [RUNS[0]]
    assert len(said("timeline", "first-touch")) >= 4
    assert said("find", "sarah", "--agent", "first-touch")[0]["ref"] == "outreach+reply-handler#1"
    assert said("find", "sarah", "--agent", "reply-handler") == []
    for words in (("explain",), ("show",), ("retract", "--reason", "wrong")):
        done = fleet(*words, "first-touch", env=env)
        assert done.returncode == 0, done.stderr
        assert RUNS[0][:13] in done.stdout + done.stderr, words
    assert (
        f"the files of run {RUNS[0][:13]} are gone" in fleet("logs", "first-touch", env=env).stderr
    )


def test_a_former_name_is_no_stranger_to_verify(renamed: Path) -> None:
    """Its logs and places under the old name are explained by the agent's file."""
    assert [str(finding) for finding in verify(opened(renamed)) if "outreach" in str(finding)] == []


def test_a_typed_value_is_one_line(home: Path) -> None:
    """A value with a line break is refused by `new` and `set`, and nothing is written."""
    before = (home / "agents/outreach.yaml").read_bytes()

    with pytest.raises(Usage, match="description has more than one line"):
        roster.put(opened(home), OPERATOR, "agent", "outreach", {"description": "a\nb"})
    fields = {"name": "Pricing", "purpose": "a\r\nb"}
    with pytest.raises(Usage, match="purpose has more than one line"):
        roster.add(opened(home), OPERATOR, "channel", "pricing", fields)

    assert (home / "agents/outreach.yaml").read_bytes() == before
    assert not (home / "channels/pricing.yaml").exists()


def test_a_file_that_goes_is_said_to_go(home: Path, fleet: Call) -> None:
    """`agent rename` and `retire` tell the files that they removed from those they wrote."""
    env = {"FLEET_HOME": str(home)}

    moved = fleet("agent", "rename", "outreach", "first-touch", env=env).stdout
    gone = fleet("agent", "retire", "first-touch", env=env).stdout

    assert "wrote agents/first-touch.yaml" in moved
    assert "; removed agents/outreach.yaml" in moved
    assert "removed agents/first-touch.yaml" in gone
