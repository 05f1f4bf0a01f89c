"""What the stand-in understands of its prompt: events, messages, its own last words; no more.

It reads the text that a model would read, and is content with less than it contains: a line it
does not understand is a line that it does not act on.
"""

import json
import re
from dataclasses import dataclass, field

TYPES = (
    "contact-made",
    "lead-converted",
    "reply-received",
    "competitive-insight",
    "pricing-change",
    "feature-launch",
    "customer-intel",
    "reddit-insight",
    "github-trend",
    "task-created",
    "content-ready",
    "campaign-created",
)
AGENTS = (
    "outreach",
    "reply-handler",
    "onboarding",
    "retention",
    "win-back",
    "competitor-watch",
    "competitor-gap",
    "marketing-strategist",
    "content-engine",
    "growth-analyst",
    "campaign-manager",
    "reddit-scout",
    "trend-scout",
    "customer-listener",
    "orchestrator",
)
CHANNELS = ("strategy", "outreach-review", "competitive-intel", "content-collab", "agent-learning")


@dataclass(frozen=True, slots=True)
class Event:
    """One event line; `fields` hold its payload as text."""

    ref: str
    type: str
    sender: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a digest; `text` may be clipped."""

    ref: str
    channel: str
    author: str
    text: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was read. `place` is how far down its list the agent said to be, in its last report."""

    me: str
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()
    place: int = 0
    held: dict[str, str] = field(default_factory=dict)

    def of(self, *types: str) -> list[Event]:
        """The events of these types, oldest first."""
        return [event for event in self.events if event.type in types]


def read(me: str, text: str) -> Prompt:
    """What `text` (context.md, then prompt.md) tells the agent `me`."""
    events: dict[str, Event] = {}
    messages: dict[str, Message] = {}
    for entry in _entries(text):
        event = _event(entry)
        if event is not None:
            events.setdefault(event.ref, event)
            continue
        message = _message(entry)
        if message is not None and message.author != me:
            messages.setdefault(message.ref, message)
    places = re.findall(rf"{me} list: (\d+)", text)
    return Prompt(
        me=me,
        events=tuple(events.values()),
        messages=tuple(messages.values()),
        place=max(map(int, places), default=0),
        held=dict(re.findall(r"(\S+) is held by ([a-z-]+)", text)),
    )


_NAME = (
    "email|method|subject|plan|classification|competitor|summary|source|credibility|oldPrice|"
    "newPrice|feature|platform|score|repoName|stars|taskId|assignedTo|title|draftId|contentType|"
    "campaignId|targetSegment"
)
_VALUE = r"\"[^\"]*\"|'[^']*'|.*?"
_PAIR = re.compile(rf"\b({_NAME})[=:] ?({_VALUE})(?=[,;·|]? +(?:{_NAME})[=:]|[,;]?$)")
_REF = re.compile(rf"^[-*• ]*\[?(events|{'|'.join(CHANNELS)})#(\d+)")


def _entries(text: str) -> list[str]:
    """Lines that begin with a reference, each with the lines that belong to it."""
    entries: list[str] = []
    open_entry = False
    for line in text.replace("\u200b", "").splitlines():
        if _REF.match(line):
            entries.append(line)
            open_entry = True
        elif open_entry and line.startswith(" "):
            entries[-1] += "\n" + line.strip()
        else:
            open_entry = False
    return entries


def _event(entry: str) -> Event | None:
    start = _REF.match(entry)
    kind = re.search(rf"\b({'|'.join(TYPES)})\b", entry)
    if start is None or start[1] != "events" or kind is None:
        return None
    rest = entry[kind.end() :]
    return Event(f"events#{start[2]}", kind[1], _agent_in(rest), _fields(rest))


def _message(entry: str) -> Message | None:
    start = _REF.match(entry)
    if start is None or start[1] == "events":
        return None
    rest = entry[start.end() :]
    head, _, text = rest.partition(": ")
    ref = f"{start[1]}#{start[2]}"
    return Message(ref, start[1], _agent_in(head), text, pinned="pinned" in head)


def _agent_in(text: str) -> str:
    found = re.search(rf"(?<![\w-])({'|'.join(AGENTS)})(?![\w-])", text)
    return found[1] if found else ""


def _fields(text: str) -> dict[str, str]:
    """A payload as one JSON object, or as `name=value` and `name: value` pairs."""
    at = text.find("{")
    if at >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[at:])
        except ValueError:
            value = None
        if isinstance(value, dict):
            return {name: str(inner) for name, inner in value.items()}
    return {name: value.strip("\"'") for name, value in _PAIR.findall(text)}
