"""The hook allows exactly what is a literal call of fleet, and stays silent about all else."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fleet
from fleet.hook import MAX_INPUT, decide, is_fleet_only

HOOK = [sys.executable, "-I", "-S", str(Path(fleet.__file__).with_name("hook.py"))]

ALLOWED = [
    "fleet inbox",
    "  fleet\tinbox  ",
    "fleet post strategy 'hello'",
    'fleet post strategy "hello, world!"',
    "fleet post strategy 'a $VAR `cmd` $(cmd) ; | & # {x} * ? ~ \\ !'",
    'fleet post strategy "a ; | & # {x} * ? ~ !"',
    'fleet emit contact-made --data "{\\"email\\": \\"a@b.c\\"}"',
    'fleet post strategy "costs \\$40, not \\`40\\`"',
    "fleet emit pricing-change competitor=acme 'newPrice=$40'",
    "fleet emit contact-made email=a@b.c method=mail",
    """fleet emit contact-made --data '{"a": {"b": 1}}'""",
    "fleet show events#97",
    "fleet explain outreach~1",
    "fleet post strategy it''s'#'x\"'\"y",
    "fleet post strategy 'two\nlines'",
    "fleet post strategy 'Grüße 😀 \u202e'",
    "fleet report 'done' --next 'look again'",
    "fleet claim lead:a@b.c\nfleet release lead:a@b.c\n",
    "\n\n  fleet inbox\n \n\tfleet whoami",
    "fleet claim lead:a@b.c && fleet emit contact-made email=a@b.c method=mail",
    "fleet claim x&&fleet whoami",
    "fleet post strategy - <<'EOT'\nhello\nEOT",
    "fleet post strategy - <<'EOT'\nhello\nEOT\n",
    'fleet post strategy - << "END_1"\n$HOME `x` {"a": "b"}\nEOT\n  END_1\nEND_1\nfleet inbox',
    "fleet post strategy - <<'A' && fleet post strategy - <<'B'\none\nA\ntwo\nB\n",
    "fleet emit t --data - <<'A' <<'B'\none\nA\ntwo\nB",
    """fleet emit t --data - <<'EOT'\n{"css": "a { b: 'c' }", "n": [1, 2]}\nEOT""",
    "fleet read strategy --limit 3 -- -x +y %z",
    "fleet",
]

SILENT = [
    "",
    " \n\t\n",
    "ls",
    "Fleet inbox",
    "fleets inbox",
    "./fleet inbox",
    "/usr/bin/fleet inbox",
    "'fleet' inbox",
    "flee\\t inbox",
    "python -m fleet inbox",
    "env fleet inbox",
    "timeout 5 fleet inbox",
    "VAR=x fleet inbox",
    "ID=$(fleet inbox)",
    "time fleet inbox",
    "! fleet inbox",
    "cd /tmp && fleet inbox",
    "fleet inbox; touch zzz",
    "fleet inbox;",
    "fleet inbox && touch zzz",
    "fleet inbox && ",
    "fleet inbox &&\nfleet inbox",
    "&& fleet inbox",
    "fleet inbox || true",
    "fleet inbox | head",
    "fleet inbox |& head",
    "fleet inbox & fleet inbox",
    "fleet inbox &",
    "fleet inbox &&& fleet inbox",
    "fleet inbox > out",
    "fleet inbox >out",
    "fleet inbox 2>&1",
    "fleet inbox < /etc/passwd",
    "fleet inbox <(ls)",
    "fleet inbox <<<'text'",
    "fleet inbox; echo $?",
    "fleet post strategy $HOME",
    'fleet post strategy "$HOME"',
    'fleet post strategy "`id`"',
    'fleet post strategy "$(id)"',
    "fleet post strategy `id`",
    "fleet post strategy $'a\\n'",
    'fleet post strategy $"a"',
    "fleet post strategy *",
    "fleet post strategy a?",
    "fleet post strategy [a]",
    "fleet post strategy {a,b}",
    "fleet post strategy a{b",
    "fleet post strategy ~",
    "fleet post strategy ~root",
    "fleet post strategy path=~/x",
    "fleet post strategy a:~/x",
    "fleet post strategy ''~x",
    "fleet post strategy # a comment",
    "fleet inbox #",
    "# fleet inbox",
    "fleet post strategy =ls",
    "fleet post strategy it\\'s",
    "fleet post strategy a\\\n b",
    'fleet post strategy "a\\\nb"',
    "fleet post strategy 'open",
    'fleet post strategy "open',
    'fleet post strategy "open\\"',
    'fleet post strategy "open\\',
    "fleet post strategy a\rfleet inbox",
    "fleet post strategy 'a\rb'",
    "fleet post strategy 'a\0b'",
    "fleet post strategy 'a\x01b'",
    "fleet post strategy 'a\x7fb'",
    "fleet post strategy 'a\x1b[2Jb'",
    "fleet post strategy 'a\ud800b'",
    "fleet post strategy gr\u00fc\u00dfe",
    "fleet\u00a0inbox",
    "fleet post\u00a0strategy",
    "fleet(inbox)",
    "fleet() { ls; }",
    "fleet inbox (",
    "(fleet inbox)",
    "{ fleet inbox; }",
    "if fleet inbox",
    "for x in a\nfleet inbox",
    "fleet post strategy - <<EOT\n$HOME\nEOT",
    "fleet post strategy - <<\\EOT\nx\nEOT",
    "fleet post strategy - <<-'EOT'\nx\nEOT",
    "fleet post strategy - <<'EOT'\nx",
    "fleet post strategy - <<'EOT'\nx\n EOT",
    "fleet post strategy - <<'EOT'\nx\nEOT ",
    "fleet post strategy - <<'EOT'",
    "fleet post strategy - <<'EOT'x\ny\nEOTx",
    "fleet post strategy - <<''\nx\n\n",
    "fleet post strategy - <<'E T'\nx\nE T",
    "fleet post strategy - <<'E\nT'\nx\nE\nT",
    "fleet post strategy -<<'EOT'\nx\nEOT",
    "fleet post strategy 3<<'EOT'\nx\nEOT",
    "fleet post strategy - <<'EOT' 'a\nb'\nx\nEOT",
    "fleet post strategy - <<'EOT'\nx\nEOT\nrm -rf x",
    "fleet post strategy - <<'EOT' | sh\nls\nEOT",
    "fleet post strategy - <<'EOT' > x\nls\nEOT",
    "fleet post strategy - <<'EOT'; ls\nx\nEOT",
    "fleet post strategy - <<'A' <<'B'\none\nA\ntwo",
    "echo '{}' | fleet emit t --data -",
]


def asked(command: object, **more: object) -> dict[str, object]:
    """The hook's input for a Bash call."""
    return {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "d", **more},
    }


