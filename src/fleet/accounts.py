"""Logins that agents share, and what holds all of them back: a pause, a block, a usage limit.

It keeps what is known of each account and starts nothing; who tells it what a run met is elsewhere.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, cast

from fleet.controls import FLEET, local, note_line
from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, rfc3339, wall_of

LONGEST = 86400.0  # seconds that a limit holds an account at most; then one run asks again
BACK_OFF = 900.0  # seconds of the first wait for a limit that does not say when it ends
_DOUBLINGS = 10  # more than bring `BACK_OFF` to `LONGEST`


class Account(NamedTuple):
    """What holds back every agent of one account now; "" and None hold nobody.

    Attributes:
        paused: one line: who paused it, since when, why.
        blocked: one line: since when its login is refused, and how it was said.
        limited_until: when its usage limit ends, aware; never a moment that has passed.
        why: how the limit was said.
    """

    paused: str = ""
    blocked: str = ""
    limited_until: datetime | None = None
    why: str = ""

    def line(self, timezone: str) -> str:
        """What holds it, in one line for people of `timezone`; "" when nothing does."""
        if self.blocked:
            return f"blocked {self.blocked}"
        if self.limited_until is not None:
            return f"waiting until {local(self.limited_until.isoformat(), timezone)}: {self.why}"
        return f"paused {self.paused}" if self.paused else ""


class Ended(NamedTuple):
    """A run that is over, as accounts know it: its id, and both moments in epoch seconds."""

    run: str
    began: float
    ended: float


class Sharing(Protocol):
    """An agent, as far as accounts go: the name of its own, "" without one."""

    @property
    def account(self) -> str: ...  # noqa: D102 - said above


class Shared(Protocol):
    """A home's config, as far as accounts go."""

    @property
    def accounts(self) -> Mapping[str, object]: ...  # noqa: D102 - said above
    @property
    def agents(self) -> Mapping[str, Sharing]: ...  # noqa: D102 - said above


def account_of(agent: Sharing) -> str:
    """The account that `agent` uses; `FLEET` stands for all agents that none names."""
    return agent.account or FLEET


