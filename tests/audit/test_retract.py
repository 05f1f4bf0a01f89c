"""Undo: what a run wrote is taken back, who was shown it is named, and nothing is deleted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calls import tree
from fleet.audit.lines import line
from fleet.audit.retract import Taken, retract
from fleet.errors import NotAllowed, Rejected, TryAgain, Unknown
from fleet.identity import Author
from fleet.logs import record_at
from fleet.records import Draft
from fleet.runs import Verdict
from fleet.stores.files import FilesStore
from people import OPERATOR, in_run

Retract = Callable[..., Taken]


@pytest.fixture
def take_back(past: Any) -> Retract:
    """`take_back(ref)` by the operator."""

    def call(ref: str, reason: str = "wrong page", **more: Any) -> Taken:
        return retract(past.fleet, OPERATOR, ref, reason=reason, **more)

    return call


def refs(taken: Taken) -> list[str]:
    """What is taken back."""
    return [target.ref for target in taken.targets]


def logs_and_documents(home: Path) -> dict[str, bytes]:
    """What counts in the state, by path."""
    found = tree(home / "state").items()
    return {name: data for name, data in found if not name.startswith(("cache", "locks"))}


def wrote(past: Any) -> tuple[Author, list[str]]:
    """A run of competitor-watch with one record of each kind, still going."""
    run = past.begin("competitor-watch")
    old = past.post(OPERATOR, "old")
    fleet = past.fleet
    written = [
        past.price(run),
        past.post(run, "Cursor is free"),
        fleet.talk.react(run, old, "agree").ref,
        fleet.metrics.record(run, "draft-1", "views", 3).ref,
    ]
    fleet.claims.take(run, "page:cursor", keep=86400.0)
    fleet.claims.take(run, "page:devin")
    fleet.memory.learn(run, "prices fall")
    fleet.runs.report(run, "Cursor is free now")
    return run, written


def test_a_run_is_taken_back_whole(past: Any, take_back: Retract) -> None:
    """Events, messages, reactions, metrics, lessons and the report go; kept claims come free."""
    past.fleet.memory.learn(past.begin("competitor-watch"), "pages have a date")
    author, written = wrote(past)
    run = past.end(author)
    taken = take_back(run)
    fleet = past.fleet

    assert sorted(refs(taken)) == sorted([*written, run])
    assert (taken.agent, taken.run, taken.reason) == ("competitor-watch", run, "wrong page")
    assert taken.claims == ("page:cursor", "page:devin")
    assert fleet.claims.live() == []
    assert fleet.bus.events() == []
    assert [message.text for message in fleet.talk.read(in_run("outreach"), "strategy")] == ["old"]
    assert fleet.metrics.listing("draft-1") == []
    assert taken.memory == ("L2",)
    lessons = fleet.memory.state("competitor-watch")["lessons"]
    assert [lesson["text"] for lesson in lessons] == ["pages have a date"]
    assert fleet.runs.last("competitor-watch").report == ""


def test_a_retracted_run_marks_its_memory_lines(past: Any, take_back: Retract) -> None:
    """What the run wrote to its memory is marked with the reason, wherever records are listed."""
    author, _ = wrote(past)
    run = past.end(author)
    lesson = record_at(past.fleet.store, "memory-log/competitor-watch", 1)
    assert line(past.fleet, lesson).retracted is None

    take_back(run)

    assert line(past.fleet, lesson).retracted == "wrong page"


def test_a_report_is_only_said_of_a_run_that_reported(past: Any, take_back: Retract) -> None:
    """Whether a report went is known of the run, not assumed."""
    silent = past.begin("outreach")
    past.post(silent, "hello")
    author, _ = wrote(past)

    assert not take_back(past.end(silent)).reported
    assert take_back(past.end(author)).reported


def test_a_damaged_record_is_said_to_be(past: Any, take_back: Retract) -> None:
    """A record whose line is damaged is not called one that never was."""
    past.price(OPERATOR)
    past.price(OPERATOR, "Devin")
    (segment,) = (past.root / "state" / "events").glob("*.jsonl")
    segment.write_bytes(b"x" + segment.read_bytes()[1:])

    with pytest.raises(Unknown, match="events#1 cannot be read: fleet verify names the damage"):
        take_back("events#1")


def test_a_dry_run_says_the_same_and_writes_nothing(
    past: Any, take_back: Retract, home: Path
) -> None:
    """`--dry-run` names what would go and changes no log and no document."""
    run = past.end(wrote(past)[0])
    before = logs_and_documents(home)
    planned = take_back(run, dry_run=True)

    assert logs_and_documents(home) == before
    assert planned == take_back(run)


def test_twice_is_once(past: Any, take_back: Retract) -> None:
    """The second time nothing is written, and it says that and why it was taken back."""
    author, written = wrote(past)
    run = past.end(author)
    take_back(run)
    heads = {name: past.fleet.store.head(name) for name in past.fleet.store.streams("", "", 99)}
    again = take_back(run, reason="another")

    assert heads == {n: past.fleet.store.head(n) for n in past.fleet.store.streams("", "", 99)}
    assert (again.targets, again.claims, again.reason) == ((), (), "wrong page")
    assert set(again.before) == {*written, run}


def test_a_run_that_is_going_is_refused(past: Any, take_back: Retract) -> None:
    """A run without an end is not taken back: it would go on writing."""
    run = wrote(past)[0].run

    with pytest.raises(TryAgain, match="still going"):
        take_back(run)
    assert past.fleet.store.head("retractions") == 0


def test_what_is_half_done_is_finished_by_repeating(
    past: Any, take_back: Retract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the tombstones, or among them, the same command does the rest."""
    author, _ = wrote(past)
    run = past.end(author)
    planned = take_back(run, dry_run=True)
    past.fleet.retractions.retract(planned.targets[:2], by="operator", reason="wrong page")
    monkeypatch.setattr(past.fleet.memory, "revert", None)
    with pytest.raises(TypeError):
        take_back(run)
    monkeypatch.undo()
    assert past.fleet.claims.live()
    rest = take_back(run)

    assert rest.targets == ()
    assert rest.claims == ("page:cursor", "page:devin")
    assert past.fleet.claims.live() == []
    assert past.fleet.memory.state("competitor-watch")["lessons"] == []
    assert past.fleet.store.head("retractions") == len(planned.targets)


