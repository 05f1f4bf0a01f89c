"""From words to a stored event: schema, addressee, cause, limits, guard, one line in the log.

What happens to the event afterwards (lanes, lists, counts), and when one that waits for its time
becomes one, is not decided here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fleet.alerts import raise_alert
from fleet.bus.events import STREAM, seq_of
from fleet.errors import Held, NotAllowed, Rejected, Stale, TryAgain, Unknown
from fleet.logs import has_key, record_at, with_key
from fleet.ports import Cache, Store
from fleet.records import Body, Draft, Guard, NotHeldByOther, Record, claim_document, rfc3339
from fleet.schemas.own import OWN
from fleet.strictjson import check_depth

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig
    from fleet.identity import Author
    from fleet.schemas import EventType, Registry

Permit = Callable[["Author", str], Guard]

LATER = "later"  # the log of what waits for its time
SAME = ("from_agent", "type", "to_agent", "payload")  # a repeated id means the same event
OWN_KEYS = ("later#", "questions#", "deadletters#")  # ids of events that other logs brought about


class Emitter:
    """Checks an event and stores it."""

    def __init__(
        self,
        store: Store,
        cache: Cache,
        config: "HomeConfig",
        schemas: "Registry",
        permit: Permit | None,
    ) -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._schemas = schemas
        self._permit = permit

    def emit(
        self,
        author: "Author",
        type_name: str,
        payload: Body,
        *,
        to: str | None,
        key: str | None,
        cause: str | None,
    ) -> Record:
        """See `Bus.emit`."""
        draft = self.draft(author, type_name, payload, to=to, key=key, cause=cause)
        return self._append(author, draft, self._schemas.claim_key(type_name, payload))

    def draft(
        self,
        author: "Author",
        type_name: str,
        payload: Body,
        *,
        to: str | None,
        key: str | None,
        cause: str | None,
        log: str = STREAM,
        more: int = 0,
    ) -> Draft:
        """The event checked as `Bus.emit` says, before anything is written.

        It will stand in `log`, where a key that is there was let in before; `more` events of the
        author's run stand elsewhere and count too.
        """
        if type_name in OWN:
            raise NotAllowed(f"{type_name} is a type of fleet's own", OWN[type_name])
        if key is not None and key.startswith(OWN_KEYS):
            raise Rejected(f"the id {key!r} is fleet's own", "begin it with another word")
        kind = self._schemas.get(type_name)
        check_depth(payload)
        faults = self._schemas.check(type_name, payload)
        if faults:
            raise Rejected(f"{type_name}: {'; '.join(faults)}", _corrected(kind, payload, to))
        hops = self._hops(author, cause)
        body: Body = {
            "op": "event",
            "type": type_name,
            "from_agent": author.name,
            "to_agent": self._addressee(type_name, payload, to),
            "payload": payload,
            "cause": cause or author.cause,
            "hops": hops,
            "run": author.run,
        }
        if author.by is not None:
            body["by"] = author.by
        subject = self._schemas.subject(type_name, payload)
        if subject is not None:
            body["subject"] = subject
        if not has_key(self._store, log, key):  # a repeated event was let in already
            self._check_key(key, log)
            self._check_chain(author, cause, hops)
            self._check_count(author, more)
        return Draft(body, key=key, same=SAME)

    def _check_key(self, key: str | None, log: str) -> None:
        """Refuse a key that stands for an event of the other log: at once, or at its time."""
        other = LATER if log == STREAM else STREAM
        found = with_key(self._store, other, key) if key is not None else None
        if found is not None:
            what = f"the id {key!r} was used for another record ({found.ref})"
            raise Rejected(what, "give this one another id")

    def _addressee(self, type_name: str, payload: Body, to: str | None) -> str | None:
        """The agent it goes to, by the caller's word or by the type's own field."""
        agents = self._config.agents
        if to is not None and to not in agents:
            raise Unknown(f"there is no agent {to!r}", self._config.nearest_agent(to))
        named = self._schemas.addressee(type_name, payload)
        if named is None:
            return to
        if named not in agents:
            near = self._config.nearest_agent(named)
            raise Rejected(f"{type_name} is addressed to {named!r}, which is no agent", near)
        if to not in {None, named}:
            raise Rejected(f"{type_name} goes to {named} by its own field", f"leave out --to {to}")
        return named

    def _hops(self, author: "Author", cause: str | None) -> int:
        """How many wakes lie between this event and what set the chain off.

        A cause cannot shorten the chain that woke the run: the longer one counts.
        """
        hops = author.hops + 1 if author.run else 0
        if cause is not None:
            found = record_at(self._store, STREAM, seq_of(cause))
            if found is None:
                raise Unknown(f"there is no event {cause} to be the cause", "fleet events")
            earlier = found.body.get("hops")
            hops = max(hops, (earlier if isinstance(earlier, int) else 0) + 1)
        return hops

    def _check_chain(self, author: "Author", cause: str | None, hops: int) -> None:
        limit = self._config.limits.hops
        if hops > limit:
            self._stop_chain(cause or author.cause or str(author.run), hops)
            raise TryAgain(
                f"loop limit: this event would be {hops} wakes away from what set it off, "
                f"limits.hops is {limit}",
                "leave it to a person, who has an alert",
            )

    def _stop_chain(self, chain: str, hops: int) -> None:
        raise_alert(
            self._store,
            kind="loop",
            subject=chain,
            what=f"agents wake each other: {hops} events in a chain, the last before {chain}",
            done="the next event of the chain was refused",
            fix="fleet check names agents that wake each other: narrow what wakes one of them",
            key=f"loop/{chain}",
        )

    def _check_count(self, author: "Author", more: int) -> None:
        if author.run is None:
            return
        from fleet.bus.counts import emitted_by

        limit = self._config.limits.events_per_run
        if emitted_by(self._store, self._cache, author.run) + more >= limit:
            raise TryAgain(
                f"run {author.run} has emitted {limit} events, the limit of limits.events_per_run",
                "go on in the next run",
            )

    def _append(self, author: "Author", draft: Draft, claim: str | None) -> Record:
        if claim is None:
            return self._store.append(STREAM, [draft])[0]
        guard = self._permit(author, claim) if self._permit else NotHeldByOther(claim, author.name)
        try:
            return self._store.append(STREAM, [draft], guard=guard)[0]
        except Stale:
            raise self._held(claim) from None

    def _held(self, claim: str) -> Held:
        found = self._store.get(claim_document(claim))[0] or {}
        holder = str(found.get("holder") or "another one")
        wall = found.get("until_wall")
        until = rfc3339(wall) if isinstance(wall, int | float) else ""
        return Held(
            f"{claim} is held by {holder}",
            "leave it, do something else",
            key=claim,
            holder=holder,
            until=until,
        )


def _corrected(kind: "EventType", payload: Body, to: str | None) -> str:
    """The whole command again: `…` for a missing field, the kind of one that is another."""
    import json
    from shlex import quote  # only a mistake pays for them

    fields = dict.fromkeys(kind.required) | payload
    wanted = kind.properties
    words = [
        f"{name}=…"
        if value is None
        else f"{name}=<{wanted[name]}>"
        if isinstance(value, str) and wanted.get(name, "string") not in {"", "string"}
        else quote(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        for name, value in fields.items()
    ]
    return " ".join(["fleet emit", kind.name, *words, *(["--to", to] if to else [])])
