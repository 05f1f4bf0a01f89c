"""Questions and reminders as agents and a person meet them: real runs, the real command line."""

import json
import re
from pathlib import Path
from shutil import copytree

import jsonschema
import pytest

from calls import Actor, Done, call, many
from fleet.audit.retract import retract
from fleet.retractions import Retractions
from fleet.runner import lead
from fleets import Scripted, until

DOCS = Path(__file__).parents[2] / "docs" / "json"


class Desk:
    """A home with an agent that does what a test says, and the person at its terminal."""

    def __init__(self, root: Path) -> None:
        self.home = Scripted(root)
        self.agent = Actor(self.home, "worker")

    def says(self, *words: str) -> Done:
        """One command by the person."""
        return many(self.home.root, [call("--home", str(self.home.root), *words)])[0]

    def lists(self, shape: str, *words: str) -> list[dict[str, object]]:
        """What a command prints as JSON, held to its documented shape."""
        schema = json.loads((DOCS / f"{shape}.json").read_text())
        found = [json.loads(line) for line in self.says(*words, "--json").out.splitlines()]
        for one in found:
            jsonschema.validate(one, schema)
        return found

    def events(self) -> list[str]:
        """The type of each event."""
        records = self.home.fleet.store.read("events", 0, 999).records
        return [str(record.body["type"]) for record in records]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A home in which nothing has happened."""
    return Desk(tmp_path / "home")


def test_a_question_its_answer_and_the_run_after(desk: Desk) -> None:
    """A run asks and ends, a person answers, the next run is told, and it is told once."""
    asked, again = desk.agent.does(call("ask", "mail these 300?"), call("ask", "mail these 300?"))
    (listed,) = desk.lists("question", "answer")
    waits = desk.says("context", "worker").out
    shown = desk.says("answer", "questions#1")
    answered = desk.lists("written", "answer", "questions#1", "Yes", "--note", "trials first")
    late = desk.says("answer", "questions#1", "no")
    desk.agent.does()
    told = desk.agent.prompt
    desk.agent.does()

    assert asked.out == again.out
    assert asked.out.startswith("asked questions#1 · the answer wakes you: end this run")
    assert (listed["agent"], listed["text"], listed["answer"]) == (
        "worker",
        "mail these 300?",
        None,
    )
    assert (shown.code, shown.out) == (2, "")
    assert "say fleet answer questions#1 yes, or fleet answer questions#1 no" in shown.err
    assert answered[0]["ref"] == "questions#2"
    assert (late.code, late.out) == (3, "")
    assert "questions#1 is answered: yes by operator, 20" in late.err
    assert 'question="questions#1" text="mail these 300?" answer="yes" note="trials first"' in told
    assert "question-answered" not in desk.agent.prompt
    assert re.search(r"You asked questions#1 \d+s ago, no answer yet: mail these 300\?", waits)
    assert "You asked" not in told
    assert desk.says("alerts").out == ""


def test_the_audit_knows_what_was_asked_and_noted(desk: Desk) -> None:
    """Found, shown, timed and explained: each record says who, and in which run."""
    desk.agent.does(call("ask", "sell the zebra?"), call("remind", "3d", "feed the zebra"))
    desk.says("answer", "questions#1", "no")
    (run,) = desk.home.runs()

    found = desk.lists("line", "find", "zebra")
    timed = desk.lists("line", "timeline", "worker")
    (record,) = desk.lists("record", "show", "later#1")
    (explained,) = desk.lists("explanation", "explain", "questions#1")

    assert {"questions#1", "later#1", "events#1"} <= {one["ref"] for one in found}
    refs = [one["ref"] for one in timed]
    happened = ["questions#1", "later#1", "questions#2", "events#1"]
    assert [ref for ref in refs if ref in happened] == happened
    assert "questions#3" not in refs  # that it was told, its event says
    assert (record["author"], record["run"]) == ("worker", run.id)
    assert explained["run"]["id"] == run.id


def test_another_agents_questions_and_notes_are_its_own(desk: Desk) -> None:
    """An agent is shown its own and what is to come to it, a person everything."""
    Actor(desk.home, "other")
    desk.says("--as", "worker", "ask", "sell the zebra?")
    desk.says("--as", "worker", "remind", "3d", "feed the zebra")
    desk.says("--as", "worker", "emit", "note", "n=zebra", "--in", "3d", "--to", "other")

    def shown(*who: str) -> list[int]:
        refs = ("questions#1", "later#1", "later#2")
        return [desk.says(*who, "show", ref).code for ref in refs]

    assert shown() == shown("--as", "worker") == [0, 0, 0]
    assert shown("--as", "other") == [5, 5, 0]
    assert "questions#1" not in desk.says("--as", "other", "find", "zebra").out
    assert "later#1" not in desk.says("--as", "other", "remind").out
    assert len(desk.lists("coming", "remind")) == 2


def test_a_run_that_is_taken_back_asked_and_noted_nothing(desk: Desk) -> None:
    """Its open question cannot be answered, what it put off never comes, and no alert is left."""
    desk.agent.does(
        call("ask", "mail these 300?"),
        call("remind", "3d", "look"),
        call("emit", "note", "n=1", "--in", "3d"),
    )
    (run,) = desk.home.runs()
    done = desk.lists("retracted", "retract", run.id, "--reason", "wrong list")
    answer = desk.says("answer", "questions#1", "yes")
    one = desk.says("retract", "later#1", "--reason", "again")

    assert [taken["what"] for taken in done[0]["taken"]] == [
        "question", "event to come", "event to come", "run",
    ]  # fmt: skip
    assert (answer.code, answer.out) == (3, "")
    assert "was retracted: wrong list" in answer.err
    assert desk.says("alerts").out == desk.says("answer").out == desk.says("remind").out == ""
    assert "nothing new" in one.out
    assert desk.home.fleet.later.waiting() == []


def test_what_came_already_is_taken_back_with_what_it_was(desk: Desk) -> None:
    """Of a record that has become an event, the event goes too."""
    fleet = desk.home.fleet
    now = fleet.store.now().wall
    worker = fleet.author._replace(name="worker")
    fleet.later.emit(worker, "note", {"n": "1"}, due=now + 0.01, to="worker")
    while not fleet.later.deliver():
        pass

    desk.says("retract", "later#1", "--reason", "wrong list")

    assert desk.home.fleet.bus.lag("worker", {}) == 0


@pytest.mark.parametrize("what", ["run", "record"])
def test_what_comes_while_it_is_taken_back_is_taken_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Delivered between the look at what there is and the word that it is gone: gone as well."""
    desk.agent.does(call("emit", "note", "n=1", "--in", "1s", "--to", "worker"))
    fleet = desk.home.fleet
    (run,) = desk.home.runs()
    assert until(lambda: fleet.store.now().wall > (fleet.later.next_due() or 0))
    write = Retractions.retract

    def late(self, *args, **more):
        desk.home.fleet.later.deliver()
        return write(self, *args, **more)

    monkeypatch.setattr(Retractions, "retract", late)
    retract(fleet, fleet.author, run.id if what == "run" else "later#1", reason="wrong list")

    assert desk.events() == ["note"]
    assert desk.home.fleet.bus.lag("worker", {}) == 0


