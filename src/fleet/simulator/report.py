"""A forecast as one JSON object: what `fleet forecast` prints, with a play of it or without."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from fleet.controls import FLEET
from fleet.records import Body
from fleet.simulator.advice import advice
from fleet.simulator.forecast import Forecast, forecast
from fleet.simulator.queue import Collision
from fleet.simulator.rehearsal import Rehearsal
from fleet.wiring import Fleet


def report(fleet: Fleet, now: datetime, days: float, *, seed: int | None) -> Body:
    """The forecast from `now`, aware, for `days`; with a `seed` it is played too."""
    known = forecast(fleet, now, days)
    played = None if seed is None else Rehearsal(fleet, known, seed)
    zone = ZoneInfo(fleet.config.timezone)
    return {
        "from": now.astimezone(zone).isoformat(timespec="seconds"),
        "until": (now + timedelta(days=days)).astimezone(zone).isoformat(timespec="seconds"),
        "days": days,
        "timezone": fleet.config.timezone,
        "history_days": round(known.history, 1),
        "held": list(_held(fleet)),
        "slots": sum(one.slots for one in known.agents),
        "runs": round(sum(one.runs for one in known.agents), 1),
        "cost": round(sum(one.cost for one in known.agents), 2),
        "budget": fleet.config.budget.per_day,
        "places": fleet.config.concurrency,
        "agents": [one.as_json() for one in known.agents],
        "by_day": [_day(known, day) for day in known.costs],
        "collisions": [_crowd(one, zone) for one in known.crowds],
        "advice": advice(known),
        "simulated": played.as_json() if played else None,
    }


def _held(fleet: Fleet) -> Iterator[str]:
    """What holds agents back now, which the forecast leaves out."""
    if fleet.config.paused:
        yield "fleet.yaml says paused: true"
    seen = {""}  # what holds everybody is said once
    for scope in (FLEET, *fleet.config.agents):
        control = fleet.controls.of(scope)
        for word, said in (("halted", control.halted), ("paused", control.paused)):
            if said not in seen:
                yield f"{scope} is {word} {said}"
            if scope == FLEET:
                seen.add(said)
    for account in fleet.accounts.names(fleet.config):
        if line := fleet.accounts.of(account).line(fleet.config.timezone):
            yield f"account {account} is {line}"


def _day(known: Forecast, day: date) -> Body:
    runs = round(known.runs[day], 1)
    return {"date": day.isoformat(), "runs": runs, "cost": round(known.cost_of(day), 2)}


def _crowd(one: Collision, zone: ZoneInfo) -> Body:
    at = one.at.astimezone(zone).isoformat(timespec="seconds")
    return {"at": at, "agents": list(one.agents), "waits": round(one.waits)}
