"""The log is the truth: what it amounts to, whoever computes it, and without which run."""

from typing import Any

import pytest

from fleet.errors import NotAllowed
from fleet.folds import Values
from fleet.identity import SYSTEM
from fleet.memory import Memory
from fleet.memory.document import save
from fleet.memory.log import MemoryLog
from fleet.records import MAX_DOCUMENT, Draft
from fleet.shadow import Shadow, Staged
from fleet.stores import codec
from fleet.stores.ram import RamCache
from people import OPERATOR, in_run

LOG = "memory-log/outreach"


def busy(world: Any, run: str, count: int = 3) -> None:
    """A run that changes something of everything."""
    head = world.store.head(LOG)
    said = {"op": "lesson", "category": "success", "importance": "high"}
    bodies: list[dict[str, object]] = [
        *({**said, "text": f"lesson {number} of {run}"} for number in range(count)),
        {**said, "text": "what everybody learns"},
        {"op": "goal", "text": f"goal of {run}"},
        {"op": "progress", "target": f"G{head + count + 2}", "text": "begun"},
        {"op": "plan", "text": f"plan of {run}"},
        {"op": "strength", "text": "lines", "lessons": [f"L{head + 1}"]},
        {"op": "research", "finding": f"finding of {run}", "source": "page"},
    ]
    world.put(*({**body, "run": run} for body in bodies))


def test_the_value_is_the_same_whoever_computes_it(world: Any) -> None:
    """With and without caches, record by record or at once, a memory is the same to the byte."""
    for number in range(30):
        busy(world, f"r{number}")
        world.memory.state("outreach")  # a step at a time, its value saved now and then
    world.learn("the last one")

    warm, cold = world.memory.state("outreach"), world.anew().state("outreach")

    assert codec.to_json(warm) == codec.to_json(cold)
    assert world.store.get("memory/outreach")[0] == warm
    assert world.memory.archive("outreach") == world.anew().archive("outreach")


@pytest.mark.parametrize("out", ["r0", "r1", "r2"])
def test_a_revert_is_as_if_the_run_had_changed_nothing(world: Any, out: str, tmp_path: Any) -> None:
    """Afterwards the memory is that of the log without the run's records; others' changes stand."""
    for run in ("r0", "r1", "r2"):
        busy(world, run, 30)
    records = world.store.read(LOG, 0, 1000).records
    other = type(world)(tmp_path)
    for record in records:  # the same numbers, with a word that nobody knows in the run's place
        body = {"op": "unknown"} if record.body["run"] == out else record.body
        other.store.append(LOG, [Draft(body)])

    done = world.memory.revert(OPERATOR, "outreach", out)

    assert done.record.ref == f"outreach#{len(records) + 1}"
    assert ids(world) == ids(other)
    assert {one["id"] for one in world.memory.archive("outreach").items} == {
        one["id"] for one in other.memory.archive("outreach").items
    }
    assert set(done.gone) >= {f"G{r.seq}" for r in records if r.body["op"] == "goal"} & gone(
        records, out
    )
    assert world.memory.items_of("outreach", out) == []
    assert world.store.get("memory/outreach")[0] == world.anew().state("outreach")


def ids(world: Any) -> list[tuple[str, object, object]]:
    """What a memory holds, by id, with what of it can change."""
    state = world.anew().state("outreach")
    items = [item for value in state.values() if isinstance(value, list) for item in value]
    return [(item["id"], item.get("count"), item.get("lessons")) for item in items]


def gone(records: Any, run: str) -> set[str]:
    """The goals that a run added."""
    return {f"G{record.seq}" for record in records if record.body["run"] == run}


def test_a_revert_says_what_it_did(world: Any) -> None:
    """What went, what came back from the archive, and what counts less again is named."""
    world.many(50, "high")
    world.learn("high 7", "high", "bad")
    world.learn("nonsense", "high", "bad")

    done = world.memory.revert(OPERATOR, "outreach", "bad")

    assert (done.gone, done.back, done.changed) == (("L52",), ("L1",), ("L8",))
    assert world.memory.archive("outreach").total == 0


def test_a_second_revert_writes_nothing(world: Any) -> None:
    """Neither does that of a run which changed nothing; what the run does later counts again."""
    world.learn("nonsense", run="bad")
    world.memory.revert(OPERATOR, "outreach", "bad")
    head = world.store.head(LOG)

    again = [world.memory.revert(OPERATOR, "outreach", run) for run in ("bad", "another")]

    assert [one.record for one in again] == [None, None]
    assert world.store.head(LOG) == head
    world.learn("nonsense", run="bad")
    assert [one["id"] for one in world.section()] == [f"L{head + 1}"]
    assert world.memory.revert(SYSTEM, "outreach", "bad").gone == (f"L{head + 1}",)


def test_a_run_reverts_nothing(world: Any) -> None:
    """Only a person may."""
    world.learn("sense", run="good")

    with pytest.raises(NotAllowed):
        world.memory.revert(in_run("outreach", "r2"), "outreach", "good")

    assert len(world.section()) == 1


def test_a_revert_between_reading_and_writing_is_in_the_value(world: Any) -> None:
    """A writer whose log was reverted under his hands saves the memory as it is then."""
    world.learn("nonsense", run="bad")
    append = world.store.append

    def late(stream: str, drafts: Any, **more: Any) -> Any:
        world.store.append = append
        world.anew().revert(OPERATOR, "outreach", "bad")
        return append(stream, drafts, **more)

    world.store.append = late
    world.learn("sense", run="good")

    assert [one["text"] for one in world.section()] == ["sense"]
    assert world.store.get("memory/outreach")[0] == world.anew().state("outreach")


