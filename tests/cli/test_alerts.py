"""`fleet alerts` and what `status` makes of alerts, by the real program."""

import json

import pytest

from calls import Done, call, many
from fleet.alerts import open_ones, raise_alert
from fleet.records import Draft
from fleet.runner import lead
from fleet.wiring import open_fleet


@pytest.fixture
def told(home) -> None:
    """A home with a runner, and three alerts about two things."""
    fleet = open_fleet(home, env={})
    lead.announce(fleet.store)
    for kind, subject in (("loop", "strategy#1"), ("shadow", "outreach"), ("loop", "strategy#1")):
        raise_alert(
            fleet.store, kind=kind, subject=subject, what="it\x1b[2J went", done="d", fix="do f"
        )


def one(home, *words: str) -> Done:
    """What one command says."""
    return many(home, [call(*words)])[0]


def test_open_ones_are_listed_and_closed(told, home, shaped) -> None:
    """`alerts` shows each sort once and whole, `ack` closes it, `--all` still has each of them."""
    listed = one(home, "alerts")
    found = shaped("alert", one(home, "alerts", "--json").out)
    (closed,) = shaped("alert", one(home, "alerts", "ack", "alerts#1", "--json").out)
    left = one(home, "alerts")
    said = one(home, "alerts", "ack", "2")
    everything = shaped("alert", one(home, "alerts", "--all", "--json").out)
    newest = one(home, "alerts", "--all", "--limit", "1")

    assert listed.out.count("loop strategy#1 · 2 times") == 1
    assert "what: it\\x1b[2J went" in listed.out
    assert [(a["ref"], a["count"]) for a in found] == [("alerts#2", 1), ("alerts#3", 2)]
    assert closed["ref"] == "alerts#3"
    assert "loop" not in left.out
    assert said.out == "acknowledged shadow outreach, alerts#2\n"
    assert one(home, "alerts").out == ""
    assert [a["open"] for a in everything] == [False] * 3
    assert newest.out.splitlines()[-1] == "more: fleet alerts --all --limit 2"
    assert one(home, "alerts", "ack", "all").out == "nothing of it is open\n"


def test_status_shows_open_ones_and_is_well_again(told, home, shaped) -> None:
    """What needs a person makes `status --check` exit 8 until it is seen to, a notice does not."""
    check = one(home, "status", "--check")
    (state,) = shaped("status", one(home, "status", "--json").out)
    one(home, "alerts", "ack", "alerts#3")
    after = one(home, "status", "--check")
    lead.retire(open_fleet(home, env={}).store)
    down = one(home, "status", "--check")

    assert (check.code, state["health"]) == (8, "degraded")
    assert "alert: alerts#3 it\\x1b[2J went (2 times): do f" in check.out
    assert [a["kind"] for a in state["alerts"]] == ["shadow", "loop"]
    assert (after.code, after.out.split()[0]) == (0, "ok"), after.out
    assert "alerts#2" in after.out
    assert down.code == 9


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["ack"], 2, "fleet alerts lists what is open"),
        (["ack", "all", "1"], 2, "references, or all"),
        (["ack", "9"], 4, "fleet alerts --all"),
        (["ack", "strategy#1"], 2, "alerts#97"),
        (["seen", "1"], 2, "fleet alerts ack alerts#12"),
    ],
)
def test_what_cannot_be_acknowledged_is_said(told, home, words, code, hint) -> None:
    """A wrong word or a number that is no alert's is refused with the line that works."""
    done = one(home, "alerts", *words)

    assert (done.code, done.out) == (code, "")
    assert hint in done.err


def test_an_acknowledgement_is_on_record(told, home) -> None:
    """Who acknowledged what stands in the log and in the timeline."""
    one(home, "alerts", "ack", "alerts#1")

    (record,) = open_fleet(home, env={}).store.read("alerts", 3, 9).records
    line = json.loads(one(home, "timeline", "--json").out.splitlines()[-1])

    assert {name: record.body[name] for name in ("op", "ref", "kind", "subject", "by")} == {
        "op": "ack",
        "ref": "alerts#3",
        "kind": "loop",
        "subject": "strategy#1",
        "by": "operator",
    }
    assert (line["author"], line["text"]) == ("operator", "alerts#3")


def test_a_question_is_closed_by_its_answer_alone(told, home) -> None:
    """`ack all` leaves it open and `ack` of it is refused with what to type; others are closed."""
    fleet = open_fleet(home, env={})
    asker = fleet.author._replace(name="outreach")
    fleet.questions.ask(asker, "mail these 300?", ["yes", "no"])
    everything = one(home, "alerts", "ack", "all")
    refused = one(home, "alerts", "ack", "alerts#4")
    left = [(alert.kind, alert.subject) for alert in open_ones(fleet.store, fleet.cache)]

    one(home, "answer", "questions#1", "yes")

    assert everything.out.count("acknowledged") == 2
    assert (refused.code, refused.out) == (3, "")
    assert "fleet answer questions#1 'yes|no'" in refused.err
    assert left == [("question", "questions#1")]
    assert open_ones(fleet.store, fleet.cache) == []


def test_an_older_ack_of_all_still_closes_questions(home) -> None:
    """A line without `but`, as fleet wrote it before, closes what it closed then."""
    fleet = open_fleet(home, env={})
    raise_alert(fleet.store, kind="question", subject="questions#1", what="w", done="d", fix="f")
    said = {"op": "ack", "by": "operator", "person": None, "ref": "alerts#1", "all": True}
    fleet.store.append("alerts", [Draft(said)])

    assert open_ones(fleet.store, fleet.cache) == []
