"""What an event must be to get into the log, and what refuses it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fleet.bus import Bus, event_json
from fleet.errors import Held, Rejected, TryAgain, Unknown, Usage
from fleet.records import HeldBy, NotHeldByOther
from fleet.schemas import Registry
from people import CONFIG, OPERATOR, in_run, limited
from rigs import Rig

PRICE: dict[str, object] = {"competitor": "cursor", "newPrice": "20"}


def test_an_event_is_stored_as_said(rig: Rig) -> None:
    """The record says who said what to whom and why, and `--json` prints it."""
    first = rig.bus.emit(OPERATOR, "pricing-change", PRICE)
    second = rig.bus.emit(in_run("outreach"), "pricing-change", PRICE, cause=first.ref)

    assert event_json(second) == {
        "ref": "events#2",
        "seq": 2,
        "id": second.id,
        "at": second.at,
        "type": "pricing-change",
        "from_agent": "outreach",
        "to_agent": None,
        "payload": PRICE,
        "cause": "events#1",
        "hops": 1,
        "subject": None,
        "again": None,
        "retracted": None,
    }
    assert first.body["by"] == OPERATOR.by
    assert second.body["run"] == "outreach-r1"


def test_an_event_says_what_it_announces(rig: Rig) -> None:
    """A type with `x-subject` writes the subject into the record; other records have none."""
    schema = '{"type": "object", "properties": {"draftId": {}}, "x-subject": "{draftId}"}'
    (rig.root / "schemas" / "content-ready.json").write_text(schema)

    announced = rig.bus.emit(OPERATOR, "content-ready", {"draftId": "draft-17"})
    nothing = rig.bus.emit(OPERATOR, "content-ready", {})

    assert announced.body["subject"] == event_json(announced)["subject"] == "draft-17"
    assert "subject" not in nothing.body
    assert "subject" not in rig.bus.emit(OPERATOR, "pricing-change", PRICE).body


def test_a_missing_field_prints_the_whole_corrected_command(rig: Rig) -> None:
    """A payload without required fields is refused with the command to copy, values quoted."""
    with pytest.raises(Rejected) as refused:
        rig.bus.emit(OPERATOR, "contact-made", {"note": "it's late"}, to="outreach")

    assert refused.value.fix == (
        "fleet emit contact-made email=… method=… 'note=it'\"'\"'s late' --to outreach"
    )
    assert rig.store.head("events") == 0


def test_a_wrong_value_names_its_field(rig: Rig) -> None:
    """A field of another kind is refused, and what was right is in the corrected command."""
    with pytest.raises(Rejected, match="score") as refused:
        rig.bus.emit(OPERATOR, "pricing-change", PRICE | {"score": [1]})

    assert "competitor=cursor newPrice=20" in refused.value.fix


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "\ud800", b"\xb2"])
def test_what_is_no_json_is_refused(rig: Rig, bad: object) -> None:
    """NaN, Infinity, half a surrogate pair and bytes never reach the log."""
    with pytest.raises(Rejected):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE | {"more": bad})

    assert rig.store.head("events") == 0


def test_an_unknown_type_or_agent_is_suggested(rig: Rig) -> None:
    """A mistyped type or addressee is refused with the nearest name."""
    with pytest.raises(Unknown, match="did you mean 'pricing-change'"):
        rig.bus.emit(OPERATOR, "price-change", PRICE)
    with pytest.raises(Unknown, match="did you mean 'outreach'"):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE, to="out-reach")
    with pytest.raises(Unknown, match="no event"):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE, cause="events#7")
    for cause in ("strategy#7", "events#", "#7", f"events#{'1' * 26}", "events"):
        with pytest.raises(Usage, match="events#97"):
            rig.bus.emit(OPERATOR, "pricing-change", PRICE, cause=cause)


def test_a_type_may_name_its_addressee(rig: Rig) -> None:
    """`x-to` addresses the event to the agent in its field, which must be one."""
    task: dict[str, object] = {"taskId": "1", "assignedTo": "outreach", "title": "t"}

    record = rig.bus.emit(OPERATOR, "task-created", task)
    assert record.body["to_agent"] == "outreach"
    assert rig.shown("outreach") == [record.seq]

    with pytest.raises(Rejected, match="no agent"):
        rig.bus.emit(OPERATOR, "task-created", task | {"assignedTo": "nobody"})
    with pytest.raises(Rejected, match="leave out --to"):
        rig.bus.emit(OPERATOR, "task-created", task, to="competitor-watch")


def test_the_same_id_is_one_event_for_ever(rig: Rig) -> None:
    """A repeated key gives the first record, also at once from many; another payload is refused."""
    with ThreadPoolExecutor(8) as pool:
        records = list(
            pool.map(lambda _: rig.bus.emit(OPERATOR, "pricing-change", PRICE, key="k"), range(16))
        )
    assert {record.seq for record in records} == {1}
    assert rig.store.head("events") == 1

    with pytest.raises(Rejected):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE | {"newPrice": "21"}, key="k")
    with pytest.raises(Rejected):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE, key="k", to="outreach")
    with pytest.raises(Rejected):
        rig.bus.emit(in_run("outreach"), "pricing-change", PRICE, key="k")


def test_a_repeated_event_may_have_another_cause(rig: Rig) -> None:
    """A retry from the next run, with its own run and hops, is still the same event."""
    first = rig.bus.emit(in_run("outreach", "r1"), "pricing-change", PRICE, key="k")
    again = rig.bus.emit(in_run("outreach", "r2", hops=3), "pricing-change", PRICE, key="k")

    assert again.seq == first.seq


def test_a_chain_of_wakes_ends(rig: Rig) -> None:
    """Agents that wake each other stop at limits.hops, whoever takes part, with one alert."""
    bus = rig.opened(limited(hops=3))
    record = bus.emit(OPERATOR, "pricing-change", PRICE)
    hops = [record.body["hops"]]
    names = ["outreach", "reply-handler", "competitor-watch"]
    for name in names:
        author = in_run(name, hops=int(str(record.body["hops"])), cause=record.ref)
        record = bus.emit(author, "pricing-change", PRICE)
        hops.append(record.body["hops"])
    assert hops == [0, 1, 2, 3]
    assert record.body["cause"] == "events#3"

    last = in_run("outreach", hops=3, cause=record.ref)
    for _ in range(2):
        with pytest.raises(TryAgain, match="loop limit"):
            bus.emit(last, "pricing-change", PRICE)
    assert [alert.body["kind"] for alert in rig.store.read("alerts", 0, 9).records] == ["loop"]

    bus.emit(OPERATOR, "pricing-change", PRICE)
    bus.emit(in_run("outreach", "r2"), "pricing-change", PRICE)


def test_an_old_cause_does_not_shorten_a_chain(rig: Rig) -> None:
    """Naming an early event as the cause does not reset the hops of the run's own wake."""
    bus = rig.opened(limited(hops=3))
    bus.emit(OPERATOR, "pricing-change", PRICE)

    with pytest.raises(TryAgain):
        bus.emit(in_run("outreach", hops=3), "pricing-change", PRICE, cause="events#1")