def test_completed_work_stays_completed(past: Any, take_back: Retract) -> None:
    """A completion (`--once`) outlives the retraction: what was done in the world is done."""
    author = past.begin("competitor-watch")
    past.fleet.claims.take(author, "mail:sarah")
    past.fleet.claims.release(author, "mail:sarah", completed=True)
    take_back(past.end(author))

    with pytest.raises(Exception, match="completed by competitor-watch"):
        past.fleet.claims.take(OPERATOR, "mail:sarah", once=86400.0)


# Who is told -------------------------------------------------------------------------------------


def test_exactly_those_who_saw_it_are_told(past: Any, take_back: Retract) -> None:
    """Told are agents whose prompt showed a record, whatever became of it, and the author."""
    author = past.begin("competitor-watch")
    event, post, unseen = past.price(author), past.post(author, "a"), past.post(author, "b")
    run = past.end(author)
    seen = past.end(past.begin("outreach", event, post, delivered=1), "crashed")
    later = past.end(past.begin("outreach", post))
    past.end(past.begin("reply-handler", "strategy#99"))
    taken = take_back(run)

    assert taken.tell == {"competitor-watch": [run], "outreach": [event, post]}
    shown_in = {one.ref: one.tell for one in taken.targets}
    assert shown_in[event] == {"outreach": seen}
    assert shown_in[post] == {"outreach": later}
    assert shown_in[unseen] == {}


def test_the_run_itself_does_not_tell_its_author_of_each(past: Any, take_back: Retract) -> None:
    """What the run itself had read of its own is no other run's: its author is told once, of it."""
    earlier = past.end(past.begin("competitor-watch"))
    author = past.begin("competitor-watch", earlier[:13])
    own = past.price(author)
    ended = "2026-11-30T10:00:00.000+00:00"
    past.fleet.runs.finish(author.name, author.run, Verdict("ok"), ended=ended, read=([own], 0))

    assert take_back(author.run).tell == {"competitor-watch": [author.run]}


