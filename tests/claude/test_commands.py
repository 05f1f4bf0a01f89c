"""Which commands a run may call through Bash: fleet's settings and hook, asked by the real CLI."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from claude.real_fleet import RealFleet
from fleet.context import how_to
from fleet.runner.probes.messages_stub import MessagesStub, Turn, say
from fleet.runs import Run

pytestmark = pytest.mark.claude

Start = Callable[..., MessagesStub]

TAUGHT = [
    "fleet claim lead:sarah@acme.com",
    "fleet claim lead:mike@acme.com --keep 3d",
    "fleet release lead:sarah@acme.com",
    "fleet emit reply-received email=sarah@acme.com classification=interested",
    "fleet emit deal 'oldPrice=$40'",
    """fleet emit deal --data '{"a": {"b": 1}}'""",
    "fleet emit deal a=1 --to strategist",
    (
        "fleet post competitive-intel - <<'EOT'\n"
        "Cursor cut Pro to $20 (pricing page). content-engine: worth a comparison?\nEOT"
    ),
    "fleet reply competitive-intel#1 'Yes, drafting it'",
    "fleet react competitive-intel#1 agree",
    "fleet metric record draft-17 views 1200",
    "fleet send operator 'The mail account is locked'",
    "fleet inbox --all",
    "fleet ask 'mail these 300?' --options yes,no",
    "fleet remind 3d 'ask mike'",
    "fleet lesson add 'Case studies triple replies' --importance high",
    "fleet report 'mailed 4 leads, 1 bounced' --next 'ask mike@startup.io on Friday'",
    "fleet report --idle 'no new leads'",
    "fleet find 'pricing page'",
    "fleet show competitive-intel#1",
    "fleet schema list",
    "fleet --help",
]
"""Every call that the how-to section teaches, made whole."""

ALLOWED = {
    "JSON as an argument": """fleet emit deal --data '{"a":{"b":1}}'""",
    "JSON from echo": """echo '{"a": {"b": 2}}' | fleet emit deal --data -""",
    "KEY=VALUE lines": "fleet post strategy - <<'EOT'\nold=$40\nnew=$20 or so\nEOT",
    "key: value lines": "fleet emit deal --data - <<'EOT'\na: 1\nb: two words\nEOT",
    "JSON in a here-document": """fleet emit deal --data - <<'EOT'\n{"a": {"b": "c'd"}}\nEOT""",
    "CSS and JSX in a here-document": (
        "fleet post strategy - <<'EOT'\na::before { content: \"$x\"; }\n"
        "<p style={{color: 'red'}}>`no` $(no)</p>\nEOT"
    ),
    "a here-document, then &&": (
        """fleet post strategy - <<'EOT' && fleet channels\n{"a": 'b'}\nEOT"""
    ),
    "two lines": "fleet post strategy one\nfleet post strategy two",
    "joined": "fleet post strategy three && fleet post strategy four",
    "or true": "fleet read strategy || true",
    "to head": "fleet read strategy | head -2",
    "to grep": "fleet read strategy | grep one",
    "shell letters in quotes": "fleet post strategy 'a $b; c | d & e # f {g} `h`\nnext line'",
    "a quote by double quotes": """fleet post strategy "it's worth 5, isn't it?" """,
    "with a timeout": "timeout 5 fleet channels",
    "over 10,000 characters, literal": f"fleet post strategy '{'long ' * 2_400}'",
}
REFUSED = {
    "an unquoted here-document": "fleet post strategy - <<EOT\ntext $HOME\nEOT",
    "a here-document into a pipe": """fleet emit deal --data - <<'EOT' | cat\n{"a": "b"}\nEOT""",
    "the exit code": "fleet channels; echo $?",
    "over 10,000 characters, in a pipe": f"fleet post strategy '{'long ' * 2_400}' | cat",
    "a substitution": """ID=$(fleet post strategy no); fleet react "$ID" agree""",
    "a substitution inside": 'fleet post strategy "$(whoami)"',
    "a variable": 'fleet post strategy "$FLEET_RUN_TOKEN"',
    "into a file": "fleet channels > file",
    "an assignment": "VAR=x fleet channels",
    "a loop": "for x in 1 2; do fleet post strategy $x; done",
    "the background": "fleet post strategy no & touch made",
    "the file itself": f"{Path(sys.executable).with_name('fleet')} channels",
    "by env": "/usr/bin/env fleet channels",
    "by python": "python3 -m fleet channels",
    "into python": "fleet channels | python3",
    "python": "python3 -c 'print(1)'",
    "from another folder": "cd /tmp && fleet channels",
    "another command": "touch made",
    "another command after it": "fleet channels; touch made",
    "another command on its line": "fleet channels && touch made",
    "another command below": "fleet channels\ntouch made",
    "a name like it": "fleetx channels",
}
OPERATORS = ["fleet run writer", "fleet halt --all", "fleet up", "fleet --home / channels"]
"""What the CLI lets pass, since it is a call of fleet, and fleet itself refuses to a run."""


@pytest.fixture
def tried(tmp_path: Path, cli: Path, stub: Start) -> "Callable[[Sequence[str]], Tried]":
    """`tried(commands)` has one run call them all, in order."""

    def do(commands: Sequence[str]) -> Tried:
        calls = tuple(("Bash", {"command": command}) for command in commands)
        server = stub(Turn("I try.", calls), say("I tried."))
        home = RealFleet(tmp_path / "home", cli, server)
        home.put("channels/competitive-intel.yaml", "name: C\npurpose: Findings\nmembers: all\n")
        for name in ("deal", "reply-received"):
            schema = {"title": name, "description": name, "type": "object"}
            home.put(f"schemas/{name}.json", json.dumps(schema))
        home.claude("writer")
        home.claude("strategist")
        done = home.call("run", "writer")
        (run,) = home.runs()
        assert run.outcome in {"ok", "ok_with_denials"}, done.stderr
        return Tried(home, run, home.asked(run.id)[1].body["messages"])

    return do


class Tried:
    """What became of the commands of one run: each command's text, and whether it was an error."""

    def __init__(self, home: RealFleet, run: Run, messages: Sequence[dict[str, Any]]) -> None:
        self.home, self.run = home, run
        blocks = [one for message in messages for one in _blocks(message)]
        calls = {one["id"]: one["input"]["command"] for one in blocks if one["type"] == "tool_use"}
        self.results = {
            calls[one["tool_use_id"]]: one for one in blocks if one["type"] == "tool_result"
        }
        lines = (home.root / "state" / "run" / run.id / "stdout.jsonl").read_text().splitlines()
        (result,) = [value for value in map(json.loads, lines) if value["type"] == "result"]
        self.denied = {one["tool_input"]["command"] for one in result["permission_denials"]}

    def failed(self) -> dict[str, str]:
        """The commands that ended as an error, with what the model was told."""
        return {
            command: str(result["content"])
            for command, result in self.results.items()
            if result.get("is_error")
        }


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []


