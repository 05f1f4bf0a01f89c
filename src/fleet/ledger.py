"""What a local day has cost and what is reserved for runs that are going on: `ledger/<day>`.

It adds up and refuses; which limits hold, and what a run may cost, is decided by who reserves.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from fleet.errors import Conflict
from fleet.ports import Store
from fleet.records import Body, made_at

if TYPE_CHECKING:  # who only sums up, as `report` does, pays for no clock and no zone
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

DIGITS = 6  # of a dollar that are kept: sums of floats grow tails
UNHEARD_OF = 0.50  # dollars reserved where no budget.per_run says it and no run has said its cost
HAIR = 1e-7  # dollars: less than what is kept


class Sum(NamedTuple):
    """What some runs amount to.

    Attributes:
        runs: how many.
        cost: dollars; what a run of unknown cost was reserved is in it.
        tokens: in and out, likewise.
        unknown: how many of the runs did not say what they cost.
        assumed: the dollars of `cost` that are what these were reserved.
    """

    runs: int = 0
    cost: float = 0.0
    tokens: int = 0
    unknown: int = 0
    assumed: float = 0.0

    def plus(self, other: "Sum") -> "Sum":
        """Both together."""
        cost = round(self.cost + other.cost, DIGITS)
        runs, tokens = self.runs + other.runs, self.tokens + other.tokens
        assumed = round(self.assumed + other.assumed, DIGITS)
        return Sum(runs, cost, tokens, self.unknown + other.unknown, assumed)


class Reservation(NamedTuple):
    """What is set aside for a run until it is known what it cost.

    Attributes:
        agent: whose run it is, by the name it has then.
        account: the account that pays.
        cost: dollars.
        tokens: in and out.
        launcher: the process that reserved it: {pid, start, boot}.
    """

    agent: str
    account: str
    cost: float
    tokens: int
    launcher: Body

    @property
    def sum(self) -> Sum:
        """What it adds to a day."""
        return Sum(1, self.cost, self.tokens)

    def launcher_lives(self) -> bool:
        """Whether the process that reserved it is there, and may still start the run."""
        from fleet import processes

        pid, start, boot = (self.launcher.get(name) for name in ("pid", "start", "boot"))
        if not isinstance(pid, int) or not isinstance(start, int):
            return False
        return processes.is_alive(pid, start, str(boot))


class Day(NamedTuple):
    """One local day of the home.

    Attributes:
        date: which.
        begins: epoch seconds of its first moment.
        ends: of the next day's first moment.
        settled: what the ended runs of all agents amount to.
        accounts: the same by account.
        open: what is reserved, by the id of its run.
    """

    date: "date"
    begins: float
    ends: float
    settled: Sum
    accounts: Mapping[str, Sum]
    open: Mapping[str, Reservation]

    @property
    def reserved(self) -> Sum:
        """Everything that is reserved."""
        cost = round(sum(one.cost for one in self.open.values()), DIGITS)
        return Sum(len(self.open), cost, sum(one.tokens for one in self.open.values()))

    @property
    def total(self) -> Sum:
        """Settled and reserved: what counts against a budget."""
        return self.settled.plus(self.reserved)

    def on_account(self, account: str) -> Sum:
        """What is reserved for runs that an account pays."""
        return in_all(one.sum for one in self.open.values() if one.account == account)


def in_all(sums: Iterable[Sum]) -> Sum:
    """All of them together."""
    runs, cost, tokens, unknown, assumed = 0, 0.0, 0, 0, 0.0
    for one in sums:
        runs += one.runs
        cost += one.cost
        tokens += one.tokens
        unknown += one.unknown
        assumed += one.assumed
    return Sum(runs, round(cost, DIGITS), tokens, unknown, round(assumed, DIGITS))


class Ended(Protocol):
    """A run that is over, as its record tells it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def cost_usd(self) -> float | None:
        """Dollars; None when unknown."""

    @property
    def tokens_in(self) -> int | None:
        """Input tokens, likewise."""

    @property
    def tokens_out(self) -> int | None:
        """Output tokens, likewise."""


def counted(cost: float | None, tokens_in: int | None, tokens_out: int | None, held: Sum) -> Sum:
    """What an ended run counts for: what it used, and what it was reserved where nobody knows."""
    tokens = held.tokens if tokens_in is None or tokens_out is None else tokens_in + tokens_out
    dollars = held.cost if cost is None else round(cost, DIGITS)
    if cost is None:
        return Sum(1, dollars, tokens, 1, dollars)
    return Sum(1, dollars, tokens)


def too_much(whose: str, dollars: float | None, tokens: int | None, used: Sum, need: Sum) -> str:
    """Why one more run does not fit into a day; "" when it does. Full is full, whatever it needs.

    Args:
        whose: the name of what is limited, an agent's or "the fleet".
        dollars: the day's budget, None without one.
        tokens: likewise.
        used: what counts already, reservations included.
        need: what the run would be reserved.
    """
    if dollars is not None and used.cost + max(need.cost, 2 * HAIR) > dollars + HAIR:
        spent = f"{whose} spent or reserved ${used.cost:.2f} of ${dollars:.2f} today"
        return f"{spent}, and a run may cost ${need.cost:.2f}"
    if tokens is not None and used.tokens + max(need.tokens, 1) > tokens:
        spent = f"{whose} used {used.tokens} of {tokens} tokens today"
        return f"{spent}, and a run may use {need.tokens}"
    return ""


