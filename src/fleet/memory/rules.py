"""How each record changes a memory: pure functions of the state and the record, nothing else.

Whoever folds the same records gets the same memory, to the byte; so nobody who writes has to read
first, and two who write at once lose nothing. A record that fits nothing changes nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

from fleet.memory.items import (
    ABANDONED,
    ACHIEVED,
    ACTIVE,
    BY_LETTER,
    BY_NOUN,
    BY_SECTION,
    ENDED,
    IMPORTANCES,
    LESSONS,
    NOTES,
    Item,
    Kind,
    State,
    twin_of,
)
from fleet.records import Record

VERSION = 1  # of these rules: with other ones the same log is another memory

PLACES = {"medium": 15, "low": 10}
"""Places for lessons that no higher importance can take, for the newest of each."""

FULL, DROPPED = "full", "dropped"


class Left(NamedTuple):
    """An item that left the live memory.

    Attributes:
        section: where it was.
        item: as it was.
        why: `full` (its section had no place) or `dropped` (somebody said so).
    """

    section: str
    item: Item
    why: str


def step(state: State, record: Record) -> list[Left]:
    """Change `state` by one record; what left by it."""
    op = str(record.body.get("op"))
    if op in BY_NOUN:
        left = _add(state, BY_NOUN[op], record)
    elif op in {*_CHANGES, "drop"}:
        left = _on_an_item(state, op, record)
    elif op == "restored":
        left = _restore(state, record)
    elif op == "revert":
        left = []
    else:
        return []
    state["updated"] = record.at
    return left


def _add(state: State, kind: Kind, record: Record) -> list[Left]:
    """A new item, or what is new in the one that says the same."""
    items = state["sections"][kind.section]
    item = twin_of(items, kind, record.body)
    if item is None:
        item = _new(kind, record)
    else:
        items.remove(item)
        _merge(item, record)
    items.append(item)
    return _make_room(items, kind)


def _restore(state: State, record: Record) -> list[Left]:
    """An item as the document of a lost log held it; it replaces what is left of it."""
    kind, item = BY_SECTION.get(str(record.body.get("section"))), record.body.get("item")
    if kind is None or not isinstance(item, dict):
        return []
    items = state["sections"][kind.section]
    items[:] = [one for one in items if one["id"] != item["id"]] + [dict(item)]
    return _make_room(items, kind)


def _new(kind: Kind, record: Record) -> Item:
    body = record.body
    item: Item = {"id": f"{kind.letter}{record.seq}", kind.text: str(body.get(kind.text))}
    if kind.noun == "lesson":
        item |= {"category": body.get("category"), "importance": body.get("importance")}
        item |= {"learned_at": record.at, "last_at": record.at, "count": 1}
    elif kind.noun == "research":
        item |= {"source": str(body.get("source"))}
        item |= {"found_at": record.at, "last_at": record.at, "count": 1}
    else:
        item |= {"added_at": record.at, "last_at": record.at}
    if kind.noun == "goal":
        item |= {"state": ACTIVE, "reason": ""}
    if kind.notes:
        item |= {kind.notes: [], "earlier": 0}
    if kind.noun in {"strength", "weakness"}:
        item["lessons"] = _lessons([], body)
    return item | {"run": body.get("run")}


def _merge(item: Item, record: Record) -> None:
    item["last_at"] = record.at
    if "count" in item:
        item["count"] += 1
    if "importance" in item:
        said = (str(item["importance"]), str(record.body.get("importance")))
        item["importance"] = max(said, key=_rank)
    if "lessons" in item:
        item["lessons"] = _lessons(item["lessons"], record.body)


def _lessons(known: list[str], body: Item) -> list[str]:
    said = body.get("lessons")
    more = [str(one) for one in said] if isinstance(said, list) else []
    return list(dict.fromkeys([*known, *more]))[-LESSONS:]


def _rank(importance: str) -> int:
    return IMPORTANCES.index(importance) if importance in IMPORTANCES else -1


# Changes of one item ------------------------------------------------------------------------------


def _on_an_item(state: State, op: str, record: Record) -> list[Left]:
    target = str(record.body.get("target"))
    kind = BY_LETTER.get(target[:1])
    items = state["sections"][kind.section] if kind else []
    item = next((one for one in items if one["id"] == target), None)
    if kind is None or item is None:
        return []
    if op == "drop":
        items.remove(item)
        return [Left(kind.section, item, DROPPED)]
    noun, change = _CHANGES[op]
    if kind.noun != noun or item.get("state", ACTIVE) != ACTIVE:
        return []
    change(item, kind, record)
    item["last_at"] = record.at
    items.remove(item)
    items.append(item)
    return _make_room(items, kind)


def _note(item: Item, kind: Kind, record: Record) -> None:
    note = {"at": record.at, "text": record.body.get("text"), "run": record.body.get("run")}
    if "value" in record.body:
        note["value"] = record.body["value"]
    notes = [*item[kind.notes], note]
    item["earlier"] += len(notes[:-NOTES])
    item[kind.notes] = notes[-NOTES:]


def _achieve(item: Item, _kind: Kind, _record: Record) -> None:
    item["state"] = ACHIEVED


def _abandon(item: Item, _kind: Kind, record: Record) -> None:
    item["state"] = ABANDONED
    item["reason"] = str(record.body.get("reason") or "")


_CHANGES: dict[str, tuple[str, Callable[[Item, Kind, Record], None]]] = {
    "progress": ("goal", _note),
    "achieve": ("goal", _achieve),
    "abandon": ("goal", _abandon),
    "note": ("plan", _note),
}


# Caps ---------------------------------------------------------------------------------------------


def _make_room(items: list[Item], kind: Kind) -> list[Left]:
    """Take out what the section has no place for; the order of what stays is unchanged."""
    kept = _keep(items, kind)
    left = [Left(kind.section, item, FULL) for item in items if item["id"] not in kept]
    if left:
        items[:] = [item for item in items if item["id"] in kept]
    return left


def _keep(items: list[Item], kind: Kind) -> set[str]:
    """The ids of those that stay."""
    if kind.noun == "lesson":
        return _keep_lessons(items, kind.most)
    if kind.noun == "goal":
        active = [item["id"] for item in items if item["state"] == ACTIVE]
        ended = [item["id"] for item in items if item["state"] != ACTIVE]
        return {*active[-kind.most :], *ended[-ENDED:]}
    return {item["id"] for item in items[-kind.most :]}


def _keep_lessons(lessons: list[Item], most: int) -> set[str]:
    """The newest of each importance up to its own places, then by importance, then the newest."""
    if len(lessons) <= most:
        return {one["id"] for one in lessons}
    newest = lessons[::-1]
    kept: list[str] = []
    for importance, places in PLACES.items():
        kept += [one["id"] for one in newest if one["importance"] == importance][:places]
    rest = [one for one in newest if one["id"] not in kept]
    rest.sort(key=lambda one: _rank(str(one["importance"])), reverse=True)  # stable: newest first
    kept += [one["id"] for one in rest]
    return set(kept[:most])
