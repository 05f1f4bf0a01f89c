"""Makes what a plan of faults says befall a play."""

from collections.abc import Sequence
from functools import partial

from fleet.config.model import Schedule
from fleet.runs import Verdict
from fleet.simulator.courses import Course
from fleet.simulator.faults import HOUR, Fault
from fleet.simulator.launcher import LOST
from fleet.simulator.play import Play

EDITED = (Schedule(every=2 * HOUR), Schedule(cron="5 */3 * * *"), Schedule(every=1.5 * HOUR))
FOR_EVER = 1e9  # seconds: longer than any timeout
ARMED = 60.0  # seconds in which a runner that is to die in the midst of a write gets to one
PERSON = "operator"


def befall(play: Play, faults: Sequence[Fault]) -> None:
    """Let each of `faults` happen when its time has come."""
    trouble = _Trouble(play)
    for fault in faults:
        play.later(fault.at - play.clock.elapsed, partial(trouble.happens, fault))


class _Trouble:
    """One method for each kind of fault."""

    def __init__(self, play: Play) -> None:
        self._play = play

    def happens(self, fault: Fault) -> None:
        self._play.told.faults.append(fault)
        getattr(self, f"_{fault.kind}")(fault)

    # Runs --------------------------------------------------------------------------------------

    def _fate(self, fault: Fault, course: Course) -> None:
        self._play.launcher.fates.setdefault(fault.agent, []).append(course)

    def _crash(self, fault: Fault) -> None:
        self._fate(fault, Course(20.0, Verdict("crashed", "exit 1", cost_usd=0.02)))

    def _lost(self, fault: Fault) -> None:
        self._fate(fault, Course(45.0, LOST))

    def _hang(self, fault: Fault) -> None:
        self._fate(fault, Course(FOR_EVER))

    def _overload(self, fault: Fault) -> None:
        for _ in range(2):
            self._fate(fault, Course(30.0, Verdict("overloaded", "529")))

    def _limit(self, fault: Fault) -> None:
        told = self._play.rng.random() < 0.5  # noqa: PLR2004
        until = self._play.clock.wall + fault.seconds if told else None
        verdict = Verdict("rate_limited", "usage limit reached", limit_until=until)
        self._fate(fault, Course(5.0, verdict))

    def _auth(self, fault: Fault) -> None:
        self._fate(fault, Course(5.0, Verdict("auth", "not logged in")))
        self._play.later(fault.seconds, self._log_in)

    def _log_in(self) -> None:
        """A person mends the login, again and again until nobody is blocked."""
        fleet = self._play.person
        for account in fleet.accounts.names(fleet.config):
            if fleet.accounts.of(account).blocked:
                fleet.accounts.resume(account, by=PERSON)
        if any(one.verdict.outcome == "auth" for some in self._play.launcher.fates.values()
               for one in some):  # fmt: skip
            self._play.later(HOUR, self._log_in)

    # Clock and machine -------------------------------------------------------------------------

    def _step(self, fault: Fault) -> None:
        self._play.stall()
        self._play.clock.step(fault.seconds)

    def _suspend(self, fault: Fault) -> None:
        self._play.stall()
        self._play.clock.advance(fault.seconds)
        self._play.launcher.freeze(fault.seconds)

    def _full(self, fault: Fault) -> None:
        self._play.stall()
        self._play.disk.full = True
        self._play.later(fault.seconds, self._room)

    def _room(self) -> None:
        self._play.disk.full = False

    def _kill(self, fault: Fault) -> None:
        if self._play.engine is None:
            return
        self._play.disk.left = fault.writes
        self._play.later(min(ARMED, fault.seconds / 2), self._dead)
        self._play.later(max(fault.seconds, 1.0), self._restart)

    def _dead(self) -> None:
        if self._play.engine is not None:
            self._play.die()

    def _restart(self) -> None:
        if self._play.engine is None:
            self._play.start(self._play.fleet.config)

    # The operator ------------------------------------------------------------------------------

    def _broken(self, fault: Fault) -> None:
        self._play.use(self._play.fleet.config._replace(warning="agents/x.yaml: broken"))
        self._play.later(fault.seconds, self._mended)

    def _mended(self) -> None:
        self._play.use(self._play.fleet.config._replace(warning=""))

    def _edit(self, fault: Fault) -> None:
        config = self._play.fleet.config
        schedule = (self._play.rng.choice(EDITED),)
        agent = config.agents[fault.agent]._replace(schedule=schedule)
        version = f"{config.version}+"
        agents = {**config.agents, agent.id: agent}
        self._play.use(config._replace(agents=agents, version=version))

    def _halt(self, fault: Fault) -> None:
        self._play.person.controls.set(fault.agent, "halted", by=PERSON, reason="a fault")
        self._play.end(fault.agent, Verdict("killed", "halted by operator"))
        self._play.later(fault.seconds, partial(self._resume, fault.agent))

    def _pause(self, fault: Fault) -> None:
        self._play.person.controls.set("fleet", "paused", by=PERSON, reason="a fault")
        self._play.later(fault.seconds, partial(self._resume, "fleet"))

    def _resume(self, scope: str) -> None:
        self._play.person.controls.clear(scope, by=PERSON)
