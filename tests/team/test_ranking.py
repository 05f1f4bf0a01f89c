"""Who fits what is asked for: by words, weaknesses against it, the same answer each time."""

from pathlib import Path

import pytest

from fleet.config.model import Agent, HomeConfig, Schedule
from fleet.identity import SYSTEM
from fleet.places import Places
from fleet.records import Body, rfc3339
from fleet.runs import Runs, Verdict
from fleet.stores.ram import RamCache, RamStore
from fleet.team import Match, look, ranked, when
from fleet.team.words import words_of
from people import in_run


def an_agent(name: str, description: str, *schedule: Schedule, **more: object) -> Agent:
    """An agent that is for something."""
    plain = Agent(name, "", description, "", Path("/nowhere"), schedule=schedule)
    return plain._replace(**more)


AGENTS = [
    an_agent("outreach", "Writes first-touch e-mails to qualified leads"),
    an_agent("watch", "Watches prices of competitors", Schedule(cron="0 7 * * MON")),
    an_agent("answers", "Classifies and answers replies", formerly=("reply-handler",)),
    an_agent("idle", "Does something else"),
]
CONFIG = HomeConfig(Path("/nowhere"), "1", agents={one.id: one for one in AGENTS})
KEPT: dict[str, Body] = {
    "outreach": {
        "strengths": [{"id": "S1", "text": "Pricing pages"}, {"id": "S4", "text": "Founders"}],
        "weaknesses": [{"id": "W2", "text": "Replies that are angry"}],
        "lessons": [{"id": "L3", "text": "competitors secret lesson"}],
    },
}


class Memories:
    """What the agents keep."""

    def state(self, agent: str) -> Body:
        """Of one of them."""
        return KEPT.get(agent, {})


class Team:
    """The agents over the memory store."""

    def __init__(self) -> None:
        self.store = RamStore()
        self.runs = Runs(self.store, RamCache(), Places(Path("/nowhere")), CONFIG.names_of)

    def run(self, agent: str, run: str, report: str, outcome: str | None = "ok") -> None:
        """A run that reported; it goes on when it has no outcome."""
        self.runs.start(SYSTEM, agent, run, slot=f"hand:{run}")
        if report:
            self.runs.report(in_run(agent, run), report)
        if outcome:
            self.runs.finish(agent, run, Verdict(outcome), ended=rfc3339(1e9))

    def ranked(self, text: str) -> list[Match]:
        """All of them for a text."""
        mates = [look(CONFIG, self.runs, Memories(), name) for name in CONFIG.agents]
        return ranked(mates, text)

    def points(self, text: str) -> dict[str, int]:
        """The points that are not 0, the best first."""
        return {one.mate.agent.id: one.score for one in self.ranked(text) if one.score}


@pytest.fixture
def team() -> Team:
    """Nothing has run yet."""
    return Team()


def test_strengths_count_more_than_what_an_agent_is_for(team: Team) -> None:
    """3 points for a word among the strengths, 2 for one in name or description; endings aside."""
    assert team.points("the price of a competitor") == {"watch": 4, "outreach": 3}
    assert team.points("PRICING founder") == {"outreach": 6, "watch": 2}
    assert team.points("outreach e-mail") == {"outreach": 4}
    assert team.points("reply to founders") == {"answers": 2, "outreach": 1}


def test_weaknesses_count_against_it_and_are_told(team: Team) -> None:
    """A word that a weakness names takes 2 points, and the match says which words those are."""
    first, last = team.ranked("angry replies")[0], team.ranked("angry replies")[-1]

    assert (first.mate.agent.id, first.score, first.words, first.against) == (
        "answers", 2, ("replies",), (),
    )  # fmt: skip
    assert (last.mate.agent.id, last.score, last.words, last.against) == (
        "outreach", -4, (), ("angry", "replies"),
    )  # fmt: skip


def test_reports_and_schedules_count_a_little(team: Team) -> None:
    """One point for a word of the newest report, one for a word of the schedule."""
    team.run("idle", "r1", "rebuilt the onboarding funnel")

    assert team.points("onboarding funnel on monday") == {"idle": 2, "watch": 1}
    assert team.points("weekly") == {"watch": 1}


def test_nothing_else_of_a_memory_is_looked_at(team: Team) -> None:
    """Lessons, plans and goals are the agent's own: no word of them counts or is told."""
    [found] = [one for one in team.ranked("secret lesson") if one.mate.agent.id == "outreach"]

    assert found.score == 0
    assert "secret" not in str(found.mate)


def test_equal_ones_keep_their_order(team: Team) -> None:
    """The same texts give the same order each time, also without any match."""
    assert [one.mate.agent.id for one in team.ranked("xyzzy")] == list(CONFIG.agents)
    assert team.ranked("price replies") == team.ranked("replies price price")


def test_what_it_does_is_its_newest_run(team: Team) -> None:
    """An open run is told with its report, or with that of the run before; an older name counts."""
    team.run("reply-handler", "r1", "answered 4")
    [answers] = [one.mate for one in team.ranked("") if one.mate.agent.id == "answers"]
    assert (answers.report, answers.run and answers.run.outcome) == ("answered 4", "ok")

    team.run("answers", "r2", "", outcome=None)
    [answers] = [one.mate for one in team.ranked("") if one.mate.agent.id == "answers"]
    assert answers.run is not None
    assert (answers.run.open, answers.report) == (True, "answered 4")

    team.runs.report(in_run("answers", "r2"), "answering 5 more")
    [answers] = [one.mate for one in team.ranked("") if one.mate.agent.id == "answers"]
    assert answers.report == "answering 5 more"


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (Schedule(cron="0 */2 * * *"), ("hourly",)),
        (Schedule(cron="0 7 * * *"), ("daily",)),
        (Schedule(cron="0 7 1 * *"), ("monthly",)),
        (Schedule(cron="0 7 * * 7"), ("weekly", "sunday")),
        (Schedule(cron="0 7 * * TUE,THU"), ("weekly", "tuesday", "thursday")),
        (Schedule(cron="0 7 * * 5-7"), ("weekly", "sunday", "friday", "saturday")),
        (Schedule(cron="0 7 * * */2"), ("daily",)),
        (Schedule(every=3600.0), ("hourly",)),
        (Schedule(every=86400.0), ("daily",)),
        (Schedule(every=7 * 86400.0), ("weekly",)),
    ],
)
def test_a_schedule_has_words(schedule: Schedule, said: tuple[str, ...]) -> None:
    """How often, and the days of the week that it names."""
    assert when([schedule]) == said
    assert when([]) == ()


def test_words_that_say_nothing_do_not_count() -> None:
    """Short words and those of every sentence are left out; the shown word is the typed one."""
    assert words_of("Who can do it? I need the prices of our pricing") == {"pric": "prices"}
    assert words_of("") == words_of("?!") == {}