class Accounts:
    """The documents `control/account:<name>`, see `state/README.md`.

    `park`, `block` and `got_through` take what a run met. Any process may repeat them at any time
    and in any order: what ended before the newest word on an account changes nothing, nor does a
    run that began before a person resumed it.
    """

    def __init__(self, store: Store, timezone: str = "UTC") -> None:
        self._store = store
        self._timezone = timezone

    def names(self, config: Shared) -> list[str]:
        """Every account of a home, as its file orders them; `FLEET` last, if an agent uses it."""
        unnamed = any(not agent.account for agent in config.agents.values())
        return [*config.accounts, *([FLEET] if unnamed else [])]

    def of(self, name: str) -> Account:
        """What holds the account `name` back now."""
        body = self._body(name)
        now = self._store.now().wall
        limited = _note(body, "limited")
        until = wall_of(str(limited["until"])) if limited else 0.0
        # One further ahead than any may be was written by a clock that was wrong.
        lasts = now < until <= now + LONGEST
        blocked = _note(body, "blocked")
        since = f"since {local(blocked['at'], self._timezone)}" if blocked else ""
        return Account(
            paused=note_line(body.get("paused"), self._timezone),
            blocked=f"{since}: {blocked['why']}" if blocked else "",
            limited_until=datetime.fromtimestamp(until, UTC) if lasts else None,
            why=str(limited["why"]) if limited and lasts else "",
        )

    def park(self, name: str, run: Ended, until: float | None, why: str) -> bool:
        """`run` met the account's usage limit: nothing of it starts until the limit ends.

        Runs that were alive already and meet it too can only prolong the wait. The next run after
        it that meets the limit again waits longer each time, unless one got through in between.

        Args:
            name: the account.
            run: the run that met the limit.
            until: when the limit ends, epoch seconds, as it was told; None when it was not. More
                than `LONGEST` after the run's end counts as that.
            why: how it was said.

        Returns:
            Whether this wait is the one that `run` began: of many runs this is said of one.
        """

        def parked(body: Body, now: float) -> Body | None:
            limited = _parked(_known(body, now), run, until, why)
            return None if limited is None else {"limited": limited}

        body = self._tell(name, run, parked)
        return bool(body.get("limited")) and _note(body, "limited")["run"] == run.run

    def block(self, name: str, run: Ended, why: str) -> bool:
        """The login was refused to `run`: nothing of the account starts until a person resumes it.

        Returns whether this block is the one that `run` began: of many runs this is said of one.
        """

        def blocked(body: Body, _now: float) -> Body | None:
            note: Body = {"at": rfc3339(run.ended), "why": why, "run": run.run}
            return None if body.get("blocked") else {"blocked": note}

        body = self._tell(name, run, blocked)
        return bool(body.get("blocked")) and _note(body, "blocked")["run"] == run.run

    def got_through(self, name: str, run: Ended) -> None:
        """The account worked for `run`: a limit that was met before it began is over."""

        def lifted(body: Body, now: float) -> Body | None:
            limited = _known(body, now)
            if not limited or not limited["tries"] or run.began <= wall_of(str(limited["at"])):
                return None
            began = rfc3339(run.began)
            free: Body = {"at": began, "until": began, "why": "", "run": run.run, "tries": 0}
            return {"limited": free}

        self._tell(name, run, lifted)

    def pause(self, name: str, *, by: str, reason: str) -> None:
        """Nothing of the account starts until `resume`."""
        note: Body = {"by": by, "at": rfc3339(self._store.now().wall), "reason": reason}
        self._change(name, lambda _body, _now: {"paused": note})

    def resume(self, name: str, *, by: str) -> bool:
        """Lift pause, block and limit; False when nothing held the account."""
        held = self.of(name) != Account()

        def free(_body: Body, now: float) -> Body:
            note: Body = {"by": by, "at": rfc3339(now)}
            return {"paused": None, "blocked": None, "limited": None, "resumed": note}

        self._change(name, free)
        return held

    def _tell(self, name: str, run: Ended, change: Callable[[Body, float], Body | None]) -> Body:
        """Take in what `run` met, unless a person resumed the account since it began."""

        def told(body: Body, now: float) -> Body | None:
            resumed = _note(body, "resumed")
            at = wall_of(str(resumed["at"])) if resumed else 0.0
            # A moment that is still to come was written by a clock that was set back since.
            return None if run.began <= at <= now else change(body, now)

        return self._change(name, told)

    def _change(self, name: str, change: Callable[[Body, float], Body | None]) -> Body:
        """Put what `change` answers over the document, by compare-and-set; as it stands then."""
        while True:
            body, version = self._store.get(_document(name))
            changed = change(body or {}, self._store.now().wall)
            if changed is None:
                return body or {}
            try:
                self._store.put(_document(name), {**(body or {}), **changed}, expect=version)
            except Conflict:
                continue
            return {**(body or {}), **changed}

    def _body(self, name: str) -> Body:
        return self._store.get(_document(name))[0] or {}


def _document(name: str) -> str:
    return f"control/account:{name}"


def _note(body: Body, word: str) -> Body:
    return cast("Body", body.get(word) or {})


def _known(body: Body, now: float) -> Body:
    """The note of the limit; empty when a clock that was set back since wrote it."""
    limited = _note(body, "limited")
    return limited if limited and wall_of(str(limited["at"])) <= now else {}


def _parked(limited: Body, run: Ended, told: float | None, why: str) -> Body | None:
    """What `limited` becomes by `run`; None where it stays."""
    at, lasts = (wall_of(str(limited[name])) if limited else 0.0 for name in ("at", "until"))
    tries = cast("int", limited.get("tries", 0))
    if limited and run.ended <= at:
        return None
    if run.ended <= lasts:  # it ran already
        until = _ends(run, told, tries)
        return limited | {"until": rfc3339(until)} if until > lasts else None
    until = _ends(run, told, tries + 1)
    said: Body = {"at": rfc3339(run.ended), "until": rfc3339(until), "why": why}
    return said | {"run": run.run, "tries": tries + 1}


def _ends(run: Ended, told: float | None, tries: int) -> float:
    """When the wait of the `tries`-th limited run in a row ends.

    What was told is believed once: a limit that is met again after it ended waits as one that
    does not say, so that no run after another is spent on a clock or a text that is wrong.
    """
    back_off = run.ended + BACK_OFF * 2 ** (min(tries, _DOUBLINGS) - 1)
    known = told if told is not None and told > run.ended else 0.0
    until = known if known and tries == 1 else max(known, back_off)
    return min(until, run.ended + LONGEST)
