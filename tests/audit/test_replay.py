"""A run's prompt comes back byte for byte, whatever happened since."""

import random
import shutil
from pathlib import Path

import pytest

from fleet import blobs, folds
from fleet.audit.replay import replay
from fleet.config.portable import from_json, to_json
from fleet.errors import EndedBadly, Rejected
from fleet.records import Place
from fleet.retractions import Retractions, Target
from fleet.runs import Run
from histories import History
from month import Month


def told_again(history: History) -> dict[str, dict[str, bytes]]:
    """What every run was told, built again."""
    fleet = history.fleet
    return {run: dict(replay(fleet, fleet.runs.find(run)).files) for run in history.told}


def a_past(history: History) -> Run:
    """A run that was told events, messages and what it did before."""
    history.emit()
    history.emit("pricing-change", to="outreach")
    history.post("hello")
    history.run("reply-handler")
    history.run(code=1)
    return history.run()


@pytest.mark.parametrize("seed", range(3))
def test_any_history_can_be_replayed(
    history: History, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among any order of records, edits, runs and lost caches each prompt comes back the same."""
    monkeypatch.setattr(folds, "STEP", 20)
    monkeypatch.setattr(folds, "SAVE_EVERY", 4)
    rng = random.Random(seed)
    for _ in range(50):
        history.something(rng)
        if rng.random() < 0.05:
            history.forget()
    history.run()

    assert told_again(history) == history.told
    history.forget()
    assert told_again(history) == history.told


@pytest.mark.parametrize("seed", range(2))
def test_records_that_come_while_a_context_is_built(history: History, seed: int) -> None:
    """Others write and count between any two reads of a build: what it showed is one moment."""
    rng = random.Random(seed)
    for _ in range(40):
        history.something(rng)
    for _ in range(4):
        history.store.happens = lambda: rng.random() < 0.3 and history.words(rng)
        history.run()
        history.store.happens = None

    assert told_again(history) == history.told


def test_what_came_later_has_no_say(history: History) -> None:
    """Retractions, edits, retired agents, moved lanes and lost run folders change no byte."""
    run = a_past(history)
    fleet = history.fleet
    targets = [
        Target(r.ref, "events", r.seq, None, "reply-received", "operator", r.at, {"outreach": ""})
        for r in fleet.store.read("events", 0, 9).records
    ]
    Retractions(fleet.store, fleet.cache).retract(targets, by="operator", reason="wrong")
    history.edit("prompts/base.md.j2", "{{ events }}", "nothing")
    history.edit("agents/outreach.yaml", "[reply-received, pricing-change]", "[contact-made]")
    history.edit("fleet.yaml", "Europe/Berlin", "UTC")
    (history.root / "agents" / "competitor-watch.yaml").unlink()
    history.run()
    shutil.rmtree(fleet.runs.folder(run.id))
    history.forget()

    found = replay(history.fleet, history.fleet.runs.find(run.id))

    assert (found.changed, found.edited) == ((), ())
    assert dict(found.files) == history.told[run.id]
    assert told_again(history) == history.told


def test_a_replay_changes_nothing(history: History) -> None:
    """It writes no record, no document and no cache, and what is cached for today stays."""
    run = a_past(history)
    history.fleet.bus.latest(("reply-received",))
    before = {**history.cache._saved}, dict(history.store._documents)
    heads = {name: history.store.head(name) for name in history.store.streams("", "", 99)}

    replay(history.fleet, run)

    assert ({**history.cache._saved}, dict(history.store._documents)) == before
    assert {name: history.store.head(name) for name in heads} == heads


def test_a_run_under_the_last_good_config(history: History) -> None:
    """A run that was launched while the files are broken is replayed with what was in force."""
    a_past(history)
    history.edit("agents/outreach.yaml", "interests:", "intrests:")
    run = history.run()

    assert history.fleet.config.warning
    assert dict(replay(history.fleet, run).files) == history.told[run.id]


def test_a_home_that_moved(history: History, tmp_path: Path) -> None:
    """Paths in a prompt are those of the time, wherever the home lies now."""
    history.edit("prompts/outreach.md.j2", "Do the work", "Work in {{ agent.cwd }}")
    run = a_past(history)
    assert str(history.root).encode() in history.told[run.id]["prompt.md"]

    history.root = history.root.rename(tmp_path / "elsewhere")

    assert dict(replay(history.fleet, run).files) == history.told[run.id]


def test_masked_prompts_come_back_masked(history: History) -> None:
    """A secret in a template, and one that stands beside what an event says, are told masked."""
    key = "sk-ant-api03-" + "Ab3" * 20
    history.edit("prompts/outreach.md.j2", "Do the work", f"Use {key}, password: {{{{ now }}}}Xq9!")
    run = a_past(history)
    assert key.encode() not in history.told[run.id]["prompt.md"]

    found = replay(history.fleet, run)

    assert found.changed == ()
    assert dict(found.files) == history.told[run.id]


def test_a_trimmed_log_is_why(history: History) -> None:
    """Where what was shown is gone the bytes differ, and the log that was trimmed is named."""
    run = a_past(history)
    for _ in range(5):
        history.emit()
    history.store.trim("events", 5)

    found = replay(history.fleet, run)

    assert found.changed == ("context.md",)
    assert "events was trimmed up to number 4" in found.reasons


def test_a_replaced_log_is_why(history: History) -> None:
    """Another log in the place of one that was read is named, with the number that tells."""
    run = a_past(history)
    del history.store._logs["events"]
    for _ in range(3):
        history.emit("pricing-change")

    found = replay(history.fleet, run)

    assert found.changed
    assert "events was replaced: its number 2 is another record" in found.reasons


def test_an_edited_run_folder_is_said(history: History) -> None:
    """The bytes that were told come back, and the file that is not them any more is named."""
    run = a_past(history)
    (history.fleet.runs.folder(run.id) / "context.md").write_text("forged")

    found = replay(history.fleet, run)

    assert (found.changed, found.edited) == ((), ("context.md",))
    assert dict(found.files) == history.told[run.id]


def test_why_it_cannot_be_built(history: History) -> None:
    """A lost blob, a record of another version and a run without a context each say so."""
    run = a_past(history)
    history.edit("prompts/outreach.md.j2", "{% block task %}", "{% block task %}{{ nonsense }}")
    fleet = history.fleet
    broken = history.launched()
    made = fleet.runs.made(run)
    assert made is not None
    older = history.recorded(made={"version": 1})
    unknown = history.recorded(made=None)
    taken = {name: history.store._documents.pop(name) for name in fleet.store.keys("blobs/", "", 9)}

    for one, why in (
        (fleet.runs.find(broken), "was never told anything: it ended as render_failed"),
        (fleet.runs.find(older), "does not say what its prompt was made from"),
        (fleet.runs.find(unknown), "does not say what its prompt was made from"),
        (run, "the config of .* was not kept: blobs/[0-9a-f]{64} is gone"),
    ):
        with pytest.raises(EndedBadly, match=why):
            replay(fleet, one)

    history.store._documents |= {
        f"blobs/{made['config_blob']}": taken[f"blobs/{made['config_blob']}"]
    }
    with pytest.raises(EndedBadly, match=r"the template prompts/.* was not kept"):
        replay(fleet, run)


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(10, 40))
def test_many_histories_can_be_replayed(
    history: History, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for many more histories, others writing all the time."""
    monkeypatch.setattr(folds, "STEP", 20)
    monkeypatch.setattr(folds, "SAVE_EVERY", 4)
    rng = random.Random(seed)
    history.store.happens = lambda: rng.random() < 0.01 and history.words(rng)
    for _ in range(120):
        history.something(rng)

    assert told_again(history) == history.told


@pytest.mark.prove
def test_every_prompt_of_the_growth_fleet_can_be_replayed(tmp_path: Path) -> None:
    """Of some days of the growth fleet's runs each one's files come back, 200 of 200."""
    month = Month(tmp_path / "home")
    runs = month.play(3)
    fleet = month.fleet
    assert len(runs) >= 200

    for run in runs:
        folder = fleet.runs.folder(run.id)
        told = {name: (folder / name).read_bytes() for name in ("context.md", "prompt.md")}
        assert dict(replay(fleet, run).files) == told


# Blobs and the config -----------------------------------------------------------------------------


def test_the_record_of_a_run_names_the_hashes_of_its_files(history: History) -> None:
    """What was written for a run and what it left stand in its records, by name."""
    run = a_past(history)
    bodies = [r.body for r in history.store.read("runs/outreach", 0, 99).records]
    started, ended = (
        next(b for b in bodies if (b["op"], b["run"]) == (op, run.id))
        for op in ("started", "ended")
    )

    assert set(started["made"]["files"]) == {"context.md", "prompt.md", "manifest.json"}
    assert set(ended["files"]) == {"stdout.jsonl", "exit.json"}


def test_runs_share_blobs(history: History) -> None:
    """Ten runs of one config keep one config and two templates; an edit adds what it changed."""
    for _ in range(5):
        history.run()
        history.run("reply-handler")
    assert len(history.store.keys("blobs/", "", 99)) == 4

    history.edit("prompts/outreach.md.j2", "Do", "do")
    history.run()

    assert len(history.store.keys("blobs/", "", 99)) == 5


def test_an_agent_that_stands_in_a_thousand_logs(history: History) -> None:
    """What its context was made from is too long for a record, so the record names a blob."""
    places = {f"channels/agent-{n}+outreach": Place(0, "5e1f09ab") for n in range(1500)}
    history.fleet.cursors.advance("outreach", places)

    run = a_past(history)

    assert run.outcome == "ok"
    assert set(history.fleet.runs.made(run) or ()) == {"blob"}
    assert dict(replay(history.fleet, run).files) == history.told[run.id]


def test_a_large_blob_is_compressed_and_a_huge_one_refused(history: History) -> None:
    """Over the size of a document it is packed, and what does not fit then is not kept."""
    dice = random.Random(1)
    noise = "".join(chr(dice.randrange(33, 1 << 15)) for _ in range(200_000))
    for content in ("x" * 900_000, {"a": ["y" * 400_000]}, {"a": 1}, "text\n\x00"):
        name = blobs.keep(history.store, content)
        assert name == blobs.name_of(content)
        assert blobs.load(history.store, name) == content

    assert blobs.keep(history.store, noise) is None
    assert blobs.load(history.store, "0" * 64) is None
    with pytest.raises(Rejected):
        history.store.put("blobs/x", {"text": noise}, expect=0)


def test_a_config_survives_its_journey() -> None:
    """The growth home's config as JSON and back is the same, under another root too."""
    from fleet.config import load
    from fleet.stores.ram import RamCache

    root = Path(__file__).parents[2]
    config = load(root, RamCache())
    said = to_json(config)

    assert from_json(said, root, config.version) == config
    moved = from_json(said | {"later": 1}, Path("/elsewhere"), config.version)
    assert to_json(moved) == said
    assert moved.agents["outreach"].cwd == Path("/elsewhere/work/outreach")
    with pytest.raises(TypeError):
        from_json({"agents": {"x": {}}}, root, "")
