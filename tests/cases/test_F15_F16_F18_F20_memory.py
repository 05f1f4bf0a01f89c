"""Memories: many writers, damaged files, repetitions, and caps that starve nobody."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calls import Done, call, many
from fleet.records import Draft
from fleets import Scripted, until

WORKER = ("--as", "worker")
ADDS = """
import os, sys
from pathlib import Path
from fleet.wiring import open_fleet
fleet = open_fleet(Path(sys.argv[1]), env={}, as_agent="worker")
for number in range(int(sys.argv[3])):
    change = fleet.memory.learn(fleet.author, f"lesson {number} of {sys.argv[2]}")
    os.write(1, f"{change.record.seq}\\n".encode())
"""
BAD = {
    "cut in the middle": lambda page: page[: len(page) // 2],
    "empty": lambda page: b"",
    "half of its JSON": lambda page: b'{"lessons": [',
    "another's bytes": lambda page: page.replace(b"lesson", b"nonsen"),
}


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent, which learned three lessons."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    fleet = scripted.fleet
    said = {"op": "lesson", "category": "success", "importance": "high", "run": None}
    drafts = [
        Draft({**said, "text": f"lesson {number}", "from_agent": "worker"}) for number in (1, 2)
    ]
    fleet.store.append("memory-log/worker", drafts)
    assert learn(scripted, "lesson 3")[0].code == 0
    return scripted


def learn(home: Scripted, *texts: str) -> list[Done]:
    """One call of the command line for each lesson."""
    lines = [call(*WORKER, "lesson", "add", text, "--importance", "high") for text in texts]
    return many(home.root, lines, {"FLEET_HOME": str(home.root)})


def document(home: Scripted) -> Path:
    """The file that a person reads."""
    return home.root / "state" / "memory" / "worker.json"


def live(home: Scripted) -> list[str]:
    """The lessons that any process sees now."""
    return [str(one["text"]) for one in home.fleet.memory.state("worker")["lessons"]]  # type: ignore[attr-defined]


def test_eight_processes_lose_no_lesson(scripted: Scripted) -> None:
    """F15: 8 processes add 25 lessons each at once: 200 are in the log, live or in the archive."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    argv = [sys.executable, "-W", "error", "-c", ADDS, str(scripted.root)]
    writers = [
        subprocess.Popen([*argv, str(number), "25"], stdout=subprocess.PIPE) for number in range(8)
    ]
    said = [writer.communicate(timeout=100)[0].split() for writer in writers]

    assert sorted(int(seq) for one in said for seq in one) == list(range(1, 201))
    memory = scripted.fleet.memory
    gone = [str(one["text"]) for one in memory.archive("worker").items]
    assert (len(live(scripted)), len(gone)) == (50, 150)
    assert {*live(scripted), *gone} == {f"lesson {n} of {p}" for n in range(25) for p in range(8)}
    stored = json.loads(document(scripted).read_bytes())["body"]
    assert stored == memory.state("worker"), "the document is the newest value, whoever wrote it"


def test_no_lock_is_held_while_a_model_thinks(scripted: Scripted) -> None:
    """F15: while a run that has learned something goes on, others write the same memory."""
    go = scripted.root / "go"
    wait = f"until test -e {go}; do sleep 0.05; done"
    scripted.agent("worker", f"cat > /dev/null; fleet lesson add 'in the run'; {wait}; echo done")
    run = subprocess.Popen(
        [sys.executable, "-m", "fleet", "--home", str(scripted.root), "run", "worker"],
        env=scripted.environ(),
        stdout=subprocess.DEVNULL,
    )
    try:
        assert until(lambda: scripted.fleet.store.head("memory-log/worker") == 1)
        assert learn(scripted, "meanwhile")[0].code == 0
        assert run.poll() is None
    finally:
        go.touch()
        assert run.wait(30) == 0

    assert live(scripted) == ["in the run", "meanwhile"]


@pytest.mark.parametrize("bad", BAD)
def test_a_damaged_memory_is_never_believed(home: Scripted, bad: str) -> None:
    """F16: a damaged file changes nothing that is known, and is kept aside, not saved over."""
    path = document(home)
    whole = path.read_bytes()
    before = home.fleet.memory.state("worker")
    path.write_bytes(BAD[bad](whole))
    spoilt = path.read_bytes()

    assert home.fleet.memory.state("worker") == before
    assert path.read_bytes() == spoilt, "reading changes nothing"
    (done,) = learn(home, "lesson 4")

    assert (done.code, done.err) == (0, "")
    assert live(home) == [f"lesson {number}" for number in (1, 2, 3, 4)]
    assert json.loads(path.read_bytes())["body"] == home.fleet.memory.state("worker")
    aside = (home.root / "state" / "quarantine").glob("*.bin")
    assert spoilt in [piece.read_bytes() for piece in aside]