def test_unknown_operations_change_nothing(world: Any) -> None:
    """A later version's records, and those that fit nothing any more, are passed over."""
    world.learn("sense")
    bodies = [{"op": "dream"}, {"op": "note", "target": "L1"}, {"op": "achieve", "target": "G7"}]
    world.store.append(LOG, [Draft({**body, "run": None}) for body in bodies])

    assert [one["text"] for one in world.section()] == ["sense"]
    assert world.memory.state("outreach")["seq"] == 4


def test_a_document_never_goes_back(world: Any) -> None:
    """A writer that comes late leaves the newer one; one of another log is replaced."""
    log = MemoryLog(world.store, RamCache(), LOG)
    world.learn("first")
    late = log.value()
    world.learn("second")
    newest = world.store.get("memory/outreach")[0]

    assert save(world.store, LOG, "outreach", late) == ""
    assert world.store.get("memory/outreach")[0] == newest

    world.store.put("memory/outreach", {**newest, "seq": 2, "crc": "00000000"}, expect=None)
    save(world.store, LOG, "outreach", late)
    assert world.store.get("memory/outreach")[0]["seq"] == 1


def test_a_change_leaves_what_others_hold_as_it_is(world: Any) -> None:
    """In a process that keeps values in memory, adding a lesson changes none that was given out."""
    memory = Memory(world.store, Values(RamCache()), world.config)
    memory.learn(in_run("outreach"), "first")
    held = memory.state("outreach")
    before = codec.to_json(held)

    memory.learn(in_run("outreach"), "second")
    memory.learn(in_run("outreach"), "first")

    assert codec.to_json(held) == before
    assert memory.state("outreach") == world.anew().state("outreach")


def test_what_a_shadow_run_learns_waits(world: Any) -> None:
    """Its changes are staged and change nothing before a person accepts them."""
    shadow = Memory(Staged(world.store, "outreach", "r1"), RamCache(), world.config)

    change = shadow.learn(in_run("outreach", "r1"), "Short lines win")

    assert (change.how, change.item, change.live) == ("staged", None, 0)
    assert world.section() == []
    Shadow(world.store, RamCache()).accept(OPERATOR, "r1")
    assert [(one["text"], one["run"]) for one in world.section()] == [("Short lines win", "r1")]


def test_a_renamed_agent_keeps_its_memory(world: Any) -> None:
    """Under its new name it reads and writes the log of its first one, and both names are its."""
    world.learn("Short lines win")
    old = world.config.agents["outreach"]
    agents = {**world.config.agents, "first-touch": old._replace(formerly=("outreach",))}
    agents["first-touch"] = agents["first-touch"]._replace(id="first-touch")
    del agents["outreach"]
    world.memory._config = world.config._replace(agents=agents)
    author = in_run("first-touch")

    world.memory.trait(author, "strength", "Lines", lessons=["L1", "outreach/L1", "first-touch/L1"])

    state = world.memory.state("first-touch")
    assert [one["id"] for one in state["lessons"]] == ["L1"]
    assert world.memory.ref("first-touch", "L1") == "outreach/L1"
    assert world.store.get("memory/first-touch")[0] == state
    assert world.memory.revert(OPERATOR, "outreach", "outreach-r1").gone == ("L1",)


def test_the_largest_memory_fits_into_its_document(world: Any) -> None:
    """Every section full of the longest texts in characters that JSON writes longest."""
    run = "r" * 64
    author = in_run("outreach", run)

    def worst(limit: int, number: int = 0) -> str:
        text = f"{number:04d}"
        return text + '"' * ((limit - len(text)) // 2)

    lesson = {"op": "lesson", "category": "improvement", "importance": "medium", "run": run}
    lessons = [f"L{number}" for number in range(10**9, 10**9 + 10)]
    found = {"op": "research", "source": worst(300), "run": run}
    world.put(*({**lesson, "text": worst(600, n)} for n in range(50)))
    world.put(*({**found, "finding": worst(800, n)} for n in range(40)))
    for noun in ("strength", "weakness"):
        trait = {"op": noun, "lessons": lessons, "run": run}
        world.put(*({**trait, "text": worst(300, n)} for n in range(20)))
    for op, change, count, limit in (("goal", "progress", 30, 400), ("plan", "note", 12, 600)):
        for number in range(count):
            world.put({"op": op, "text": worst(limit, number), "run": run})
            target = f"{op[0].upper()}{world.store.head(LOG)}"
            note = {"op": change, "target": target, "text": worst(300), "run": run}
            world.put(*[{**note, "value": -1.2345678901234567e-300}] * 5)
            if op == "goal" and number < 12:
                world.put({"op": "abandon", "target": target, "reason": worst(300)})
    world.memory.learn(author, "and " + worst(590))

    state = world.memory.state("outreach")
    sizes = [len(value) for value in state.values() if isinstance(value, list)]
    page = codec.encode_document("memory/outreach", 10**9, "2026-11-30T10:00:00.000+00:00", state)

    assert sizes == [50, 15, 15, 25, 30, 10]
    assert len(page) + 150 * 12 < MAX_DOCUMENT, "ids may have twelve digits more"
    assert world.store.get("memory/outreach")[0] == state
