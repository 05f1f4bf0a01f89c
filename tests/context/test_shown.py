"""Consumed means shown to a run that succeeded; building a context changes nothing."""

import json
from typing import Any

import pytest

from fleet.config.model import SectionBudget
from fleet.cursors import ADDRESSED, BROADCAST
from fleet.records import Place
from people import OPERATOR, in_run

BARE = '{% extends "base.md.j2" %}{% block context %}{{ awareness }}{% endblock %}'
TASK = "{% block task %}Work.{% endblock %}"


def events_of(context: Any) -> list[str]:
    """References of the events that a context's success consumes, addressed ones first."""
    lanes = context.manifest["facts"]["events"]
    return [f"events#{seq}" for lane in (ADDRESSED, BROADCAST) for seq in lanes[lane]]


def test_what_was_not_shown_waits(world: Any) -> None:
    """Of 120 events 50 are shown; after success the next 50 come and the rest is counted."""
    for number in range(120):
        world.reply(number)
    first = world.run()
    world.reply(120)

    second = world.build(world.within(60_000))

    assert events_of(first) == [f"events#{seq}" for seq in range(1, 51)]
    assert events_of(second) == [f"events#{seq}" for seq in range(51, 101)]
    assert "21 more wait: fleet events --for outreach" in second.context_md


def test_a_cut_by_tokens_leaves_the_newest_for_next_time(world: Any) -> None:
    """Where tokens run out the oldest stand, the rest is counted, and the lane stops there."""
    for number in range(40):
        world.reply(number, note="long " * 60)
    context = world.build(world.within(2500))
    shown = events_of(context)

    assert 1 < len(shown) < 40
    assert shown == [f"events#{seq}" for seq in range(1, len(shown) + 1)]
    assert context.advance[BROADCAST].seq == len(shown)
    assert f"{40 - len(shown)} more wait" in context.context_md


def test_nothing_is_shown_beyond_the_first_event_that_does_not_fit(world: Any) -> None:
    """A small event behind a large one waits with it: a lane is cut at its newest end only."""
    world.reply(1)
    world.reply(2, note="word " * 400, other="word " * 400)
    world.reply(3)

    context = world.build(world.within(800))

    assert events_of(context) == ["events#1"]
    assert "2 more wait" in context.context_md


@pytest.mark.parametrize("outcome", ["crashed", "timeout", "killed", "rate_limited", "empty"])
def test_a_failed_run_consumes_nothing(world: Any, outcome: str) -> None:
    """The same events come again, marked when it was the agent's own failure."""
    world.reply()
    first = world.run(outcome)

    again = world.build()

    assert events_of(again) == events_of(first) == ["events#1"]
    own = outcome not in {"killed", "rate_limited"}
    assert ("redelivered" in again.context_md) is own


def test_success_consumes_once(world: Any) -> None:
    """After a run that is ok its events and messages do not come again, others do."""
    world.reply()
    world.post("hello")
    world.run()
    world.reply(2)

    context = world.build()

    assert events_of(context) == ["events#2"]
    assert "hello" not in context.context_md


def test_building_changes_nothing(world: Any) -> None:
    """Two builds at the same moment are the same bytes and leave every log and document alone."""
    world.reply()
    world.post("hello")
    before = world.store.streams("", "", 99), world.store.keys("", "", 99)

    first, second = world.build(), world.build(durable=True)

    assert (first.context_md, first.prompt_md) == (second.context_md, second.prompt_md)
    assert first.manifest == second.manifest
    assert (world.store.streams("", "", 99), world.store.keys("", "", 99)) == before


def test_the_nonce_is_new_for_each_render_and_stands_in_the_manifest(world: Any) -> None:
    """Without a given nonce two renders differ; with the manifest's one the bytes come back."""
    world.post("hello")
    one, two = world.build(nonce=None), world.build(nonce=None)

    nonces = [context.manifest["given"]["nonce"] for context in (one, two)]
    assert nonces[0] != nonces[1]
    assert world.build(nonce=nonces[0]).context_md == one.context_md
    json.dumps(one.manifest)


def test_a_template_that_omits_the_events_consumes_none(world: Any) -> None:
    """Neither events nor channel messages count when the template does not print them."""
    world.reply()
    world.post("hello")
    world.template(BARE + TASK)
    full = '{% extends "base.md.j2" %}{% block task %}Work.{% endblock %}'
    world.template(full, "full.md.j2")

    context = world.run()

    assert events_of(context) == []
    assert context.advance.keys() == {ADDRESSED}
    again = world.build(world.agent(prompt="full.md.j2"))
    assert events_of(again) == ["events#1"]
    assert "hello" in again.context_md


def test_awareness_alone_consumes_no_event(world: Any) -> None:
    """An event that waits and is mentioned among the recent ones has not been delivered yet."""
    for number in range(3):
        world.reply(number)

    context = world.build(world.within(6000, events=SectionBudget(max_items=1)))

    assert "events#3 reply-received" in context.context_md
    assert set(context.shown) == {"events#1", "events#2", "events#3"}
    assert events_of(context) == ["events#1"]
    assert context.advance[BROADCAST].seq == 1


