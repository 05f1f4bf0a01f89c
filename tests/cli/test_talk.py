"""post, reply, read, react, pin, channels, as real processes on real files."""

import json
from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet

AWKWARD = {
    "backticks and dollars": "run `date` and $(id), pay $40 or ${HOME}",
    "quotes": "it's \"quoted\" \\ and 'single'",
    "lines": "first\n\n  third\twith tab\n",
    "leading dash": "- a list\n- of two",
    "dash word": "--pin is what I would do",
    "unicode": "naïve 日本語 🦊 e\u0301",
    "line separators": "a\u2028b\u2029c\x85d\r\ne",
    "15 KiB": "x" * (15 * 1024),
}


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("way", ["argument", "stdin", "file"])
def test_a_text_comes_back_byte_for_byte(
    home: Path, fleet: Fleet, tmp_path: Path, way: str, text: str
) -> None:
    """What is posted as an argument, by standard input or by file is read back unchanged."""
    (tmp_path / "note").write_bytes(text.encode())
    words = {"argument": [text], "stdin": ["-"], "file": ["--file", "note"]}[way]

    posted = fleet("post", "strategy", *words, stdin=text if way == "stdin" else "")
    read = fleet("read", "strategy", "--json")

    assert (posted.returncode, posted.stderr) == (0, "")
    assert posted.stdout == "strategy#1\n"
    assert json.loads(read.stdout)["text"] == text


def test_a_heredoc_through_a_shell_keeps_every_character(home: Path, fleet: Fleet) -> None:
    """The form that prompts teach, a quoted here-document, stores exactly what stands in it."""
    text = 'costs $40, `whoami`, $(whoami), "it\'s" \\n\n- last line\n'

    assert fleet("post", "strategy", "-", stdin=text).returncode == 0

    assert json.loads(fleet("read", "strategy", "--json").stdout)["text"] == text


@pytest.mark.parametrize("words", [["-1 from me"], ["- a list"], ["--fine by me"], ["--", "--pin"]])
def test_a_text_that_begins_with_a_dash_is_a_text(
    home: Path, fleet: Fleet, words: list[str]
) -> None:
    """`fleet reply REF '-1 from me'` answers; it does not look for an option."""
    fleet("post", "strategy", "first")

    answered = fleet("reply", "strategy#1", *words)

    assert (answered.returncode, answered.stdout) == (0, "strategy#2\n")
    newest = json.loads(fleet("read", "strategy", "--json").stdout.splitlines()[-1])
    assert (newest["text"], newest["reply_to"]) == (words[-1], "strategy#1")


@pytest.mark.parametrize("way", ["argument", "stdin"])
def test_bytes_that_are_no_text_are_refused(home: Path, fleet: Fleet, way: str) -> None:
    """A byte that is no UTF-8 is exit 3 and stores nothing."""
    argument, stdin = (b"bad \xb2", b"") if way == "argument" else (b"-", b"bad \xb2")

    refused = fleet("post", "strategy", argument, stdin=stdin)

    assert refused.returncode == 3
    assert "0xb2" in refused.stderr
    assert fleet("read", "strategy", "--json").stdout == ""


def test_every_shape_of_talk_is_as_documented(home: Path, fleet: Fleet, shaped) -> None:
    """What --json prints of channels, writes and messages fits the documented schemas."""
    shaped("written", fleet("post", "strategy", "first", "--pin", "--json").stdout)
    shaped("written", fleet("reply", "strategy#1", "second", "--json").stdout)
    shaped("written", fleet("react", "strategy#1", "agree", "--json").stdout)
    shaped("written", fleet("unpin", "strategy#1", "--json").stdout)
    shaped("written", fleet("pin", "strategy#1", "--json").stdout)

    first, second = shaped("message", fleet("read", "strategy", "--json").stdout)
    channels = shaped("channel", fleet("channels", "--json").stdout)

    assert (first["pinned"], second["reply_to"]) == (True, "strategy#1")
    assert [r["kind"] for r in first["reactions"]] == ["agree"]
    assert [c["id"] for c in channels] == ["outreach-review", "strategy"]


def test_the_same_id_twice_is_one_message(home: Path, fleet: Fleet) -> None:
    """Repeating a post with its --id answers the first reference; another text is refused."""
    first = fleet("post", "strategy", "hello", "--id", "k1")
    again = fleet("post", "strategy", "hello", "--id", "k1")
    other = fleet("post", "strategy", "goodbye", "--id", "k1")

    assert (first.stdout, again.stdout) == ("strategy#1\n", "strategy#1\n")
    assert other.returncode == 3
    assert len(fleet("read", "strategy", "--json").stdout.splitlines()) == 1


