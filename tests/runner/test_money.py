"""Budgets at work, in one process over the memory store: reserve, refuse, tell and mend."""

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ends import Ends
from fakeclaude import claude_agent
from fleet.errors import NotStarted
from fleet.identity import SYSTEM
from fleet.ledger import Day, Reservation, Sum
from fleet.records import new_id, rfc3339
from fleet.runner import money, settle
from fleet.runner.decide import decide
from fleet.runner.situation import Asked, gather
from fleet.runner.state import Slot
from fleet.runs import Run, Verdict
from fleet.wiring import Fleet
from fleets import Scripted

DEAD = {"pid": 1, "start": 0, "boot": "another"}


class Purse(Ends):
    """A home whose runs are reserved, begun and ended by a test."""

    def __init__(self, home: Scripted) -> None:
        super().__init__(home)
        self.home = home

    def reserve(self, agent: str) -> str:
        """A run that is reserved and not on record."""
        run = new_id(self.clock.wall)
        self.clock.advance(0.001)
        money.reserve(self.fleet, self.fleet.config.agents[agent], run)
        return run

    def reserved(self, agent: str) -> str:
        """One that is alive."""
        run = self.reserve(agent)
        self.fleet.runs.start(SYSTEM, agent, run, slot=self.now.isoformat())
        return run

    def end(self, agent: str, run: str, verdict: Verdict) -> Run:
        """Its end, by somebody who was killed before anything followed from it."""
        held = self.fleet.ledger.held(run)
        ended = rfc3339(self.clock.wall)
        reserved = held.sum if held else None
        self.fleet.runs.finish(agent, run, verdict, ended=ended, reserved=reserved)
        return self.fleet.runs.find(run)

    def finish(self, agent: str, run: str, outcome: str = "ok", **said: object) -> None:
        """Its end and everything after it."""
        settle.finish(self.fleet, agent, run, Verdict(outcome, **said))  # type: ignore[arg-type]

    def spent(self, agent: str, outcome: str = "ok", **said: object) -> str:
        """A whole run."""
        run = self.reserved(agent)
        self.finish(agent, run, outcome, **said)
        return run

    @property
    def day(self) -> Day:
        """Today."""
        return self.fleet.ledger.day(self.now)

    def need(self, agent: str) -> tuple[float, int]:
        """What one more run is reserved: dollars and tokens."""
        wants = money.need(self.fleet, self.fleet.config.agents[agent])
        return wants.cost, wants.tokens

    def used(self, agent: str) -> Sum:
        """What counts against its budget today."""
        return self.fleet.spending.of(agent, self.day).total

    def refused(self, agent: str) -> str:
        """Why a run of the agent does not start."""
        with pytest.raises(NotStarted) as fault:
            self.reserve(agent)
        assert fault.value.reason == "over_budget"
        return fault.value.what


@pytest.fixture
def purse(tmp_path: Path):
    """`purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.40}")`: a home and its agents.

    An agent's line is more of its YAML; those of `commands` are shell scripts.
    """

    def make(extra: str = "", *, commands: str = "", **agents: str) -> Purse:
        home = Scripted(tmp_path / "home", extra=f"{extra}\n")
        for name, line in agents.items():
            lines = [line] if line else []
            if name in commands:
                home.agent(name, "true", *lines)
            else:
                claude_agent(home, name, *lines)
        return Purse(home)

    return make


def test_what_a_run_is_reserved(purse) -> None:
    """per_run, the smaller one; else the mean of the newest 20 known costs; else 50 cents."""
    home = purse(
        "budget: {per_day: 99}", a="budget: {per_run: 0.40}", b="", c="budget: {per_run: 2}"
    )
    costs = [9.0, *([0.1, 0.3] * 10)]
    needs = [home.need("b")]
    for cost in costs:
        home.spent("b", cost_usd=cost, tokens_in=70, tokens_out=int(cost * 100))
        home.spent("b")  # says nothing, and teaches nothing
        home.spent("b", cost_usd=0.0, tokens_in=0, tokens_out=0)
        needs.append(home.need("b"))

    assert home.need("a") == (0.4, 0)
    assert home.need("c") == (2.0, 0)
    assert needs[:3] == [(0.5, 0), (9.0, 970), ((9.0 + 0.1) / 2, 525)]
    assert needs[-1] == (pytest.approx(0.2), 90)


