"""`fleet forecast`: what the schedules will bring, as text that fits a screen or as one object."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import click

from fleet.cli.grammar import command
from fleet.cli.output import say, say_json, table
from fleet.cli.runner import AS_JSON, Days
from fleet.cli.session import Session, pass_session
from fleet.units import counted, format_duration

Json = Mapping[str, object]
AGENTS = 15  # that are shown, the dearest first
LINES = 8  # of advice
CROWDS = 3


@command("forecast", examples=["fleet forecast --days 7", "fleet forecast --simulate --json"])
@click.option(
    "--days",
    type=Days(min=0, min_open=True, max=92),
    default=7.0,
    help="So far ahead (7).",
)
@click.option("--simulate", is_flag=True, help="Play it: the runner's own decisions, no run.")
@click.option("--seed", type=int, default=1, help="Of the play (1): the same plays the same.")
@AS_JSON
@pass_session
def forecast_command(
    session: Session, *, days: float, simulate: bool, seed: int, as_json: bool
) -> None:
    """Wakes, dollars and crowds to come, by what was; as if nothing were paused."""
    from fleet.runner.situation import moment
    from fleet.simulator.report import report

    fleet = session.fleet.looking()
    said = report(fleet, moment(fleet), days, seed=seed if simulate else None)
    if as_json:
        say_json(said)
        return
    for line in _lines(said):
        say(line)


def _lines(said: Json) -> Iterator[str]:
    yield from _head(said)
    agents = sorted(_list(said["agents"]), key=lambda one: -_number(one["cost"]))
    if agents:
        heads = ["agent", "slots", "runs", "wakes", "each", "cost", "idle"]
        yield from table([heads, *(_row(one) for one in agents[:AGENTS])])
    if len(agents) > AGENTS:
        yield f"and {len(agents) - AGENTS} more: --json has all"
    yield from _days(said)
    crowds = sorted(_list(said["collisions"]), key=lambda one: -_number(one["waits"]))
    for crowd in crowds[:CROWDS]:
        names = cast("list[str]", crowd["agents"])
        at = str(crowd["at"])[:16].replace("T", " ")
        yield f"together: {at} {len(names)} agents, the last waits {_span(crowd['waits'])}"
    if len(crowds) > CROWDS:
        yield f"together: {counted(len(crowds) - CROWDS, 'more time')}"
    if played := cast("Json | None", said["simulated"]):
        yield from _played(played)
    advice = cast("list[str]", said["advice"])
    yield from (f"- {line}" for line in advice[:LINES])
    if len(advice) > LINES:
        yield f"- and {len(advice) - LINES} more: --json has all"


def _head(said: Json) -> Iterator[str]:
    slots, runs = said["slots"], round(_number(said["runs"]))
    unit = "day" if said["days"] == 1 else "days"
    begin = str(said["from"])[:16].replace("T", " ")
    yield (
        f"{said['days']:g} {unit} from {begin} ({said['timezone']}): {slots} slots, "
        f"about {counted(runs, 'run')}, about ${_number(said['cost']):.2f}"
    )
    if said["history_days"]:
        known = f"{_number(said['history_days']):.0f}"
        yield f"by what was on record of the last {counted(int(known), 'day')}"
    else:
        yield "nothing is on record yet: runs take 3m and cost what they are reserved"
    yield from (f"not counted: {line}" for line in cast("list[str]", said["held"])[:CROWDS])


def _row(one: Json) -> Sequence[object]:
    seen = cast("int", one["seen_runs"])
    each = f"${_number(one['cost_each']):.2f}" + ("" if one["cost_known"] else " reserved")
    return [
        one["id"],
        one["slots"],
        f"{_number(one['runs']):.0f}",
        f"{_number(one['wakes']):.0f}",
        each,
        f"${_number(one['cost']):.2f}",
        f"{one['idle_runs']} of {seen}" if seen else "-",
    ]


def _days(said: Json) -> Iterator[str]:
    days = _list(said["by_day"])
    costs = [_number(day["cost"]) for day in days]
    if not costs:
        return
    most = said["budget"]
    of = f" of ${_number(most):.2f}" if most is not None else ""
    yield f"a day: ${min(costs):.2f} to ${max(costs):.2f}{of}"


def _played(played: Json) -> Iterator[str]:
    yield (
        f"played with seed {played['seed']}: {counted(cast('int', played['started']), 'run')} "
        f"started, {played['wakes']} of them by events, at most {played['busiest']} at once"
    )
    costs = [_number(day["cost"]) for day in _list(played["days"])]
    if costs:
        yield f"played, a day: ${min(costs):.2f} to ${max(costs):.2f}"
    if longest := cast("Json | None", played["longest_wait"]):
        at = str(longest["due"])[:16].replace("T", " ")
        yield (
            f"{counted(cast('int', played['waited']), 'slot')} waited for a place, longest "
            f"{longest['agent']}, due {at}: {_span(longest['seconds'])}"
        )
    for one in _list(played["agents"]):
        reasons = {
            **cast("dict[str, int]", one["not_started"]), **cast("dict[str, int]", one["deferred"])
        }  # fmt: skip
        if reasons:
            said = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
            yield f"{one['id']}: {one['started']} started, {said}"


def _span(seconds: object) -> str:
    return format_duration(round(_number(seconds)))


def _list(value: object) -> list[Json]:
    return cast("list[Json]", value)


def _number(value: object) -> float:
    return float(cast("float", value))
