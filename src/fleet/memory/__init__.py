"""What an agent keeps from run to run: lessons, strengths, weaknesses, goals, research, plans.

The log `memory-log/<agent>` is the truth. The document `memory/<agent>` is its value, written
after each change for people and their programs; a memory is known from it only when the log was
lost (`mending`), so a damaged one is replaced. What only some commands need is imported there.
"""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from fleet.errors import NotAllowed, Rejected, Unknown, Usage
from fleet.folds import Folded
from fleet.memory.document import document, save
from fleet.memory.items import (
    ACTIVE,
    BY_LETTER,
    BY_NOUN,
    CATEGORIES,
    IMPORTANCES,
    KINDS,
    NOTE,
    REASON,
    SOURCE,
    Item,
    Kind,
    State,
    check,
    item_ref,
    parse_item,
    twin_of,
)
from fleet.memory.log import Archive, MemoryLog, stream_of
from fleet.memory.mending import mend, require_whole
from fleet.memory.rules import DROPPED, Left
from fleet.records import Body, Draft, Record

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig
    from fleet.identity import Author
    from fleet.ports import Cache, Store

__all__ = [
    "KINDS",
    "Archive",
    "Change",
    "Item",
    "Left",
    "Memory",
    "Undone",
    "item_ref",
    "stream_of",
]

ADDED, MERGED, CHANGED = "added", "merged", "changed"
KNOWN, REPEATED, STAGED = "known", "repeated", "staged"


class Change(NamedTuple):
    """What became of one change.

    Attributes:
        how: `added`; `merged` into the item that says the same; `changed`; and of a text that
            stands in the run's own prompt `known` (an item says it already) or `repeated`
            (none does): then nothing was written; `staged` in a shadow run.
        kind: the kind of item that it was about.
        item: the item as it is now, or as it was when it left; None when there is none.
        record: what was stored, None when nothing was.
        left: what the change pushed out of the live memory, or dropped.
        live: how many items of the section are live now; of goals, active ones.
        unsaved: why the document could not be written, "" when it was; the change stands.
    """

    how: str
    kind: Kind
    item: Item | None
    record: Record | None = None
    left: tuple[Left, ...] = ()
    live: int = 0
    unsaved: str = ""


