"""The document `memory/<agent>`: a memory for people and their programs, never read back here."""

from fleet.errors import Conflict, NotAllowed, TryAgain, Unavailable
from fleet.folds import Folded
from fleet.logs import holds
from fleet.memory.items import State
from fleet.memory.rules import VERSION
from fleet.ports import Store
from fleet.records import Body, Place

_TRIES = 100  # compare-and-set rounds; each lost one means that another writer won it


def document(agent: str, stream: str, now: Folded[State]) -> Body:
    """The memory as its document holds it.

    `version` is that of the rules that made it of the log `stream`; `seq` and `crc` are those of
    the newest record in it.
    """
    told: Body = {"agent": agent, "log": stream, "version": VERSION}
    told |= {"seq": now.seq, "crc": now.crc}
    return {**told, "updated": now.state["updated"] or None, **now.state["sections"]}


def save(store: Store, stream: str, agent: str, now: Folded[State]) -> str:
    """Write the document, unless it is further; why it could not be written, "" when it is.

    What is written is never lost by that: it stands in the log `stream`.
    """
    key, body = f"memory/{agent}", document(agent, stream, now)
    try:
        for _ in range(_TRIES):
            if _saved(store, stream, key, body):
                return ""
    except (TryAgain, NotAllowed) as fault:
        return str(fault)
    return f"{key} is written by others all the time"


def _saved(store: Store, stream: str, key: str, body: Body) -> bool:
    """Whether the document says `body` or more now; False when another writer was faster."""
    version: int | None
    try:
        found, version = store.get(key)
    except Unavailable:  # no copy of it can be read, but its log can
        found, version = None, None
    if found and _is_further(store, stream, found, body):
        return True
    try:
        store.put(key, body, expect=version)
    except Conflict:
        return False
    return True


def _is_further(store: Store, stream: str, found: Body, body: Body) -> bool:
    """Whether `found` is of this log and reaches as far as `body`."""
    seq, wanted = found.get("seq"), body["seq"]
    if not isinstance(seq, int) or not isinstance(wanted, int) or seq < wanted:
        return False
    return holds(store, stream, Place(seq, str(found.get("crc"))))
