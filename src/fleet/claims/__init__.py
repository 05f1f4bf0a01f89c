"""Claims: expiring exclusive rights to a key, each with a fencing token that grows for ever.

A claim is one document and the document alone decides; the line in `claims-log` is written after
it, for people and for lists. What a claim protects is checked by the store, through a guard.
"""

import time

from fleet.claims.asked import check_durations, check_key, check_note
from fleet.claims.command import is_waited_for, this_process
from fleet.claims.listing import STREAM, history, open_keys
from fleet.claims.rules import (
    Claim,
    Decide,
    Decided,
    Wish,
    claim_of,
    freed,
    held,
    lasting,
    line_of,
    number,
    refusal,
    refuse_completed,
)
from fleet.errors import Conflict, Held, Unknown
from fleet.identity import Author
from fleet.ports import Cache, Store
from fleet.records import (
    Body,
    Draft,
    Guard,
    HeldBy,
    Instant,
    NotHeldByOther,
    Record,
    claim_document,
    is_live,
    rfc3339,
)

__all__ = ["Claim", "Claims"]

_TRIES = 100  # lost races for one document before giving up
_POLL = 1.0  # seconds; an expiry writes no record that would wake a waiter


class Claims:
    """The claims of one home.

    With a `cache`, lists cost the claims that are open and not every key that was ever claimed;
    they then miss a claim whose taker was killed between its document and its line in the log.
    """

    def __init__(self, store: Store, cache: Cache | None = None) -> None:
        self._store = store
        self._cache = cache

    def take(
        self,
        author: Author,
        key: str,
        *,
        ttl: float | None = None,
        keep: float | None = None,
        once: float | None = None,
        wait: float = 0.0,
        note: str = "",
        for_command: bool = False,
    ) -> Claim:
        """Hold `key`: in a run until its end, outside of one for 30 minutes.

        A shadow run holds it for real, and never beyond its end: it may do nothing that lasts.

        Taking what one holds already keeps its token and never shortens it; what is held for a
        command, nobody else takes, also not the same holder.

        Args:
            author: who will hold it.
            key: 1 to 200 bytes of printable UTF-8.
            ttl: seconds, at most the rest of the run.
            keep: seconds that the agent holds it, also beyond the run.
            once: refuse when anybody completed the key in so many seconds.
            wait: seconds to wait for it, at most 600.
            note: why, at most 500 bytes.
            for_command: this process runs a command under it, and renews and releases it.

        Raises:
            Held: another one holds it, or completed it (`once`).
            NotAllowed: the key is fleet's own, or the run is over.
            Rejected: no such key or note can be.
            Usage: a duration is out of bounds.
        """
        check_key(author, key)
        check_note(note)
        check_durations(ttl=ttl, keep=keep, once=once, wait=wait)
        if author.shadow:
            keep = None
        until = time.monotonic() + wait
        command = this_process() if for_command else None
        while True:
            head = self._store.head(STREAM)
            lasts = lasting(author, self._store.now(), ttl, keep)
            kept = keep is not None
            wish = Wish(key, author.name, author.run, lasts, note, kept, command=command)
            try:
                return self._take(wish, once, author.by)
            except Held:
                left = until - time.monotonic()
                if left <= 0:
                    raise
                self._store.wait({STREAM: head}, min(left, _POLL))

    def renew(
        self, author: Author, key: str, ttl: float | None = None, *, for_command: bool = False
    ) -> Claim:
        """Hold one's live claim longer: `ttl` seconds from now, else as long as it was taken for.

        In a run never beyond its end, but for a kept claim. A renewal never shortens.

        Raises:
            Held: another one, or another command than this process's, holds it.
            Unknown: nobody holds it, it may have expired.
            NotAllowed: the key is fleet's own, or the run is over.
        """
        check_key(author, key)
        check_durations(ttl=ttl)
        command = this_process() if for_command else None

        def decide(body: Body | None, now: Instant) -> Decided:
            if body is None or not is_live(body, now):
                raise Unknown(f"nobody holds {key} any more", f"fleet claim {key}")
            if body.get("command") != command:
                raise refusal(body, now, author.name)
            kept = bool(body["keep"])
            wanted = ttl or (number(body["lasts"]) if kept or author.until is None else None)
            lasts = lasting(author, now, None if kept else wanted, wanted if kept else None)
            wish = Wish(key, author.name, author.run, lasts, command=command)
            return "renewed", held(wish, body, now)

        return self._decided(key, decide, author.by)

    def release(
        self, author: Author, key: str, *, completed: bool = False, for_command: bool = False
    ) -> None:
        """Give up one's claim; `completed` says that what it stood for is done (see `once`).

        Releasing what one does not hold any more changes nothing. A claim whose command lost the
        process that waited for it is free to be released by its holder.

        Raises:
            Held: another one, or another command than this process's, holds it.
            Unknown: nobody ever claimed it.
            NotAllowed: the key is fleet's own.
        """
        check_key(author, key)

        def decide(body: Body | None, now: Instant) -> Decided | None:
            if body is None:
                raise self.never_claimed(key)
            running = body.get("command")
            own = running == this_process() if for_command else not is_waited_for(running)
            if body["holder"] == author.name and own:
                return freed(body, now, completed=completed and not author.shadow)
            if is_live(body, now):
                raise refusal(body, now, author.name)
            return None

        self._change(key, decide, author.by)

    def get(self, key: str) -> Claim | None:
        """The live claim on `key`, None when it is free."""
        body, _ = self._store.get(claim_document(key))
        now = self._store.now()
        return claim_of(body, now) if body is not None and is_live(body, now) else None

    def live(self, prefix: str = "") -> list[Claim]:
        """Every live claim whose key begins with `prefix`, by key."""
        found = (self.get(key) for key in open_keys(self._store, self._cache, prefix))
        return [claim for claim in found if claim is not None]

    def maybe_held(self, prefix: str = "") -> list[str]:
        """Keys that begin with `prefix` and may be held, by the log alone.

        Those of claims that have expired, but not been released, may be among them.
        """
        return list(open_keys(self._store, self._cache, prefix))

    def held_by(self, run: str, prefix: str = "") -> list[str]:
        """Keys that begin with `prefix` and that `run` holds."""
        keys = open_keys(self._store, self._cache, prefix, run)
        return [key for key in keys if (claim := self.get(key)) and claim.run == run]

    def history(self, key: str) -> list[Record]:
        """What happened to `key`, oldest first, the newest 200 changes.

        Bodies are `{op, claim, holder, run, token, until_wall, note, version, by?}` with op taken,
        renewed, released or completed. What the document knows and the log lost in a crash comes
        last, with number 0.
        """
        return history(self._store, key)

    def permit(self, author: Author, key: str) -> Guard:
        """The guard for a write that needs `key` (`x-claim`): a run takes it until its end.

        A person takes nothing: he writes while the key is free or his own.

        Raises:
            Held: another one holds it.
            Rejected, NotAllowed: as `take`.
        """
        check_key(author, key)
        if author.run is None:
            return NotHeldByOther(key, author.name)
        lasts = lasting(author, self._store.now(), None, None)
        wish = Wish(key, author.name, author.run, lasts, inside=True)
        return HeldBy(key, self._take(wish, by=author.by).token)

    # For fleet itself -----------------------------------------------------------------------

    def take_system(
        self, key: str, *, holder: str, run: str | None, ttl: float, note: str = ""
    ) -> Claim:
        """Hold one of fleet's own keys for `run` of `holder`; only the same run may take it again.

        Raises:
            Held: another run, also of the same agent, holds it.
        """
        return self._take(Wish(key, holder, run, ttl, note, own_run_only=True))

    def release_system(self, key: str, *, run: str | None) -> None:
        """Give up one of fleet's own keys if `run` holds it."""

        def decide(body: Body | None, now: Instant) -> Decided | None:
            if body is None or body["run"] != run or not is_live(body, now):
                return None
            return freed(body, now)

        self._change(key, decide)

    def release_run(self, run: str, *, kept: bool = False) -> list[str]:
        """Release what `run` holds, fleet's own keys for it included; the keys.

        What was taken with `keep` only if `kept`: then the run was retracted.
        """

        def decide(body: Body | None, now: Instant) -> Decided | None:
            if body is None or body["run"] != run or not is_live(body, now):
                return None
            return None if body["keep"] and not kept else freed(body, now)

        keys = open_keys(self._store, self._cache, "", run)
        return [key for key in keys if self._change(key, decide)]

    def _take(self, wish: Wish, once: float | None = None, by: Body | None = None) -> Claim:
        def decide(body: Body | None, now: Instant) -> Decided:
            refuse_completed(wish.key, body, now, once)
            return "taken", held(wish, body, now)

        return self._decided(wish.key, decide, by)

    def _decided(self, key: str, decide: Decide, by: Body | None) -> Claim:
        """The claim that `decide`, which never leaves things as they are, makes of `key`."""
        body = self._change(key, decide, by)
        assert body is not None  # noqa: S101 - by the promise above
        return claim_of(body, self._store.now())

    def _change(self, key: str, decide: Decide, by: Body | None = None) -> Body | None:
        """Replace the document of `key` by what `decide` makes of it, and log it."""
        tries = _TRIES
        while True:
            body, version = self._store.get(claim_document(key))
            now = self._store.now()
            decided = decide(body, now)
            if decided is None:
                return None
            op, after = decided
            line = line_of(op, after, body, version + 1, by)
            after |= {"last": line, "changed_at": rfc3339(now.wall)}
            try:
                self._store.put(claim_document(key), after, expect=version)
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                continue
            self._store.append(STREAM, [Draft(line)])
            return after

    def never_claimed(self, key: str) -> Unknown:
        """The refusal of a key that nobody ever claimed, with the nearest one that is held."""
        from fleet.text import suggest

        near = suggest(key, [claim.key for claim in self.live()])
        return Unknown(f"nobody ever claimed {key}", near or "fleet claims lists them")
