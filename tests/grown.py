"""A home in which every name that the examples of the help use is there."""

import shlex
from pathlib import Path

from fleet.cli.commands import is_operators
from fleet.cli.grammar import Command
from fleet.homes import copy
from fleet.identity import SYSTEM, issue_token
from fleet.records import Body, Draft
from fleet.runs import Verdict
from fleet.wiring import open_fleet
from reference import leaves

NOT_HERE = {
    "init",
    "demo",
    "up",
    "stop",
    "run",
    "doctor",
    "logs",
    "shadow",
    "replay",
    "diff",
    "restore",
}  # they start or need more
RUN = "019b2e00-0000-7000-8000-000000000001"
REMEMBERED = [
    *("lesson", "goal", "goal", "plan", "strength", "weakness", "research", "plan", "goal"),
    *("lesson", "lesson", "lesson", "lesson"),
]  # from L1 to L13
TASK = (
    '{"taskId": "17", "title": "x", "assignedTo": "outreach", "createdBy": "orchestrator",'
    ' "priority": "high", "description": "x"}'
)


def examples(*, operators: bool) -> list[list[str]]:
    """The words of each example of one half, without those of `NOT_HERE` and here-documents."""
    found: list[list[str]] = []
    for name, leaf in leaves().items():
        if is_operators(name) == operators and name.partition(" ")[0] not in NOT_HERE:
            assert isinstance(leaf, Command)
            found += [_words(line) for line in leaf.examples]
    return [words for words in found if words and "--" not in words and "--check" not in words]


def _words(line: str) -> list[str]:
    """What follows `fleet`; nothing for a here-document, whose other lines are lines too."""
    return shlex.split(line)[1:] if line.startswith("fleet ") and "<<" not in line else []


def grown(tmp_path: Path) -> Path:
    """A home from `init` with strategy#412, events#97 for outreach, two runs and its memory."""
    root = tmp_path / "grown"
    copy("growth", root)
    fleet = open_fleet(root, env={})
    store = fleet.store
    for number in range(2):
        run = f"019b2e00-000{number}-7000-8000-000000000009"
        fleet.runs.start(SYSTEM, "outreach", run, slot=f"hand:{run}")
        fleet.runs.finish("outreach", run, Verdict("ok"), ended="2026-11-30T10:00:00.000+00:00")
    post: Body = {"op": "post", "text": "x", "reply_to": None, "thread": None, "pin": False}
    store.append("channels/strategy", [Draft({**post, "from_agent": "a", "run": None})] * 412)
    event: Body = {"op": "event", "type": "reply-received", "payload": {}, "cause": None}
    event |= {"from_agent": "a", "to_agent": "outreach", "hops": 0, "run": None}
    store.append("events", [Draft(event)] * 97)
    said = {"finding": "x", "source": "y", "category": "success", "importance": "low", "run": run}
    asked: Body = {"op": "asked", "from_agent": "outreach", "run": None, "cause": None}
    asked |= {"options": ["yes", "no"]}
    store.append("questions", [Draft({**asked, "text": f"{n}?"}) for n in range(4)])
    dead: Body = {"op": "dead", "agent": "outreach", "attempts": 5, "runs": [run]}
    store.append("deadletters", [Draft({**dead, "event": f"events#{n}"}) for n in range(94, 98)])
    memory = [Draft({"op": op, "text": f"{n}", **said}) for n, op in enumerate(REMEMBERED)]
    store.append("memory-log/outreach", memory)
    return root


def in_a_run(root: Path) -> tuple[Path, dict[str, str]]:
    """The folder and the environment of a run of outreach in a grown home."""
    work = root / "work" / "outreach"
    work.mkdir(parents=True)
    (work / "notes.md").write_text("notes")
    (work / "task.json").write_text(TASK)
    token = issue_token(open_fleet(root, env={}).store, RUN, "outreach", "", 600.0, 0)
    (root / "state" / "run" / RUN).mkdir(parents=True)
    return work, {"FLEET_HOME": str(root), "FLEET_RUN_ID": RUN, "FLEET_RUN_TOKEN": token}
