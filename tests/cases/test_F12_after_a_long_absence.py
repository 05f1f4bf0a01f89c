"""Three thousand unread: the prompt keeps its size, says the truth, and paging reaches all."""

import json
import re
from pathlib import Path

import pytest

from calls import Actor, call
from fleet.records import Draft
from fleet.text import tokens
from fleets import Scripted

MANY = 3000
MAX_TOKENS = 6000


@pytest.fixture
def absent(tmp_path: Path) -> Actor:
    """An agent that was away while 3,000 posts (3 pinned) and 3,000 events (2 to it) came."""
    home = Scripted(tmp_path / "home")
    Actor(home, "other")
    actor = Actor(home, "worker")
    actor.does()
    store = home.fleet.store
    posts = [
        {"op": "post", "from_agent": "other", "text": f"post {n:04} " + "words " * 12,
         "reply_to": None, "thread": None, "pin": n in {1, 50, 2000}, "run": "r"}
        for n in range(1, MANY + 1)
    ]  # fmt: skip
    events = [
        {"op": "event", "type": "note", "from_agent": "other", "payload": {"n": f"event {n:04}"},
         "to_agent": "worker" if n in {100, 2900} else None, "cause": None, "hops": 0, "run": "r"}
        for n in range(1, MANY + 1)
    ]  # fmt: skip
    for stream, bodies in (("channels/strategy", posts), ("events", events)):
        for at in range(0, MANY, 500):
            store.append(stream, [Draft(dict(body)) for body in bodies[at : at + 500]])
    return actor


def test_the_backlog_does_not_flood_the_prompt(absent: Actor) -> None:
    """F12: within its tokens, addressed and pinned first, and the counts of the rest are exact."""
    absent.does()

    prompt = absent.prompt
    assert tokens(prompt) <= MAX_TOKENS
    events = re.findall(r"(?m)^events#(\d+) · note", prompt)
    assert events[:2] == ["100", "2900"]
    assert list(map(int, events[2:])) == [n for n in range(1, 3000) if n != 100][: len(events) - 2]
    (waiting,) = re.findall(r"(?m)^(\d+) more wait", prompt)
    assert int(waiting) == MANY - len(events)
    posts = list(map(int, re.findall(r"(?m)^strategy#(\d+) · ", prompt)))
    assert posts[:3] == [1, 50, 2000]
    assert posts[3:] == list(range(MANY - len(posts) + 4, MANY + 1))
    (line,) = re.findall(r"strategy \(All\): (\d+) unread, (\d+) of them not shown", prompt)
    assert line == (str(MANY), str(MANY - len(posts)))


def test_what_was_read_is_never_new_again(absent: Actor) -> None:
    """F12: after the run its channel is read; events that did not fit come next, oldest first."""
    absent.does()
    first = set(re.findall(r"(?m)^events#(\d+) · note", absent.prompt))

    absent.does()

    again = re.findall(r"(?m)^events#(\d+) · note", absent.prompt)
    assert not first & set(again)
    assert int(again[0]) == max(int(n) for n in first - {"100", "2900"}) + 1
    posts = re.findall(r"(?m)^strategy#(\d+) · ", absent.prompt)
    assert [int(n) for n in posts] == [1, 50, 2000]  # pinned stay; none of them is unread
    assert "strategy (All): 0 unread" in absent.prompt


def test_paging_reaches_the_whole_backlog(absent: Actor) -> None:
    """F12: `read --unread` and `events --for` begin with the oldest and reach all."""
    home = absent.home
    page = home.call("--as", "worker", "read", "strategy", "--unread", "--json", "--limit", "9999")
    texts = [json.loads(line)["text"].split()[1] for line in page.stdout.splitlines()]
    assert texts == [f"{n:04}" for n in range(1, MANY + 1)]

    (one,) = absent.does(call("events", "--for", "worker"))
    more = re.search(r"more: fleet (events --.*)$", one.out.strip())
    assert more, one.out
    shown = list(map(int, re.findall(r"(?m)^events#(\d+) · ", one.out)))
    assert shown == sorted(shown)
    waiting = home.call("events", "--for", "worker", "--json", "--limit", "9999").stdout
    assert len(waiting.splitlines()) == MANY - len(absent.home.runs()[0].delivered)


def test_the_number_behind_an_agent_is_the_same_everywhere(absent: Actor) -> None:
    """F12: `status` counts the lag as the lanes have it, and an operator can let it go."""
    home = absent.home
    agents = json.loads(home.call("status", "--json").stdout)["agents"]
    assert {one["id"]: one["lag"] for one in agents}["worker"] in {1000, "1000+"}

    assert home.call("skip", "worker", "--to", "events#2990").returncode == 0

    agents = json.loads(home.call("status", "--json").stdout)["agents"]
    assert {one["id"]: one["lag"] for one in agents}["worker"] == 10