def test_a_run_emits_so_many_events(rig: Rig) -> None:
    """A run stops at limits.events_per_run; other runs and people go on."""
    bus = rig.opened(limited(events_per_run=5))
    for _ in range(5):
        bus.emit(in_run("outreach"), "pricing-change", PRICE)

    with pytest.raises(TryAgain, match="events_per_run"):
        bus.emit(in_run("outreach"), "pricing-change", PRICE)
    bus.emit(in_run("outreach", "r2"), "pricing-change", PRICE)
    bus.emit(OPERATOR, "pricing-change", PRICE)


def test_a_retry_at_the_limit_is_answered(rig: Rig) -> None:
    """The last event that a limit let in gives its record again when it is repeated."""
    bus = rig.opened(limited(events_per_run=1, hops=1))
    author = in_run("outreach")
    first = bus.emit(author, "pricing-change", PRICE, key="k")

    assert bus.emit(author, "pricing-change", PRICE, key="k").seq == first.seq
    with pytest.raises(TryAgain):
        bus.emit(author, "pricing-change", PRICE, key="another")


def test_the_count_of_a_run_survives_a_lost_cache(rig: Rig) -> None:
    """Deleting the caches opens no limit."""
    bus = rig.opened(limited(events_per_run=2))
    for _ in range(2):
        bus.emit(in_run("outreach"), "pricing-change", PRICE)
    rig.cache._saved.clear()

    with pytest.raises(TryAgain):
        bus.emit(in_run("outreach"), "pricing-change", PRICE)


def test_a_type_that_claims_is_guarded(rig: Rig) -> None:
    """`x-claim` emits under the guard it is given, and a lost claim names the holder."""
    asked: list[str] = []

    def permit(author: Any, key: str) -> NotHeldByOther | HeldBy:
        asked.append(key)
        return NotHeldByOther(key, author.name)

    config = CONFIG._replace(root=rig.root)
    bus = Bus(rig.store, rig.cache, config, Registry(rig.root, rig.cache), rig.cursors, permit)
    lead: dict[str, object] = {"email": "a@b", "method": "email"}
    bus.emit(in_run("outreach"), "contact-made", lead)
    assert asked == ["lead:a@b"]

    now = rig.store.now()
    claim: dict[str, object] = {
        "key": "lead:a@b",
        "holder": "reply-handler",
        "token": 1,
        "boot": now.boot,
        "until_uptime": now.uptime + 60,
        "until_wall": now.wall + 60,
    }
    rig.store.put("claims/lead:a@b", claim, expect=0)
    with pytest.raises(Held) as held:
        bus.emit(in_run("outreach"), "contact-made", lead)
    assert (held.value.key, held.value.holder) == ("lead:a@b", "reply-handler")
    assert held.value.until
    assert rig.store.head("events") == 1

    with pytest.raises(Held):
        rig.bus.emit(in_run("outreach"), "contact-made", lead)
    rig.bus.emit(in_run("reply-handler"), "contact-made", lead)


def test_an_event_too_large_is_refused(rig: Rig) -> None:
    """A payload over the record's limit is refused, one of 60 KB round-trips byte for byte."""
    text = ("`$(rm -rf)` \"quoted\" 'x'\n\u2028é-" * 3000)[: 40 * 1024]
    stored = rig.bus.emit(OPERATOR, "pricing-change", PRICE | {"note": text})
    assert rig.bus.get(stored.ref).body["payload"] == PRICE | {"note": text}

    with pytest.raises(Rejected, match="limit"):
        rig.bus.emit(OPERATOR, "pricing-change", PRICE | {"note": "x" * 70_000})
