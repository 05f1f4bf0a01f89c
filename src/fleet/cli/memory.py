"""What an agent keeps, from the command line: memory show, memory plan, memory revert.

Lessons, goals and the rest are in `learning`; how a change is answered is said here for both.
"""

from typing import TYPE_CHECKING

import click

from fleet.cli.commands import COMMANDS
from fleet.cli.grammar import LIMIT, Command, Group
from fleet.cli.inputs import text_of
from fleet.cli.output import (
    Item,
    local,
    note_read,
    page,
    say_done,
    say_error,
    say_items,
    say_json,
    say_objects,
    say_written,
)
from fleet.cli.session import Session, pass_session
from fleet.errors import NotAllowed, Unknown, Usage
from fleet.text import clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.memory import Change, Left
    from fleet.memory import Item as Entry

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
FILE = click.option("--file", metavar="F", help="Read the text from a file.")
SHOWN = 50  # items at once
NAMED = 60  # characters of the text of what left
SIX = (
    "say which: fleet lesson add TEXT, fleet goal add TEXT, fleet research add TEXT --source S,"
    " fleet memory plan add TEXT, fleet strength add TEXT, fleet weakness add TEXT"
)


class _Memory(Group):
    """`fleet memory`: whoever wants to add to it is told its six sections."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names.

        Raises:
            Usage: there is none of that name.
        """
        if args[0] in {"add", "write", "save", "remember", "note"}:
            raise Usage("a memory has six sections", SIX)
        return super().resolve_command(ctx, args)


@click.group("memory", cls=_Memory, short_help=COMMANDS["memory"].line)
def memory_command() -> None:
    """What you keep from run to run: lessons, goals, plans, research, strengths, weaknesses."""


# Showing ------------------------------------------------------------------------------------------