def test_a_command_costs_nothing_unless_a_budget_asks(purse, tmp_path: Path) -> None:
    """Of a program that never says its cost nothing is invented, until a day's budget asks."""
    free = purse("budget: {per_run: 0.40}", commands="a", a="", b="")
    for name in "ab":
        free.spent(name)

    assert (free.used("a"), free.used("b")) == (Sum(1, 0.0, 0, 1), Sum(1, 0.4, 0, 1, 0.4))

    (tmp_path / "home" / "fleet.yaml").unlink()
    asked = purse("budget: {per_run: 0.40, per_day: 1.00}", commands="a", a="")
    asked.spent("a")
    assert asked.used("a") == Sum(1, 0.4, 0, 1, assumed=0.4)


@pytest.mark.parametrize("outcome", ["config", "launch_failed", "render_failed"])
def test_what_never_reached_a_model_cost_nothing(purse, outcome) -> None:
    """A broken template or a missing program burns no budget, however often it is tried."""
    home = purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.40}")
    for _ in range(5):
        home.spent("a", outcome)
    home.spent("a", "killed")

    assert home.used("a") == home.day.total == Sum(6, 0.4, 0, 1, assumed=0.4)


@pytest.mark.parametrize(
    ("fleets", "agents", "whose"),
    [
        ("", "budget: {per_run: 0.40, per_day: 1.00}", "a"),
        ("budget: {per_day: 1.00}", "budget: {per_run: 0.40}", "the fleet"),
        ("", "budget: {tokens_per_day: 100}", "a"),
        ("budget: {tokens_per_day: 100}", "", "the fleet"),
    ],
)
def test_each_budget_refuses_and_the_decision_says_the_same(purse, fleets, agents, whose) -> None:
    """Agent's and fleet's, dollars and tokens: the reservation's word is `decide`'s, too."""
    home = purse(fleets, a=agents)
    for _ in range(2):
        home.spent("a", cost_usd=0.45, tokens_in=30, tokens_out=10)
    said = home.refused("a")

    now = home.now
    state, _ = gather(home.fleet, Asked({"a": [Slot("hand:x", now, now)]}), now)
    (decision,) = decide(home.fleet.config, state, now)

    assert said.startswith(whose)
    assert (decision.result, decision.detail) == ("over_budget", said)
    assert home.day.total.runs == 2


def test_a_new_day_begins_with_nothing(purse) -> None:
    """What is used up holds until midnight of the home's zone, not longer."""
    home = purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.60}")
    home.fleet.config  # noqa: B018 - read before the clock is set
    home.clock.wall = datetime(2027, 1, 15, 23, 59, 50, tzinfo=UTC).timestamp()
    home.spent("a", cost_usd=0.5)
    home.refused("a")
    home.clock.advance(10)

    run = home.reserved("a")

    assert home.day.total == Sum(1, 0.6)
    home.clock.advance(86_400)
    home.finish("a", run, cost_usd=0.2)
    assert (home.day.total, home.used("a")) == (Sum(), Sum())


def test_a_person_is_told_twice_a_day_at_most(purse) -> None:
    """At 80 % once, when it is used up once, of agent and fleet each; the next day again."""
    home = purse("budget: {per_day: 2.00}", a="budget: {per_run: 0.40, per_day: 1.00}", b="")
    told = []

    def count() -> None:
        told.append((len(home.alerts("budget-warning")), len(home.alerts("budget"))))

    for cost in (0.39, 0.2, 0.22):
        home.spent("a", cost_usd=cost)
        count()
    for _ in range(2):
        money.tell(home.fleet, home.fleet.config.agents["a"], refused=True)
        count()
    home.spent("b", cost_usd=1.3)
    home.clock.advance(86_400)
    home.spent("a", cost_usd=1.0)
    count()

    assert told == [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1), (1, 3)]
    assert [one["subject"] for one in home.alerts("budget")] == ["a", "fleet", "a"]
    assert "$0.81 of $1.00" in str(home.alerts("budget")[0]["what"])


