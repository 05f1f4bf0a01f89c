"""A month of the growth fleet, sped up and seeded: what its agents keep, and what they are told."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fleet.audit.replay import replay
from fleet.context import build
from fleet.demo.show import summarise
from month import Month

WEEK, MONTH, REST = 7, 28, 2  # days; costs are compared between two Sunday nights
LIVE = 50
QUOTAS = {"medium": 15, "low": 10}
SAMPLE = 200

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1800)]


class Played:
    """The month, and what the contexts cost when its first week was over."""

    def __init__(self, root: Path) -> None:
        self.month = Month(root)
        self.month.play(WEEK)
        self.week = self.costs()
        self.month.play(MONTH - WEEK)
        self.whole = self.costs()
        self.month.play(REST)

    def costs(self) -> dict[str, int]:
        """By agent, the tokens that its context costs now."""
        fleet = self.month.fleet
        with self.month.clock():
            return {
                agent.id: sum(s.tokens for s in build(fleet.sources(), agent, run="r").sections)
                for agent in fleet.config.agents.values()
            }

    def lessons(self, agent: str) -> list[dict[str, Any]]:
        """The live ones of an agent."""
        state: Any = self.month.fleet.memory.state(agent)
        return list(state["lessons"])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Thirty days, about 2,300 runs."""
    return Played(tmp_path_factory.mktemp("month") / "growth")


def test_every_run_of_the_month_is_ok_and_nothing_is_lost(played: Played) -> None:
    """No run failed, every event reached whom it concerns once, and the store is clean."""
    with played.month.clock():
        summary = summarise(played.month.fleet)

    assert set(summary.outcomes) == {"ok"}
    assert summary.outcomes.total() > 2000
    assert (summary.lost, summary.twice, summary.overlaps, summary.damaged) == (0, 0, 0, 0)


def test_every_memory_is_under_its_caps_and_nothing_of_value_is_lost(played: Played) -> None:
    """Live lessons keep to cap and quotas, and every one ever learned is live or in the archive."""
    fleet = played.month.fleet
    full = 0
    for agent in fleet.config.agents:
        live = played.lessons(agent)
        gone = [one for one in fleet.memory.archive(agent).items if one["id"].startswith("L")]
        records = fleet.store.read(f"memory-log/{agent}", 0, 100_000).records
        learned = {f"L{r.seq}" for r in records if r.body.get("category")}
        there = {one["id"] for one in live} | {one["id"] for one in gone}
        merged = learned - there  # each is counted in the lesson that says the same
        counts = sum(one["count"] for one in (*live, *gone))

        assert len(live) <= LIVE
        assert counts == len(learned)
        assert len(merged) == counts - len(there)
        kept = Counter(one["importance"] for one in live)
        lost = Counter(one["importance"] for one in gone)
        full += len(live) == LIVE
        for importance, places in QUOTAS.items():
            if lost[importance]:
                assert kept[importance] >= places, (agent, kept, lost)
        if lost["high"]:
            assert kept["high"] == LIVE - sum(QUOTAS.values()), (agent, kept, lost)
    assert full >= 5  # else a month would show nothing about caps


def test_a_context_costs_after_a_month_what_it_costs_after_a_week(played: Played) -> None:
    """Every agent's context is within a tenth of its size after the first week, or its cap."""
    month = played.whole

    for agent, tokens in month.items():
        assert tokens <= played.month.fleet.config.agents[agent].context.max_tokens
    assert sum(month.values()) <= 1.1 * sum(played.week.values())


def test_the_prompts_of_the_month_are_replayed_byte_for_byte(played: Played) -> None:
    """Of 200 runs spread over the month every prompt is built again as it was."""
    runs = played.month.runs
    chosen = runs[:: max(1, len(runs) // SAMPLE)][:SAMPLE]
    assert len(chosen) == SAMPLE

    changed = [run.id for run in chosen if replay(played.month.fleet, run).changed]

    assert changed == []