@memory_command.command(
    "show",
    cls=Command,
    examples=["fleet memory show", "fleet memory show --archive", "fleet memory show --json"],
)
@click.option("--agent", metavar="AGENT", help="Whose, for operators; yours in a run.")
@click.option("--archive", is_flag=True, help="What left: no place for it, or dropped.")
@click.option("--after", metavar="ITEM", help="Go on behind this item.")
@click.option("--limit", type=LIMIT, help=f"At most so many (default {SHOWN}).")
@AS_JSON
@pass_session
def show_command(
    session: Session,
    *,
    agent: str | None,
    archive: bool,
    after: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """A memory, what matters most first; with --json its document."""
    from fleet.memory import item_ref

    whose = _whose(session, agent)
    memory, config = session.fleet.memory, session.fleet.config
    if whose not in config.agents and not config.called_now(whose):
        say_error(f"{whose} is no agent any more: this is what it kept")
    memory.require_whole(whose)
    if as_json and not archive:
        state = memory.state(whose)
        say_json(state)
        note_read(session, [item_ref(whose, entry["id"]) for entry in _in_order(state)])
        return
    gone = memory.archive(whose) if archive else None
    entries = gone.items if gone else _in_order(memory.state(whose))
    rest = _behind(entries, after)
    shown = rest[: page(session, limit, SHOWN, as_json=as_json)]
    if as_json:
        say_objects(session, ({**entry, "ref": item_ref(whose, entry["id"])} for entry in shown))
        return
    items = [
        Item(_head(session, entry), _body(entry), item_ref(whose, entry["id"])) for entry in shown
    ]
    more = ""
    if len(rest) > len(shown):
        from fleet.cli.hints import again

        options = {"--agent": agent, "--archive": archive, "--limit": limit}
        more = again(session, ["memory", "show"], options | {"--after": shown[-1]["id"]})
    if not items:
        items = [Item(f"nothing left {whose}'s memory" if archive else f"{whose} keeps nothing")]
    say_items(session, items, more)
    if gone and gone.total > len(entries) and not more:
        say_error(f"{gone.total - len(entries)} older ones stand in state/memory-log/{whose}")


def _whose(session: Session, agent: str | None) -> str:
    """The agent whose memory is asked for.

    Raises:
        NotAllowed: a run asks for another agent's.
        Usage: a person does not say whose.
        Unknown: there is and was no such agent.
    """
    fleet = session.fleet
    author, known = fleet.author, fleet.config.agents
    own = author.name if author.agent or author.name in known else None
    if agent is None and own is None:
        raise Usage("whose memory?", "say fleet memory show --agent AGENT")
    if author.agent and agent not in {None, own}:
        raise NotAllowed(f"{agent}'s memory is its own", "fleet memory show shows yours")
    whose = str(agent or own)
    kept = {name.partition("/")[2] for name in fleet.store.streams("memory-log/", "", 10_000)}
    if whose not in {*known, *kept, *fleet.runs.agents()}:
        from fleet.text import one_of

        raise Unknown(f"there is no agent {clip(whose, 80)!r}", one_of(whose, known))
    return whose


def _in_order(state: "Entry") -> "list[Entry]":
    """Everything live: goals and plans under way, lessons newest first, what came of it."""
    ended = [goal for goal in state["goals"] if goal["state"] != "active"]
    groups = [
        [goal for goal in state["goals"] if goal["state"] == "active"],
        *(state[name] for name in ("plans", "lessons", "strengths", "weaknesses", "research")),
        ended,
    ]
    return [entry for group in groups for entry in reversed(group)]


def _behind(entries: "list[Entry]", after: str | None) -> "list[Entry]":
    if after is None:
        return entries
    item = after.rpartition("/")[2].upper()
    at = next((at for at, entry in enumerate(entries) if entry["id"] == item), None)
    if at is None:
        raise Unknown(f"there is no {after} in this list", "fleet memory show")
    return entries[at + 1 :]


def _head(session: Session, entry: "Entry") -> str:
    """`L12 · high success · 3 times · 2026-11-30 14:32`."""
    from fleet.memory.items import BY_LETTER

    parts = [entry["id"], BY_LETTER[entry["id"][0]].noun]
    parts += [f"{entry['importance']} {entry['category']}"] if "category" in entry else []
    parts += [entry["state"]] if "state" in entry else []
    parts += [f"{entry['count']} times"] if entry.get("count", 1) > 1 else []
    parts += [f"from {', '.join(entry['lessons'])}"] if entry.get("lessons") else []
    parts += [local(entry["last_at"], session.zone)]
    if "why" in entry:
        parts += [f"{entry['why']} {local(entry['left_at'], session.zone)}"]
    return " · ".join(parts)


def _body(entry: "Entry") -> str:
    lines = [entry.get("text") or f"{entry['finding']} ({entry['source']})"]
    lines += [f"because: {entry['reason']}"] if entry.get("reason") else []
    notes = entry.get("progress") or entry.get("notes") or []
    if entry.get("earlier"):
        lines.append(f"{entry['earlier']} earlier notes stand in the log")
    for note in notes:
        value = f" ({note['value']})" if "value" in note else ""
        lines.append(f"{note['at'][:10]}: {note['text']}{value}")
    return "\n".join(lines)


# Plans --------------------------------------------------------------------------------------------


@memory_command.group("plan", cls=Group)
def plan_command() -> None:
    """What you mean to do over several runs, with notes over time; at most 10 at once."""


@plan_command.command(
    "add", cls=Command, examples=["fleet memory plan add 'Test three subject lines a week'"]
)
@click.argument("text", required=False)
@FILE
@AS_JSON
@pass_session
def plan_add_command(
    session: Session, *, text: str | None, file: str | None, as_json: bool
) -> None:
    """Add a plan. An eleventh archives the one with the oldest last note."""
    words = text_of(session, text, file, "fleet memory plan add 'TEXT'")
    say_change(session, session.fleet.memory.plan(session.fleet.author, words), as_json=as_json)


@plan_command.command("note", cls=Command, examples=["fleet memory plan note P4 'two of three'"])
@click.argument("item")
@click.argument("text", required=False)
@FILE
@AS_JSON
@pass_session
def plan_note_command(
    session: Session, *, item: str, text: str | None, file: str | None, as_json: bool
) -> None:
    """Note how a plan goes."""
    words = text_of(session, text, file, f"fleet memory plan note {item} 'TEXT'")
    change = session.fleet.memory.note(session.fleet.author, item, words)
    say_change(session, change, as_json=as_json)


@plan_command.command("drop", cls=Command, examples=["fleet memory plan drop P8"])
@click.argument("item")
@AS_JSON
@pass_session
def plan_drop_command(session: Session, *, item: str, as_json: bool) -> None:
    """Take a plan out; the archive keeps it."""
    change = session.fleet.memory.drop(session.fleet.author, "plan", item)
    say_change(session, change, as_json=as_json)


# Reverting ----------------------------------------------------------------------------------------


@memory_command.command("revert", cls=Command, examples=["fleet memory revert --run outreach"])
@click.option("--run", "ref", metavar="RUN", required=True, help="An id, a prefix, outreach~1.")
@click.option("--agent", metavar="AGENT", help="Whose memory, for a run that is not on record.")
@AS_JSON
@pass_session
def revert_command(session: Session, *, ref: str, agent: str | None, as_json: bool) -> None:
    """Take one run's changes out of a memory; what others changed stands."""
    fleet = session.fleet
    if agent is None:
        run = fleet.runs.find(ref)
        agent, ref = run.agent, run.id
    done = fleet.memory.revert(fleet.author, _whose(session, agent), ref)
    fields = {
        "ref": done.record.ref if done.record else None,
        "agent": agent,
        "run": ref,
        "gone": list(done.gone),
        "back": list(done.back),
        "changed": list(done.changed),
    }
    parts = [
        f"{word} {', '.join(ids)}"
        for word, ids in (("out", done.gone), ("back", done.back), ("as before", done.changed))
        if ids
    ]
    said = "; ".join(parts) or "nothing live was of it"
    line = f"reverted {ref} in {agent}'s memory: {said}"
    if done.record is None:
        line = f"{ref} changed nothing in {agent}'s memory"
    if as_json:
        say_json(fields)
    else:
        say_done(line)


# What was changed ---------------------------------------------------------------------------------


def say_change(session: Session, change: "Change", *, as_json: bool) -> None:
    """One line: what became of it, and what left by it."""
    agent, record, memory = session.fleet.author.name, change.record, session.fleet.memory
    item = change.item["id"] if change.item else None
    fields = {
        "ref": memory.ref(agent, item) if item else None,
        "seq": record.seq if record else None,
        "id": record.id if record else None,
        "item": item,
        "how": change.how,
        "count": change.item.get("count") if change.item else None,
        "live": change.live,
        "left": [memory.ref(agent, left.item["id"]) for left in change.left],
    }
    line = _said(change) + _left([left for left in change.left if left.item["id"] != item])
    say_written(session, as_json=as_json, fields=fields, line=line)
    if change.how == "merged" and not (as_json or session.one_line):
        say_error(line)  # the bare reference would look like that of a new one
    if change.unsaved:
        say_error(f"{line}; memory/{agent} is written with the next change: {change.unsaved}")


def _said(change: "Change") -> str:
    kind, item = change.kind, change.item
    if change.how == "staged":
        return f"{kind.noun} noted"
    if item is None:
        return "not learned: it only repeats your prompt"
    name, noun = item["id"], kind.noun
    if change.how == "known":
        return f"{name} says it already, and so does your prompt: nothing to learn"
    if change.how == "added":
        verb = "learned" if noun == "lesson" else "noted"
        return f"{verb} {name} ({noun} {change.live} of {kind.most})"
    if change.how == "merged":
        count = f", now {item['count']} times" if "count" in item else ""
        return f"merged into {name}{count}: it says the same"
    if change.left:
        return f"dropped {name}, the archive keeps it"
    if item.get("state") in {"achieved", "abandoned"}:
        return f"{item['state']} {name}"
    return f"noted for {name}"


def _left(left: "Sequence[Left]") -> str:
    """` · to the archive: L3 'Short subject lines get answers'`."""
    if not left:
        return ""
    named = (
        f"{one.item['id']} '{clip(one.item.get('text') or one.item['finding'], NAMED)}'"
        for one in left
    )
    return f" · to the archive: {', '.join(named)}"
