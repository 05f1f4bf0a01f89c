"""Asks the agents' gates whether a run is worth it: programs, beside the loop, within a bound.

What an answer means for a slot is decided elsewhere.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from zoneinfo import ZoneInfo

from fleet.alerts import raise_alert
from fleet.config.model import Agent
from fleet.runner.errand import Errand
from fleet.runner.launch import make_private
from fleet.runner.launchers import environment
from fleet.runner.situation import moment
from fleet.text import escape
from fleet.wiring import Fleet

GATE_TIMEOUT = 30.0  # seconds that a gate may take


class Gates:
    """The gates that are being asked, one question at a time for each agent."""

    def __init__(self) -> None:
        self._open: dict[str, Errand] = {}

    @property
    def busy(self) -> bool:
        """Whether any is being asked."""
        return bool(self._open)

    def ask(self, fleet: Fleet, agents: Sequence[Agent]) -> Mapping[str, str]:
        """Ask the gates of `agents`, unless they are being asked, and take what was answered.

        Returns at once: by agent "" when a run is worth it, else why not. An answer that nobody
        among `agents` waits for any more is forgotten.

        Raises:
            TryAgain: the store refused an alert.
        """
        for agent in agents:
            if agent.id not in self._open:
                self._open[agent.id] = _started(fleet, agent)
        over = {name: errand for name, errand in self._open.items() if errand.over()}
        found: dict[str, str] = {}
        for agent in agents:
            if errand := over.get(agent.id):
                if not errand.started:
                    _tell(fleet, agent, errand.fault)
                found[agent.id] = escape(errand.fault)
        self._open = {name: one for name, one in self._open.items() if name not in over}
        return found

    def close(self) -> None:
        """End those that are being asked."""
        for errand in self._open.values():
            errand.close(within=0.0)
        self._open.clear()


def _started(fleet: Fleet, agent: Agent) -> Errand:
    with suppress(OSError):  # then it cannot be started there, and that is told
        make_private(agent.cwd)
    env = environment.of_a_gate(fleet.env, agent, fleet.config)
    return Errand(fleet, agent.gate, GATE_TIMEOUT, cwd=agent.cwd, env=env)


def _tell(fleet: Fleet, agent: Agent, what: str) -> None:
    today = moment(fleet).astimezone(ZoneInfo(fleet.config.timezone)).date()
    raise_alert(
        fleet.store,
        kind="gate",
        subject=agent.id,
        what=f"the gate of {agent.id} is no gate: {what}",
        done="its slots are gated",
        fix=f"see gate in {agent.file}: it is started in {agent.cwd}",
        key=f"gate/{agent.id}/{today}",
    )
