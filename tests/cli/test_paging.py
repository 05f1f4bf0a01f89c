"""The line after `more:` goes on exactly where a list ended, with everything that was asked for."""

import shlex
from pathlib import Path

import pytest

from calls import Done, call, many
from fleet.identity import SYSTEM
from fleet.records import Draft
from fleet.wiring import open_fleet


@pytest.fixture
def full(home: Path) -> Path:
    """A home with 30 messages in two threads and 30 events, many of one millisecond."""
    store = open_fleet(home, env={}).store
    agents = ("outreach", "reply-handler")
    store.append("channels/strategy", [_post(n, agents[n % 2]) for n in range(30)])
    store.append("events", [_event(n) for n in range(30)])
    return home


def _post(number: int, agent: str) -> Draft:
    first = None if number < 2 else f"strategy#{number % 2 + 1}"
    return Draft(
        {
            "op": "post", "from_agent": agent, "text": f"m{number}", "reply_to": first,
            "thread": first, "pin": False, "run": None,
        }
    )  # fmt: skip


def _event(number: int) -> Draft:
    return Draft(
        {
            "op": "event", "type": "pricing-change", "from_agent": SYSTEM.name, "cause": None,
            "to_agent": None, "hops": 0, "run": None,
            "payload": {"competitor": "a b" if number % 2 else "c", "newPrice": f"m{number}"},
        }
    )  # fmt: skip


def pages(home: Path, words: list[str]) -> list[list[int]]:
    """The numbers on each page, following the `more:` lines to the end."""
    found: list[list[int]] = []
    while words:
        (done,) = many(home, [call(*words)])
        assert done.code == 0, (words, done)
        found.append(_numbers(done))
        more = [one for one in done.out.splitlines() if one.startswith("more: fleet ")]
        words = shlex.split(more[0].removeprefix("more: fleet ")) if more else []
    return found


def _numbers(done: Done) -> list[int]:
    heads = [one for one in done.out.splitlines() if one.startswith(("strategy#", "events#"))]
    return [int(one.partition(" ")[0].partition("#")[2]) for one in heads]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["read", "strategy"], range(1, 31)),
        (["read", "strategy", "--after", "10"], range(11, 31)),
        (["read", "strategy", "--before", "20"], range(1, 20)),
        (["read", "strategy", "--since", "1h", "--before", "20"], range(1, 20)),
        (["read", "strategy", "--thread", "strategy#1"], range(1, 31, 2)),
        (["read", "strategy", "--thread", "strategy#1", "--after", "5"], range(7, 31, 2)),
        (["--as", "outreach", "read", "strategy", "--unread"], range(2, 31, 2)),
        (["events", "--where", "competitor=a b"], range(2, 31, 2)),
        (["events", "--type", "pricing-change", "--since", "1h"], range(1, 31)),
        (["events", "--for", "outreach", "--where", "competitor=c"], range(1, 31, 2)),
        (["events", "--after", "4", "--before", "25", "--until", "3000s"], []),
    ],
)
def test_pages_make_the_whole(full: Path, words: list[str], wanted: list[int]) -> None:
    """Following `more:` shows each record that fits once, whatever was asked, a page at a time."""
    found = pages(full, [*words, "--limit", "7"])

    assert sorted(seq for page in found for seq in page) == list(wanted)
    assert all(len(page) == 7 for page in found[:-1])
    assert all(page == sorted(page) for page in found)


def test_the_line_names_home_and_caller(full: Path, tmp_path: Path) -> None:
    """What was said before the command is said again: the line works where it is copied."""
    (done,) = many(
        tmp_path, [call("--home", "home", "--as", "outreach", "read", "strategy", "--limit", "2")]
    )

    more = "more: fleet --home home --as outreach read strategy --limit 2 --before 29"
    assert done.out.splitlines()[-1] == more
