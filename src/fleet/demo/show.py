"""`fleet demo`: runs the staged home with the code of `fleet up`, then counts what came of it.

Every number of the summary is read back from the logs; nothing is counted while it happens.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fleet.bus.events import is_event, is_for
from fleet.demo.prompt import Better, read
from fleet.demo.stage import stage
from fleet.logs import between
from fleet.records import Record
from fleet.runner.loop import up
from fleet.runs import Run
from fleet.units import counted
from fleet.wiring import Fleet, open_fleet

SECONDS, SECONDS_FAST = 55.0, 7.0  # how long agents are woken; what then runs may end
LABEL = (
    "demo: fifteen agents played by a STAND-IN that only reads its prompt and calls `fleet`; a\n"
    "collector brings made-up numbers. No model is called and nothing is paid."
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the logs say after the demo.

    Attributes:
        outcomes: runs by outcome.
        emitted: events in the log.
        delivered: pairs of an event and an agent that was shown it by a run that succeeded.
        waiting: pairs that still wait for the agent's next run.
        lost: pairs that neither happened nor wait.
        twice: pairs that happened more than once.
        posts: messages in all channels.
        claimed: claims that were taken by agents.
        overlaps: claims that were taken while another agent held the key.
        left_alone: times a stand-in met a claim and left the thing alone.
        damaged: errors that the store's `verify` found.
        learned: what content-engine made before and after its numbers told it what is read.
    """

    outcomes: Counter[str]
    emitted: int
    delivered: int
    waiting: int
    lost: int
    twice: int
    posts: int
    claimed: int
    overlaps: int
    left_alone: int
    damaged: int
    learned: str

    @property
    def well(self) -> bool:
        """Whether nothing was lost, doubled, damaged or ended badly."""
        bad = self.lost + self.twice + self.overlaps + self.damaged
        return bad == 0 and set(self.outcomes) == {"ok"} and self.delivered > 0

    def lines(self) -> Iterator[str]:
        """The summary as it is printed."""
        runs = ", ".join(f"{count} {word}" for word, count in self.outcomes.most_common())
        yield f"runs              {self.outcomes.total()} ({runs})"
        events = f"{self.emitted} emitted, {self.delivered} deliveries, {self.waiting} waiting"
        yield f"events            {events}"
        yield f"messages          {self.posts}"
        respected = counted(self.left_alone, "time")
        claims = f"{self.claimed} taken, {respected} respected, {self.overlaps} broken"
        yield f"claims            {claims}"
        yield f"delivered twice   {self.twice}"
        yield f"records lost      {self.lost + self.damaged}"
        yield f"content-engine    {self.learned or 'saw no numbers yet'}"


def demo(*, fast: bool, echo: Callable[[str], None]) -> int:
    """Play the demo in a temporary home; returns 0, or 8 when the summary is not clean."""
    for line in LABEL.splitlines():
        echo(line)
    with TemporaryDirectory(prefix="fleet-demo-") as folder:
        root = Path(folder).resolve() / "growth"
        stage(root, fast=fast)
        seconds = SECONDS_FAST if fast else SECONDS
        end = time.monotonic() + seconds
        env = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}

        def over() -> bool:
            """In time, or on a slow machine when there is something to show."""
            now = time.monotonic()
            told = now > end and (now > end + seconds or learned(open_fleet(root, env=env)))
            return bool(told)

        up(root, env=env, echo=echo, until=over)
        summary = summarise(open_fleet(root, env=env))
    echo("")
    for line in summary.lines():
        echo(line)
    return 0 if summary.well else 8


def summarise(fleet: Fleet) -> Summary:
    """Read the summary of a home from its logs."""
    runs = [run for run in fleet.runs.list(None, 100_000) if run.outcome]
    events = [record for record in _records(fleet, "events") if is_event(record)]
    shown = Counter(
        (ref, run.agent) for run in runs if run.row and run.row.advances for ref in run.delivered
    )
    due = {
        (event.ref, agent.id)
        for event in events
        for agent in fleet.config.agents.values()
        if is_for(event, agent)
    }
    waiting = {
        (event.ref, agent)
        for agent in fleet.config.agents
        for event in fleet.bus.events(for_agent=agent, limit=len(events) + 1)
    }
    delivered = {pair for pair in due if shown[pair]}
    channels = [f"channels/{channel}" for channel in fleet.config.channels]
    taken, overlaps = _claims(fleet)
    return Summary(
        outcomes=Counter(str(run.outcome) for run in runs),
        emitted=len(events),
        delivered=len(delivered),
        waiting=len(waiting - delivered),
        lost=len(due - delivered - waiting),
        twice=sum(shown[pair] > 1 for pair in due),
        posts=sum(r.body.get("op") == "post" for name in channels for r in _records(fleet, name)),
        claimed=taken,
        overlaps=overlaps,
        left_alone=sum(_left_alone(fleet, run) for run in runs),
        damaged=sum(found.severity == "error" for found in fleet.store.verify()),
        learned=learned(fleet),
    )


def learned(fleet: Fleet) -> str:
    """`3 listicles, then 5 deep-dives after seeing …`; "" while no run was told its numbers."""
    runs = sorted(fleet.runs.list("content-engine", 1000), key=lambda run: run.started)
    told = {run.id: better for run in runs if (better := _told(fleet, run))}
    before, after = Counter[str](), Counter[str]()
    for event in _records(fleet, "events"):
        payload = event.body.get("payload")
        if event.body.get("type") == "content-ready" and isinstance(payload, dict):
            made = after if event.body.get("run") in told else before
            made[str(payload["contentType"])] += 1
    if not after:
        return ""
    seen = next(iter(told.values()))
    return (
        f"{_listed(before)}, then {_listed(after)} after seeing that"
        f" {seen.sort} had {seen.times}x the views of {seen.other}"
    )


def _told(fleet: Fleet, run: Run) -> Better | None:
    context = fleet.config.run_folder(run.id) / "context.md"
    return read(run.agent, context.read_text(encoding="utf-8")).better if context.exists() else None


def _listed(made: Counter[str]) -> str:
    return ", ".join(counted(number, form) for form, number in made.most_common()) or "nothing"


def _claims(fleet: Fleet) -> tuple[int, int]:
    """How many claims agents took, and how many of them while another one held the key."""
    holders: dict[str, str] = {}
    taken = overlaps = 0
    for record in _records(fleet, "claims-log"):
        key, holder = str(record.body.get("claim")), str(record.body.get("holder"))
        if key.startswith(("agent:", "cap:")):
            continue
        if record.body["op"] == "taken":
            taken += 1
            overlaps += holders.get(key, holder) != holder
            holders[key] = holder
        elif record.body["op"] in {"released", "completed"}:
            holders.pop(key, None)
    return taken, overlaps


def _left_alone(fleet: Fleet, run: Run) -> int:
    said = fleet.config.run_folder(run.id) / "stdout.jsonl"
    return said.read_text(encoding="utf-8").count("I leave it alone") if said.exists() else 0


def _records(fleet: Fleet, stream: str) -> Iterator[Record]:
    return between(fleet.store, stream, 0, fleet.store.head(stream))
