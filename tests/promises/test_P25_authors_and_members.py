"""P25: who wrote a record is what the token says; membership holds in every path to a channel."""

import json
from pathlib import Path

import pytest

from calls import Actor, call
from fleet.cli.commands import COMMANDS, is_operators
from fleets import Scripted

SECRET = "the secret of the closed channel"


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A home with a closed channel, a member of it, and an agent that is none."""
    home = Scripted(tmp_path / "home")
    home.put("channels/closed.yaml", "name: Closed\npurpose: x\nmembers: [member]\n")
    return home


def test_every_path_to_a_channel_asks_for_membership(home: Scripted) -> None:
    """P25: reading, paging, threads, answers, reactions, pins, posts and lists are for members."""
    member = Actor(home, "member", "channels: [strategy, closed]")
    outsider = Actor(home, "outsider", "collaborators: [member]")
    member.does(call("post", "closed", SECRET), call("post", "closed", SECRET, "--pin"))

    ways = [
        call("read", "closed"),
        call("read", "closed", "--json"),
        call("read", "closed", "--unread"),
        call("read", "closed", "--thread", "closed#1"),
        call("read", "closed", "--after", "0"),
        call("read", "closed", "--since", "1d"),
        call("read", "closed", "-f"),
        call("post", "closed", "x"),
        call("post", "strategy", "x", "--reply-to", "closed#1"),
        call("post", "closed", "x", "--reply-to", "closed#1", "--id", "K"),
        call("reply", "closed#1", "x"),
        call("react", "closed#1", "agree"),
        call("pin", "closed#1"),
        call("unpin", "closed#2"),
        call("show", "closed#1"),
        call("find", "secret", "--in", "closed"),
    ]
    done = outsider.does(*ways, call("channels", "--json"), call("find", "secret", "--json"))

    *refused, channels, found = done
    assert found.out == ""
    assert [one.code for one in refused if one.code not in {3, 5}] == []
    assert not any(SECRET in one.out + one.err for one in done)
    assert [json.loads(line)["id"] for line in channels.out.splitlines()] == ["strategy"]
    assert SECRET not in outsider.prompt
    assert home.fleet.store.head("channels/closed") == 2


def test_every_path_to_a_direct_message_asks_who_it_is_for(home: Scripted) -> None:
    """P25: what two agents tell each other no third one reads, answers, counts or finds."""
    member = Actor(home, "member")
    outsider = Actor(home, "outsider", "collaborators: [member]", "channels: [strategy]")
    home.agent("third", "true")
    member.does(call("send", "third", SECRET), call("send", "third", f"{SECRET} again"))

    ways = [
        call("read", "member+third"),
        call("read", "member+third", "--json"),
        call("read", "member+third", "--thread", "member+third#1"),
        call("read", "member+third", "--since", "1d"),
        call("post", "member+third", "x"),
        call("post", "strategy", "x", "--reply-to", "member+third#1"),
        call("post", "outsider+third", "x", "--reply-to", "member+third#1"),
        call("reply", "member+third#1", "x"),
        call("react", "member+third#1", "agree"),
        call("pin", "member+third#1"),
        call("unpin", "member+third#1"),
    ]
    *refused, inbox, channels = outsider.does(
        *ways, call("inbox", "--all"), call("channels", "--json")
    )

    assert [one.code for one in refused if one.code not in {3, 5}] == []
    assert not any(SECRET in one.out + one.err for one in (*refused, inbox, channels))
    assert inbox.out == "nothing\n"
    assert [json.loads(line)["id"] for line in channels.out.splitlines()] == ["strategy"]
    assert SECRET not in outsider.prompt
    assert home.fleet.store.head("channels/member+third") == 2


def test_a_digest_of_a_channel_is_for_members(home: Scripted) -> None:
    """P25: an agent's file cannot give a digest of a channel that does not admit it."""
    Actor(home, "member", "channels: [strategy, closed]")
    Actor(home, "outsider", "channels: [strategy, closed]")
    home.call("post", "closed", SECRET)

    checked = home.call("check", "--json")
    shown = home.call("context", "outsider")

    assert checked.returncode == 7
    assert '"agents/outsider.yaml"' in checked.stdout
    assert SECRET not in shown.stdout + shown.stderr


def test_a_member_of_yesterday_is_none(home: Scripted) -> None:
    """P25: membership is what the channel's file says at the moment of the call."""
    member = Actor(home, "member", "channels: [strategy]")
    member.does(call("post", "closed", SECRET))
    home.put("channels/closed.yaml", "name: Closed\npurpose: x\nmembers: [other]\n")
    Actor(home, "other")

    done = member.does(call("read", "closed"), call("reply", "closed#1", "x"))

    assert [one.code for one in done] == [5, 5]


WORDS = {
    "post": ["strategy", "hi"], "reply": ["strategy#1", "hi"], "react": ["strategy#1", "agree"],
    "pin": ["strategy#1"], "unpin": ["strategy#1"], "emit": ["note", "n=1"], "claim": ["k"],
    "send": ["operator", "hi"], "renew": ["k"], "release": ["k"], "report": ["did it"],
    "ack": ["events#1"], "metric": ["record", "draft-1", "views", "3"], "lesson": ["add", "x"],
    "memory": ["plan", "add", "x"], "research": ["add", "x", "--source", "y"],
    "strength": ["add", "x"], "weakness": ["add", "x"], "goal": ["add", "x"], "ask": ["what?"],
    "remind": ["1d", "x"],
}  # fmt: skip


def test_every_record_of_a_run_says_who_and_which_run(home: Scripted) -> None:
    """P25: each write of the agents' half carries the token's agent and run, `--as` or not."""
    home.put("channels/closed.yaml", "name: Closed\npurpose: x\nmembers: all\n")
    actor = Actor(home, "worker")
    home.call("emit", "note", "n=0")
    reads = {
        "agents",
        "read",
        "inbox",
        "channels",
        "events",
        "claims",
        "schema",
        "whoami",
        "show",
        "find",
    }
    own = [name for name in COMMANDS if not is_operators(name) and name not in reads]
    assert set(WORDS) == set(own)

    done = actor.does(*(call(name, *WORDS[name]) for name in own))

    assert {one.code for one in done} == {0}, done
    (run,) = home.runs()
    store = home.fleet.store
    channels = ("channels/strategy", "channels/operator+worker")
    streams = (*channels, "claims-log", "runs/worker", "events", "metrics", "memory-log/worker")
    streams += ("questions", "later")
    records = [r for s in streams for r in store.read(s, 0, 99).records]
    written = [r.body for r in records if r.body.get("op") not in {"started", "ended"}]
    mine = [body for body in written if body.get("from_agent") != "operator"]
    keys = [b.get("claim") for b in mine]
    assert len(mine) > len(WORDS)
    for body in mine:
        assert body["run"] == run.id
        assert body.get("from_agent") or body.get("agent") or body.get("holder")
        assert {body.get(name) for name in ("from_agent", "agent", "holder")} <= {"worker", None}
    assert "k" in keys
