"""`fleet show` and `fleet find` by the real program: whatever one may see, and nothing else."""

import json

import pytest

from audit.conftest import Past
from calls import call, many
from fleet.audit.references import ref_in
from people import OPERATOR


@pytest.fixture
def busy(past: Past) -> Past:
    """Something of everything, by a run of outreach that is over and by the operator."""
    event = past.price(OPERATOR, "Cursor")
    run = past.begin("outreach", event, delivered=1)
    past.post(run, "Cursor is at $20, see sarah@acme.com")
    past.post(run, "the closed word", channel="outreach-review")
    past.fleet.claims.take(run, "lead:sarah@acme.com", note="Cursor user")
    past.fleet.runs.report(run, "told all about Cursor")
    past.end(run)
    return past


def said(past: Past, *lines: str, agent: str | None = None) -> list[tuple[int, str, str]]:
    """What each command line answers, to the operator or to `agent`."""
    who = ("--as", agent) if agent else ()
    calls = [call("--home", str(past.root), *who, *line.split("|")) for line in lines]
    return [(done.code, done.out, done.err) for done in many(past.root, calls)]


def test_every_reference_leads_to_its_record(busy: Past) -> None:
    """Records by short and whole name, runs by id, prefix, agent, agent~0 and last; else exit 4."""
    run = busy.fleet.runs.list(None, 1)[0]
    refs = {
        "events#1": "events", "strategy#1": "channels/strategy", "claims-log#1": "claims-log",
        "channels/outreach-review#1": "channels/outreach-review", "outreach#2": "runs/outreach",
        "runs/outreach#2": "runs/outreach",
    }  # fmt: skip
    for (code, out, _), stream in zip(
        said(busy, *(f"show|{ref}|--json" for ref in refs)), refs.values(), strict=True
    ):
        assert (code, json.loads(out)["stream"]) == (0, stream)
    runs = [run.id, run.ref, run.id[:9], "outreach", "outreach~0", "last"]
    for code, out, _ in said(busy, *(f"show|{ref}|--json" for ref in runs)):
        assert (code, json.loads(out)["id"]) == (0, run.id)
    wrong = {
        "strategy#0": (4, "the newest is strategy#1"),
        "events#9": (4, "newest is events#1"), "stratgy#1": (4, "strategy"),
        "outrech": (4, "outreach"), "outreach~7": (4, ""),
        "reply-handler": (4, "has not run"), "lead:a": (4, "--history"),
        "9": (4, "events#97"), "events#x": (2, "events#97"), "ffff": (4, "no run"),
        "outreach/L1": (4, "memory"),
    }  # fmt: skip
    for (code, _, err), (expected, hint) in zip(
        said(busy, *(f"show|{ref}" for ref in wrong)), wrong.values(), strict=True
    ):
        assert code == expected, err
        assert hint in err


def test_found_newest_first_with_reference_author_time_and_text(busy: Past) -> None:
    """Every kind of record is found by its words, newest first, narrowed by what is asked."""
    ((_, out, _), (_, only, _), (_, literal, _), (_, phrase, _), (_, past_, _)) = said(
        busy, "find|cursor|--json", "find|cursor|--type|taken|--json", "find|acme.com|--json",
        'find|"is at"|--json', "find|cursor|--until|2020-01-01|--json",
    )  # fmt: skip
    refs = [json.loads(line)["ref"] for line in out.splitlines()]
    assert refs == ["runs/outreach#2", "claims-log#1", "strategy#1", "events#1"]
    assert [json.loads(line)["ref"] for line in only.splitlines()] == ["claims-log#1"]
    assert len(literal.splitlines()) == 2
    assert [json.loads(line)["text"] for line in phrase.splitlines()] == [
        "Cursor is at $20, see sarah@acme.com"
    ]
    assert past_ == ""
    ((_, plain, _),) = said(busy, "find|cursor|--in|strategy|--agent|outreach")
    assert plain.startswith("strategy#1 · ")
    assert "· outreach · post: Cursor is at $20" in plain


