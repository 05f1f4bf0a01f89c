"""What needs a person: the log `alerts`, and what of it is still open; nothing is delivered here.

An alert is open until a person acknowledges it. Alerts of one kind about one subject are one, with
a count; what is raised after an acknowledgement opens it again.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from fleet.errors import Unknown
from fleet.folds import fold
from fleet.logs import newest, place_before, record_at
from fleet.ports import Cache, Store
from fleet.records import Body, Draft, Record, ref_of
from fleet.text import clip

STREAM = "alerts"
MOST = 500  # open alerts that are told apart; older ones are only counted
LONGEST = 1000  # characters of each of its texts that are shown
TEXTS = ("what", "done", "fix")
ASKED = frozenset({"question"})
"""Kinds that `ack all` leaves open: they wait for an answer, not for a look."""
NOTICES = frozenset(
    {
        *("auth", "breaker", "broken-files", "budget", "budget-warning", "cli-changed", "clock"),
        *("failing", "hindered", "limit", "low-disk", "question", "shadow", "taken-over"),
    }
)
"""Kinds in spite of which all counts as well: what `status` sees as long as it lasts (an
agent that fails, an account without a login, a full disk), and what only wants to be known
or answered."""


class Alert(NamedTuple):
    """All alerts of one kind about one subject since the last acknowledgement, or one of them.

    Attributes:
        ref: the newest one's reference.
        at: when that was raised, RFC 3339.
        kind: one word for its sort.
        subject: the name or reference it is about.
        what: what happened, in the newest one's words.
        done: what fleet did about it.
        fix: what a person should do.
        count: how often it was raised.
        first: when it was raised first.
        open: whether nobody has acknowledged it.
    """

    ref: str
    at: str
    kind: str
    subject: str
    what: str
    done: str
    fix: str
    count: int = 1  # type: ignore[assignment]  # a tuple's own count is not needed
    first: str = ""
    open: bool = True

    @property
    def seq(self) -> int:
        """The newest one's number."""
        return int(self.ref.rpartition("#")[2])

    @property
    def needs_a_person(self) -> bool:
        """Whether the fleet is not well until somebody has seen to it."""
        return self.open and self.kind not in NOTICES

    def as_json(self) -> Body:
        """The object that `--json` prints."""
        return self._asdict() | {"needs_a_person": self.needs_a_person}


class _Open(TypedDict):
    """One of them: its last and its first number, when these were raised, how many they are."""

    seq: int
    begin: int
    at: str
    first: str
    count: int
    texts: list[str]


class _State(TypedDict):
    """By kind and subject (a line each) the open ones, the newest last; `older`: no longer held."""

    open: dict[str, _Open]
    older: int


def raise_alert(
    store: Store, *, kind: str, subject: str, what: str, done: str, fix: str, key: str | None = None
) -> Record:
    """Add an alert and return it as stored.

    Args:
        store: where the log is.
        kind: one word for its sort, such as `replaced-log`, `dead-letter` or `loop`.
        subject: the name or reference it is about.
        what: one sentence, what happened.
        done: what fleet did about it by itself.
        fix: what a person should do.
        key: makes it one alert however often it is raised; at most `MAX_KEY` bytes.
    """
    body: Body = {
        "op": "alert",
        "kind": kind,
        "subject": subject,
        "what": what,
        "done": done,
        "fix": fix,
    }
    return store.append(STREAM, [Draft(body, key=key, same=("op", "kind", "subject"))])[0]


def open_ones(store: Store, cache: Cache) -> list[Alert]:
    """What nobody has acknowledged, by kind and subject; the last raised at the end."""
    return [_alert(name, entry) for name, entry in _state(store, cache)["open"].items()]


def older(store: Store, cache: Cache) -> int:
    """How many open ones are not among `open_ones`, because more than `MOST` were raised since."""
    return _state(store, cache)["older"]


def raised(
    store: Store,
    cache: Cache,
    limit: int,
    *,
    after: int = 0,
    since: float | None = None,
    upto: int | None = None,
) -> list[Alert]:
    """The newest `limit` alerts one by one, oldest first, each with whether it still is open.

    Args:
        store: where the log is.
        cache: where its fold is.
        limit: how many.
        after: a number; only those above it count.
        since: epoch seconds; older ones are left out.
        upto: the highest number that counts; None for all.
    """
    entries = _state(store, cache)["open"]
    lower = max(after, place_before(store, STREAM, since).seq if since is not None else 0)
    upper = store.head(STREAM) if upto is None else upto
    found = newest(store, STREAM, upper, limit, lambda one: one.seq > lower and _is_alert(one))
    return [_one(record, entries.get(_name(record))) for record in found]