def test_who_was_shown_the_report_is_told(past: Any, take_back: Retract) -> None:
    """An agent that was shown the run's report in its awareness is told of the run."""
    run = past.end(wrote(past)[0])
    past.end(past.begin("outreach", run[:13]))

    assert take_back(run).tell["outreach"] == [run]


# One record --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(4))
def test_one_record_of_any_kind(past: Any, take_back: Retract, number: int) -> None:
    """An event, a message, a reaction or a metric alone is taken back, and its author is told."""
    author, written = wrote(past)
    past.end(author)
    taken = take_back(written[number])

    assert refs(taken) == [written[number]]
    assert taken.tell == {"competitor-watch": [written[number]]}
    assert past.fleet.claims.live()
    assert past.fleet.runs.last("competitor-watch").report


def test_what_a_person_wrote_can_go(past: Any, take_back: Retract) -> None:
    """A person's record is taken back; no agent is its author."""
    assert take_back(past.post(OPERATOR, "wrong")).tell == {}


@pytest.mark.parametrize(
    ("ref", "error", "said"),
    [
        ("events#9", Unknown, "there is no events#9"),
        ("strategy#9", Unknown, "there is no strategy#9"),
        ("nobody~1", Unknown, "nobody"),
        ("strategy#4", Rejected, "fleet unpin"),
        ("claims-log#1", Rejected, "cannot be taken back"),
        ("runs/competitor-watch#1", Rejected, "takes back the whole run"),
        ("retractions#1", Rejected, "cannot be taken back"),
    ],
)
def test_what_cannot_be_taken_back_is_said(
    past: Any, take_back: Retract, ref: str, error: type[Exception], said: str
) -> None:
    """What is not there, or is no record of anybody's words, is refused with what to do."""
    past.end(wrote(past)[0])
    past.fleet.talk.pin(OPERATOR, "strategy#1")
    take_back(past.price(OPERATOR))

    with pytest.raises(error) as refused:
        take_back(ref)
    assert said in str(refused.value)


def test_a_trimmed_record_is_said_to_be(past: Any, take_back: Retract) -> None:
    """A record in the archive is shown to nobody: there is nothing to take back."""
    small = FilesStore(past.root / "state", segment_bytes=1000)
    for _ in range(4):
        small.append("events", [Draft({"op": "event", "type": "note", "n": "x" * 900})])
    small.trim("events", 3)

    with pytest.raises(Unknown, match="events#1 was trimmed"):
        take_back("events#1")


@pytest.mark.parametrize("reason", ["", " "])
def test_a_reason_is_needed(past: Any, take_back: Retract, reason: str) -> None:
    """Without a reason nothing is taken back."""
    with pytest.raises(Rejected, match="reason"):
        take_back(past.price(OPERATOR), reason)


def test_a_run_may_not(past: Any) -> None:
    """An agent cannot retract, not even what it wrote."""
    author = past.begin("outreach")
    ref = past.price(author)

    with pytest.raises(NotAllowed, match="operators"):
        retract(past.fleet, author, ref, reason="oops")


# Pins --------------------------------------------------------------------------------------------


def test_pins_go_back_to_what_they_were(past: Any, take_back: Retract) -> None:
    """What the run pinned is unpinned, what it unpinned is pinned; what others changed stays."""
    talk = past.fleet.talk
    pinned, unpinned, both, others = (past.post(OPERATOR, str(n)) for n in range(4))
    talk.pin(OPERATOR, unpinned)
    author = past.begin("competitor-watch")
    talk.pin(author, pinned)
    talk.unpin(author, unpinned)
    talk.pin(author, both)
    talk.unpin(author, both)
    talk.pin(author, others)
    talk.unpin(OPERATOR, others)
    talk.pin(OPERATOR, others)
    taken = take_back(past.end(author))

    assert [pin.ref for pin in taken.pins] == [pinned, unpinned]
    now = {message.ref for message in talk.board("strategy").messages if message.pinned}
    assert now == {unpinned, others}
