"""Every fault of a home's files at once, and what its maps forgot; it writes nothing but caches.

The lint of the maps are warnings: a home with them runs, but hardly as its operator meant it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fleet.config import vanished
from fleet.config.build import build, place
from fleet.config.model import Agent, HomeConfig
from fleet.config.yamltext import KEEP_ONE, UNMERGED, merge_mark
from fleet.errors import BadHome, Finding, StoreError
from fleet.identity import RESERVED_NAMES
from fleet.ledger import UNHEARD_OF
from fleet.ops.inert import inert
from fleet.ops.programs import missing
from fleet.places import Places
from fleet.schemas.check import check_files
from fleet.strictjson import loads
from fleet.talk.members import is_of_two
from fleet.text import escape
from fleet.wiring import Fleet, open_fleet

_TEMPLATE_USED = re.compile(r"""\{%-?\s*(?:extends|include|import|from)\s+["']([^"']+)["']""")
_SHOWN = r"\{[{%%][^}]*\b%s\b"
_PLACE = re.compile(r"(prompts/[^:]+?)(?::(\d+))?: (.*)")
_STATE_OF_AGENTS = ("cursors", "memory", "schedule", "runs")


def check(root: Path) -> list[Finding]:
    """All findings on the home at `root` (absolute), by file and line; errors forbid to run it.

    A home without errors becomes the last good config: what was taken away on purpose is gone
    from then on (see `config.open_config`).
    """
    built = build(root)
    named = {(found.file, found.line) for found in built.findings}
    schemas = [found for found in check_files(root) if (found.file, found.line) not in named]
    findings = [*built.findings, *schemas, *_unmerged(root)]
    if any(finding.severity == "error" for finding in findings):
        findings += _gone(root)
    elif built.config:
        findings += _tried(open_fleet(root, env={}, strict=True))
        findings += lint(built.config)
        findings += inert(built.config)
        findings += missing(built.config)
    return sorted(findings, key=place)


def _gone(root: Path) -> list[Finding]:
    """What was taken away since the last good config: the other faults keep it from being so."""
    fix = "put it back, or mend the rest: the next fleet check accepts it then"
    try:
        gone = vanished(root, open_fleet(root, env={}).cache)
    except BadHome:  # a state of another version: that is said wherever it is read
        return []
    return [found._replace(fix=fix) for found in gone]


def lint(config: HomeConfig) -> Iterator[Finding]:
    """What is valid and yet goes nowhere, in a home without errors."""
    active = [agent for agent in config.agents.values() if agent.enabled]
    yield from _unheard(config, active)
    yield from _unread(config, active)
    yield from _never_woken(active)
    yield from _too_dear(config, active)
    yield from _blind(config.root, active)
    yield from _cycles(active)
    yield from _orphans(config)


def _tried(fleet: Fleet) -> Iterator[Finding]:
    """What a render of each agent's template says, with the state as it is now."""
    from fleet.context import RenderFailed
    from fleet.context import build as build_context

    failed: dict[tuple[str, str, str], list[str]] = {}
    for agent in fleet.config.agents.values():
        try:
            build_context(fleet.sources(), agent, run="check")
        except RenderFailed as fault:
            place = _PLACE.match(fault.what)
            said = place.groups("0") if place else (f"prompts/{agent.prompt}", "0", fault.what)
            failed.setdefault((said[0], said[1], said[2]), []).append(agent.id)
        except (StoreError, BadHome) as fault:
            what = f"the template of {agent.id} could not be tried: {fault.what}"
            yield Finding("warning", agent.file, 0, what, fault.fix)
    for (file, line, what), agents in failed.items():
        more = f" and {len(agents) - 1} more" if len(agents) > 1 else ""
        fix = f"fleet context {agents[0]} tries it again"
        yield Finding("error", file, int(line), f"{what} (for {agents[0]}{more})", fix)


def _unmerged(root: Path) -> Iterator[Finding]:
    """Templates with the marks of a merge in them: to jinja these are text like any other."""
    for path in sorted((root / "prompts").glob("**/*.j2")):
        if path.is_file() and (line := merge_mark(path.read_text("utf-8", "replace"))):
            name = escape(str(path.relative_to(root)))
            yield Finding("error", name, line, UNMERGED, KEEP_ONE)


def _unheard(config: HomeConfig, active: list[Agent]) -> Iterator[Finding]:
    heard = {name for agent in active for name in agent.interests}
    heard |= {vital.count for vital in config.vitals}
    for name in config.types:
        file = f"schemas/{name}.json"
        if name not in heard and not _is_addressed(config.root / file):
            fix = "add it to somebody's interests, or remove the file"
            yield Finding("warning", file, 0, f"no agent is interested in {name}", fix)


def _is_addressed(path: Path) -> bool:
    schema = loads(path.read_bytes())
    return isinstance(schema, dict) and bool(schema.get("x-to"))


def _unread(config: HomeConfig, active: list[Agent]) -> Iterator[Finding]:
    read = {name for agent in active for name in agent.channels}
    for name, channel in config.channels.items():
        if name not in read:
            fix = "add it to an agent's channels, or remove the file"
            yield Finding("warning", channel.file, 0, f"no agent gets a digest of {name}", fix)


def _never_woken(active: list[Agent]) -> Iterator[Finding]:
    for agent in active:
        wakes = agent.wake_on and (agent.wake_on.types or agent.wake_on.addressed)
        if not agent.schedule and not wakes:
            fix = "add a schedule or wake_on, or leave it so"
            yield Finding("warning", agent.file, 0, f"{agent.id} runs only by hand", fix)


def _too_dear(config: HomeConfig, active: list[Agent]) -> Iterator[Finding]:
    """Agents of which not one run fits into a budget of the day."""
    for agent in active:
        told = agent.budget.per_run
        run = UNHEARD_OF if told is None else told
        days = [one.per_day for one in (agent.budget, config.budget) if one.per_day is not None]
        if days and run > min(days):
            what = (
                f"{agent.id} does not start: a run is reserved ${run:.2f} of ${min(days):.2f} a day"
            )
            fix = "raise budget.per_day, or set a smaller budget.per_run"
            yield Finding("warning", agent.file, 0, what, fix)


def _blind(root: Path, active: list[Agent]) -> Iterator[Finding]:
    """Agents whose prompt has no place for their events or for corrections: they miss them."""
    for agent in active:
        template = _template(root, agent.prompt, set())
        what = f"no template of {agent.id} prints events, so it consumes none"
        if agent.interests and not re.search(_SHOWN % "events", template):
            yield _unprinted(agent, "events", what)
        what = f"no template of {agent.id} prints corrections: it is not told what was retracted"
        if not re.search(_SHOWN % "corrections", template):
            yield _unprinted(agent, "corrections", what)


def _unprinted(agent: Agent, section: str, what: str) -> Finding:
    fix = f'begin it with {{% extends "base.md.j2" %}}, or print {{{{ {section} }}}}'
    return Finding("warning", f"prompts/{agent.prompt}", 0, what, fix)


def _template(root: Path, name: str, seen: set[str]) -> str:
    """The text of a template and of all that it names, each once."""
    path = root / "prompts" / name
    if name in seen or not path.is_file():
        return ""
    seen.add(name)
    text = path.read_text("utf-8", "replace")
    return text + "".join(_template(root, used, seen) for used in _TEMPLATE_USED.findall(text))


def _cycles(active: list[Agent]) -> Iterator[Finding]:
    """Agents that may wake each other for ever by the events that they are expected to emit."""
    wakes = {agent.id: _woken_by(agent, active) for agent in active}
    files = {agent.id: agent.file for agent in active}
    for start in sorted(wakes):
        if ring := _ring(wakes, start):
            what = f"these agents wake each other in a ring: {' > '.join([*ring, start])}"
            fix = "take one event out of wake_on, or leave the brake to limits: hops"
            yield Finding("warning", files[start], 0, what, fix)


def _woken_by(agent: Agent, active: list[Agent]) -> list[str]:
    emitted = {wanted.event for wanted in (*agent.expects.any_of, *agent.expects.all_of)}
    return [
        other.id
        for other in active
        if other is not agent and other.wake_on and emitted & {*other.wake_on.types}
    ]


def _ring(wakes: dict[str, list[str]], start: str) -> list[str]:
    """A shortest way from `start` back to it over names after it, or []."""
    came_from = {start: ""}
    for name in (queue := [start]):
        for woken in wakes[name]:
            if woken == start:
                return _way(came_from, name)
            if woken > start and woken not in came_from:
                came_from[woken] = name
                queue.append(woken)
    return []


def _way(came_from: dict[str, str], end: str) -> list[str]:
    way = [end]
    while came_from[way[0]]:
        way.insert(0, came_from[way[0]])
    return way


def _orphans(config: HomeConfig) -> Iterator[Finding]:
    """State of agents and channels that have no file any more: history, said once for each."""
    state = Places(config.root).state
    left: dict[str, list[str]] = {}
    named = {name for agent in config.agents.values() for name in config.names_of(agent.id)}
    for folder in _STATE_OF_AGENTS:
        for name in _kept(state / folder):
            if name not in named | RESERVED_NAMES:
                left.setdefault(name, []).append(folder)
    for name, folders in sorted(left.items()):
        what = f"there is state of {name}, an agent without a file: {', '.join(folders)}"
        yield Finding("note", "state", 0, what, "it stays as history")
    for name in _kept(state / "channels"):
        if name not in config.channels and not is_of_two(name, config):
            what = f"there are messages in {name}, a channel without a file"
            yield Finding("note", "state/channels", 0, what, "they stay as history")


def _kept(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    paths = [path for path in folder.iterdir() if path.is_dir() or path.suffix == ".json"]
    return sorted(path.name.removesuffix(".json") for path in paths)