def test_the_table_holds_what_is_taught() -> None:
    """The first command of every line of the how-to section is among those that are tried."""
    text = how_to.build("outreach", [], [], 700).text
    for form in ("--keep 3d", "--to ", "'oldPrice=$40'", """--data '{"a": {"b": 1}}'""", "--idle"):
        assert form in text
        assert [call for call in TAUGHT if form in call]
    words = {
        line.split()[1]
        for line in text.replace("fleet", "\nfleet").splitlines()
        if line.startswith("fleet ")
    }
    assert words - {"command"} <= {call.split()[1] for call in TAUGHT}


def test_what_is_taught_works(tried: "Callable[[Sequence[str]], Tried]") -> None:
    """Each form of the how-to section passes the CLI's rules and exits 0, and left its record."""
    done = tried(TAUGHT)

    assert (done.denied, done.failed()) == (set(), {})
    assert set(done.results) == set(TAUGHT)
    store = done.home.fleet.store
    wrote = ("events", "channels/competitive-intel", "questions", "later")
    assert [store.head(name) for name in wrote] == [4, 3, 1, 1]


def test_each_form_is_allowed_or_refused(tried: "Callable[[Sequence[str]], Tried]") -> None:
    """Nothing but calls of fleet runs; whatever else stands in a command stops the whole of it."""
    done = tried([*ALLOWED.values(), *REFUSED.values(), *OPERATORS])

    known = {command: name for name, command in (ALLOWED | REFUSED).items()}
    assert {known.get(command, command) for command in done.denied} == set(REFUSED)
    assert set(done.failed()) - set(REFUSED.values()) == set(OPERATORS)
    for command in OPERATORS:
        assert "Exit code 5" in done.failed()[command]
    assert not (done.home.work("writer") / "made").exists()
    assert not (done.home.work("writer") / "file").exists()
    posts = [one.text for one in done.home.fleet.talk.board("strategy").messages]
    assert "no" not in posts
    assert len(posts) == 10
    assert done.run.outcome == "ok_with_denials"
    assert len(done.run.denials) == 20
