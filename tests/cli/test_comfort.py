"""An agent's comfort: what it types wrong is answered with what is right, in few tokens."""

import json
import re
import shlex
import time
from pathlib import Path

import pytest

from calls import Call, Done, call, many
from fleet.cli.commands import COMMANDS, is_operators
from fleet.cli.session import Session
from fleet.cli.slips import KINDS, OPTIONS, RULES
from fleet.places import NEXT_DUE
from fleet.text import tokens
from fleet.wiring import open_fleet
from grown import RUN, TASK, examples, grown, in_a_run
from reference import leaves

LINE, HELP = 150, 600
"""Tokens of an error, and of the help of one command."""

ALIASES = [
    ("dm reply-handler 'have a look'", "posted outreach+reply-handler#"),
    ("message reply-handler 'have a look'", "posted outreach+reply-handler#"),
    ("lock draft:1", "CLAIMED draft:1 for "),
    ("unlock draft:1", "released draft:1"),
    ("claim draft:2", "CLAIMED draft:2 for "),
    ("unclaim draft:2", "released draft:2"),
    ("lesson success 'Short mails work'", "learned L"),
    ("lesson add 'Long mails do not' --importance HIGH", "learned L"),
    ("done 'mailed 4 leads'", "reported"),
    ("search Cursor", "no record has these words"),
    (f"emit task-created '{TASK}'", "emitted events#98 to outreach"),
    (f"emit task-created --payload '{TASK}'", "emitted events#99 to outreach"),
    ("inbox", "nothing unread: fleet inbox --all"),
    ("claims list", "no live claim begins with list"),
    ("ask 'which list?' --options trials,customers", "asked questions#5 · the answer wakes you"),
    ("ask '0?'", "asked questions#1 · the answer wakes you"),
    (f"emit task-created '{TASK}' --in 3d", "noted later#1 · emitted to outreach 20"),
    ("remind 3d 'ask mike again'", "noted later#2 · you are told 20"),
]
"""Lines that simply work, and how the answer begins."""

SIX = "lesson add TEXT", "goal add TEXT", "research add TEXT --source S", "memory plan add TEXT"
SIX += "strength add TEXT", "weakness add TEXT"

