"""The stand-in acts on what its prompt says: a real process, with a `fleet` that records calls."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.demo.prompt import AGENTS, TYPES, read
from fleet.demo.roles import ROLES
from fleet.demo.stage import COLLECTOR, stage
from fleet.demo.world import FORMS, WAITING

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]

PRICE = (
    'events#3 · pricing-change · competitor-watch · 5s ago · competitor="Cursor" '
    'oldPrice="$40" newPrice="$20" source="https://cursor.example"\n'
)
INSIGHT = (
    'events#4 · competitive-insight · competitor-gap · 2s ago · competitor="Cursor" '
    'summary="cheaper below five seats" source="events#3" credibility="high"\n'
)
ALARM = (
    "competitive-intel#2 · competitor-watch · 4s ago · 1 agree: Cursor cut Pro to $20.\n"
    "  | content-engine: worth a comparison?\n"
)

TOLD = (
    'content-ready by contentType: "{}" has 4.1x the views of "{}" (medians 9 and 2, n=3 and 3)\n'
)

FAKE = """#!{python}
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
for prefix, code in json.loads(os.environ["ANSWERS"]).items():
    if " ".join(sys.argv[1:]).startswith(prefix):
        print("HELD by reply-handler until 14:32", file=sys.stderr)
        sys.exit(code)
