"""What results have cost, along the causes of events."""

import json
from pathlib import Path

import jsonschema
import pytest

from ends import Ends
from fakeclaude import claude_agent, fake_claude
from fleet.audit.recap import Cost, Recap, recap
from fleet.records import Record, rfc3339
from fleet.runs import Verdict
from fleets import Scripted
from people import OPERATOR, in_run
from retracting import take_back

DAY = 86_400.0
DOCS = Path(__file__).parents[2] / "docs"


class Work(Ends):
    """Runs that cost something and emit something, over the memory store."""

    def cost(self, agent: str, cost: float | None) -> str:
        """A run that has ended."""
        run = self.begin(agent)
        ended = rfc3339(self.clock.wall)
        self.fleet.runs.finish(agent, run, Verdict("ok", cost_usd=cost), ended=ended)
        self.clock.advance(1)
        return run

    def emit(self, agent: str, run: str, kind: str, cause: Record | None = None) -> Record:
        """An event of that run."""
        author = in_run(agent, run) if agent else OPERATOR
        return self.fleet.bus.emit(author, kind, {"n": "1"}, cause=cause.ref if cause else None)

    def recap(self, kind: str = "won", *, days: float = 7.0) -> Recap:
        """The last days."""
        return recap(self.fleet, kind, self.clock.wall - days * DAY)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A home with the types `note` and `won`."""
    home = Scripted(tmp_path / "home")
    home.put("schemas/won.json", (home.root / "schemas/note.json").read_text())
    for name in ("finder", "writer", "closer"):
        home.agent(name, "true")
    return Work(home)


def test_a_result_costs_all_runs_along_its_causes(work: Work) -> None:
    """The run that emitted it and those of its causes count once each, whatever else they did."""
    found = work.cost("finder", 1.0)
    lead = work.emit("finder", found, "note")
    more = work.emit("finder", found, "note", lead)
    mail = work.emit("writer", work.cost("writer", 0.5), "note", more)
    won = work.emit("closer", work.cost("closer", 0.25), "won", mail)
    work.cost("closer", 8.0)

    said = work.recap()

    assert said.led == Cost(1.75, 3)
    assert list(said.agents.items()) == [
        ("finder", Cost(1.0, 1)), ("writer", Cost(0.5, 1)), ("closer", Cost(0.25, 1)),
    ]  # fmt: skip
    assert said.idle == Cost(8.0, 1)
    assert [(one.ref, one.share, len(one.runs)) for one in said.results] == [(won.ref, 1.75, 3)]


def test_a_run_is_shared_among_its_results_and_counted_once(work: Work) -> None:
    """Three results of one search, one with a run of its own: the parts add up to the whole."""
    found = work.cost("finder", 0.9)
    lead = work.emit("finder", found, "note")
    for _ in range(2):
        work.emit("finder", found, "won", lead)
    work.emit("closer", work.cost("closer", 0.5), "won", lead)

    said = work.recap()

    assert [one.share for one in said.results] == pytest.approx([0.3, 0.3, 0.8])
    assert said.led == Cost(1.4, 2)
    assert said.each == pytest.approx(1.4 / 3)
    assert said.idle == Cost()


def test_what_is_unknown_is_counted_not_guessed(work: Work) -> None:
    """A run that does not say its cost, and one that goes on, are told by number."""
    lead = work.emit("finder", work.cost("finder", None), "note")
    work.emit("closer", work.begin("closer"), "won", lead)
    work.emit("closer", work.cost("closer", 0.5), "won", lead)
    work.cost("writer", None)

    said = work.recap()

    assert said.led == Cost(0.5, 3, unknown=2)
    assert said.idle == Cost(0.0, 1, unknown=1)


def test_a_person_and_what_was_taken_back(work: Work) -> None:
    """A person's result costs what led to it; a retracted one is none, its run led to nothing."""
    lead = work.emit("finder", work.cost("finder", 1.0), "note")
    work.emit("", "", "won", lead)
    wrong = work.emit("closer", work.cost("closer", 0.5), "won", lead)
    take_back(work.fleet.store, work.fleet.cache, wrong)

    said = work.recap()

    assert (len(said.results), said.led, said.idle) == (1, Cost(1.0, 1), Cost(0.5, 1))


def test_a_cause_of_long_ago_counts_and_the_rest_of_then_does_not(work: Work) -> None:
    """The window holds results and idle runs; a run that led to a result may be older."""
    lead = work.emit("finder", work.cost("finder", 1.0), "note")
    work.emit("closer", work.cost("closer", 0.1), "won", lead)
    for _ in range(300):
        work.clock.advance(3600)
        work.cost("finder", 0.01)
    work.clock.advance(DAY)
    work.emit("closer", work.cost("closer", 0.5), "won", lead)

    said = work.recap(days=0.5)

    assert (len(said.results), said.led, said.idle) == (1, Cost(1.5, 2), Cost())


def test_it_reads_the_window_and_not_the_year(work: Work, monkeypatch) -> None:
    """What a week costs to sum up does not grow with what lies before it."""

    def reads() -> int:
        count = 0
        real = type(work.fleet.store).read

        def read(self, *args, **kept):
            nonlocal count
            found = real(self, *args, **kept)
            count += len(found.records)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(type(work.fleet.store), "read", read)
            said = work.recap()
        assert len(said.results) == 1
        return count

    def week() -> None:
        lead = work.emit("finder", work.cost("finder", 1.0), "note")
        work.emit("closer", work.cost("closer", 0.1), "won", lead)

    week()
    first = reads()
    for _ in range(40):
        work.clock.advance(8 * DAY)
        week()
    work.recap()  # brings its folds up to date

    assert reads() <= first + 60  # the bisections


def test_the_command_says_it_in_words_and_as_json(tmp_path: Path) -> None:
    """`fleet recap --per note` over real runs: counts, dollars, agents; unknown types exit 4."""
    home = Scripted(tmp_path / "home")
    fake_claude(home, "subprocess.run(['fleet', 'emit', 'note', 'n=1'], check=True)")
    claude_agent(home, "worker")
    home.agent("plain", "echo done")
    for name in ("worker", "plain", "worker"):
        assert home.call("run", name).returncode == 0

    words = home.call("recap", "--per", "note")
    told = json.loads(home.call("recap", "--per", "note", "--json").stdout)
    wrong = home.call("recap", "--per", "noted")
    bare = home.call("recap")

    assert words.stdout.splitlines()[1:] == [
        "$0.01 each: $0.02 of 2 runs led to them",
        "  worker  $0.02  2 runs",
        "$0.00 of 1 run (1 of unknown cost, not in it) led to none",
    ]
    assert words.stdout.startswith("2 results (note) since ")
    jsonschema.validate(told, json.loads((DOCS / "json" / "recap.json").read_text()))
    assert (told["results"], told["cost"], told["per_result"]) == (2, 0.02, 0.01)
    assert [one["cost"] for one in told["newest"]] == [0.01, 0.01]
    assert (wrong.returncode, bare.returncode) == (4, 2)
    assert "note" in wrong.stderr
