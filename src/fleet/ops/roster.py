"""Who works here: agents and channels added, changed, renamed and retired in the operator's files.

Every other byte of a file stays, the whole home is checked before anything is written, and what
was done under an old name stays under it. It starts and stops nothing.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fleet import identity
from fleet.config import load
from fleet.config.changes import Changes
from fleet.config.edit import first_line
from fleet.config.sources import TAKEN
from fleet.cursors import read_of_channels
from fleet.errors import BadHome, Conflict, Held, Rejected, Unknown, Usage
from fleet.identity import Author
from fleet.places import safe_name
from fleet.records import new_id
from fleet.text import one_of
from fleet.units import counted
from fleet.wiring import Fleet

HELD_FOR = 60.0  # seconds that a rename may take: nothing of the agent starts meanwhile
AGENT, CHANNEL = "agent", "channel"
_FOLDER = {AGENT: "agents", CHANNEL: "channels"}
TASK = """\
{% extends "base.md.j2" %}
{% block task %}
You are NAME: DESCRIPTION

Say here what to do, in which order, and when it is done.

End with `fleet report 'what you did' --next 'what comes next'`, or, when there was nothing to do,
`fleet report --idle 'why'`.
{% endblock %}
"""


def add(fleet: Fleet, author: Author, kind: str, name: str, fields: Mapping[str, str]) -> list[str]:
    """A new agent or channel with `fields` as they are typed in its file; the files written.

    An agent without a `prompt` gets a template of its own to be filled in.

    Raises:
        Usage: the name cannot be one, or a value has several lines.
        Rejected: there is one of that name, or the home would have an error.
    """
    identity.require_operator(author, f"{kind} new")
    _require_lines(fields)
    _require_free(fleet, kind, name)
    file = _file(kind, name)
    changes = Changes(fleet.root)
    said = dict(fields)
    if kind == AGENT and "prompt" not in said:
        said["prompt"] = f"{name}.md.j2"
        template = f"prompts/{said['prompt']}"
        if not (fleet.root / template).exists():
            text = TASK.replace("NAME", name).replace("DESCRIPTION", said.get("description", ""))
            changes.keep(template, text.encode())
    first = next(iter(said))
    changes.keep(file, first_line(first, said.pop(first)))
    _put(changes, file, said)
    return _write(fleet, changes)


def put(fleet: Fleet, author: Author, kind: str, name: str, fields: Mapping[str, str]) -> list[str]:
    """Set fields of an agent or a channel, `budget.per_day` for one inside another.

    Raises:
        Usage: a value has several lines.
        Unknown: there is none of that name.
        Rejected: the home would have an error.
    """
    identity.require_operator(author, f"{kind} set")
    _require_lines(fields)
    _require_known(fleet, kind, name)
    changes = Changes(fleet.root)
    _put(changes, _file(kind, name), fields)
    return _write(fleet, changes)


def rename(fleet: Fleet, author: Author, kind: str, old: str, new: str) -> list[str]:
    """Call an agent or a channel something else from now on; repeating it finishes what it began.

    An agent keeps its memory, its places and its pauses; what it wrote stays under its old name. A
    channel keeps its log, under whose name its references go on.

    Raises:
        Unknown: there is none of the old name.
        Rejected: the new name is taken, or something still waits for the old one.
        Held: the agent is running.
    """
    identity.require_operator(author, f"{kind} rename")
    _require_known(fleet, kind, old)
    if not _began(fleet, kind, old, new):
        _require_free(fleet, kind, new)
    if kind == CHANNEL:
        return _renamed(fleet, CHANNEL, old, new)
    with _not_running(fleet, old):
        _require_settled(fleet, old)
        _carry(fleet, old, new)
        files = _renamed(fleet, AGENT, old, new)
        _move_folder(fleet.root, old, new)
    return files


def retire(fleet: Fleet, author: Author, kind: str, name: str) -> list[str]:
    """Take an agent or a channel out of the home; what it did, or what was said, stays as history.

    Its file goes, and every mention of it in other files.

    Raises:
        Unknown: there is none of that name.
        Held: the agent is running.
        Rejected: the home would have an error.
    """
    identity.require_operator(author, f"{kind} retire")
    _require_known(fleet, kind, name)
    changes = Changes(fleet.root)
    changes.keep(_file(kind, name), None)
    changes.forget(kind, name)
    if kind == CHANNEL:
        return _write(fleet, changes)
    with _not_running(fleet, name):
        files = _write(fleet, changes)
        for claim in fleet.claims.live():
            if claim.holder == name and claim.key != f"agent:{name}":
                fleet.claims.release(author._replace(name=name), claim.key)
    return files


# Files ------------------------------------------------------------------------------------------


def _write(fleet: Fleet, changes: Changes) -> list[str]:
    """Write the files and let them be the config in force: nothing in them vanished by accident."""
    changes.write()
    with suppress(BadHome):  # other faults, that were there before: the last good config goes on
        load(fleet.root, fleet.cache)
    return list(changes.files)


def told_by(root: Path, name: str) -> list[str]:
    """The templates that speak of `name`; what they say to a model is for a person to change."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    files = sorted((root / "prompts").glob("**/*.j2"))
    return [
        str(file.relative_to(root))
        for file in files
        if word.search(file.read_text("utf-8", "replace"))
    ]


def _require_lines(fields: Mapping[str, str]) -> None:
    for name, written in fields.items():
        if len(written.splitlines()) > 1:
            raise Usage(f"{name} has more than one line", "write one line, or edit the file itself")


def _put(changes: Changes, file: str, fields: Mapping[str, str]) -> None:
    edit = changes.edit(file)
    for name, written in fields.items():
        edit.put(tuple(name.split(".")), written)
    changes.keep(file, edit.data)


def _renamed(fleet: Fleet, kind: str, old: str, new: str) -> list[str]:
    """The files of a rename: the new one first, so that no moment is without either."""
    changes = Changes(fleet.root)
    edit = changes.edit(_file(kind, old))
    if kind == AGENT:
        edit.append(("formerly",), old)
    else:
        edit.put(("log",), _log_of(fleet, old))
    changes.keep(_file(kind, new), edit.data)
    changes.rename(kind, old, new)
    changes.keep(_file(kind, old), None)
    return _write(fleet, changes)


def _file(kind: str, name: str) -> str:
    return f"{_FOLDER[kind]}/{name}.yaml"


def _move_folder(root: Path, old: str, new: str) -> None:
    """The agent's default folder goes along; one that its file names stays where it is."""
    before, after = root / "work" / old, root / "work" / new
    if before.is_dir() and not after.exists():
        before.rename(after)


# Names ------------------------------------------------------------------------------------------


def _names(fleet: Fleet, kind: str) -> list[str]:
    """The names that files of this kind have."""
    if kind == AGENT:
        return list(fleet.config.agents)
    return [channel.alias or channel.id for channel in fleet.config.channels.values()]


def _log_of(fleet: Fleet, channel: str) -> str:
    found = fleet.config.channel_named(channel)
    return found.id if found else channel


def _require_known(fleet: Fleet, kind: str, name: str) -> None:
    known = _names(fleet, kind)
    if name not in known:
        raise Unknown(f"there is no {kind} {name!r}", one_of(name, known))


def _require_free(fleet: Fleet, kind: str, name: str) -> None:
    if not safe_name(name):
        raise Usage(f"{name!r} cannot be a name", "use a-z, 0-9, _ and -, at most 64 characters")
    if name in TAKEN[_FOLDER[kind]]:
        raise Usage(f"no {kind} can be called {name!r}", "it is fleet's own, choose another")
    if name in _names(fleet, kind) or (fleet.root / _file(kind, name)).exists():
        raise Rejected(f"the {kind} {name} is there already", "choose another name")
    logs = ("runs/", "memory-log/") if kind == AGENT else ("channels/",)
    if any(fleet.store.head(f"{log}{name}") for log in logs):
        raise Rejected(f"there is history of an earlier {kind} {name}", "choose another name")


def _began(fleet: Fleet, kind: str, old: str, new: str) -> bool:
    """Whether a rename of `old` to `new` was begun and not finished."""
    if not (fleet.root / _file(kind, new)).exists():
        return False
    said = Changes(fleet.root).edit(_file(kind, new)).tree
    former = said.get("formerly") if kind == AGENT else [said.get("log")]
    before = old if kind == AGENT else _log_of(fleet, old)
    return isinstance(former, list) and before in former


# State ------------------------------------------------------------------------------------------


@contextmanager
def _not_running(fleet: Fleet, agent: str) -> Iterator[None]:
    """Hold the agent's own claim, so that nothing of it starts meanwhile."""
    run = new_id(fleet.store.now().wall)
    key = f"agent:{agent}"
    try:
        fleet.claims.take_system(key, holder=agent, run=run, ttl=HELD_FOR)
    except Held as held:
        fix = f"wait for its end, or fleet halt {agent}"
        raise Held(f"{agent} is running", fix, key=key, holder=held.holder) from None
    try:
        yield
    finally:
        fleet.claims.release_system(key, run=run)


def _require_settled(fleet: Fleet, agent: str) -> None:
    """Refuse while anything is there that only the old name would get."""
    pending = fleet.bus.events(for_agent=agent, floor=fleet.runs.last_ok_advance(agent), limit=1000)
    addressed = sum(record.body.get("to_agent") is not None for record in pending)
    if addressed:
        waits = counted(addressed, "event")
        raise Rejected(f"{waits} addressed to {agent} wait", f"fleet run {agent}, then rename it")
    places = read_of_channels(fleet.bus.lanes(agent, fleet.runs.last_ok_advance(agent)))
    own = [one.id for one in fleet.talk.directs(fleet.author._replace(name=agent))]
    if unread := sum(one.unread for one in fleet.talk.inbox(agent, own, places, 0)):
        waits = counted(unread, "direct message")
        raise Rejected(f"{waits} to {agent} wait", f"fleet run {agent}, then rename it")
    kept = [claim.key for claim in fleet.claims.live() if claim.holder == agent and claim.keep]
    if kept:
        fix = f"fleet --as {agent} release {kept[0]}, then rename it"
        raise Rejected(f"{agent} keeps {', '.join(kept[:3])}", fix)


def _carry(fleet: Fleet, old: str, new: str) -> None:
    """Places, schedule, pauses and memory under the new name; each step may be repeated."""
    places = fleet.bus.lanes(old, fleet.runs.last_ok_advance(old))
    fleet.cursors.advance(new, places)
    for document in ("schedule", "control"):
        body, _ = fleet.store.get(f"{document}/{old}")
        if body is not None:
            with suppress(Conflict):  # the one that is there is this rename's own
                fleet.store.put(f"{document}/{new}", body, expect=0)
