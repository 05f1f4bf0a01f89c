"""What a wrong line meant: the rules of `slips`, applied to a line that failed.

Not how a fault is worded (`hints`), and nothing is run. A guess counts when the command that it
leads to takes its words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache

import click

from fleet.cli.commands import ALIASES, BEFORE, is_operators
from fleet.cli.session import Session
from fleet.cli.slips import BY_PEOPLE, IN_A_RUN, KINDS, OPTIONS, RULES
from fleet.errors import FleetError
from fleet.strictjson import loads
from fleet.talk.direct import direct_name

MOST = 6  # rules in a row
_OF_EMIT = {
    "--data": "JSON",
    "--payload": "JSON",
    "--to": "AGENT",
    "--id": "KEY",
    "--cause": "REF",
    "--in": "3d",
}
_LATER = {"--at", "--after", "--when", "--delay", "--later", "--on"}  # typed for `emit --in`
_DELAY = re.compile(
    r"(?:in )?(\d+) ?(m)(?:in(?:ute)?s?)?|(?:in )?(\d+) ?([hdw])(?:(?:our|ay|eek)s?)?"
)
_FIELD = re.compile(r"--([A-Za-z_][\w-]*)(?:=(.*))?", re.DOTALL)
_COLON = re.compile(r"([A-Za-z_][\w-]*):(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_IN_JSON = re.compile(r"""["']?([A-Za-z_][\w-]*)["']?\s*:\s*(?:"([^"]*)"|'([^']*)'|([^,{}"']+))""")


def meant(session: Session) -> list[str] | None:
    """The words of the line that `session.words` meant; None when nobody can tell."""
    before, typed = _split(session.words)
    words = [ALIASES.get(word, word) for word in typed[:1]] + typed[1:]
    if not words:
        return None
    spelled = _spelled(words)
    guess = spelled if spelled != words else _by_rules(_timed(words), session)
    guess = _addressed(_in_place(guess), session)
    guess = _fields(guess, session) if guess[0] == "emit" else guess
    if guess == words or not _is_taken(guess, session):
        return None
    return [*([] if session.in_run else before), *guess]


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options before the command, and the rest."""
    at = 0
    while at < len(words) and words[at].partition("=")[0] in BEFORE:
        at += 1 if words[at] == "--debug" or "=" in words[at] else 2
    return list(words[:at]), list(words[at:])


def _spelled(words: list[str]) -> list[str]:
    """`words` with the second as the command that it nearly is."""
    from difflib import get_close_matches

    from fleet.cli.app import fleet_command

    group = fleet_command.get_command(click.Context(fleet_command), words[0])
    if not isinstance(group, click.Group) or not words[1:] or words[1] in group.commands:
        return words
    near = get_close_matches(words[1], group.commands, n=1, cutoff=0.75)
    return [words[0], *near, *words[2:]] if near else words


def _timed(words: list[str]) -> list[str]:
    """`words` with each delay in words, `in 3 days`, as it is written here: `3d`."""
    if words[0] == "remind":
        return [words[0], *(word if word == "tomorrow" else _delay(word) for word in words[1:])]
    if words[0] == "emit":  # whose fields are the caller's own words
        when = {"--in", *_LATER}
        pairs = zip(["", *words], words, strict=False)
        return [_delay(word) if before in when else word for before, word in pairs]
    return words


def _delay(word: str) -> str:
    if word == "tomorrow":
        return "1d"
    found = _DELAY.fullmatch(word)
    return "".join(part for part in found.groups() if part) if found else word


# Rules --------------------------------------------------------------------------------------------


def _by_rules(words: list[str], session: Session) -> list[str]:
    for _ in range(MOST):
        fitting = (_applied(rule, words, session) for rule in _rules(in_run=session.in_run))
        better = next((made for made in fitting if made is not None), None)
        if better is None:
            break
        words = better
        if _is_taken(words, session):
            break
    return words


@cache
def _rules(*, in_run: bool) -> list[tuple[list[str], list[str]]]:
    texts = (IN_A_RUN if in_run else BY_PEOPLE) + RULES
    sides = (line.split(" > ") for line in texts.splitlines() if line)
    return [(left.split(), right.split()) for left, right in sides]


def _applied(
    rule: tuple[list[str], list[str]], words: list[str], session: Session
) -> list[str] | None:
    left, right = rule
    bound = _bound(left, words)
    if bound is None:
        return None
    made: list[str] = []
    for part in right:
        if part == "*":
            made += bound["*"]
        elif part == "CHANNEL":
            made.append(_channel(session))
        else:
            made.append(_filled(part, bound))
    return made


def _bound(pattern: Sequence[str], words: Sequence[str]) -> dict[str, list[str]] | None:
    """What the open places of `pattern` stand for in `words`; None when they do not fit."""
    bound: dict[str, list[str]] = {}
    for at, part in enumerate(pattern):
        if part == "*" or (part == "+" and len(words) > at):
            return {**bound, part: list(words[at:])}
        form = KINDS.get(part)
        if at >= len(words) or not re.fullmatch(form or _literal(part), words[at], re.DOTALL):
            return None
        if form:
            bound[part] = [words[at]]
    return bound if len(words) == len(pattern) else None


def _literal(part: str) -> str:
    return "|".join(map(re.escape, part.split("|")))


def _filled(part: str, bound: Mapping[str, Sequence[str]]) -> str:
    """`PLAIN#N` with the words that stand there."""
    if not bound:
        return part
    names = "|".join(map(re.escape, sorted(bound, key=len, reverse=True)))
    return re.sub(names, lambda name: " ".join(bound[name.group()]), part)


def _channel(session: Session) -> str:
    try:
        mine = session.fleet.talk.channels(session.fleet.author)
    except FleetError:  # no home, no identity: the rule's own word has to do
        mine = []
    return mine[0].id if mine else "CHANNEL"


# Options ------------------------------------------------------------------------------------------


def _in_place(words: list[str]) -> list[str]:
    """`words` with each option that the command does not have where it belongs."""
    size = 2 if " ".join(words[:2]) in _options() else 1
    path, args = words[:size], iter(words[size:])
    instead = _options().get(" ".join(path), {})
    others: list[str] = []
    places: dict[str, list[str]] = {"FIRST": [], "LAST": [], "GONE": []}
    for word in args:
        name, equals, value = word.partition("=")
        place = instead.get(name)
        if place is None:
            others.append(word)
        elif place != "LEFT":
            value = value if equals else next(args, "")
            if place in places:
                places[place].append(value)
            else:
                others += [place, value]
    return [*path, *places["FIRST"], *others, *places["LAST"]]


@cache
def _options() -> dict[str, dict[str, str]]:
    """By command, what is meant by an option."""
    table: dict[str, dict[str, str]] = {}
    for line in filter(None, OPTIONS.splitlines()):
        commands, place, *names = re.split(r"\s{2,}| (?=-)", line)
        for command in commands.split("|"):
            table.setdefault(command, {}).update(dict.fromkeys(names, place))
    return table


def _addressed(words: list[str], session: Session) -> list[str]:
    """`words` with the command that reaches the agent or the channel whose name stands there."""
    verb = words[0] if words[0] in {"post", "send", "read"} else ""
    name, *rest = words[bool(verb) :] or [""]
    try:
        config, me = session.fleet.config, session.fleet.author.name
    except FleetError:
        return words
    if verb == "read":
        there = [*(["inbox"] if name == me else ["read", direct_name(me, name)]), *rest]
        return there if name in config.agents else words
    if name in config.agents:
        return ["send", name, *rest]
    return ["post", name, *rest] if config.channel_named(name) else words


# The fields of an event ---------------------------------------------------------------------------


def _fields(words: list[str], session: Session) -> list[str]:
    """An `emit` whose fields are all `name=value`: from options, `name: value`, broken JSON."""
    made, rest = words[:2], iter(_put_off(words[2:], _own_fields(words[1:2], session)))
    for word in rest:
        if word in _OF_EMIT:
            value = next(rest, "") or _OF_EMIT[word]
            if word in {"--data", "--payload"} and _is_broken(value):
                made += _in_json(value)
            elif (word, value) != ("--to", "all"):
                made += [word, value]
        elif word in {"--json", "-"} or word.partition("=")[0] in _OF_EMIT:
            made.append(word)
        elif "=" in word:
            made.append(word.removeprefix("--"))
        elif word.startswith("{"):
            made += list(_in_json(word)) if _is_broken(word) else [word]
        elif named := _FIELD.fullmatch(word) or _COLON.fullmatch(word):
            made.append(f"{named[1]}={named[2] or next(rest, 'VALUE')}")
        elif _NAME.fullmatch(word):
            made.append(f"{word}={next(rest, 'VALUE')}")
        else:
            made.append(word)
    return made


def _put_off(words: Sequence[str], own: AbstractSet[str]) -> Iterator[str]:
    """`words` with `--in` for what else says when, unless the type has a field of that name."""
    for word in words:
        name, equals, value = word.partition("=")
        later = name in _LATER and name.removeprefix("--") not in own
        yield f"--in{equals}{value}" if later else word


def _own_fields(types: Sequence[str], session: Session) -> AbstractSet[str]:
    try:
        return session.fleet.schemas.get(types[0]).properties.keys() if types else set()
    except FleetError:  # no such type: nobody knows its fields
        return set()


def _is_broken(text: str) -> bool:
    try:
        loads(text)
    except FleetError:
        return text.startswith("{")
    return False


def _in_json(text: str) -> Iterator[str]:
    """The pairs of a flat object that lost its quotes or its end."""
    if text.count("{") > 1:
        yield text
        return
    for pair in _IN_JSON.finditer(text):
        yield f"{pair[1]}={(pair[2] or pair[3] or pair[4] or '').strip()}"


# Whether it works ---------------------------------------------------------------------------------


def _is_taken(words: Sequence[str], session: Session) -> bool:
    """Whether there is a command for these words, and it accepts them."""
    from fleet.cli.app import fleet_command

    command: click.Command = fleet_command
    ctx = click.Context(command, info_name="fleet", obj=session)
    args = list(words)
    while isinstance(command, click.Group) and args and not args[0].startswith("-"):
        found = command.get_command(ctx, args[0])
        if found is None:
            return False
        command, ctx = found, click.Context(found, parent=ctx, info_name=args.pop(0))
    name = " ".join(ctx.command_path.split()[1:])
    if name and session.in_run and is_operators(name):
        return False
    if "--help" in args:
        return True
    try:
        command.parse_args(ctx, args)
    except (click.ClickException, FleetError):
        return False
    return True