def test_a_name_that_is_nowhere_is_no_empty_answer(busy: Past) -> None:
    """A channel, type or author that is nowhere is exit 4 with what to say; no hits are exit 0."""
    wrong = {
        "find|x|--in|stratgy": "there is no channel 'stratgy': did you mean 'strategy'?",
        "find|x|--in|nochan": "there is no channel 'nochan': fleet channels lists them",
        "find|Cursor|--type|pricing-chang": "did you mean 'pricing-change'?",
        "find|Cursor|--type|nonsense": "no record is of the type 'nonsense'",
        "find|Cursor|--agent|nobody": "there is no agent 'nobody'",
    }
    empty = ["find|zebra|--type|lesson", "find|zebra|--agent|reply-handler", "find|zebra"]

    answers = said(busy, *wrong, *empty)

    assert [code for code, _, _ in answers] == [4] * len(wrong) + [0] * len(empty)
    for (_, _, err), expected in zip(answers, wrong.values(), strict=False):
        assert expected in err
        assert len(err.splitlines()) == 1


def test_paging_reaches_every_hit_once(past: Past) -> None:
    """The `more:` line goes on behind the last hit, also where many have the same stamp."""
    for number in range(7):
        past.post(OPERATOR, f"number {number}")
    words, seen = ["find", "number", "--limit", "3"], []
    while words:
        ((code, out, err),) = said(past, "|".join(words))
        assert code == 0, err
        *lines, last = out.splitlines()
        more = last.partition("more: fleet ")[2].split()
        seen += lines if more else [*lines, last]
        words = more[2:] if more[:1] == ["--home"] else more
    assert [line.split(" ")[0] for line in seen] == [f"strategy#{n}" for n in range(7, 0, -1)]


def test_membership_holds_before_anything_is_ranked(busy: Past) -> None:
    """P25: an agent finds and is shown its channels, events, claims and reports, never others'."""
    other = busy.begin("competitor-watch")
    busy.post(other, "the closed word")
    busy.end(other)
    lines = [
        "find|closed word|--json", "find|closed|--in|outreach-review", "show|outreach-review#1",
        "show|outreach-review#77", "show|outreach", "show|fires#1", "show|alerts#1",
        "show|runs/outreach#1", "show|competitor-watch|--json", "find|Cursor|--json|--limit|99",
    ]  # fmt: skip
    found, inside, *refused, own, everything = said(busy, *lines, agent="competitor-watch")

    assert [json.loads(line)["ref"] for line in found[1].splitlines()] == ["strategy#2"]
    assert inside[0] == 5
    assert [code for code, _, _ in refused] == [5, 5, 0, 5, 5, 5]
    assert "told all about Cursor" in refused[2][1]
    assert "shown" not in refused[2][1]
    assert json.loads(own[1])["agent"] == "competitor-watch"
    refs = {json.loads(line)["ref"] for line in everything[1].splitlines()}
    assert refs == {"runs/outreach#2", "claims-log#1", "strategy#1", "events#1"}
    member = said(busy, "find|closed word|--json", "show|outreach-review#1", agent="reply-handler")
    assert len(member[0][1].splitlines()) == 2
    assert member[1][0] == 0


def test_what_was_taken_back_is_for_people_only(busy: Past) -> None:
    """Retracted records are marked for people; agents neither find them nor are shown them."""
    run = busy.fleet.runs.list("outreach", 1)[0]
    lines = ["find|Cursor|--json", "show|strategy#1", "show|strategy#1|--json", "timeline|--json"]
    ((code, _, err),) = said(busy, f"retract|{run.id}|--reason|wrong price")
    assert code == 0, err
    found, plain, whole, all_ = said(busy, *lines)
    gone = {
        json.loads(line)["ref"]: json.loads(line)["retracted"] for line in found[1].splitlines()
    }

    assert gone["strategy#1"] == gone["runs/outreach#2"] == "wrong price"
    assert gone["events#1"] is None
    assert "retracted: wrong price" in plain[1]
    assert json.loads(whole[1])["retracted"] == "wrong price"
    assert all_[0] == 0
    agent, refused = said(busy, *lines[:2], agent="competitor-watch")
    refs = {json.loads(line)["ref"] for line in agent[1].splitlines()}
    assert {"strategy#1", "runs/outreach#2"}.isdisjoint(refs)
    assert "events#1" in refs
    assert refused[0] == 4
    assert "was retracted" in refused[2]


def test_a_channel_of_an_older_home_is_told_from_fleets_own_log() -> None:
    """`metrics#1` means the metric; a message of a channel so called is printed with its log."""
    assert ref_in("metrics", 1) == "metrics#1"
    assert ref_in("channels/metrics", 1) == "channels/metrics#1"