TAUGHT: list[tuple[int, str, str]] = [
    # Claims
    (2, "claim lead a@b", "claim lead:a@b"),
    (2, "release lead c@d", "release lead:c@d"),
    (2, "claim --key lead:e", "claim lead:e"),
    (2, "claim lead:f --duration 30m", "claim lead:f --ttl 30m"),
    (2, "claim", "claim lead:sarah@acme.com"),
    (2, "claim lead:g --keep",
     "claim lead:sarah@acme.com --keep 3d --note 'waiting for an answer'"),
    (2, "locks list", "claims"),
    (4, "renew lead:nobodys", "claim lead:nobodys"),
    # Memory
    *((2, "remember 'short mails work'", each) for each in SIX),
    *((2, "memory add 'short mails work'", each) for each in SIX),
    (2, "memory add lesson 'mails of a line'", "lesson add 'mails of a line'"),
    (2, "memory goal 'one reply a day'", "goal add 'one reply a day'"),
    (2, "memory", "memory show"),
    (2, "memory list", "memory show"),
    (2, "memory search Cursor", "find Cursor"),
    (2, "memory drop L10", "lesson drop L10"),
    (2, "memory show L11", "show L11"),
    (2, "memory show outreach", "memory show --agent outreach"),
    (2, "lessons", "memory show"),
    (2, "lessons add 'ask one question'", "lesson add 'ask one question'"),
    (2, "lesson list", "memory show"),
    (2, "lesson add", "lesson add TEXT --importance high"),
    (2, "lesson 'send on Tuesdays' success", "lesson add 'send on Tuesdays' --category success"),
    (2, "lesson add failure 'no links'", "lesson add 'no links' --category failure"),
    (2, "lesson add 'be brief' --type success --tags a,b",
     "lesson add 'be brief' --category success"),
    (2, "lesson delete L12", "lesson drop L12"),
    (2, "lesson drop 1", "lesson drop L1"),
    (2, "goals", "memory show"),
    (2, "goal", "goal add 'Ten replies a week'"),
    (2, "goal done G2", "goal achieve G2"),
    (2, "goal update G3 'four so far'", "goal progress G3 'four so far'"),
    (2, "goal progress 'five so far'", "goal progress G3 'five so far'"),
    (2, "goal achive G9", "goal achieve G9"),
    (2, "goal achieve L10", "memory show"),
    (2, "goal achieve first", "memory show"),
    (5, "goal achieve reply-handler/G3", "memory show"),
    (2, "plan add 'two a week'", "memory plan add 'two a week'"),
    (2, "plan done P4", "memory plan drop P4"),
    (2, "plan", "memory show"),
    (2, "research 'Cursor has teams'", "research add 'Cursor has teams' --source SOURCE"),
    (2, "research add 'it has' --url cursor.com", "research add 'it has' --source cursor.com"),
    (2, "strengths add 'Short mails'", "strength add 'Short mails'"),
    # Talk
    (4, "message strategy hi", "post strategy hi"),
    (2, "post 'Cursor cut Pro'", "post agent-learning 'Cursor cut Pro'"),
    (2, "broadcast 'Cursor cut Pro'", "post agent-learning 'Cursor cut Pro'"),
    (2, "post strategy Cursor cut Pro", "post strategy 'Cursor cut Pro'"),
    (4, "post 'Cursor cut Pro' strategy", "post strategy 'Cursor cut Pro'"),
    (2, "post --channel strategy --text 'Cursor cut Pro'", "post strategy 'Cursor cut Pro'"),
    (4, "post reply-handler hi", "send reply-handler hi"),
    (2, "message reply-handler hi there", "send reply-handler 'hi there'"),
    (2, "reply-handler 'look here'", "send reply-handler 'look here'"),
    (2, "notify reply-handler 'look here'", "send reply-handler 'look here'"),
    (2, "send 'look here'", "agents"),
    (2, "send --to reply-handler 'look here'", "send reply-handler 'look here'"),
    (2, "send reply-handler", "send reply-handler TEXT"),
    (2, "reply strategy 412 'yes, drafting'", "reply strategy#412 'yes, drafting'"),
    (4, "reply strategy#9999 yes", "read strategy"),
    (3, "react strategy#412 like", "react strategy#412 agree"),
    (2, "react agree strategy#412", "react strategy#412 agree"),
    (2, "read", "read agent-learning"),
    (2, "read strategy 10", "read strategy --limit 10"),
    (2, "read strategy -n 5", "read strategy --limit 5"),
    (4, "read strategy#412", "show strategy#412"),
    (4, "read reply-handler", "read outreach+reply-handler"),
    (2, "inbox read", "inbox"),
    (2, "messages", "inbox"),
    (2, "agents list", "agents"),
    (5, "agent list", "agents"),
    (2, "team", "agents"),
    (2, "agents --can", "agents --can 'answer a reply about pricing'"),
    (5, "channel list", "channels"),
    (2, "who", "whoami"),
    # Events and records
    (2, "emit reply-received --email a@b.co --classification x",
     "emit reply-received email=a@b.co classification=x"),
    (2, "emit reply-received email: a@b.co classification: x",
     "emit reply-received email=a@b.co classification=x"),
    (3, 'emit reply-received {"email":"a@b.co","classification":"x"}',  # as a shell leaves it
     "emit reply-received email=a@b.co classification=x"),
    (2, "emit reply-received email:a@b.co classification:x",
     "emit reply-received email=a@b.co classification=x"),
    (3, "emit reply-received email=a@b.co", "emit reply-received email=a@b.co classification=…"),
    (3, "emit reply-received", "emit reply-received email=… classification=…"),
    (4, "emit reply-received email=a@b.co classification=x --to all",
     "emit reply-received email=a@b.co classification=x"),
    (2, "event show 97", "show events#97"),
    (2, "events reply-received", "events --type reply-received"),
    (2, "events list", "events"),
    (2, "history", "events"),
    (2, "schema pricing-change", "schema show pricing-change"),
    (2, "schema shw pricing-change", "schema show pricing-change"),
    (2, "types", "schema list"),
    (4, "show L99", "memory show"),
    (4, "goal achieve G99", "memory show"),
    (4, "lesson drop L99", "memory show"),
    (2, "show events 97", "show events#97"),
    (2, "find", "find Cursor"),
    (2, "metrics record draft-17 views 3", "metric record draft-17 views 3"),
    (2, "metric draft-17 views 4", "metric record draft-17 views 4"),
    (2, "metrics", "metric show"),
    (2, "know search 'exact error'", "find TEXT"),
    (2, "query 'exact error'", "find TEXT"),
    # Oneself
    (2, "report", "report TEXT"),
    (2, "report --idle", "report --idle 'no new leads'"),
    (2, "report idle", "report --idle REASON"),
    (2, "summary 'mailed 4'", "report 'mailed 4'"),
    # Questions and reminders
    (2, "ask", "ask TEXT --options yes,no"),
    (2, "ask 'which list?' --options a", "ask TEXT --options yes,no"),
    (2, "ask 'which list?' --options a/b", "ask TEXT --options a,b"),
    (2, "ask 'which list?' a b", "ask 'which list?' --options a,b"),
    (2, "ask 'mail these?' --choices a,b", "ask 'mail these?' --options a,b"),
    (2, "ask mail these 30?", "ask 'mail these 30?'"),
    (2, "ask operator 'mail these 40?'", "ask 'mail these 40?'"),
    (2, "ask reply-handler 'did they answer?'", "send reply-handler 'did they answer?'"),
    (2, "approve 'mail these 50?'", "ask 'mail these 50?'"),
    (2, "question 'mail these 60?'", "ask 'mail these 60?'"),
    (2, "remind 3d", "remind 3d TEXT"),
    (2, "remind me in 3 days to 'ask mike'", "remind 3d 'ask mike'"),
    (2, "remind me in 2 hours 'ask ann'", "remind 2h 'ask ann'"),
    (2, "remind tomorrow 'ask bob'", "remind 1d 'ask bob'"),
    (2, "remind 3d ask carl again", "remind 3d 'ask carl again'"),
    (2, "remind 'ask dora again' 2d", "remind 2d 'ask dora again'"),
    (2, "remind 'ask emma again'", "remind 3d 'ask emma again'"),
    (2, "remind --in 3d 'ask fred'", "remind 3d 'ask fred'"),
    (2, "reminder 3d 'ask gus'", "remind 3d 'ask gus'"),
    (2, "emit reply-received --email a@b.co --classification x --in 3d",
     "emit reply-received email=a@b.co classification=x --in 3d"),
    (2, "help", "--help"),
    (2, "help emit", "emit --help"),
    (2, "list", "--help"),
    (2, "sync", "--help"),
    (5, "status", "agents"),
    (5, "retract strategy#412", "send operator TEXT"),
    (2, "post strategy hi --as outreach", "post strategy hi"),
]  # fmt: skip
"""Exit code, what a model types, and the line that the answer names."""

