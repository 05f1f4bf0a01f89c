"""The examples by which an agent is taught `fleet`: of this home, and ones that it may type."""

import re
import shlex
from typing import NamedTuple

from fleet.config.model import Agent, HomeConfig
from fleet.errors import FleetError
from fleet.schemas import EventType, Registry

LONGEST = 120  # characters of a command
TRIED = 20  # types at most: each costs a look at its file
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_VALUES = {"integer": "1", "number": "1", "boolean": "true", "string": "example"}


class Examples(NamedTuple):
    """What the section on `fleet` shows; "" leaves its lines out.

    Attributes:
        emit: a whole command.
        channel: one that the agent may post in.
        post: a message there.
        metric: a whole command, for those who are told how what they made did.
    """

    emit: str = ""
    channel: str = ""
    post: str = ""
    metric: str = ""


GROWTH = Examples(
    "fleet emit reply-received email=sarah@acme.com classification=interested",
    "competitive-intel",
    "Cursor cut Pro to $20 (pricing page). content-engine: worth a comparison?",
    "fleet metric record draft-17 views 1200",
)
"""Those of the growth fleet, for every home that has what they name."""

_GROWTH_TYPE = "reply-received"
_OF_GROWTH = {"email": "sarah@acme.com", "classification": "interested"}


def of_home(config: HomeConfig, agent: Agent, schemas: Registry) -> Examples:
    """The examples for `agent`: a type that it is expected to emit, a channel of its own."""
    channel = _channel(config, agent)
    post = GROWTH.post if channel == GROWTH.channel else _post(agent)
    types = _types(config, agent)
    emit = next(filter(None, (_emit(schemas, name) for name in types[:TRIED])), "")
    if types and not emit:
        emit = f"fleet schema show {types[0]} says how one is emitted"
    return Examples(emit, channel, post, GROWTH.metric if agent.metrics else "")


def _channel(config: HomeConfig, agent: Agent) -> str:
    names = (GROWTH.channel, *agent.channels, *config.channels)
    mine = (name for name in names if name in config.channels)
    return next((name for name in mine if config.channels[name].admits(agent.id)), "")


def _post(agent: Agent) -> str:
    asked = next(iter(agent.collaborators), "")
    question = f"{asked}: can you check it?" if asked else "Who can check it?"
    return f"Saw something that is not only mine (where, since when). {question}"


def _types(config: HomeConfig, agent: Agent) -> list[str]:
    """The home's types, those first that this agent is there to emit."""
    expected = [wanted.event for wanted in (*agent.expects.any_of, *agent.expects.all_of)]
    others = sorted(config.types, key=lambda name: name in agent.interests)
    names = [_GROWTH_TYPE, *filter(None, expected), *others]
    return [name for name in dict.fromkeys(names) if name in config.types]


def _emit(schemas: Registry, name: str) -> str:
    """A command that emits a `name` and is accepted, "" where none can be made up.

    One that is for one agent would wake somebody.
    """
    try:
        kind = schemas.get(name)
        if kind.x_to:
            return ""
        for texts in (_OF_GROWTH if name == _GROWTH_TYPE else {}, _fields(kind)):
            if _is_accepted(schemas, name, texts):
                words = (shlex.quote(f"{field}={value}") for field, value in texts.items())
                command = " ".join(("fleet", "emit", name, *words))
                return command if len(command) <= LONGEST else ""
    except FleetError:  # a file that was broken or removed this moment: `check` says so
        return ""
    return ""


def _is_accepted(schemas: Registry, name: str, texts: dict[str, str]) -> bool:
    words = all(_WORD.fullmatch(field) for field in texts)
    return words and not schemas.check(name, schemas.coerce(name, texts))


def _fields(kind: EventType) -> dict[str, str]:
    """Each required field with a value that its schema may accept."""
    properties = kind.source.get("properties")
    said = properties if isinstance(properties, dict) else {}
    return {field: _value(field, said.get(field)) for field in kind.required}


def _value(field: str, schema: object) -> str:
    if not isinstance(schema, dict):
        return "example"
    for word in ("enum", "examples"):
        values = schema.get(word)
        if isinstance(values, list) and values and isinstance(values[0], (str, int, float)):
            return str(values[0])
    for word in ("const", "default", "minimum"):
        if isinstance(schema.get(word), (str, int, float)):
            return str(schema[word])
    if "email" in field.lower():
        return "sarah@acme.com"
    return _VALUES.get(str(schema.get("type")), "example")
