"""send, inbox and agents, as real processes on real files."""

import json
from pathlib import Path

from calls import call, many
from conftest import Fleet
from fleet.cli.commands import ALIASES
from fleet.text import tokens

PAIR = "outreach+reply-handler"


def test_a_direct_message_goes_there_and_back(home: Path, fleet: Fleet, run_env, shaped) -> None:
    """An argument, standard input and a file; the inbox of the other; an answer by reference."""
    text = 'costs $40, `whoami`, "it\'s"\n- last line\n'
    (home / "work" / "outreach").mkdir(parents=True)
    (home / "work" / "outreach" / "note.txt").write_text(text)
    outreach, handler = run_env("outreach"), run_env("reply-handler")

    sent = fleet("send", "reply-handler", "first", env=outreach)
    by_alias = fleet("dm", "reply-handler", "-", stdin=text, env=outreach)
    by_file = fleet(
        "message", "reply-handler", "--file", "note.txt", env=outreach, cwd=home / "work/outreach"
    )
    inbox = shaped("message", fleet("inbox", "--json", env=handler).stdout)
    answer = fleet("reply", f"{PAIR}#1", "second", env=handler)
    seen = fleet("read", PAIR, "--thread", f"{PAIR}#1", env=outreach)

    assert (sent.stdout, sent.stderr) == (f"posted {PAIR}#1\n", "")
    assert [one.returncode for one in (by_alias, by_file, answer)] == [0] * 3
    assert [one["text"] for one in inbox] == ["first", text, text]
    assert [line for line in seen.stdout.splitlines() if line.startswith("  ")] == [
        "  first",
        "  second",
    ]
    assert {"dm", "message"} <= set(ALIASES)


def test_what_a_person_has_answered_is_read(home: Path, shaped) -> None:
    """`fleet inbox` shows a person what came after his own last word; --all everything."""
    as_outreach = ["--as", "outreach"]
    calls = [
        call(*as_outreach, "send", "operator", "the account is locked"),
        call("inbox"),
        call("send", "outreach", "open again"),
        call("inbox"),
        call(*as_outreach, "send", "operator", "thanks"),
        call(*as_outreach, "send", "reply-handler", "not for people"),
        call("inbox", "--json"),
        call("inbox", "--all", "--json"),
        call("inbox", "--all", "--limit", "2"),
        call(*as_outreach, "inbox", "--json"),
    ]
    done = many(home, calls, {"FLEET_HOME": str(home)})

    assert {one.code for one in done} == {0}
    assert done[1].out.splitlines()[1:] == ["  the account is locked"]
    assert done[3].out == ""
    texts = [[one["text"] for one in shaped("message", done[n].out)] for n in (6, 7, 9)]
    assert texts == [
        ["thanks"],
        ["the account is locked", "open again", "thanks"],
        ["open again"],
    ]
    assert "the account is locked" not in done[8].out
    assert done[8].out.splitlines()[-1] == "more: fleet inbox --all --limit 4 --json"


def test_channels_lists_those_of_two_last(home: Path, shaped) -> None:
    """Only those the caller is in, and only once something was said there."""
    before, *_, after, mine = many(
        home,
        [call("channels"), call("send", "outreach", "x"),
         call("--as", "outreach", "send", "reply-handler", "x"),
         call("channels"), call("--as", "outreach", "channels", "--json")],
        {"FLEET_HOME": str(home)},
    )  # fmt: skip

    assert "+" not in before.out
    assert [line.split()[0] for line in after.out.splitlines()] == [
        "outreach-review",
        "strategy",
        "operator+outreach",
    ]
    assert [one["id"] for one in shaped("channel", mine.out)][-2:] == ["operator+outreach", PAIR]
    assert shaped("channel", mine.out)[-1]["members"] == ["outreach", "reply-handler"]


def test_verify_and_check_know_channels_of_two(home: Path) -> None:
    """They are no orphans of a channel whose file is gone, until one of the two is."""
    *_, verified, checked = many(
        home,
        [call("send", "outreach", "x"), call("--as", "outreach", "send", "reply-handler", "x"),
         call("verify"), call("check")],
        {"FLEET_HOME": str(home)},
    )  # fmt: skip

    assert "+" not in verified.out + checked.out


def test_agents_says_who_can_do_what(home: Path, run_env, shaped) -> None:
    """Ranked by words, weaknesses that match included; every agent without --can."""
    done = many(
        home,
        [
            call("strength", "add", "Answers founders within the hour"),
            call("weakness", "add", "Competitors: I know none"),
            call("agents", "--json"),
            call("agents", "--can", "answer a founder", "--json"),
            call("agents", "--can", "competitors"),
            call("agents", "--can", "xyzzy", "--json"),
        ],
        run_env("outreach"),
    )
    assert [one.code for one in done] == [0] * 6
    everybody, found = (shaped("agent", one.out) for one in done[2:4])

    assert [one["id"] for one in everybody] == ["competitor-watch", "outreach", "reply-handler"]
    assert [(one["id"], one["score"]) for one in found] == [("outreach", 6), ("reply-handler", 2)]
    assert found[0]["strengths"] == [
        {"ref": "outreach/S1", "text": "Answers founders within the hour"}
    ]
    plain = done[4].out
    assert plain.splitlines()[0].startswith("competitor-watch · waiting · 2 points: competitors")
    assert "outreach · waiting · -2 points: nothing, but weak at competitors" in plain
    assert "weak at: Competitors: I know none (outreach/W2)" in plain
    assert done[5].out == ""


def test_a_run_sees_a_team_of_any_size_within_its_limits(home: Path, fleet: Fleet, run_env) -> None:
    """Twenty agents and 2,000 tokens at most, the others counted."""
    for number in range(40):
        (home / f"agents/agent-{number}.yaml").write_text(
            f"description: {'Does number ' * 30}{number}\nprompt: outreach.md.j2\n"
        )

    shown = fleet("agents", env=run_env("outreach")).stdout

    assert tokens(shown) <= 2000
    assert sum(" · " in line for line in shown.splitlines()) == 20
    assert "23 more, 20 clipped: fleet agents --json" in shown


def test_an_inbox_names_its_json(home: Path) -> None:
    """A message of a channel of two has the same shape as any other."""
    sent, read = many(
        home,
        [call("send", "outreach", "x", "--json"), call("read", "operator+outreach", "--json")],
        {"FLEET_HOME": str(home)},
    )

    assert json.loads(sent.out)["ref"] == json.loads(read.out)["ref"] == "operator+outreach#1"
    assert json.loads(read.out)["channel"] == "operator+outreach"