def test_what_is_only_reserved_alarms_nobody(purse) -> None:
    """Reservations that fill a budget raise no alert, nor does the refusal that they cause."""
    home = purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.90, per_day: 1.00}", b="")
    run = home.reserved("a")
    home.refused("b")
    money.tell(home.fleet, home.fleet.config.agents["b"], refused=True)
    during = home.alerts("budget-warning") + home.alerts("budget")

    home.finish("a", run, cost_usd=0.85)

    assert during == []
    assert {str(one["what"]) for one in home.alerts("budget-warning")} == {
        "a used $0.85 of $1.00 today",
        "the fleet used $0.85 of $1.00 today",
    }


@pytest.mark.parametrize("record", [False, True])
def test_who_dies_before_the_start_reserves_nothing_for_long(purse, record) -> None:
    """Killed after the reservation: the next look takes it back, or waits for the run on record."""
    home = purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.60}", b="")
    run = new_id(home.clock.wall)
    held = Reservation("a", "fleet", 0.6, 0, DEAD)
    home.fleet.ledger.reserve(run, held, lambda _day: None)
    if record:
        home.fleet.runs.start(SYSTEM, "a", run, slot="x")

    money.mend(home.fleet)

    assert home.day.total == (Sum(1, 0.6) if record else Sum())


def test_a_launcher_that_lives_keeps_its_reservation(purse) -> None:
    """Between the reservation and the record of the start nobody takes it back."""
    home = purse("budget: {per_day: 1.00}", a="budget: {per_run: 0.60}")
    run = home.reserve("a")

    money.mend(home.fleet)

    assert home.fleet.ledger.held(run) is not None


def test_who_dies_after_the_end_loses_no_cost(purse) -> None:
    """Killed between the run's end and the ledger: the next look, or the next run, settles it."""
    home = purse("budget: {per_day: 9.00}", a="budget: {per_run: 0.60}", b="budget: {per_run: 1}")
    for agent in "ab":
        home.end(agent, home.reserved(agent), Verdict("ok", cost_usd=0.25))
    during = home.used("a"), home.day.total

    home.reserved("a")
    money.mend(home.fleet)

    assert during == (Sum(1, 0.25), Sum(2, 1.6))  # counted once, though it stands in both
    assert home.day.settled == Sum(2, 0.5)
    assert home.day.reserved == Sum(1, 0.6)


def test_a_reservation_of_yesterday_is_mended_too(purse) -> None:
    """A run that ended after midnight and was not settled counts on its day."""
    home = purse("budget: {per_day: 9.00}", a="budget: {per_run: 0.60}")
    run, yesterday = home.reserved("a"), home.day.date
    home.clock.advance(86_400)
    home.end("a", run, Verdict("ok", cost_usd=0.25))

    money.mend(home.fleet)

    assert home.fleet.ledger.on(yesterday).total == Sum(1, 0.25)