NAMED = [
    (4, "emit reply-recieved email=a classification=b", "'reply-received'"),
    (4, "post strateg hi", "'strategy'"),
    (4, "send reply-handlr hi", "'reply-handler'"),
    (3, "lesson add 'x y' --importance critical", "--importance low, medium or high"),
    (3, "lesson add 'x y' --category win", "success, failure, observation or improvement"),
    (2, "reply 412 hi", "strategy#412"),
    (5, "answer strategy#412 yes", "fleet reply REF TEXT answers a message"),
    (5, "--as reply-handler post strategy hi", "you are outreach (run 019b2e00"),
]
"""Exit code, what a model types, and the word that the answer has for the wrong one."""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a run of outreach in a grown home."""
    return in_a_run(grown(tmp_path_factory.mktemp("comfort")))[1]


def _call(line: str) -> Call:
    return call(*shlex.split(line))


def _all(lines: list[str], env: dict[str, str]) -> list[Done]:
    work = Path(env["FLEET_HOME"]) / "work" / "outreach"
    return many(work, [_call(line) for line in lines], env)


def test_what_models_type_instead_works(env: dict[str, str]) -> None:
    """Each alias does what it says, in one line."""
    for (line, said), done in zip(ALIASES, _all([line for line, _ in ALIASES], env), strict=True):
        assert (done.code, done.err) == (0, ""), line
        assert done.out.startswith(said), (line, done.out)
        assert done.out.count("\n") == 1


def test_a_wrong_line_is_answered_with_one_that_works(env: dict[str, str]) -> None:
    """Each is refused by its code in one short sentence; the line that it names, copied, works."""
    refused = _all([typed for _, typed, _ in TAUGHT], env)
    for (code, typed, copied), done in zip(TAUGHT, refused, strict=True):
        assert (done.code, done.out) == (code, ""), (typed, done)
        assert done.err.count("\n") == 1
        assert tokens(done.err) <= LINE, (typed, done.err)
        assert f"fleet {copied}" in done.err.replace("'TEXT'", "TEXT"), (typed, done.err)

    lines = ["claim lead:c@d", *dict.fromkeys(copied for _, _, copied in TAUGHT)]
    for line, done in zip(lines, _all(lines, env), strict=True):
        assert done.code == 0, (line, done.err)


def test_a_wrong_word_is_answered_with_the_right_one(env: dict[str, str]) -> None:
    """Where one word is wrong, the sentence has the one that belongs there."""
    for (code, typed, word), done in zip(
        NAMED, _all([typed for _, typed, _ in NAMED], env), strict=True
    ):
        assert (done.code, done.out) == (code, ""), (typed, done)
        assert word in done.err, (typed, done.err)
        assert tokens(done.err) <= LINE


def test_what_cannot_be_copied_is_not_said(env: dict[str, str]) -> None:
    """A line that is too long to copy, or has several lines, is answered with an example."""
    for text in ("x y " * 200, "one line\nand another"):
        (done,) = many(Path(env["FLEET_HOME"]), [call("post", "strategy", "-m", text)], env)

        assert done.code == 2
        assert "for example fleet post strategy 'Cursor" in done.err
        assert len(done.err) < 350


def test_no_rule_fits_a_line_that_is_right() -> None:
    """No example of the help is taken for a mistake, and every rule leads to a command."""
    from fleet.cli.meant import meant

    for words in examples(operators=False):
        assert meant(Session(None, None, {"FLEET_RUN_ID": RUN}, words)) is None, words
    for line in filter(None, RULES.splitlines()):
        first = line.split(" > ")[1].split()[0]
        assert first in {*COMMANDS, "SECTION", "LISTED", "PLAIN", "--help"}, line
    assert {"SECTION", "LISTED", "PLAIN"} <= set(KINDS)
    for line in filter(None, OPTIONS.splitlines()):
        for name in line.partition("  ")[0].split("|"):
            assert name in leaves(), line


def test_a_post_in_a_run_names_its_next_reader(env: dict[str, str]) -> None:
    """The line of a write says what follows."""
    due = {"reply-handler": [time.time() + 600, "06:10"]}
    cache = open_fleet(Path(env["FLEET_HOME"]), env={}).cache
    cache.save(NEXT_DUE, json.dumps(due).encode())

    post, held = _all(["post strategy hi", "claim agent:outreach"], env)

    assert post.out.endswith(" · next reader reply-handler 06:10\n")
    assert held.code == 5


def test_a_held_claim_says_who_and_until_when(env: dict[str, str]) -> None:
    """`HELD by`, until when, and what to do: nothing else is needed."""
    other = {name: None for name in env if name != "FLEET_HOME"} | {"FLEET_HOME": env["FLEET_HOME"]}
    root = Path(env["FLEET_HOME"])
    many(root, [call("--as", "reply-handler", "claim", "lead:held", "--keep", "3d")], other)

    (held,) = _all(["claim lead:held"], env)

    assert held.code == 6
    assert held.err.startswith("fleet: HELD by reply-handler until ")
    assert held.err.endswith(": leave it, do something else (lead:held is held by reply-handler)\n")


def test_the_help_of_a_command_is_short(env: dict[str, str]) -> None:
    """In a run: at most 40 lines and 600 tokens, with an example, none of them an operators'."""
    own = {name for leaf in leaves() if not is_operators(leaf) for name in (leaf, leaf.split()[0])}
    own |= {"memory plan"}
    lines = [f"{words} --help" for words in sorted(own)]

    for line, done in zip(lines, _all(lines, env), strict=True):
        assert done.code == 0
        assert len(done.out.splitlines()) <= 40
        assert tokens(done.out) <= HELP
        assert re.search(r"Examples:\n  fleet ", done.out), line
        assert "revert" not in done.out
