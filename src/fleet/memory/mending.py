"""A memory's log that lost what its document still holds: found, and mended before a change.

Reading never mends: who looks is told. The document is believed only for what no log has any more.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleet.errors import EndedBadly, Finding, NotAllowed, TryAgain, Unavailable
from fleet.logs import holds
from fleet.memory.document import save
from fleet.memory.items import KINDS
from fleet.memory.log import MemoryLog
from fleet.ports import Store
from fleet.records import Body, Draft, Place

RESTORED = "restored"
PAGE = 500


class Lost(NamedTuple):
    """A document that reaches further than its log, or stands on a record that is not there.

    Attributes:
        key: `memory/<agent>`.
        stream: its log.
        seq: the number that the document reaches.
        body: what the document holds.
    """

    key: str
    stream: str
    seq: int
    body: Body

    @property
    def agent(self) -> str:
        """Whose document it is."""
        return self.key.partition("/")[2]

    @property
    def what(self) -> str:
        """One sentence for people."""
        return f"{self.stream} lost records: state/{self.key}.json holds it up to {self.seq}"

    @property
    def fix(self) -> str:
        """What brings the memory back."""
        return f"the next change takes it back from there: fleet --as {self.agent} lesson add TEXT"

    def finding(self) -> Finding:
        """What `verify` says."""
        return Finding("error", f"state/{self.key}.json", 0, self.what, self.fix)


def lost(store: Store, stream: str, names: Sequence[str]) -> list[Lost]:
    """The documents among those of `names` that the log `stream` does not reach, furthest first."""
    found = [_lost(store, f"memory/{name}") for name in names]
    beyond = [one for one in found if one and one.stream == stream]
    return sorted(beyond, key=lambda one: one.seq, reverse=True)


def all_lost(store: Store) -> Iterator[Lost]:
    """Every memory of the home whose log lost what its document holds."""
    after = ""
    while page := store.keys("memory/", after, PAGE):
        yield from filter(None, (_lost(store, key) for key in page))
        after = page[-1]


def require_whole(store: Store, stream: str, names: Sequence[str]) -> None:
    """Refuse a memory that is less than what was known of it.

    Raises:
        EndedBadly: its log lost records.
    """
    for gone in lost(store, stream, names)[:1]:
        raise EndedBadly(gone.what, gone.fix)


def mend(store: Store, log: MemoryLog, names: Sequence[str], author: str) -> None:
    """Write what only the document holds into the log again, if there is anything; repeatable.

    Nothing that the log still has goes, and no number is given twice. The agent's own document
    follows at once: until it is written no change may be made, which the next mending would undo.

    Raises:
        EndedBadly: a shadow run asks, which may not write to the log.
        Unavailable: the document could not be written.
    """
    found = lost(store, log.stream, names)
    if not found:
        return
    gone = found[0]
    store.append_gap(log.stream, gone.seq)
    drafts = list(_drafts(gone, author))
    if drafts and store.append(log.stream, drafts)[0].stream != log.stream:
        raise EndedBadly(gone.what, gone.fix)
    now = log.value()
    for name in {names[0], *(one.agent for one in found)}:
        if why := save(store, log.stream, name, now):
            raise Unavailable(f"{gone.what}, and memory/{name} cannot be written", why)


def _lost(store: Store, key: str) -> Lost | None:
    """What `key` holds beyond its log; reads the document first, for only the log may be ahead."""
    try:
        body = store.get(key)[0] or {}
    except (TryAgain, NotAllowed):  # what cannot be read says nothing; `verify` names it
        return None
    stream, seq, crc = body.get("log"), body.get("seq"), body.get("crc")
    if not isinstance(stream, str) or not isinstance(seq, int) or not isinstance(crc, str):
        return None
    return None if holds(store, stream, Place(seq, crc)) else Lost(key, stream, seq, body)


def _drafts(gone: Lost, author: str) -> Iterator[Draft]:
    """A record for each item that the document holds, the last touched of a section last."""
    at = f"{gone.seq}/{gone.body['crc']}"
    for kind in KINDS:
        items = gone.body.get(kind.section)
        for item in items if isinstance(items, list) else []:
            body: Body = {"op": RESTORED, "section": kind.section, "item": item}
            body |= {"from_agent": author, "run": item.get("run")}
            key = f"{RESTORED}/{at}/{item['id']}"
            yield Draft(body, key=key, same=("op", "section", "item"))
