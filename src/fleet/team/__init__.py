"""Who is there, what each agent is good and bad at, and what it does; ranked by words that match.

It reads what collaborators may know of each other and nothing else of a memory. A rank says where
to look first; it is no promise that the agent can do it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from fleet.config.model import Agent, HomeConfig, Schedule
from fleet.records import Body
from fleet.runs import Run, Runs
from fleet.schedules import weekdays
from fleet.team.words import shared, words_of

STRENGTH, DESCRIPTION, REPORT, SCHEDULE, WEAKNESS = 3, 2, 1, 1, -2  # points of one word in each


class Memories(Protocol):
    """Where strengths and weaknesses stand."""

    def state(self, agent: str) -> Body:
        """The memory of `agent`: `strengths` and `weaknesses` are items with `id` and `text`."""
        ...


class Trait(NamedTuple):
    """A strength or weakness as the agent wrote it, and its reference (`outreach/S5`)."""

    ref: str
    text: str


class Mate(NamedTuple):
    """One agent as the others see it.

    Attributes:
        agent: its file.
        strengths: newest first.
        weaknesses: newest first.
        run: its newest run with what it reported; of an open one that has said nothing yet the
            report of the run before stands in `before`. None: it has not run.
        before: its newest run that has ended, None without one.
    """

    agent: Agent
    strengths: tuple[Trait, ...]
    weaknesses: tuple[Trait, ...]
    run: Run | None
    before: Run | None

    @property
    def report(self) -> str:
        """What it said last about a run, "" for nothing."""
        return next((run.report for run in (self.run, self.before) if run and run.report), "")


class Match(NamedTuple):
    """How far an agent fits what was asked for.

    Attributes:
        mate: the agent.
        score: points, see the constants above; 0 or less is no recommendation.
        words: those that were found in its favour, sorted.
        against: those that its weaknesses name, sorted.
    """

    mate: Mate
    score: int
    words: tuple[str, ...]
    against: tuple[str, ...]


def look(config: HomeConfig, runs: Runs, memories: Memories, agent: str) -> Mate:
    """What others may know of one agent of the home."""
    kept = memories.state(agent)
    last = runs.last(agent)
    return Mate(
        agent=config.agents[agent],
        strengths=_traits(agent, kept.get("strengths")),
        weaknesses=_traits(agent, kept.get("weaknesses")),
        run=_discreet(last),
        before=_discreet(runs.last_ended(agent)),
    )


def _traits(agent: str, items: object) -> tuple[Trait, ...]:
    listed = items if isinstance(items, list) else []
    return tuple(Trait(f"{agent}/{item['id']}", str(item["text"])) for item in reversed(listed))


# Runs --------------------------------------------------------------------------------------------


def newest(runs: Runs, agent: str) -> Run | None:
    """Its newest run: what it reported while it runs counts, else how the last one ended."""
    last = runs.last(agent)
    if last is not None and last.open and not last.report:
        last = runs.last_ended(agent) or last
    return _discreet(last)


def _discreet(run: Run | None) -> Run | None:
    """What a shadow run says is between it and the operator."""
    return replace(run, report="") if run and run.shadow else run


# Ranking -----------------------------------------------------------------------------------------


def ranked(mates: Iterable[Mate], text: str) -> list[Match]:
    """All of `mates`, those whose words fit `text` best first; equal ones in their order.

    A word counts once for each place where it stands, wherever it stands there.
    """
    wanted = words_of(text)
    return sorted((_match(mate, wanted) for mate in mates), key=lambda match: -match.score)


def _match(mate: Mate, wanted: Mapping[str, str]) -> Match:
    found = {
        STRENGTH: shared(wanted, (trait.text for trait in mate.strengths)),
        DESCRIPTION: shared(wanted, (mate.agent.id, mate.agent.description)),
    }
    said = [shared(wanted, [mate.report]), shared(wanted, when(mate.agent.schedule))]
    against = shared(wanted, (trait.text for trait in mate.weaknesses))
    score = sum(points * len(words) for points, words in found.items())
    score += REPORT * len(said[0]) + SCHEDULE * len(said[1]) + WEAKNESS * len(against)
    words = frozenset[str]().union(*found.values(), *said)
    return Match(mate, score, tuple(sorted(words)), tuple(sorted(against)))


_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY, _WORKING_DAYS = 86400, 5  # seconds; days a week that make it daily


def when(schedule: Sequence[Schedule]) -> tuple[str, ...]:
    """Words for a schedule: hourly, daily, weekly, monthly, and days of the week that it names."""
    return tuple(word for entry in schedule for word in _when(entry))


def _when(entry: Schedule) -> list[str]:
    if entry.every is not None:
        return ["hourly" if entry.every < _DAY else "daily" if entry.every < 7 * _DAY else "weekly"]
    _, hour, day, _, _ = str(entry.cron).split()
    if day != "*":
        return ["monthly"]
    days = weekdays(str(entry.cron))
    often = "weekly" if 0 < len(days) < _WORKING_DAYS else "hourly" if "*" in hour else "daily"
    return [often, *(_DAYS[day] for day in sorted(days))]