class Ledger:
    """The documents `ledger/<YYYY-MM-DD>` of the home's time zone; every change is repeatable.

    A run belongs to the day on which its id was made, just before it was reserved. Every method
    may raise what the store's `get` and `put` raise.
    """

    def __init__(self, store: Store, timezone: str = "UTC") -> None:
        self._store = store
        self._timezone = timezone

    # Reading -----------------------------------------------------------------------------------

    def day(self, now: "datetime") -> Day:
        """The local day of `now`, which has a zone: what was spent, and what is reserved."""
        return self.on(self.local_date(now))

    def local_date(self, now: "datetime") -> "date":
        """The local day that `now` is in."""
        return self._date(now.timestamp())

    def on(self, date: "date") -> Day:
        """One local day; zeros when nothing ran on it."""
        return self._day(date, self._store.get(_key(date))[0] or {})

    def held(self, run: str) -> Reservation | None:
        """What is reserved for `run`; None when it is settled, dropped, or never was."""
        body, _ = self._store.get(_key(self._date_of(run)))
        said = _mapping((body or {}).get("open")).get(run)
        return None if said is None else _reservation(said)

    # Writing -----------------------------------------------------------------------------------

    def reserve(self, run: str, held: Reservation, check: "Callable[[Day], None]") -> Day:
        """Set aside for `run` what `held` says, unless `check` refuses; the day with it.

        `check` is given the day as it is at that very moment and raises what is to be raised: of
        two processes that want the last dollar one is refused.
        """

        def take(day: Day) -> Day | None:
            if run in day.open:
                return None
            check(day)
            return day._replace(open={**day.open, run: held})

        return self.change(self._date_of(run), take)

    def settle(self, run: Ended) -> None:
        """Turn what was reserved for a run into what it cost; unknown, it cost the reservation.

        Nothing happens when nothing is reserved for it, as when it was settled before.
        """

        def move(day: Day) -> Day | None:
            held = day.open.get(run.id)
            if held is None:
                return None
            used = counted(run.cost_usd, run.tokens_in, run.tokens_out, held.sum)
            account = day.accounts.get(held.account, Sum()).plus(used)
            accounts = {**day.accounts, held.account: account}
            settled, left = day.settled.plus(used), _without(day.open, run.id)
            return day._replace(settled=settled, accounts=accounts, open=left)

        self.change(self._date_of(run.id), move)

    def drop(self, run: str) -> None:
        """Take back what was reserved for a run that never started."""

        def without(day: Day) -> Day | None:
            return day._replace(open=_without(day.open, run)) if run in day.open else None

        self.change(self._date_of(run), without)

    def change(self, date: "date", change: "Callable[[Day], Day | None]") -> Day:
        """Replace a day by `change(day)`; asked again when another writer came first.

        None leaves it as it is. Returns the day as it stands then.
        """
        while True:
            body, version = self._store.get(_key(date))
            day = self._day(date, body or {})
            changed = change(day)
            if changed is None or changed == day:
                return day
            try:
                self._store.put(_key(date), _body(changed), expect=version)
            except Conflict:
                continue
            return changed

    def _day(self, date: "date", body: Body) -> Day:
        from datetime import datetime, time, timedelta

        days = (date, date + timedelta(days=1))
        begins, ends = (datetime.combine(one, time(), self._zone()).timestamp() for one in days)
        accounts = {name: _sum(said) for name, said in _mapping(body.get("accounts")).items()}
        held = {run: _reservation(said) for run, said in _mapping(body.get("open")).items()}
        return Day(date, begins, ends, _sum(body.get("settled")), accounts, held)

    def renew(self, date: "date", change: "Callable[[Day], Day]") -> None:
        """Replace a day of which no copy can be read by what `change` makes of an empty one."""
        day = change(self._day(date, {}))
        self._store.put(_key(date), _body(day), expect=None)

    def _date_of(self, run: str) -> "date":
        wall = made_at(run)
        return self._date(self._store.now().wall if wall is None else wall)

    def _date(self, wall: float) -> "date":
        from datetime import datetime

        return datetime.fromtimestamp(wall, self._zone()).date()

    def _zone(self) -> "ZoneInfo":
        from zoneinfo import ZoneInfo

        return ZoneInfo(self._timezone)


def launched_here() -> Body:
    """This process, as a `Reservation` names its launcher."""
    import os

    return dict(_process(os.getpid()))


@lru_cache(maxsize=1)
def _process(pid: int) -> Body:
    from fleet import processes

    return {"pid": pid, "start": processes.start_time(pid), "boot": processes.boot_id()}


def _key(date: "date") -> str:
    return f"ledger/{date.isoformat()}"


def _without(held: Mapping[str, Reservation], run: str) -> dict[str, Reservation]:
    return {name: one for name, one in held.items() if name != run}


def _body(day: Day) -> Body:
    return {
        "settled": day.settled._asdict(),
        "accounts": {name: one._asdict() for name, one in day.accounts.items()},
        "open": {run: one._asdict() for run, one in day.open.items()},
    }


def _sum(said: object) -> Sum:
    known = _mapping(said)
    return Sum(**{name: known[name] for name in Sum._fields if name in known})  # type: ignore[arg-type]


def _reservation(said: object) -> Reservation:
    known = cast("dict[str, Any]", said)
    launcher = known["launcher"]
    return Reservation(known["agent"], known["account"], known["cost"], known["tokens"], launcher)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