"""


class Played:
    """What one run of the stand-in did."""

    def __init__(self, code: int, transcript: str, calls: list[list[str]], folder: Path) -> None:
        self.code = code
        self.transcript = transcript
        self.calls = calls
        self.folder = folder

    def of(self, command: str) -> list[list[str]]:
        """The calls of one command."""
        return [call for call in self.calls if call[0] == command]


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run the stand-in as `agent` with `prompt` on stdin; `answers` maps a call to its exit."""
    binary = tmp_path / "bin"
    binary.mkdir()
    fake = binary / "fleet"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(0o755)
    counter = iter(range(100))

    def run(
        agent: str, prompt: str = "", *, answers: dict[str, int] | None = None, seed: str = ""
    ) -> Played:
        folder = tmp_path / f"run{next(counter)}"
        folder.mkdir()
        calls = folder / "calls"
        calls.touch()
        ended = subprocess.run(
            [sys.executable, "-m", "fleet.demo.standin"],
            input=prompt,
            cwd=folder,
            env={
                "PATH": f"{binary}:/usr/bin:/bin",
                "PYTHONPATH": os.pathsep.join(sys.path),
                "FLEET_AGENT": agent,
                "DEMO_SEED": seed,
                "CALLS": str(calls),
                "ANSWERS": json.dumps(answers or {}),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.stderr == ""
        made = [json.loads(line) for line in calls.read_text().splitlines()]
        return Played(ended.returncode, ended.stdout, made, folder)

    return run


def test_a_price_change_in_the_prompt_becomes_a_draft(play: Play) -> None:
    """content-engine that reads a pricing-change claims the draft, writes it, and says so."""
    ended = play("content-engine", PRICE + INSIGHT + "content-engine list: 99\n")

    assert ended.code == 0
    assert ended.of("claim")[0][:2] == ["claim", "draft:cursor-comparison"]
    (emitted,) = ended.of("emit")
    assert emitted[1] == "content-ready"
    assert "draftId=cursor-comparison" in emitted
    assert emitted[emitted.index("--cause") + 1] == "events#3"
    assert ended.of("post")[0][1] == "content-collab"
    assert (ended.folder / "drafts" / "cursor-comparison.md").exists()
    assert "I read events#3 (pricing-change): claiming draft:" in ended.transcript


def test_without_anything_in_the_prompt_there_is_nothing_to_do(play: Play) -> None:
    """content-engine that reads no events emits nothing and reports idle."""
    ended = play("content-engine", "## Events\nNothing new.\ncontent-engine list: 99\n")

    assert ended.code == 0
    assert ended.of("emit") == ended.of("claim") == []
    assert [call[:2] for call in ended.calls] == [["report", "--idle"]]


@pytest.mark.parametrize(("best", "worst"), [FORMS, FORMS[::-1]])
def test_the_form_is_the_one_in_its_prompt(play: Play, best: str, worst: str) -> None:
    """A real process: its first drafts already follow a section that stands in its prompt."""
    ended = play("content-engine", TOLD.format(best, worst))

    made = {word for call in ended.of("emit") for word in call if word.startswith("contentType=")}
    assert made == {f"contentType={best}"}
    assert f"my numbers say: {best} has 4.1x the views of {worst}" in ended.transcript


def test_it_keeps_one_thing_a_run_for_its_next_runs(play: Play) -> None:
    """A goal, then a plan, then by its dice a lesson or a note on what its memory shows."""
    memory = "competitor-gap/G3 · 2h ago · finish\ncompetitor-gap/P4 · 1h ago · first\n"
    kept = {"lesson", "goal", "memory", "research"}
    told = [PRICE, PRICE + memory.splitlines()[0] + "\n"]
    told += [PRICE.replace("#3", f"#{n}") + memory for n in range(10, 22)]

    played = [play("competitor-gap", text + "competitor-gap list: 99\n") for text in told]

    made = [[call for call in one.calls if call[0] in kept] for one in played]
    assert all(len(calls) == 1 for calls in made)
    assert [calls[0][:2] for calls in made[:2]] == [["goal", "add"], ["memory", "plan"]]
    assert {calls[0][0] for calls in made[2:]} >= {"lesson", "memory"}
    noted = [calls[0] for calls in made[2:] if calls[0][0] == "memory"]
    assert all(call[:4] == ["memory", "plan", "note", "P4"] for call in noted)


def test_what_another_holds_is_left_alone(play: Play) -> None:
    """A claim answered with exit 6 leads to no mail to that lead, is said, and fails nothing."""
    ended = play("outreach", answers={f"claim lead:{WAITING}": 6})

    assert ended.code == 0
    mailed = [field for call in ended.of("emit") for field in call if field.startswith("email=")]
    assert mailed == ["email=sarah@acme.example", "email=tom@harbor.example"]
    assert f"lead:{WAITING} is with somebody else" in ended.transcript
    assert f"left to others: lead:{WAITING}" in ended.of("report")[0][1]


def test_who_answered_gets_no_first_mail(play: Play) -> None:
    """Outreach skips a lead whose reply stands in its prompt, without asking for the claim."""
    seen = (
        "events#9 · reply-received · reply-handler · 1s ago · "
        'email="sarah@acme.example" classification="objection"\n'
    )

    ended = play("outreach", seen)

    assert ["claim", "lead:sarah@acme.example"] not in ended.calls
    assert ended.of("post")[0][:2] == ["post", "outreach-review"]


def test_the_reply_handler_keeps_the_one_it_talks_to(play: Play) -> None:
    """On its first run it claims that lead beyond the run; on a later one it does not again."""
    first = play("reply-handler")
    told = (
        "You meant to do next: reply-handler list: 1\n"
        f"You hold lead:{WAITING} until 2026-11-30T21:18: in talks\n"
    )
    later = play("reply-handler", told)

    assert first.of("claim")[0][:4] == ["claim", f"lead:{WAITING}", "--keep", "1h"]
    assert later.of("claim") == []
    assert f"I still hold lead:{WAITING}" in later.transcript


def test_a_finding_outside_is_reported_and_the_place_is_kept(play: Play) -> None:
    """competitor-watch reports its first sight, then the second because its report says so."""
    first = play("competitor-watch")
    place = first.of("report")[0][-1]
    second = play("competitor-watch", f"You meant to do next: {place}\n")

    assert first.of("emit")[0][1:3] == ["pricing-change", "competitor=Cursor"]
    assert first.of("post")[0][1] == "competitive-intel"
    assert place == "competitor-watch list: 1"
    assert second.of("emit")[0][1] == "feature-launch"


def test_who_is_asked_by_name_answers(play: Play) -> None:
    """A message that names the agent gets one reply and an agree, even over two lines."""
    asked = play("content-engine", ALARM)
    other = play("marketing-strategist", ALARM)

    assert asked.of("reply")[0][1] == "competitive-intel#2"
    assert asked.of("react")[0] == ["react", "competitive-intel#2", "agree"]
    assert other.of("reply") == []


def test_given_work_is_claimed_by_the_one_it_is_for(play: Play) -> None:
    """task-created is taken by the agent in assignedTo and by no other who reads it."""
    task = (
        "events#7 · task-created · orchestrator · 1s ago · to you · "
        'taskId="greet-1" assignedTo="onboarding" title="Greet"\n'
    )

    assert ["claim", "work:greet-1"] in play("onboarding", task).calls
    assert ["claim", "work:greet-1"] not in play("retention", task).calls


def test_a_refusal_that_nobody_expects_fails_the_run(play: Play) -> None:
    """A call that fleet rejects ends the run with 1, after the report."""
    ended = play("competitor-watch", answers={"emit": 3})

    assert ended.code == 1
    assert ended.calls[-1][0] == "report"


def test_the_same_seed_is_the_same_run(play: Play) -> None:
    """Two runs with one seed make the same calls; another seed finds other things first."""
    runs = [play("outreach", seed=seed).calls for seed in ("1", "1", "2")]

    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_each_of_the_fifteen_reacts_to_what_it_read(agent: str, play: Play) -> None:
    """With an event of every type in its prompt it does what it does not without, and reports."""
    fields = (
        "email=a@b.example classification=objection competitor=Cursor taskId=t1 "
        f"assignedTo={agent} draftId=d1 targetSegment=s1 summary=short"
    )
    everything = "".join(
        f"events#{n} · {kind} · system · 1s ago · {fields}\n" for n, kind in enumerate(TYPES, 1)
    )
    far = f"{agent} list: 99\n"

    busy, idle = play(agent, everything + far), play(agent, far)

    assert busy.code == idle.code == 0
    assert len(busy.calls) > len(idle.calls) == 1
    assert busy.calls[-1][0] == "report"
    assert idle.calls[-1][:2] == ["report", "--idle"]


def test_a_stranger_is_not_played(play: Play, tmp_path: Path) -> None:
    """An agent outside the growth fleet is refused in one line."""
    ended = subprocess.run(
        [sys.executable, "-m", "fleet.demo.standin"],
        env={"PATH": "/usr/bin", "PYTHONPATH": os.pathsep.join(sys.path), "FLEET_AGENT": "nobody"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert "plays no 'nobody'" in ended.stderr
    assert set(ROLES) == {*AGENTS, COLLECTOR}


def test_it_reads_what_fleet_renders(fleet: Fleet, tmp_path: Path) -> None:
    """Events, messages and the asker in a context that fleet built are what was emitted."""
    home = ("--home", str(tmp_path / "demo"))
    stage(tmp_path / "demo", fast=True)
    watch = (*home, "--as", "competitor-watch")
    price = ("competitor=Cursor", "oldPrice=$40", "newPrice=$20", "source=https://a.example/x y")
    assert fleet(*watch, "emit", "pricing-change", *price).returncode == 0
    assert (
        fleet(
            *watch, "post", "competitive-intel", "Cheaper.\ncompetitor-gap: by how much?"
        ).returncode
        == 0
    )

    told = fleet(*home, "context", "competitor-gap")
    prompt = read("competitor-gap", told.stdout)

    assert told.returncode == 0, told.stderr
    (event,) = prompt.events
    assert (event.ref, event.type, event.sender) == (
        "events#1",
        "pricing-change",
        "competitor-watch",
    )
    assert event.fields == dict(pair.split("=", 1) for pair in price)
    (message,) = prompt.messages
    assert (message.ref, message.author) == ("competitive-intel#1", "competitor-watch")
    assert message.text == "Cheaper.\ncompetitor-gap: by how much?"


def test_events_of_awareness_are_not_acted_on_again() -> None:
    """What awareness repeats of the past is no event that waits."""
    awareness = '  events#3 pricing-change: competitor="Cursor" (competitor-watch, 1h ago)\n'

    assert read("content-engine", awareness).events == ()
    assert [event.ref for event in read("content-engine", awareness + PRICE).events] == ["events#3"]


def test_own_messages_are_not_answered() -> None:
    """What the agent wrote itself is no message to it."""
    assert read("competitor-watch", ALARM).messages == ()
    assert read("content-engine", ALARM).messages[0].author == "competitor-watch"


def test_a_new_priority_takes_the_place_of_the_last_one(play: Play) -> None:
    """marketing-strategist takes down what it had pinned before it pins what counts now."""
    mine = "strategy#4 · marketing-strategist · 5d ago · pinned: Priority: answer Lumen.\n"
    others = "strategy#7 · orchestrator · 5d ago · pinned: campaigns wait for a person.\n"

    ended = play("marketing-strategist", mine + others + PRICE)

    assert ended.code == 0
    assert ended.of("unpin") == [["unpin", "strategy#4"]]
    assert "--pin" in ended.of("post")[0]
