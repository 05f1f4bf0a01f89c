"""F14: pins have a cap that is said, and however many there are the newest message is shown."""

import json

import pytest

from calls import call, many
from fleet.records import Body, Draft
from fleets import Scripted


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """An agent that reads a channel with at most three pins."""
    scripted.put("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nmax_pins: 3\n")
    scripted.agent("worker", "cat > prompt; echo done")
    return scripted


def pinned(home: Scripted, count: int) -> None:
    """So many pinned messages, as a channel that once had a higher cap has them."""
    post: Body = {"op": "post", "from_agent": "other", "reply_to": None, "thread": None}
    drafts = [
        Draft(post | {"pin": True, "run": None, "text": f"rule {n}: " + "keep to the plan " * 9})
        for n in range(count)
    ]
    home.fleet.store.append("channels/strategy", drafts)


def told(home: Scripted) -> str:
    """What the worker was told in a run that went well."""
    assert home.call("run", "worker").returncode == 0
    return (home.root / "work" / "worker" / "prompt").read_text()


def test_one_pin_too_many_is_refused_and_the_oldest_named(home: Scripted) -> None:
    """F14: the fourth of three pins is exit 3 by either way, with the line that makes room."""
    posts = [call("post", "strategy", f"rule {n}", "--pin") for n in (1, 2, 3)]
    ways = [call("post", "strategy", "rule 4", "--pin"), call("pin", "strategy#4")]
    *_, by_post, posted, by_pin, unpinned, again, more = many(
        home.root,
        [*posts, ways[0], call("post", "strategy", "rule 4"), ways[1],
         call("unpin", "strategy#1"), ways[1], call("pin", "strategy#1")],
        {"FLEET_HOME": str(home.root)},
    )  # fmt: skip

    assert [one.code for one in (by_post, posted, by_pin, unpinned, again, more)] == [
        3, 0, 3, 0, 0, 3,
    ]  # fmt: skip
    for refused in (by_post, by_pin):
        assert "3 pinned" in refused.err
        assert "unpin the oldest first: fleet unpin strategy#1" in refused.err
    assert "fleet unpin strategy#2" in more.err


def test_the_newest_message_is_never_dropped_for_pins(home: Scripted) -> None:
    """F14: with 101 pinned messages, more than the prompt has room for, the new one is in it."""
    pinned(home, 101)
    told(home)
    home.call("post", "strategy", "the new message")

    prompt = told(home)

    assert "the new message" in prompt
    assert "pinned not shown: fleet read strategy" in prompt
    assert 0 < prompt.count("keep to the plan " * 8) < 101


@pytest.mark.parametrize("keep", [1, 100])
def test_pins_push_no_message_off_the_board(home: Scripted, keep: int) -> None:
    """F14: pins take no place among the messages that a channel keeps, and they never expire."""
    home.put(
        "channels/strategy.yaml", f"name: S\npurpose: p\nmembers: all\nmax_pins: 3\nkeep: {keep}\n"
    )
    pinned(home, 101)
    for number in range(3):
        home.call("post", "strategy", f"new {number}")

    board = home.fleet.talk.board("strategy")
    read = home.call("read", "strategy", "--limit", "1", "--json")
    fleet = home.fleet
    digest = fleet.talk.digest("worker", "strategy", 101, 40)

    assert len(board.pins) == 101
    assert [m.text for m in board.messages][-1] == "new 2"
    assert json.loads(read.stdout)["text"] == "new 2"
    assert [m.text for m in digest.messages][101:] == [f"new {n}" for n in range(3)][-keep:]
    assert digest.unread == 3