def test_a_memory_without_a_good_copy_comes_from_its_log(home: Scripted) -> None:
    """F16: the file and the copy before it are both damaged, or both gone: nothing is lost."""
    learn(home, "lesson 4")
    path = document(home)
    for page in (b"", b"{}"):
        path.write_bytes(page)
        path.with_name("worker.json.prev").write_bytes(page)
        assert learn(home, f"after {page!r}")[0].code == 0
        assert json.loads(path.read_bytes())["body"] == home.fleet.memory.state("worker")
    path.unlink()
    path.with_name("worker.json.prev").unlink()
    learn(home, "the last")

    assert len(live(home)) == len(json.loads(path.read_bytes())["body"]["lessons"]) == 7
    assert home.call("verify").returncode == 0


def test_the_same_three_times_is_one_lesson(home: Scripted) -> None:
    """F18: in other letters it is one entry with a count, what a run is told is not learned."""
    learn(
        home,
        "Case studies triple replies",
        "case  studies TRIPLE replies!",
        " Case studies triple replies.",
    )
    script = "cat > /dev/null; fleet lesson add 'case studies triple REPLIES' > said; echo done"
    home.put(
        "prompts/base.md.j2",
        "{% block context %}{{ memory }}{% endblock %}{% block task %}Work.{% endblock %}",
    )
    home.agent("worker", script)

    assert home.call("run", "worker").returncode == 0

    lessons = home.fleet.memory.state("worker")["lessons"]
    assert [one["count"] for one in lessons] == [1, 1, 1, 3]  # type: ignore[attr-defined]
    said = (home.root / "work" / "worker" / "said").read_text()
    assert said == "L4 says it already, and so does your prompt: nothing to learn\n"


def test_a_house_full_of_high_ones_starves_no_other(home: Scripted) -> None:
    """F20: beside 50 high lessons a medium and a low one stay; what leaves is named and kept."""
    learn(home, *(f"lesson {number}" for number in range(4, 51)))
    lines = [
        call(*WORKER, "lesson", "add", f"{importance} one", "--importance", importance, "--json")
        for importance in ("medium", "low", "high", "high")
    ]

    done = many(home.root, lines, {"FLEET_HOME": str(home.root)})

    assert [json.loads(one.out)["left"] for one in done] == [
        ["worker/L1"], ["worker/L2"], ["worker/L3"], [],
    ]  # fmt: skip
    assert {"medium one", "low one", "high one"} <= set(live(home))
    (shown,) = many(
        home.root, [call("memory", "show", "--agent", "worker", "--archive")],
        {"FLEET_HOME": str(home.root)},
    )  # fmt: skip
    assert [line.strip() for line in shown.out.splitlines() if line.startswith("  ")] == [
        "lesson 3", "lesson 2", "lesson 1",
    ]  # fmt: skip


KILLED = """
import json, os, random, signal, sys, time
from pathlib import Path
from fleet.wiring import open_fleet
root = Path(sys.argv[1])
for turn in range(int(sys.argv[2])):
    said, say = os.pipe()
    child = os.fork()
    if not child:
        fleet = open_fleet(root, env={}, as_agent="worker")
        for number in range(10**6):
            change = fleet.memory.learn(fleet.author, f"lesson {turn} {number}", importance="high")
            os.write(say, b"%d " % change.record.seq)
    os.close(say)
    acknowledged = os.read(said, 64)
    time.sleep(random.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(said, 65536):
        acknowledged += part
    os.close(said)
    newest = int(acknowledged.split()[-1])
    fleet = open_fleet(root, env={})
    head, state = fleet.store.head("memory-log/worker"), fleet.memory.state("worker")
    page = json.loads((root / "state" / "memory" / "worker.json").read_bytes())["body"]
    assert newest <= head <= newest + 1, (turn, newest, head)
    assert state["seq"] == head and len(state["lessons"]) == min(head, 50)
    assert head - 1 <= page["seq"] <= head, (turn, page["seq"], head)
    assert len(page["lessons"]) == min(page["seq"], 50)
print("sound")
"""


@pytest.mark.parametrize("rounds", [8, pytest.param(50, marks=pytest.mark.prove)])
def test_kill_while_a_memory_is_saved(home: Scripted, rounds: int) -> None:
    """F16: kill -9 at any moment leaves the memory before the change or the one after it."""
    argv = [sys.executable, "-W", "error", "-c", KILLED, str(home.root), str(rounds)]

    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)

    assert done.stdout == "sound\n", done.stderr
    assert learn(home, "the last")[0].code == 0
    assert json.loads(document(home).read_bytes())["body"] == home.fleet.memory.state("worker")
    assert home.call("verify").returncode == 0
