"""What to do about the due slots of one agent: a pure function, no clock, no store, no process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

START = "start"
LATE = timedelta(
    seconds=60
)  # a slot noticed later than this was missed by nobody's watch: catch-up


@dataclass(frozen=True, slots=True)
class Slot:
    """One due instant of one agent.

    Attributes:
        name: its instant in UTC, the name under which it is taken and recorded.
        due: the instant with jitter.
        noticed: when a runner first saw that it was due.
        attempt: 1, or more for a retry.
        run: the id of the run that took it; "" while nobody has.
    """

    name: str
    due: datetime
    noticed: datetime
    attempt: int = 1
    run: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known about one agent at the moment of the decision.

    `paused`, `halted` are "" or the line that says who, when and why; `low_disk` says how low.
    """

    stopping: bool = False
    halted: str = ""
    paused: str = ""
    low_disk: str = ""
    running: str = ""  # the id of the agent's live run
    runs_today: int = 0
    max_runs_per_day: int | None = None
    catch_up: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a slot: `START`, or a reason of the outcome table; `detail` is for people.

    `caught_up`: it stands for slots that came due while nobody was watching.
    """

    slot: Slot
    result: str
    detail: str = ""
    caught_up: bool = False


def decide(slots: Sequence[Slot], situation: Situation) -> list[Decision]:
    """Settle every slot in `slots` (oldest first, none taken yet) but at most the newest.

    Older slots are coalesced into the newest, so after any stall an agent runs once. Returns one
    decision a slot, in order; `START` still needs a place under the concurrency cap.
    """
    if not slots:
        return []
    refusal = _refusal(situation)
    if refusal:
        return [Decision(slot, *refusal) for slot in slots]
    newest = slots[-1]
    older = [Decision(slot, "coalesced", f"into {newest.name}") for slot in slots[:-1]]
    caught_up = any(slot.noticed - slot.due > LATE for slot in slots)
    return [*older, _newest(newest, situation, caught_up=caught_up)]


def _refusal(situation: Situation) -> tuple[str, str] | None:
    if situation.stopping:
        return "stopping", "the runner was told to stop"
    if situation.halted:
        return "halted", situation.halted
    if situation.paused:
        return "paused", situation.paused
    if situation.low_disk:
        return "low_disk", situation.low_disk
    return None


def _newest(slot: Slot, situation: Situation, *, caught_up: bool) -> Decision:
    late = slot.noticed - slot.due
    # Who watches is a little late too: without that, `catch_up: 0s` would never run.
    if late > max(situation.catch_up, LATE):
        return Decision(slot, "missed", f"nobody was watching; noticed {late} late")
    if situation.running:
        return Decision(slot, "skipped_overlap", f"run {situation.running} was still going")
    cap = situation.max_runs_per_day
    if cap is not None and situation.runs_today >= cap:
        return Decision(slot, "daily_runs", f"{situation.runs_today} of {cap} runs today")
    return Decision(slot, START, caught_up=caught_up)


def summed(agent: str, refused: Sequence[Decision]) -> Iterator[str]:
    """One line for each reason, however many slots share it."""
    for result in dict.fromkeys(decision.result for decision in refused):
        some = [decision for decision in refused if decision.result == result]
        count = f" {len(some)} slots" if len(some) > 1 else ""
        yield f"{agent} not started{count} ({result}): {some[-1].detail}"
