"""Which keys may be held now, and what happened to one: read from the log, proved by documents."""

from collections.abc import Iterable, Iterator

from fleet.claims.rules import number
from fleet.ports import Cache, Store
from fleet.records import Record, Sieve, claim_document, wall_of

STREAM = "claims-log"
HISTORY = 200  # changes that `history` goes back
_PAGE = 500
_PRUNE_EVERY = 256  # records
_FORGET = 86400.0  # seconds after its end that a claim nobody released leaves the list

_Open = dict[str, dict[str, object]]


def history(store: Store, key: str) -> list[Record]:
    """See `Claims.history`."""
    from fleet.logs import newest

    sieve = Sieve({"claim": frozenset({key})})
    head = store.head(STREAM)
    found = newest(store, STREAM, head, HISTORY, lambda r: sieve.passes(r.body), sieve)
    body, version = store.get(claim_document(key))
    last = body["last"] if body else None
    if isinstance(last, dict) and all(record.body.get("version") != version for record in found):
        found.append(Record(STREAM, 0, "", str(body and body["changed_at"]), last))
    return found


def open_keys(
    store: Store, cache: Cache | None, prefix: str, run: str | None = None
) -> Iterable[str]:
    """Keys that begin with `prefix` and may be held, sorted; of `run` only, when it is given.

    Without a cache every key that was ever claimed.
    """
    if cache is None:
        return _every(store, prefix)
    from fleet.folds import fold

    folded = fold(store, cache, STREAM, "open", "1", _none, _step)
    return [
        key
        for key, held in sorted(folded.state.items())
        if key.startswith(prefix) and run in {None, held["run"]}
    ]


def _every(store: Store, prefix: str) -> Iterator[str]:
    after = ""
    while page := store.keys(claim_document(prefix), after, _PAGE):
        yield from (name.removeprefix(claim_document("")) for name in page)
        after = page[-1]


def _none() -> _Open:
    return {}


def _step(state: _Open, record: Record) -> None:
    body = record.body
    key, version = str(body.get("claim")), number(body.get("version"))
    # Two processes may log in another order than their documents followed each other.
    if version >= number(state.get(key, {}).get("version")):
        if body.get("op") in {"taken", "renewed"}:
            state[key] = {
                "run": body.get("run"),
                "until": body.get("until_wall"),
                "version": version,
            }
        elif body.get("op") in {"released", "completed"}:
            state.pop(key, None)
    if record.seq % _PRUNE_EVERY == 0:
        past = wall_of(record.at) - _FORGET
        for name in [name for name, held in state.items() if number(held["until"]) < past]:
            del state[name]
