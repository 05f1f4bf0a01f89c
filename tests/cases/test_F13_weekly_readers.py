"""A channel that keeps a hundred messages in sight loses none of those that nobody read."""

import json
import re
import shlex
from pathlib import Path

from calls import Actor, call
from fleets import Scripted


def test_a_weekly_reader_is_told_of_every_message(tmp_path: Path) -> None:
    """F13: of 150 posts, more than the channel keeps, the digest counts all, `read` has all."""
    home = Scripted(tmp_path / "home")
    weekly = Actor(home, "weekly", "context: {sections: {channels: {max_tokens: 900}}}")
    daily = Actor(home, "daily")
    weekly.does()
    for part in range(3):
        posts = [
            call("post", "strategy", f"{n}: {'word ' * 9}")
            for n in range(part * 50, part * 50 + 50)
        ]
        assert {one.code for one in daily.does(*posts)} == {0}

    (before,) = weekly.does(call("read", "strategy", "--unread", "--json", "--limit", "999"))
    shown = re.findall(r"(?m)^strategy#(\d+) · daily", weekly.prompt)
    (told,) = re.findall(r"strategy \(All\): (\d+) unread, (\d+) of them not shown", weekly.prompt)
    everything = home.call("read", "strategy", "--json", "--limit", "999").stdout.splitlines()

    assert len(before.out.splitlines()) == len(everything) == 150
    assert told == ("150", str(150 - len(shown)))
    assert [int(n) for n in shown] == list(range(151 - len(shown), 151))
    assert json.loads(everything[0])["text"].startswith("0: ")


def test_a_clipped_text_names_the_way_to_the_whole(tmp_path: Path) -> None:
    """F13: a long post or payload is cut with a mark, and the command beside it prints all."""
    home = Scripted(tmp_path / "home")
    writer, reader = Actor(home, "writer"), Actor(home, "reader")
    text = "\n".join(f"line {n} of a long report" for n in range(400))
    writer.does(
        call("post", "strategy", "-", stdin=text),
        call("emit", "note", "--data", json.dumps({"n": text})),
    )
    reader.does()

    (more, way) = re.findall(r"… (\d+) more characters: (fleet read .*--json)", reader.prompt)[0]
    assert text not in reader.prompt
    (whole,) = reader.does(call(*shlex.split(way)[1:]))
    assert json.loads(whole.out)["text"] == text
    assert 0 < int(more) < len(text)

    (line,) = reader.does(call("read", "strategy"))
    assert re.search(r"(?m)^1 clipped: fleet .* --json$", line.out)
    (events,) = reader.does(call("events"))
    assert re.search(r"(?m)^1 clipped: fleet .* --json$", events.out)
