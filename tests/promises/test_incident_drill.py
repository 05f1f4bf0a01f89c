"""The incident drill: 30 bad records of one run are found, taken back and told; nothing is lost."""

import json
from pathlib import Path

import pytest

from calls import Actor, Call, Done, call, many, tree
from fleet.cursors import BROADCAST
from fleets import Scripted

BASE = (
    "{% block context %}{% for one in [you, awareness, corrections, events, channels, inbox,"
    " memory, metrics] if one %}{{ one }}\n{% endfor %}{% endblock %}"
    "{% block task %}Work.{% endblock %}\n"
)
BAD = "cursor-is-free"
WHY = "read the wrong page"
EVENTS, POSTS = 12, 9


def bad_records() -> list[Call]:
    """What the run writes: 12 events, 9 posts, a message to friend, claims, lessons, metrics."""
    return [
        *(call("emit", "note", f"n={BAD}-{n}") for n in range(EVENTS)),
        *(call("post", "strategy", f"{BAD} {n}") for n in range(POSTS)),
        call("send", "friend", f"{BAD}, tell everybody"),
        call("claim", "page:cursor", "--keep", "3d"),
        call("claim", "page:devin", "--keep", "3d"),
        *(call("lesson", "add", f"{BAD} since {n}", "--importance", "high") for n in range(3)),
        *(call("metric", "record", f"draft-{n}", "views", "9000") for n in range(2)),
        call("report", f"{BAD}: told everybody"),
    ]


class Drill:
    """The home after the incident: who wrote, who was shown it, who read it, who saw nothing."""

    def __init__(self, root: Path) -> None:
        self.home = Scripted(root)
        self.home.put("prompts/base.md.j2", BASE)
        self.culprit = Actor(self.home, "culprit")
        self.viewer = Actor(self.home, "viewer", "collaborators: [culprit]")
        self.reader = Actor(self.home, "reader", "interests: []", "channels: []")
        self.friend = Actor(self.home, "friend")
        good = [call("emit", "note", "n=good"), call("post", "strategy", "a good one")]
        self.culprit.does(*good, call("lesson", "add", "pages have a date"))
        written = self.culprit.does(*bad_records())
        assert len(written) == 30
        assert {one.code for one in written} == {0}, written
        self.viewer.does()
        self.reader.does(call("events", "--after", "events#12"), call("read", "strategy"))
        self.run, self.before = self.last("culprit"), self.logs()

    def last(self, agent: str) -> str:
        """The id of an agent's newest run."""
        return self.home.runs(agent)[0].id

    def logs(self) -> dict[str, bytes]:
        """Every log's bytes, by path."""
        state = self.home.root / "state"
        return {
            name: data
            for name, data in tree(state).items()
            if name.endswith(".jsonl") and not name.startswith("run/")
        }

    def says(self, *lines: list[str]) -> list[Done]:
        """What the operator's commands answer."""
        env = {"FLEET_HOME": str(self.home.root)}
        return many(self.home.root, [call(*words) for words in lines], env)


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Drill:
    """The incident has happened; nothing was taken back yet."""
    return Drill(tmp_path_factory.mktemp("drill") / "home")


def test_the_incident_drill(drill: Drill) -> None:
    """Found and told by timeline, explain and seen; taken back, told to exactly those who saw it.

    No log loses a byte, verify is clean, and what the viewer's run was told can be built again.
    """
    found_it(drill)
    taken_back(drill)
    told_exactly(drill)
    skipped_by_who_had_not_seen_it(drill)
    nothing_was_lost(drill)


def found_it(drill: Drill) -> None:
    """Before: the records of the run, who was shown one, and what the viewer was told."""
    timeline, seen, explain = drill.says(
        ["timeline", "culprit", "--json", "--limit", "100"],
        ["seen", "events#13", "--json"],
        ["explain", drill.viewer.name, "--json"],
    )
    assert timeline.out.count(BAD) >= EVENTS + POSTS
    assert {json.loads(line)["agent"] for line in seen.out.splitlines()} == {"viewer", "reader"}
    assert "events#13" in explain.out


def taken_back(drill: Drill) -> None:
    """The same is said before and when it is done; the second time nothing is new."""
    words = ["retract", drill.run, "--reason", WHY]
    dry, done, again, held, memory = drill.says(
        [*words, "--dry-run", "--json"], [*words, "--json"], words,
        ["claims"], ["--as", "culprit", "memory", "show"],
    )  # fmt: skip
    said = json.loads(done.out)
    kinds = [one["what"] for one in said["taken"]]

    assert {**json.loads(dry.out), "dry_run": False} == said
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "note": EVENTS, "message": POSTS, "direct message": 1, "metric": 2, "run": 1,
    }  # fmt: skip
    assert said["claims"] == ["page:cursor", "page:devin"]
    assert len(said["memory"]) == 3
    assert sorted(said["tell"]) == ["culprit", "reader", "viewer"]
    assert again.out.startswith("nothing new: run ")
    assert "page:" not in held.out
    assert BAD not in memory.out
    assert "pages have a date" in memory.out


def told_exactly(drill: Drill) -> None:
    """Contexts: no bad text, a correction for each of the three, none for the friend."""
    names = ("culprit", "viewer", "reader", "friend")
    contexts = dict(zip(names, drill.says(*(["context", name] for name in names)), strict=True))

    for name, shown in contexts.items():
        fenced = [line for line in shown.out.splitlines() if BAD in line]
        assert all(line.startswith("retractions#") for line in fenced), (name, fenced)
        assert (WHY in shown.out) == (name != "friend"), name
    assert f"run {drill.run[:13]} (culprit" in contexts["culprit"].out
    assert f"you were shown it in run {drill.last('viewer')[:13]}" in contexts["viewer"].out
    assert "you were shown its report in run" in contexts["viewer"].out
    assert "events#13 note (culprit" in contexts["reader"].out


def skipped_by_who_had_not_seen_it(drill: Drill) -> None:
    """A run of the friend is shown the good event only, and its lanes are past the bad ones."""
    drill.friend.does()
    fleet = drill.home.fleet

    assert BAD not in drill.friend.prompt
    assert "a good one" in drill.friend.prompt
    assert fleet.cursors.get("friend")[BROADCAST].seq == fleet.store.head("events")
    assert fleet.bus.lag("friend", {}) == 0


def nothing_was_lost(drill: Drill) -> None:
    """Every byte of every log is where it was, verify is clean, the past is what it was."""
    after = drill.logs()
    viewed = drill.last("viewer")
    verify, shown, replay = drill.says(
        ["verify"], ["events", "--json", "--limit", "100"], ["replay", viewed]
    )

    assert all(after[name].startswith(data) for name, data in drill.before.items())
    assert verify.code == 0, verify.out
    events = [json.loads(line) for line in shown.out.splitlines()]
    assert [one["retracted"] for one in events] == [None, *[WHY] * EVENTS]
    assert replay.code == 0, replay.out + replay.err


def test_a_correction_is_told_once_it_was_shown(drill: Drill) -> None:
    """The viewer's next run gets its corrections; once that succeeded they come no more."""
    drill.says(["retract", drill.run, "--reason", WHY])
    drill.viewer.does()
    (context,) = drill.says(["context", "viewer"])

    assert WHY in drill.viewer.prompt
    assert WHY not in context.out