def test_in_shadow_mode_a_question_is_asked_and_the_rest_waits(desk: Desk) -> None:
    """What would come to others or outlast the run is staged; accepted, it waits for its time."""
    desk.home.agent("worker", "", *_lines(desk), "mode: shadow")
    asked, noted, put_off = desk.agent.does(
        call("ask", "mail these 300?"),
        call("remind", "3d", "look"),
        call("emit", "note", "n=1", "--in", "3d"),
    )
    before = desk.lists("coming", "remind")
    accepted = desk.says("shadow", "accept", "worker")

    assert "staged" not in asked.out
    assert "staged" in noted.out
    assert "staged" in put_off.out
    assert len(desk.lists("question", "answer")) == 1
    assert before == []
    assert (accepted.code, accepted.err) == (0, "")
    assert [one["type"] for one in desk.lists("coming", "remind")] == ["reminder-due", "note"]


def test_options_may_be_a_list_in_json(desk: Desk) -> None:
    """Models write lists as JSON: its members are the options, and a broken one is refused."""
    asked, broken = desk.agent.does(
        call("ask", "which?", "--options", '["yes", "no, never"]'),
        call("ask", "which one?", "--options", '["yes", "no"'),
    )

    (question,) = desk.lists("question", "answer")
    assert asked.code == 0
    assert question["options"] == ["yes", "no, never"]
    assert (broken.code, "--options yes,no" in broken.err) == (2, True)