@pytest.mark.parametrize("command", ALLOWED)
def test_a_literal_call_is_allowed(command: str) -> None:
    """Words without expansion, quoted text, here-documents, lines and `&&` are allowed."""
    assert is_fleet_only(command)


@pytest.mark.parametrize("command", SILENT)
def test_anything_else_is_met_with_silence(command: str) -> None:
    """Whatever runs, expands, redirects, assigns or hides anything is left to the CLI's rules."""
    assert not is_fleet_only(command)


@pytest.mark.parametrize("command", ALLOWED[:4])
def test_no_other_program_can_be_appended(command: str) -> None:
    """Each way to add a program to an allowed call makes it a call that is not allowed."""
    for join in ("; ", " | ", " & ", " && ", " || ", "\n", " `", " $(", " <(", " > "):
        assert not is_fleet_only(f"{command}{join}touch zzz"), join
        assert not is_fleet_only(f"touch zzz{join}{command}"), join


def test_the_decision_is_what_the_cli_reads() -> None:
    """An allowed call gets the answer that the CLI takes as permission, and nothing more."""
    said = json.loads(decide(asked("fleet inbox", timeout=5000)))

    answer = said.pop("hookSpecificOutput")
    assert said == {}
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "allow")


@pytest.mark.parametrize(
    "said",
    [
        asked("fleet inbox") | {"tool_name": "Read"},
        asked("fleet inbox") | {"tool_name": "mcp__x__Bash"},
        asked("fleet inbox") | {"hook_event_name": "PostToolUse"},
        asked("fleet inbox") | {"tool_input": "fleet inbox"},
        asked(["fleet", "inbox"]),
        asked(None),
        asked("fleet inbox", run_in_background=True),
        asked("fleet inbox", dangerouslyDisableSandbox=True),
        {},
        [],
        None,
        "fleet inbox",
    ],
)
def test_other_tools_and_other_wishes_are_not_judged(said: object) -> None:
    """Another tool, another event, a call in the background or without sandbox: silence."""
    assert decide(said) == ""


def run(text: bytes) -> subprocess.CompletedProcess[bytes]:
    """The hook as the CLI runs it, with no environment at all."""
    return subprocess.run(HOOK, input=text, capture_output=True, check=False, env={}, timeout=10)


def test_it_runs_as_a_program_without_environment() -> None:
    """Started by its file, with an empty environment, it answers; and only what is allowed."""
    yes, no = run(json.dumps(asked("fleet inbox")).encode()), run(json.dumps(asked("ls")).encode())

    assert (yes.returncode, yes.stderr) == (0, b"")
    assert json.loads(yes.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert (no.returncode, no.stdout, no.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "fleet',
        json.dumps(asked("fleet post a '" + "x" * MAX_INPUT + "'")).encode(),
    ],
    ids=["empty", "torn", "no text", "null", "deep", "cut", "huge"],
)
def test_damaged_input_is_met_with_silence(text: bytes) -> None:
    """Whatever comes in, the hook exits 0 with nothing on stdout or stderr."""
    done = run(text)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_closed_streams_are_met_with_silence(closed: str) -> None:
    """Without stdin or stdout the hook exits 0 and complains to nobody."""
    line = f'printf %s "$1" | "$2" -I -S "$3" {closed}'
    said = json.dumps(asked("fleet inbox"))

    done = subprocess.run(
        ["sh", "-c", line, "sh", said, sys.executable, HOOK[-1]], capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_long_calls_are_judged_in_no_time() -> None:
    """A call of 200,000 characters, in every form, takes less than half a second of CPU."""
    for command in (
        "fleet post a '" + "x" * 200_000 + "'",
        'fleet post a "' + "\\x" * 100_000 + '"',
        "fleet post a " + "x " * 100_000,
        "fleet post a - <<'E'\n" + "x\n" * 100_000 + "E",
        "fleet x && " * 20_000 + "fleet x",
        "\n" * 200_000 + "fleet x",
    ):
        began = time.process_time()
        assert is_fleet_only(command)
        assert time.process_time() - began < 0.5


def test_it_imports_next_to_nothing() -> None:
    """Before every Bash call no more is loaded than json and string bring along."""

    def loaded(*program: str) -> set[str]:
        argv = [sys.executable, "-I", "-S", "-X", "importtime", *program]
        done = subprocess.run(argv, input="", capture_output=True, text=True, check=True)
        return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert loaded(HOOK[-1]) <= loaded("-c", "import json, os, string, sys")