class Undone(NamedTuple):
    """What a revert did: the ids of items that went, came back, and are what they were before.

    `record` is None when the run had changed nothing.
    """

    record: Record | None
    gone: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class Memory:
    """The memories of one home.

    Every change may raise `NotAllowed` (who writes is no agent, or the item is another's),
    `Rejected` (blank, too long, no valid Unicode), `Unknown` (no such item), what appending raises
    and what `mending.mend` does; it is durable when it returns.
    """

    def __init__(self, store: "Store", cache: "Cache", config: "HomeConfig") -> None:
        self._store = store
        self._cache = cache
        self._config = config

    # Reading ---------------------------------------------------------------------------------

    def state(self, agent: str) -> Body:
        """The memory of `agent` in the shape of its document; empty for one that has none."""
        log = self._log(agent)
        return document(agent, log.stream, log.value())

    def require_whole(self, agent: str) -> None:
        """Refuse the memory of `agent` when its log lost what its document holds.

        Raises:
            EndedBadly: it did.
        """
        require_whole(self._store, self.stream_of(agent), self._names(agent))

    def archive(self, agent: str) -> Archive:
        """What left the memory of `agent`."""
        return self._log(agent).archive()

    def items_of(self, agent: str, run: str) -> list[str]:
        """The ids of the items that `run` added to the memory of `agent`, archived ones too."""
        log = self._log(agent)
        live = [item for items in log.value().state["sections"].values() for item in items]
        return [one["id"] for one in (*live, *log.archive().items) if one["run"] == run]

    def stream_of(self, agent: str) -> str:
        """The log of the memory of `agent`: under the first name that it ever had."""
        known = self._config.agents.get(self._now(agent))
        return stream_of(known.formerly[0] if known and known.formerly else agent)

    def ref(self, agent: str, item: str) -> str:
        """`outreach/L12`: an item of `agent` as it is called anywhere, by the name of its log."""
        return item_ref(self.stream_of(agent), item)

    def _log(self, agent: str) -> MemoryLog:
        return MemoryLog(self._store, self._cache, self.stream_of(agent))

    def _to_change(self, agent: str, author: "Author") -> MemoryLog:
        """The log of a memory that is about to be changed, whole."""
        log = self._log(agent)
        mend(self._store, log, self._names(agent), author.name)
        return log

    def _names(self, agent: str) -> list[str]:
        """What it is called now, then what it was called before."""
        known = self._config.agents.get(self._now(agent))
        return [self._now(agent), *(known.formerly if known else ())]

    def _now(self, agent: str) -> str:
        """What `agent` is called now."""
        return self._config.called_now(agent) or agent

    # Adding ----------------------------------------------------------------------------------

    def learn(
        self,
        author: "Author",
        text: str,
        *,
        category: str = "observation",
        importance: str = "medium",
    ) -> Change:
        """Add a lesson.

        Raises:
            Rejected: no such category or importance.
        """
        _check_word("category", category, CATEGORIES)
        _check_word("importance", importance, IMPORTANCES)
        said = {"text": text, "category": category, "importance": importance}
        return self._add(author, BY_NOUN["lesson"], said)

    def research(self, author: "Author", finding: str, *, source: str) -> Change:
        """Add what was found out, and where."""
        check("source", source, SOURCE)
        return self._add(author, BY_NOUN["research"], {"finding": finding, "source": source})

    def goal(self, author: "Author", text: str) -> Change:
        """Add a goal; a sixteenth active one archives the one that was touched longest ago."""
        return self._add(author, BY_NOUN["goal"], {"text": text})

    def plan(self, author: "Author", text: str) -> Change:
        """Add a plan; an eleventh one archives the one with the oldest last note."""
        return self._add(author, BY_NOUN["plan"], {"text": text})

    def trait(
        self, author: "Author", noun: str, text: str, *, lessons: Sequence[str] = ()
    ) -> Change:
        """Add a `strength` or `weakness` (`noun`), with the lessons that it stands on."""
        log = self._to_change(self._own(author), author)
        ids = [self._lesson(log, author.name, one) for one in lessons]
        return self._add(author, BY_NOUN[noun], {"text": text, "lessons": ids})

    def _add(self, author: "Author", kind: Kind, said: Item) -> Change:
        log = self._to_change(self._own(author), author)
        check("finding" if kind.text == "finding" else kind.noun, said[kind.text], kind.limit)
        before = log.value()
        twin = twin_of(before.state["sections"][kind.section], kind, said)
        if author.run and not kind.notes:
            how = self._repeats(author.name, author.run, said[kind.text], twin)
            if how:
                return Change(how, kind, twin, live=_live(before.state, kind))
        return self._write(author, log, before, kind, {"op": kind.noun, **said})

    def _repeats(self, agent: str, run: str, text: str, twin: Item | None) -> str:
        """Whether `run` was told `text` by its own prompt: `known`, `repeated` or ""."""
        from fleet.memory.repeats import names, stands_in, told
        from fleet.places import Places

        said = told(Places(self._config.root), run)
        if twin and names(self.ref(agent, twin["id"]), said):
            return KNOWN  # shown, though perhaps not whole
        return (KNOWN if twin else REPEATED) if stands_in(text, said) else ""

    # Changing --------------------------------------------------------------------------------

    def progress(
        self, author: "Author", item: str, text: str, *, value: float | None = None
    ) -> Change:
        """Note how far a goal is, with a number where there is one."""
        said: Item = {"text": check("note", text, NOTE)}
        return self._change(author, "goal", item, "progress", _with_value(said, value))

    def achieve(self, author: "Author", item: str) -> Change:
        """Mark a goal as achieved."""
        return self._change(author, "goal", item, "achieve", {})

    def abandon(self, author: "Author", item: str, *, reason: str = "") -> Change:
        """Mark a goal as abandoned."""
        said = {"reason": check("reason", reason, REASON)} if reason else {}
        return self._change(author, "goal", item, "abandon", said)

    def note(self, author: "Author", item: str, text: str) -> Change:
        """Note how a plan goes."""
        return self._change(author, "plan", item, "note", {"text": check("note", text, NOTE)})

    def drop(self, author: "Author", noun: str, item: str) -> Change:
        """Take an item of kind `noun` out of the live memory; the archive keeps it."""
        return self._change(author, noun, item, "drop", {})

    def _change(self, author: "Author", noun: str, ref: str, op: str, said: Item) -> Change:
        log = self._to_change(self._own(author), author)
        before = log.value()
        kind = BY_NOUN[noun]
        wanted = self._item(author.name, ref, kind)
        item = _find(before.state, wanted, kind)
        if item is None:
            raise _gone(log.archive(), author.name, wanted, kind)
        if item.get("state", ACTIVE) != ACTIVE:
            raise Rejected(f"{item['id']} is {item['state']}", "add a new goal: fleet goal add")
        body = {"op": op, "target": item["id"], **said}
        return self._write(author, log, before, kind, body)

    # Undoing ---------------------------------------------------------------------------------

    def revert(self, author: "Author", agent: str, run: str) -> Undone:
        """Take back what `run` has changed in the memory of `agent` until now.

        The memory is then what its log amounts to without that run's records; what others
        changed, before or after, stands. Costs one reading of the log.

        Raises:
            NotAllowed: the author is a run.
        """
        from fleet.identity import require_operator

        require_operator(author, "memory revert")
        log = self._to_change(agent, author)
        before = log.value().state
        if not log.written_by(run):
            return Undone(None)
        body: Body = {"op": "revert", "target": run, "from_agent": author.name, "run": None}
        record = self._store.append(log.stream, [Draft(body | _by(author))])[0]
        now = log.value()
        save(self._store, log.stream, self._now(agent), now)
        return _undone(record, _by_id(before), _by_id(now.state))

    # Writing ---------------------------------------------------------------------------------

    def _own(self, author: "Author") -> str:
        """The agent whose memory the author may write: his own."""
        if not author.agent and author.name not in self._config.agents:
            raise NotAllowed(
                "a memory is written by its own agent",
                "say whose it is: fleet --as AGENT lesson add TEXT",
            )
        return author.name

    def _item(self, agent: str, ref: str, kind: Kind) -> str:
        """The id of an item of the agent's own of that kind.

        Raises:
            NotAllowed: it is another agent's.
            Usage: it is of another kind, or no reference.
        """
        owner, item = parse_item(ref, agent)
        if self._now(owner) != agent:
            fix = "a memory is its own agent's: fleet memory show shows yours"
            raise NotAllowed(f"{ref} is {owner}'s, you are {agent}", fix)
        if item[0] != kind.letter:
            what = f"{item} is a {BY_LETTER[item[0]].noun}, no {kind.noun}"
            raise Usage(what, f"their ids begin with {kind.letter}: fleet memory show")
        return item

    def _lesson(self, log: MemoryLog, agent: str, ref: str) -> str:
        """The id of a lesson of the agent's own, live or archived."""
        kind = BY_NOUN["lesson"]
        item = self._item(agent, ref, kind)
        if _find(log.value().state, item, kind) is None:
            archive = log.archive()
            if all(one["id"] != item for one in archive.items):
                raise _gone(archive, agent, item, kind)
        return item

    def _write(
        self, author: "Author", log: MemoryLog, before: Folded[State], kind: Kind, body: Body
    ) -> Change:
        body |= {"from_agent": author.name, "run": author.run} | _by(author)
        record = self._store.append(log.stream, [Draft(body)])[0]
        if (
            record.stream != log.stream
        ):  # a shadow run's: nothing is changed before a person says so
            return Change(STAGED, kind, None, record, live=_live(before.state, kind))
        own = str(body.get("target") or f"{kind.letter}{record.seq}")
        now, left = log.after(before, record)
        unsaved = save(self._store, log.stream, author.name, now)
        items = now.state["sections"][kind.section]
        gone = next((one.item for one in left if one.item["id"] == own), None)
        item = next((one for one in items if one["id"] == own), None) or gone
        how = CHANGED if "target" in body else ADDED
        if item is None and how == ADDED:
            how, item = MERGED, twin_of(items, kind, record.body)  # as it is stored: masked
        return Change(how, kind, item, record, tuple(left), _live(now.state, kind), unsaved)


