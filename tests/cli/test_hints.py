"""What a wrong line is answered with: the right one, or that this version has none."""

from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["post", "--as", "outreach", "strategy", "x y"],
         "say fleet --as outreach post strategy 'x y'"),
        (["post", "strategy", "x", "--as=outreach"], "say fleet --as=outreach post strategy x"),
        (["claims", "--home", "h"], "say fleet --home h claims"),
        (["up", "--dash"], "--dash is not in this version"),
        (["say", "reply-handler", "hi"], "say fleet send reply-handler hi"),
        (["say", "strategy", "hi"], "say fleet post strategy hi"),
        (["send", "hi there"], "say fleet send AGENT 'hi there'"),
        (["ask", "which?"], "a question comes from an agent: fleet --as AGENT ask 'TEXT'"),
        (["remind", "3d", "x"], "a reminder is an agent's to itself: fleet --as AGENT remind 3d"),
        (["approve", "questions#3"], "say fleet answer questions#3 yes"),
        (["questions"], "say fleet answer"),
        (["retry", "deadletters#3"], "say fleet deadletters retry deadletters#3"),
        (["memory", "add", "x"], "six sections: say which: fleet lesson add TEXT, fleet goal add"),
        (["remember", "x y"], "six sections: say which: fleet lesson add TEXT, fleet goal add"),
        (["goal", "ten replies"], "say fleet goal add 'ten replies'"),
        (["lesson", "x"], "say fleet lesson add x"),
        (["plan", "add", "x y"], "say fleet memory plan add 'x y'"),
    ],
)  # fmt: skip
def test_what_is_elsewhere_or_not_yet_is_said(home: Path, words: list[str], said: str) -> None:
    """Options before the command, and what later versions have, are named; nothing is guessed."""
    (done,) = many(home, [call(*words)])

    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "--id" not in done.err
    assert "did you mean" not in done.err


def test_a_run_is_told_of_no_operators_command(home: Path, fleet: Fleet, run_env) -> None:
    """In a run neither a near word nor a word for later leads to the operators' half."""
    env = run_env("outreach")
    words = ["start", "lint", "memories", "hlt", "verfy", "statu", "log", "capability"]

    for word, done in zip(words, many(home, [call(w) for w in words], env), strict=True):
        assert done.code == 2
        for operators in ("status", "up", "check", "demo", "halt", "verify", "logs", "runs"):
            assert f"fleet {operators}" not in done.err, word
            assert f"'{operators}'" not in done.err, word
    (moved,) = many(home, [call("post", "strategy", "x", "--as", "outreach")], env)
    assert "say fleet post strategy x" in moved.err


def test_unknown_names_are_4_with_what_there_is(home: Path) -> None:
    """A type, key, agent or run that never was is exit 4; the nearest or all names are said."""
    asked = [
        (["events", "--type", "pricing-chnge"], "did you mean 'pricing-change'?"),
        (["events", "--type", "nope"], "fleet schema list"),
        (["claims", "--history", "lead:sarha"], "did you mean 'lead:sarah'?"),
        (["runs", "outreech"], "did you mean 'outreach'?"),
        (["runs", "nope"], "there are competitor-watch, outreach, reply-handler"),
        (["logs", "outreech"], "did you mean 'outreach'?"),
        (["logs", "outreach"], "outreach has not run yet: fleet run outreach"),
        (["--as", "nope", "whoami"], "there are competitor-watch, outreach, reply-handler"),
        (["send", "reply-handlr", "x"], "did you mean 'reply-handler'?"),
        (["dm", "strategy", "x"], "say fleet post strategy x"),
        (["message", "all", "x"], "post where all of them read: fleet channels"),
        (["send", "human", "x"], "fleet send operator 'TEXT' reaches a person"),
        (["post", "outreach", "x"], "say fleet send outreach x"),
        (["read", "reply-handler+outreach"], "their channel is outreach+reply-handler"),
        (["read", "nope+outreach"], "fleet channels"),
        (["events", "--for", "nope"], "there are competitor-watch, outreach, reply-handler"),
    ]

    done = many(home, [call("claim", "lead:sarah"), *(call(*words) for words, _ in asked)])

    for (words, said), one in zip(asked, done[1:], strict=True):
        assert one.code == 4, (words, one)
        assert said in one.err, (words, one)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["emit", "price", "--at", "3d", "n=4"], "say fleet emit price --in 3d n=4"),
        (["emit", "price", "n=4", "--later=3d"], "say fleet emit price n=4 --in=3d"),
        (["emit", "price", "n=4", "--in", "in 2 hours"], "say fleet emit price n=4 --in 2h"),
        (["emit", "price", "n=4", "--in"], "say fleet emit price n=4 --in 3d"),
        (["emit", "price", "--in", "3d", "n=4", "extra"], "price --in 3d n=4 extra=VALUE"),
        (["emit", "price", "n=x"], "fleet emit price n=<integer>"),
        (["--as", "outreach", "remind", "in 3 days", "x"], "say fleet --as outreach remind 3d x"),
        (["--as", "outreach", "remind", "tomorrow", "x"], "say fleet --as outreach remind 1d x"),
        (["--as", "outreach", "remind", "tomorrow", "x", "y"], "remind 1d 'x y'"),
        (["--as", "outreach", "remind", "30 minutes", "x"], "say fleet --as outreach remind 30m x"),
        (["--as", "outreach", "remind", "list"], "say fleet --as outreach remind\n"),
    ],
)  # fmt: skip
def test_no_corrected_line_does_something_else(home: Path, words: list[str], said: str) -> None:
    """What was to come later is not emitted at once, and the line has what the fault asks for."""
    schema = '{"type": "object", "properties": {"n": {"type": "integer"}}}'
    (home / "schemas" / "price.json").write_text(schema)

    (done,) = many(home, [call(*words)])

    assert done.code in {2, 3}
    assert said in done.err
