"""The runs of this runner that are alive: launched, adopted, told to stop, settled when over."""

from collections.abc import Callable, Mapping

from fleet.config.model import Agent
from fleet.errors import TryAgain
from fleet.runner import launch, settle
from fleet.runner.live import Live, is_over, stop_keeper
from fleet.runner.state import Decision
from fleet.runs import Run
from fleet.wiring import Fleet


class Keepers:
    """The real launcher: every run is a keeper's, in a process of its own."""

    def __init__(self) -> None:
        self._live: dict[str, Live] = {}  # by agent

    def running(self) -> Mapping[str, str]:
        """The id of each agent's live run."""
        return {agent: live.run for agent, live in self._live.items()}

    def start(self, fleet: Fleet, agent: Agent, decision: Decision, run: str) -> bool:
        """Launch the reserved `run`; False when it could not be prepared (its record says why).

        Raises:
            TryAgain: the store refused; no run is on record and nothing is reserved any more.
        """
        slot = decision.slot
        live = launch.start(
            fleet,
            agent,
            run,
            slot=slot.name,
            attempt=slot.attempt,
            caught_up=decision.caught_up,
            cause=slot.cause,
        )
        if live:
            self._live[agent.id] = live
        return live is not None

    def adopt(self, fleet: Fleet) -> list[Run]:
        """Take over runs of an earlier runner, settle those whose keeper is gone."""
        mine = {live.run for live in self._live.values()}
        adopted = settle.reconcile(fleet, but=mine)
        self._live |= {run.agent: Live(run.id, run.agent) for run in adopted}
        return adopted

    def reap(self, fleet: Fleet, took: Callable[[Run], None]) -> None:
        """Settle every run that is over and hand it to `took`.

        Raises:
            TryAgain: the store refused one of them, the first; the others are settled.
        """
        refused: list[TryAgain] = []
        for agent, live in list(self._live.items()):
            if is_over(fleet, live):
                try:
                    run = settle.settle(fleet, live.agent, live.run)
                except TryAgain as fault:
                    refused.append(fault)
                    continue
                del self._live[agent]
                took(run)
        if refused:
            raise refused[0]

    def stop_all(self, fleet: Fleet) -> None:
        """Tell every keeper, once, to stop its run."""
        for live in self._live.values():
            if not live.told:
                live.told = stop_keeper(fleet, live.run, "the runner was stopped")

    def all_over(self, fleet: Fleet) -> bool:
        """Whether no keeper lives any more; what is over may still have to be reaped."""
        return all(is_over(fleet, live) for live in self._live.values())