def test_a_staged_delay_is_one_record_and_is_shown(desk: Desk) -> None:
    """P5: in a shadow run the same id and delay is one record, and a person sees when it is due."""
    desk.home.agent("worker", "", *_lines(desk), "mode: shadow")
    words = ("emit", "note", "n=1", "--id", "S", "--in")
    first, again, other = desk.agent.does(
        call(*words, "3d"), call(*words, "3d"), call(*words, "1d")
    )

    assert (first.code, again.code, other.code) == (0, 0, 3)
    assert again.out == first.out
    assert re.search(
        r"later: note · due \d{4}-\d\d-\d\d", desk.says("shadow", "list", "worker").out
    )


def test_an_answer_that_reaches_nobody_is_said(desk: Desk) -> None:
    """Who answers an agent that is gone, says no option, or answers late, is told so."""
    desk.agent.does(call("ask", "mail these 300?"))
    bare = desk.says("answer", "questions#1")
    desk.home.agent("other", "", *_lines(desk))
    retired = desk.says("agent", "retire", "worker")
    assert retired.code == 0, retired
    done = desk.says("answer", "questions#1", "yes")
    late = desk.says("answer", "questions#1", "no")

    assert (bare.code, "mail these 300?" in bare.err, "answer questions#1 yes" in bare.err) == (
        2, True, True,
    )  # fmt: skip
    assert (done.code, "nobody is told: there is no agent worker" in done.err) == (0, True)
    assert "no-addressee" in desk.says("alerts").out
    assert re.search(r"yes by \S+, \d{4}-\d\d-\d\d \d\d:\d\d:", late.err)


def test_an_answer_in_a_copy_is_refused(desk: Desk) -> None:
    """What is answered in a copy would not reach the agents, which run elsewhere: exit 6."""
    desk.agent.does(call("ask", "mail these 300?"))
    lead.settle_in(desk.home.fleet, take_over=False)
    copy = desk.home.root.with_name("copy")
    copytree(desk.home.root, copy, symlinks=True)

    (refused,) = many(copy, [call("--home", str(copy), "answer", "questions#1", "yes")])

    assert (refused.code, "this home is a copy" in refused.err) == (6, True)
    assert desk.says("answer", "questions#1", "yes").code == 0


def _lines(desk: Desk) -> list[str]:
    text = (desk.home.root / "agents" / "worker.yaml").read_text()
    return [line for line in text.splitlines() if line.startswith("command:")]


def test_a_dead_letter_is_listed_and_given_back(desk: Desk) -> None:
    """The person sees what was set aside, gives it back, and the next run is told it is again."""
    desk.says("emit", "note", "n=4711")
    fleet = desk.home.fleet
    fleet.bus.set_aside("worker", fleet.bus.get(1), 5, ["r1"])

    (listed,) = desk.lists("deadletter", "deadletters")
    retried = desk.says("deadletters", "retry", "events#1")
    twice = desk.says("deadletters", "retry", "deadletters#1")
    desk.agent.does()

    assert (listed["ref"], listed["agent"], listed["event"]) == (
        "deadletters#1",
        "worker",
        "events#1",
    )
    assert listed["payload"] == {"n": "4711"}
    assert (retried.code, retried.out) == (0, "events#2\n")
    assert (twice.code, twice.out) == (3, "")
    assert "came back as events#2" in twice.err
    assert 'to you · redelivered · n="4711"' in desk.agent.prompt
    assert desk.says("deadletters").out == desk.says("alerts").out == ""
    (event,) = [one for one in desk.lists("event", "events") if one["again"]]
    assert event["again"] == "events#1"
