"""Events that were set aside for an agent, and how one comes back: the log `deadletters`.

When one is set aside, the bus decides; that it is given to the agent again, a person.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fleet.alerts import raise_alert, seen_to
from fleet.bus.events import STREAM as EVENTS
from fleet.errors import Rejected, Unknown, Usage
from fleet.identity import require_operator
from fleet.logs import between, record_at
from fleet.ports import Cache, Store, read_kept
from fleet.records import Body, Draft, Record, Sieve, parse_ref
from fleet.retractions import Retractions

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig
    from fleet.identity import Author

STREAM = "deadletters"
NEWEST = 1000  # records among which the dead letters of one agent are looked for
DEAD, RETRIED = "dead", "retried"
KIND = "dead-letter"  # of the alert


class DeadLetter(NamedTuple):
    """An event that was set aside for one agent.

    Attributes:
        record: the one that says so.
        event: the event, None when it was trimmed or cannot be read.
        retried: the reference of the event by which it came back, None while it did not.
        retracted: why the event was taken back, None when it was not.
    """

    record: Record
    event: Record | None
    retried: str | None
    retracted: str | None

    @property
    def agent(self) -> str:
        """For whom it was set aside."""
        return str(self.record.body["agent"])

    @property
    def about(self) -> str:
        """The event's reference."""
        return str(self.record.body["event"])

    def as_json(self) -> Body:
        """What `--json` prints."""
        record, event = self.record, self.event
        return {
            "ref": record.ref,
            "seq": record.seq,
            "id": record.id,
            "at": record.at,
            "agent": self.agent,
            "event": self.about,
            "type": event.body.get("type") if event else None,
            "payload": event.body.get("payload") if event else None,
            "attempts": record.body.get("attempts"),
            "runs": record.body.get("runs"),
            "retried": self.retried,
            "retracted": self.retracted,
        }


class DeadLetters:
    """The dead letters of one home, for a person."""

    def __init__(self, store: Store, cache: Cache, config: "HomeConfig") -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._retractions = Retractions(store, cache)

    def listing(self, *, everything: bool = False) -> list[DeadLetter]:
        """Those that may come back, the oldest first, among the newest `NEWEST` records.

        With `everything` also those that were retried, or whose event was taken back.
        """
        after = max(0, self._store.head(STREAM) - NEWEST)
        found = self._after(after)
        return [one for one in found if everything or (one.retried or one.retracted) is None]

    def retry(self, author: "Author", ref: str) -> Record:
        """Give the event to its agent once more, as one addressed to it; that event.

        It is of the same author and says the same, and counts as no other event of its type. Each
        step may be repeated: it comes back once.

        Args:
            author: a person.
            ref: `deadletters#3`, `3`, or the event's, where it was set aside for one agent only.

        Raises:
            NotAllowed: the author is a run.
            Unknown: there is no such dead letter, its event is gone, or its agent is.
            Rejected: it came back already, or the event was taken back.
            Usage: it is no such reference, or the event was set aside for several agents.
        """
        require_operator(author, "deadletters retry")
        letter = self._meant(ref)
        if letter.retried is not None:
            fix = f"fleet seen {letter.retried} says which runs were shown it"
            raise Rejected(f"{letter.record.ref} came back as {letter.retried}", fix)
        if letter.retracted is not None:
            what = f"{letter.about} was retracted: {letter.retracted}"
            raise Rejected(what, "what was taken back does not come back")
        if letter.event is None:
            raise Unknown(f"{letter.about} is gone", "its segment is below state/archive")
        agent = self._config.called_now(letter.agent) or letter.agent
        if agent not in self._config.agents:
            raise Unknown(f"there is no agent {agent!r}", self._config.nearest_agent(agent))
        again = letter.event.body.get("again") or letter.about
        body: Body = {**letter.event.body, "to_agent": agent, "again": again}
        draft = Draft(body, key=letter.record.ref, same=("type", "from_agent", "payload"))
        event = self._store.append(EVENTS, [draft])[0]
        done: Body = {
            "op": RETRIED,
            "agent": letter.agent,
            "target": letter.record.seq,
            "event": event.ref,
            "by": author.by or author.name,
        }
        key = f"{RETRIED}/{letter.record.seq}"
        self._store.append(STREAM, [Draft(done, key=key, same=("op", "target"))])
        if not any(one.agent == letter.agent for one in self.listing()):
            seen_to(self._store, self._cache, KIND, letter.agent, author.name, author.by)
        return event

    def _meant(self, ref: str) -> DeadLetter:
        example = f"{STREAM}#3"
        name, seq = parse_ref(ref if "#" in ref else f"{STREAM}#{ref}", example)
        if name == EVENTS:
            found = [one for one in self.listing(everything=True) if one.about == ref]
            if len(found) > 1:
                known = ", ".join(f"{one.record.ref} ({one.agent})" for one in found[:4])
                raise Usage(f"{ref} was set aside more than once", f"name one of {known}")
        elif name == STREAM:
            found = [one for one in self._after(seq - 1) if one.record.seq == seq]
        else:
            raise Usage(f"'{ref}' is no dead letter", f"write it like {example}")
        if not found:
            raise Unknown(f"there is no dead letter {ref}", "fleet deadletters lists them")
        return found[0]

    def _after(self, after: int) -> Iterator[DeadLetter]:
        records = list(between(self._store, STREAM, after, self._store.head(STREAM)))
        back = {
            record.body.get("target"): str(record.body.get("event"))
            for record in records
            if record.body.get("op") == RETRIED
        }
        for record in records:
            if record.body.get("op") == DEAD:
                seq = parse_ref(str(record.body["event"]), "events#97")[1]
                yield DeadLetter(
                    record,
                    record_at(self._store, EVENTS, seq),
                    back.get(record.seq),
                    self._retractions.reason_of(EVENTS, seq),
                )


def put(store: Store, agent: str, record: Record, attempts: int, runs: Sequence[str]) -> Record:
    """The dead letter of `agent` for the event `record`, with its alert; repeating it is fine."""
    body: Body = {
        "op": DEAD,
        "agent": agent,
        "event": record.ref,
        "attempts": attempts,
        "runs": list(runs),
    }
    draft = Draft(body, key=f"{agent}/{record.id}", same=("agent", "event"))
    dead = store.append(STREAM, [draft])[0]
    raise_alert(
        store,
        kind=KIND,
        subject=agent,
        what=f"{attempts} runs of {agent} failed on {record.ref}",
        done=f"it was set aside as {dead.ref}, and the agent goes on without it",
        fix=f"fleet show {record.ref} shows it, fleet runs {agent} what failed; when that is "
        f"mended fleet deadletters retry {dead.ref} gives it back",
        key=f"dead-letter/{agent}/{record.id}",
    )
    return dead


def refs_for(store: Store, agent: str) -> frozenset[str]:
    """References of the events that were set aside for `agent`, among the newest `NEWEST`."""
    after = max(0, store.head(STREAM) - NEWEST)
    sieve = Sieve({"agent": frozenset({agent}), "op": frozenset({DEAD})})
    found = read_kept(store, STREAM, after, NEWEST, sieve=sieve).records
    return frozenset(str(record.body["event"]) for record in found)
