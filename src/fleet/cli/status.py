"""The lines of `fleet status`: a picture of what `status` computed, with no number of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from fleet.cli.output import local, table
from fleet.units import counted

if TYPE_CHECKING:
    from datetime import tzinfo

Json = Mapping[str, object]
ALERTS = 20  # newest open ones that are shown


def lines(state: Json, zone: "tzinfo") -> Iterator[str]:
    """The whole status, one line after another, times in `zone`."""
    runner = cast("Json", state["runner"])
    alive = f"runner {runner['pid']} since {_at(runner['since'], zone)}" if runner["alive"] else ""
    yield f"{state['health']} · {alive or 'no runner'} · times in {zone}"
    if there := cast("Json | None", state["copy_of"]):
        place = f"{there['path']} on {there['host']}"
        yield f"this home is a copy: its agents run in {place}; fleet up --take-over runs them here"
    agents = _list(state["agents"])
    if agents:
        heads = ["agent", "state", "last", "ended", "next due", "lag", "cost today", "claims"]
        yield from table([heads, *(_row(agent, zone) for agent in agents)])
    yield _money(cast("Json", state["money"]))
    for agent in agents:
        if slot := cast("Json | None", agent["not_started"]):
            name = str(slot["slot"])
            at = _at(name, zone) if name[:1].isdigit() else name.partition(":")[0]
            word = "waits" if slot["waits"] else "not started"
            yield f"{word}: {agent['id']} {at} {slot['result']}: {slot['detail']}"
    for account in _list(state["accounts"]):
        until = f" until {_at(account['until'], zone)}" if account["until"] else ""
        whom = ", ".join(cast("list[str]", account["agents"]))
        yield f"account {account['name']} ({whom}): {account['state']}{until}: {account['why']}"
    for run in _list(state["running"]):
        yield f"running: {run.get('agent')} {run.get('id')} since {_at(run.get('started'), zone)}"
    for log, count in cast("Mapping[str, int]", state["damaged"]).items():
        yield f"damaged: {count} of the lines of {log} cannot be read: fleet verify names them"
    for text in cast("list[str]", state["unreadable"]):
        yield f"damaged: {text}"
    for odd in _list(state["anomalies"]):
        yield f"unusual: {odd['agent']}: {odd['what']}"
    yield from _alerts(_list(state["alerts"]))


def _alerts(told: list[Json]) -> Iterator[str]:
    """The newest ones, each with what to do; what is left out is counted."""
    if len(told) > ALERTS:
        yield f"alerts: {len(told) - ALERTS} older ones are open: fleet alerts lists them"
    for alert in told[-ALERTS:]:
        often = f" ({alert['count']} times)" if alert["count"] != 1 else ""
        yield f"alert: {alert['ref']} {alert['what']}{often}: {alert['fix']}"
    if told:
        yield f"seen to it? fleet alerts ack {told[-1]['ref']}, or ack all"


def _row(agent: Json, zone: "tzinfo") -> Sequence[object]:
    return [
        agent["id"],
        agent["state"],
        agent["last_outcome"] or "-",
        _at(agent["last_ended"], zone),
        _at(agent["next_due"], zone),
        agent["lag"],
        _of(agent["cost_today"], agent["budget_today"]),
        len(cast("list[object]", agent["claims"])),
    ]


def _money(money: Json) -> str:
    """`today $1.20 of $25.00, of it $0.50 reserved for 1 run of unknown cost, 41200 tokens`."""
    parts = [f"today {_of(money['cost_today'], money['budget'])}"]
    if unknown := cast("int", money["unknown"]):
        runs = f"{counted(unknown, 'run')} of unknown cost"
        assumed = f"of it {_of(money['assumed'])} reserved for " if money["assumed"] else ""
        parts.append(f"{assumed}{runs}")
    if money["reserved"]:
        parts.append(f"{_of(money['reserved'])} reserved for runs that go on")
    if money["tokens_today"] or money["token_budget"]:
        bound = f" of {money['token_budget']}" if money["token_budget"] is not None else ""
        parts.append(f"{money['tokens_today']}{bound} tokens")
    return ", ".join(parts)


def _of(dollars: object, budget: object = None) -> str:
    bound = f" of ${budget:.2f}" if isinstance(budget, (int, float)) else ""
    return f"${dollars:.2f}{bound}"


def _at(instant: object, zone: "tzinfo") -> str:
    return local(str(instant), zone) if instant else "-"


def _list(value: object) -> list[Json]:
    return cast("list[Json]", value)