def _find(state: State, item: str, kind: Kind) -> Item | None:
    """The live item with this id; None when there is none."""
    return next((one for one in state["sections"][kind.section] if one["id"] == item), None)


def _gone(archive: Archive, agent: str, item: str, kind: Kind) -> Unknown:
    """Why `agent` has no live `item`; names no other one, which a repeated `drop` would take."""
    left = next((one for one in archive.items if one["id"] == item), None)
    if left is None:
        fix = "fleet memory show lists what there is"
        return Unknown(f"{agent} has no {kind.noun} {item}", fix)
    how = "was dropped already" if left["why"] == DROPPED else "left for want of a place"
    return Unknown(f"{item} {how}", "it is in fleet memory show --archive")


def _check_word(what: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        from fleet.text import suggest

        choice = f"say --{what} {', '.join(known[:-1])} or {known[-1]}"
        raise Rejected(f"{word!r} is no {what}", suggest(word, known) or choice)


def _by(author: "Author") -> Body:
    return {} if author.by is None else {"by": author.by}


def _with_value(said: Item, value: float | None) -> Item:
    if value is None:
        return said
    if not isfinite(value):
        raise Rejected(f"{value} is no number", "give digits: --value 4")
    return {**said, "value": int(value) if float(value).is_integer() else value}


def _live(state: State, kind: Kind) -> int:
    items = state["sections"][kind.section]
    return sum(item.get("state", ACTIVE) == ACTIVE for item in items)


def _undone(record: Record, before: dict[str, Item], now: dict[str, Item]) -> Undone:
    both = before.keys() & now.keys()
    return Undone(
        record,
        gone=tuple(item for item in before if item not in now),
        back=tuple(item for item in now if item not in before),
        changed=tuple(item for item in before if item in both and before[item] != now[item]),
    )


def _by_id(state: State) -> dict[str, Item]:
    return {item["id"]: item for items in state["sections"].values() for item in items}
