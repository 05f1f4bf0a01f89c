"""What a line answers: to a full disk, to numbers out of bounds, to half a reference."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet


@pytest.mark.parametrize(
    "words",
    [
        ["post", "strategy", "hi"],
        ["emit", "pricing-change", "competitor=a", "newPrice=b"],
        ["claim", "k"],
        ["pause", "outreach"],
        ["skip", "outreach", "--to", "now"],
        ["init", "elsewhere"],
    ],
)
def test_a_write_that_cannot_be_printed_is_said_to_be_done(home: Path, words: list[str]) -> None:
    """A full standard output after a write is exit 1 and says what is done, never 75."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fleet", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home.parent,
            check=False,
        )

    assert done.returncode == 1
    assert "could not be printed: No space left on device: do not repeat it" in done.stderr
    assert "bug" not in done.stderr


def test_a_full_output_does_not_change_how_a_run_or_a_command_ended(home: Path) -> None:
    """What ran decides the exit code, also when standard output is full."""
    program = f"{sys.executable} -m fleet claim k -- sh -c 'exit 5' >/dev/full"

    assert subprocess.run(program, shell=True, capture_output=True, check=False).returncode == 5


HUGE = "9" * 12 + "d"


@pytest.mark.parametrize(
    "words",
    [
        *(
            [command, option, value]
            for command in ("events", "read strategy", "runs")
            for option in ("--since", "--until")
            for value in (HUGE, "9999999999h", "0001-01-01", "9999-12-31T23:59")
        ),
        ["next", "--from", HUGE],
        ["next", "--from", "9999-12-31"],
        ["next", "--days", "nan"],
        *([c, "--limit", "9" * 25] for c in ("events", "read strategy", "runs", "claims", "next")),
        *(["claim k", option, HUGE] for option in ("--ttl", "--keep", "--once", "--wait")),
        ["renew k", "--ttl", HUGE],
    ],
)
def test_numbers_beyond_all_bounds_are_usage(home: Path, words: list[str]) -> None:
    """A moment, duration, count or number of days that nothing can hold is exit 2, no bug."""
    (done,) = many(home, [call(*words[0].split(), *words[1:])])

    assert (done.code, done.out) == (2, ""), done.err
    assert done.err.count("\n") == 1


def test_half_a_reference_is_usage_everywhere(home: Path, fleet: Fleet) -> None:
    """What is no reference is exit 2 with an example, whichever command and option takes it."""
    takes_message = [
        ["reply", "REF", "x"], ["react", "REF", "agree"], ["pin", "REF"], ["unpin", "REF"],
        ["read", "strategy", "--thread", "REF"], ["post", "strategy", "x", "--reply-to", "REF"],
        ["read", "strategy", "--after", "REF"], ["read", "strategy", "--before", "REF"],
    ]  # fmt: skip
    takes_event = [
        ["events", "--after", "REF"], ["events", "--before", "REF"],
        ["skip", "outreach", "--to", "REF"],
        ["emit", "pricing-change", "competitor=a", "newPrice=b", "--cause", "REF"],
    ]  # fmt: skip
    kinds = ((takes_message, "strategy"), (takes_event, "events"))
    calls = [
        call(*(ref if word == "REF" else word for word in words))
        for takes, stream in kinds
        for words in takes
        for ref in (stream, f"{stream}#", f"{stream}#{'1' * 26}", "#3", f"{stream}#x")
    ]

    for one, done in zip(calls, many(home, calls), strict=True):
        assert done.code == 2, (one.argv, done)
        assert re.search(r"write it like (strategy|events)#\d+", done.err), (one.argv, done)


def test_help_is_h_everywhere_and_no_home_is_named_so(home: Path, tmp_path: Path) -> None:
    """`-h` shows the help of every command; `init` takes no name that begins with a dash."""
    shown = many(tmp_path, [call(*w, "-h") for w in ([], ["init"], ["schema"], ["post"])])
    refused = many(tmp_path, [call("init", *w) for w in (["--", "-h"], ["-x"], [""])])

    assert [done.code for done in shown] == [0] * 4
    assert all(done.out.startswith("Usage: fleet") for done in shown)
    assert [done.code for done in refused] == [2] * 3
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


def test_a_bare_group_says_what_there_is(home: Path) -> None:
    """`fleet` and `fleet schema` alone, and a wrong word after them, are one sentence, exit 2."""
    none, bare, wrong = many(home, [call(), call("schema"), call("schema", "4", "5")])

    assert (none.code, bare.code, wrong.code) == (2, 2, 2)
    assert none.err == "fleet: fleet needs a command: fleet --help lists them\n"
    assert "say fleet schema list, or fleet schema show pricing-change\n" in bare.err
    assert "say fleet schema list, or fleet schema show pricing-change\n" in wrong.err


def test_an_empty_home_is_no_home(home: Path, tmp_path: Path) -> None:
    """`--home ''` is refused by every command; an empty FLEET_HOME counts as unset."""
    refused = many(home, [call("--home", "", *w) for w in (["status"], ["init", "x"], ["post"])])
    (unset,) = many(home, [call("whoami", FLEET_HOME="")])

    assert [done.code for done in refused] == [2] * 3
    assert (unset.code, str(home) in unset.out) == (0, True)


def test_a_home_within_a_home_is_said(home: Path, tmp_path: Path) -> None:
    """`init` inside another home makes it and says so; outside of one it says nothing."""
    inner, outer = many(home, [call("init", "inner"), call("init", str(tmp_path / "outer"))])

    assert (inner.code, outer.code) == (0, 0)
    assert f"lies inside another home, {home}" in inner.err
    assert outer.err == ""


def test_pin_answers_with_the_message(home: Path, fleet: Fleet) -> None:
    """`pin` and `unpin` print the reference of the message, however often they are repeated."""
    words = ["pin", "pin", "unpin", "unpin"]
    done = many(home, [call("post", "strategy", "x"), *(call(w, "strategy#1") for w in words)])

    assert [one.out for one in done] == ["strategy#1\n"] * 5