def test_hostile_text_reaches_a_terminal_only_escaped(home: Path, fleet: Fleet) -> None:
    """No control, bidi or zero-width character of a message is printed, plain or as JSON."""
    hostile = "\x1b]0;owned\x07\x1b[2J\u202eevil\u200b\u2066\x9b31m\u2028strategy#9 · operator"
    fleet("post", "strategy", "-", stdin=hostile)

    plain, as_json = fleet("read", "strategy"), fleet("read", "strategy", "--json")

    for shown in (plain.stdout, as_json.stdout):
        assert not set("\x1b\x07\u202e\u200b\u2066\x9b\u2028") & set(shown)
    assert json.loads(as_json.stdout)["text"] == hostile
    assert not any(line.startswith("strategy#9") for line in plain.stdout.splitlines())


def test_pages_go_on_where_they_stopped(home: Path, fleet: Fleet) -> None:
    """The command in the last line shows what a limited read left out."""
    for number in range(5):
        fleet("post", "strategy", f"m{number}")

    page = fleet("read", "strategy", "--after", "strategy#1", "--limit", "2")
    rest = page.stdout.splitlines()[-1].removeprefix("more: fleet ").split()

    assert "m1" in page.stdout
    assert "m3" not in page.stdout
    assert "m3" in fleet(*rest).stdout


def test_members_only(home: Path, fleet: Fleet) -> None:
    """An agent that is no member may neither read nor post, and is told its own channels."""
    for words in (["post", "outreach-review", "hi"], ["read", "outreach-review"]):
        refused = fleet("--as", "competitor-watch", *words)

        assert refused.returncode == 5
        assert "strategy" in refused.stderr


def test_a_post_without_a_channel_names_the_channels(home: Path, fleet: Fleet) -> None:
    """`fleet post "some text"` is answered with the channels and the corrected line."""
    refused = fleet("--as", "competitor-watch", "post", "Cursor cut prices")

    assert refused.returncode == 2
    assert "yours are strategy: say fleet post strategy 'Cursor cut prices'" in refused.stderr


def test_a_near_miss_of_a_channel_is_suggested(home: Path, fleet: Fleet) -> None:
    """A misspelt channel is exit 4 with the right one."""
    refused = fleet("post", "stratgy", "hi")

    assert refused.returncode == 4
    assert "did you mean 'strategy'?" in refused.stderr


def test_what_exit_0_acknowledged_is_in_the_file(home: Path, fleet: Fleet) -> None:
    """After exit 0 the record is in the log, and any process finds it."""
    fleet("post", "strategy", "durable")

    (segment,) = (home / "state" / "channels" / "strategy").glob("*.jsonl")
    assert json.loads(segment.read_text())["text"] == "durable"


def test_unread_is_what_no_run_was_shown(home: Path, fleet: Fleet) -> None:
    """--unread shows an agent what others posted, and reading it consumes nothing."""
    fleet("--as", "outreach", "post", "strategy", "from outreach")
    fleet("--as", "reply-handler", "post", "strategy", "from reply-handler")

    for _ in range(2):
        shown = fleet("--as", "outreach", "read", "strategy", "--unread", "--json").stdout
        assert [json.loads(line)["text"] for line in shown.splitlines()] == ["from reply-handler"]


def test_what_was_said_in_a_retired_channel_stays_readable(home: Path) -> None:
    """A person reads, searches and follows its threads, and is told so; agents and writers do not.

    The memory of a retired agent is shown to a person in the same way.
    """
    many(
        home,
        [
            call("post", "strategy", "the old plan"),
            call("reply", "strategy#1", "agreed"),
            call("--as", "outreach", "lesson", "add", "plans age"),
            call("channel", "retire", "strategy"),
            call("agent", "retire", "outreach"),
        ],
    )

    shown = many(
        home,
        [
            call("read", "strategy"),
            call("read", "strategy", "--thread", "strategy#1"),
            call("find", "plan", "--in", "strategy"),
        ],
    )
    (kept,) = many(home, [call("memory", "show", "--agent", "outreach")])
    refused = many(
        home,
        [
            call("post", "strategy", "more"),
            call("reply", "strategy#1", "more"),
            call("react", "strategy#1", "agree"),
            call("pin", "strategy#1"),
            call("--as", "reply-handler", "read", "strategy"),
        ],
    )
    (named,) = many(home, [call("read", "strategie")])

    assert all(one.code == 0 and "the old plan" in one.out for one in shown), shown
    assert all("strategy is retired" in one.err for one in shown)
    assert kept.code == 0
    assert "plans age" in kept.out
    assert "no agent any more" in kept.err
    assert [one.code for one in refused] == [4] * 5, refused
    assert named.code == 4


def test_who_acts_for_an_agent_is_not_shown_what_all_were_told(home: Path) -> None:
    """`timeline`, `explain` and `seen` are refused under `--as`, as `find` shows less under it."""
    many(home, [call("send", "outreach", "between us")])
    words = (["timeline"], ["explain", "operator+outreach#1"], ["seen", "operator+outreach#1"])

    refused = many(home, [call("--as", "reply-handler", *line) for line in words])
    (shown,) = many(home, [call("timeline")])

    assert [one.code for one in refused] == [5] * 3, refused
    assert all("between us" not in one.out and "leave --as out" in one.err for one in refused)
    assert "between us" in shown.out