def test_a_day_is_the_sum_of_its_runs(purse) -> None:
    """Whatever happens in whatever order, agents, accounts and all agree with the records."""
    for seed in range(5):
        chance = random.Random(seed)
        home = purse("accounts: {main: {agents: [a]}}\nbudget: {per_day: 999}", a="", b="", c="")
        alive: dict[str, str] = {}
        for _ in range(60):
            agent = chance.choice("abc")
            cost, tokens = chance.choice([None, 0.0, 0.1, 1 / 3]), chance.choice([None, 0, 77])
            step = chance.random()
            if agent not in alive:
                alive[agent] = home.reserved(agent)
            elif step < 0.5:
                home.finish(agent, alive.pop(agent), cost_usd=cost, tokens_in=tokens, tokens_out=1)
            elif step < 0.7:  # whoever ended it died
                home.end(agent, alive.pop(agent), Verdict("ok", cost_usd=cost))
            elif step < 0.8:
                home.reserve(agent)  # by somebody who dies at once, under the same claim
            elif step < 0.9:
                money.mend(home.fleet)
            home.clock.advance(chance.choice([1, 300]))
        for agent, run in alive.items():
            home.finish(agent, run)
        for run, held in home.day.open.items():
            home.fleet.ledger.change(home.day.date, _dead(run, held))
        money.mend(home.fleet)
        assert _by_records(home.fleet) == home.day.settled
        assert home.day.reserved == Sum()
        assert home.day.accounts["main"] == home.used("a")
        assert sum(home.used(name).runs for name in "abc") == home.day.settled.runs


def _dead(run: str, held: Reservation):
    """A change after which the launcher of `run` is dead."""
    return lambda day: day._replace(open={**day.open, run: held._replace(launcher=DEAD)})


def _by_records(fleet: Fleet) -> Sum:
    """The sum over the records of every run, read without the program's own adding up."""
    total = Sum()
    for agent in fleet.runs.agents():
        for record in fleet.store.read(f"runs/{agent}", 0, 10_000).records:
            said = record.body
            if said["op"] != "ended":
                continue
            held = said.get("reserved") or {"cost": 0.0, "tokens": 0}
            cost = held["cost"] if said["cost_usd"] is None else round(said["cost_usd"], 6)
            known = None not in {said["tokens_in"], said["tokens_out"]}
            tokens = said["tokens_in"] + said["tokens_out"] if known else held["tokens"]
            unknown = said["cost_usd"] is None
            total = total.plus(Sum(1, cost, tokens, int(unknown), cost if unknown else 0.0))
    return total


def test_a_lost_ledger_comes_back_from_the_records(purse) -> None:
    """Today's document gone, or a day begun by an older fleet: the next reservation knows."""
    home = purse(
        "budget: {per_day: 1.00}", a="budget: {per_run: 0.40}", b="budget: {per_run: 0.40}"
    )
    home.spent("a", cost_usd=0.3)
    home.spent("b")
    before = home.day
    del home.fleet.store._documents[f"ledger/{before.date}"]

    assert "the fleet" in home.refused("b")
    assert home.day.settled == before.settled == Sum(2, 0.7, 0, 1, assumed=0.4)


def test_a_renamed_agent_has_spent_what_it_spent(purse) -> None:
    """Its runs of today stand under its old name and count against its budget under the new one."""
    home = purse("", a="budget: {per_run: 0.40, per_day: 1.00}")
    home.spent("a", cost_usd=0.9)
    agent = home.fleet.config.agents["a"]._replace(id="b", formerly=("a",))
    config = home.fleet.config._replace(agents={"b": agent})
    home.fleet.__dict__ |= {"config": config}
    del home.fleet.__dict__["spending"]

    assert "$0.90 of $1.00" in home.refused("b")


def test_a_ledger_without_a_readable_copy_is_counted_anew(tmp_path: Path) -> None:
    """Both copies damaged: `fleet run` goes by the records, and what runs is reserved again."""
    home = Scripted(tmp_path / "home", extra="budget: {per_day: 1.00, per_run: 0.40}\n")
    home.agent("a", "echo done")
    home.agent("b", "echo done")
    assert home.call("run", "a").returncode == 0
    alive = new_id(home.fleet.store.now().wall)
    home.fleet.runs.start(SYSTEM, "b", alive, slot="x")
    damaged = list((home.root / "state" / "ledger").iterdir())
    for path in damaged:
        path.write_bytes(path.read_bytes()[:40])

    refused = home.call("run", "a")

    assert len(damaged) == 2
    assert refused.returncode == 75, refused.stderr
    assert "$0.80 of $1.00" in refused.stderr