def test_a_message_that_quotes_an_event_does_not_consume_it(world: Any) -> None:
    """Only fleet's own reference counts, not the same characters in an agent's text."""
    world.reply()
    world.post("see events#1")
    world.template(BARE.replace("awareness", "channels") + TASK)

    context = world.build()

    assert "events#1" in context.context_md
    assert context.shown == ("strategy#1",)
    assert BROADCAST not in context.advance


def test_a_loop_of_the_operators_own_consumes_what_it_prints(world: Any) -> None:
    """Printing `event.ref` for the first event only moves the lane past that one only."""
    world.reply(1)
    world.reply(2)
    own = "{% for e in events.items[:1] %}{{ e.ref }} {{ e.payload.email }}{% endfor %}"
    world.template(BARE.replace("{{ awareness }}", own) + TASK)

    context = world.build()

    assert context.context_md == "events#1 lead1@acme.com"
    assert context.advance[BROADCAST].seq == 1
    assert context.manifest["facts"]["events"][BROADCAST] == [1]


def test_addressed_events_come_first_and_have_a_lane_of_their_own(world: Any) -> None:
    """An event to the agent stands before older broadcasts, also of a type it does not follow."""
    world.reply(1)
    said = {"taskId": "t1", "assignedTo": "outreach", "title": "call"}
    world.bus.emit(OPERATOR, "task-created", said)

    context = world.build()

    assert events_of(context) == ["events#2", "events#1"]
    assert "to you" in context.context_md
    assert context.advance[ADDRESSED].seq == 2


def test_a_poisonous_event_ends_up_alone(world: Any) -> None:
    """Two failures show everything again, from the third try on the oldest event stands alone."""
    for number in range(3):
        world.reply(number)

    shown = [events_of(world.run("crashed")) for _ in range(3)]

    assert [len(refs) for refs in shown] == [3, 3, 1]
    assert "it stands alone" in world.build().context_md


def test_a_channel_passes_what_did_not_fit_and_says_how_many(world: Any) -> None:
    """Of 95 unread messages the newest are shown, the others are counted, and it goes on."""
    for number in range(95):
        world.post(f"message {number}")

    context = world.build(world.within(3000))
    shown = [ref for ref in context.shown if ref.startswith("strategy#")]

    assert shown[-1] == "strategy#95"
    assert f"95 unread, {95 - len(shown)} of them not shown" in context.context_md
    assert context.advance["channels/strategy"].seq == 95


def test_pinned_messages_stay_and_go_last(world: Any) -> None:
    """A pinned message is shown again after it was read, and when nearly nothing fits."""
    world.post("enterprise only", pin=True)
    world.run()
    for _ in range(30):
        world.post("chatter " * 40)

    context = world.build(world.within(1600))

    assert "enterprise only" in context.context_md


def test_a_new_agent_sees_the_last_day_only(world: Any) -> None:
    """Before its lanes have begun a preview starts them where `start:` says."""
    world.reply(1)
    world.post("old")
    world.clock.advance(2 * 86400)
    world.reply(2)
    world.post("new")

    assert events_of(world.build(world.agent(start=86400.0))) == ["events#2"]
    assert "None wait." in world.build(world.agent(start="now")).context_md
    assert events_of(world.build(world.agent(start="all"))) == ["events#1", "events#2"]
    assert ": old" not in world.build(world.agent(start=86400.0)).context_md


def test_a_run_that_ended_but_was_not_applied_counts(world: Any) -> None:
    """The larger of cursor and the last run's advance holds, whoever crashed in between."""
    world.reply(1)
    world.run()
    world.cursors.rewind("outreach", BROADCAST, Place(0))

    assert events_of(world.build()) == []


def test_the_record_says_what_a_run_was_shown(world: Any) -> None:
    """The manifest's facts go into the run's record: count, references, lanes."""
    world.reply(1)
    world.post("hello")
    world.run()

    run = world.runs.last("outreach")

    assert run.events_shown == 1
    assert run.shown == ("events#1", "strategy#1")
    assert run.advance[BROADCAST].seq == 1


def test_what_was_read_is_synced_before_a_run_acts_on_it(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A durable build syncs events, channels and the runs of agent and collaborators, once each."""
    world.reply()
    world.post("hello")
    world.post("hello", "outreach-review")
    world.run(agent="outreach")
    world.run(agent="reply-handler")
    synced: list[str] = []
    monkeypatch.setattr(world.store, "sync", synced.append)

    world.build(durable=True)

    channels = ["channels/outreach-review", "channels/strategy"]
    assert sorted(synced) == [*channels, "events", "runs/outreach", "runs/reply-handler"]


def test_the_number_of_wakes_behind_an_event_is_handed_on(world: Any) -> None:
    """`hops` is the largest of the events that are shown."""
    said = {"email": "x@acme.com", "classification": "interested"}
    record = world.bus.emit(in_run("reply-handler", hops=3), "reply-received", said)

    assert world.build().hops == record.body["hops"]
    assert world.build("competitor-watch").hops == 0