def acknowledge(
    store: Store, cache: Cache, refs: Sequence[int] | None, *, by: str, person: Body | None
) -> list[Alert]:
    """Close what has been raised up to now about the same as these alerts; what was closed.

    Args:
        store: where the log is.
        cache: where its fold is.
        refs: numbers of alerts, of each sort any one; None closes whatever is open, but `ASKED`.
        by: who acknowledges.
        person: `Author.by`, as it is recorded.

    Raises:
        Unknown: one of the numbers is no alert's; nothing is closed.
    """
    state = _state(store, cache)
    names = [_name(_found(store, seq)) for seq in refs or ()]
    if refs is None:
        names = [name for name in state["open"] if not _is_asked(name)]
    wanted = {name: state["open"][name] for name in names if name in state["open"]}
    said: Body = {"op": "ack", "by": by, "person": person}
    if refs is None and (wanted or state["older"]):
        last = max((entry["seq"] for entry in wanted.values()), default=store.head(STREAM))
        everything: Body = {"ref": ref_of(STREAM, last), "all": True, "but": sorted(ASKED)}
        store.append(STREAM, [Draft(said | everything)])
    elif wanted:
        lines = [
            said | _about(name) | {"ref": ref_of(STREAM, entry["seq"])}
            for name, entry in wanted.items()
        ]
        store.append(STREAM, [Draft(line) for line in lines])
    return [_alert(name, entry)._replace(open=False) for name, entry in wanted.items()]


def seen_to(  # noqa: PLR0917 - what is closed, and by whom
    store: Store, cache: Cache, kind: str, subject: str, by: str, person: Body | None
) -> None:
    """Close what is open of this kind about `subject`: a person did what it asks for."""
    entry = _state(store, cache)["open"].get(_named({"kind": kind, "subject": subject}))
    if entry is not None:
        acknowledge(store, cache, [entry["seq"]], by=by, person=person)


def about(store: Store, seq: int) -> tuple[str, str]:
    """Kind and subject of the alert of that number.

    Raises:
        Unknown: it is no alert's.
    """
    body = _found(store, seq).body
    return str(body["kind"]), str(body["subject"])


def _found(store: Store, seq: int) -> Record:
    record = record_at(store, STREAM, seq)
    if record is None or not _is_alert(record):
        raise Unknown(f"there is no alert {ref_of(STREAM, seq)}", "fleet alerts --all lists them")
    return record


def _is_alert(record: Record) -> bool:
    return record.body.get("op") == "alert"


def _one(record: Record, entry: _Open | None) -> Alert:
    is_open = entry is not None and entry["begin"] <= record.seq <= entry["seq"]
    return _alert(_name(record), _entry(record, None))._replace(open=is_open)


# The fold ----------------------------------------------------------------------------------------


def _state(store: Store, cache: Cache) -> _State:
    return fold(store, cache, STREAM, "open", "1", _nothing, _step).state


def _nothing() -> _State:
    return {"open": {}, "older": 0}


def _step(state: _State, record: Record) -> None:
    op = record.body.get("op")
    if op == "alert":
        _open(state, record)
    elif op == "ack":
        _close(state, record.body)


def _open(state: _State, record: Record) -> None:
    known = state["open"].pop(_name(record), None)
    state["open"][_name(record)] = _entry(record, known)
    if len(state["open"]) > MOST:
        del state["open"][next(iter(state["open"]))]
        state["older"] += 1


def _entry(record: Record, known: _Open | None) -> _Open:
    return {
        "seq": record.seq,
        "begin": known["begin"] if known else record.seq,
        "at": record.at,
        "first": known["first"] if known else record.at,
        "count": known["count"] + 1 if known else 1,
        "texts": [clip(str(record.body.get(name) or ""), LONGEST) for name in TEXTS],
    }


def _close(state: _State, body: Body) -> None:
    """Take out what is acknowledged; what was raised while somebody did so stays, counted anew."""
    number = str(body.get("ref")).rpartition("#")[2]
    last = int(number) if number.isdecimal() else 0
    everything, kept = body.get("all") is True, body.get("but")
    but = frozenset(map(str, kept)) if isinstance(kept, list) else frozenset()
    named = [name for name in state["open"] if _kind(name) not in but]
    for name in named if everything else [_named(body)]:
        entry = state["open"].get(name)
        if entry and entry["seq"] <= last:
            del state["open"][name]
        elif entry:
            entry |= {"begin": entry["seq"], "first": entry["at"], "count": 1}
    if everything:
        state["older"] = 0


def _name(record: Record) -> str:
    return _named(record.body)


def _named(body: Body) -> str:
    return f"{body.get('kind')}\n{body.get('subject')}"


def _kind(name: str) -> str:
    return name.partition("\n")[0]


def _is_asked(name: str) -> bool:
    return _kind(name) in ASKED


def _about(name: str) -> Body:
    kind, _, subject = name.partition("\n")
    return {"kind": kind, "subject": subject}


def _alert(name: str, entry: _Open) -> Alert:
    kind, _, subject = name.partition("\n")
    what, done, fix = entry["texts"]
    ref = ref_of(STREAM, entry["seq"])
    return Alert(ref, entry["at"], kind, subject, what, done, fix, entry["count"], entry["first"])
