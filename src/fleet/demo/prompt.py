"""What the stand-in understands of its prompt: events, messages, numbers, its own last words.

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
class Better:
    """One sort of what it made that got so many times the views of another, as it was told."""

    sort: str
    times: str
    other: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was read.

    Attributes:
        me: who read it.
        events: of the section that waits for this agent, oldest first; not those of awareness.
        messages: of the channels' digests, without its own.
        place: how far down its list of the outside the agent was, as its last report says.
        held: claim keys that it kept from earlier runs.
        better: what its numbers say of the forms it wrote in; None while they say nothing.
        pins: its own messages that are pinned, oldest first.
        memory: the first item of each kind that its memory shows, by the letter of its id.
    """

    me: str
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()
    place: int = 0
    held: frozenset[str] = frozenset()
    better: Better | None = None
    pins: tuple[str, ...] = ()
    memory: dict[str, str] = field(default_factory=dict)

    def of(self, *types: str) -> list[Event]:
        """The events of these types, oldest first."""
        return [event for event in self.events if event.type in types]


def read(me: str, text: str) -> Prompt:
    """What `text` (context.md, then prompt.md) tells the agent `me`."""
    events: dict[str, Event] = {}
    messages: dict[str, Message] = {}
    pins: dict[str, None] = {}
    for entry in _entries(text):
        event = _event(entry)
        if event is not None:
            events.setdefault(event.ref, event)
            continue
        message = _message(entry)
        if message is not None and message.author == me and message.pinned:
            pins.setdefault(message.ref)
        if message is not None and message.author != me:
            messages.setdefault(message.ref, message)
    places = re.findall(rf"{me} list: (\d+)", text)
    return Prompt(
        me=me,
        events=tuple(events.values()),
        messages=tuple(messages.values()),
        place=max(map(int, places), default=0),
        pins=tuple(pins),
        memory={item[0]: item for item in reversed(_ITEM.findall(text))},
        held=frozenset(re.findall(r"^You hold (\S+) until", text, re.MULTILINE)),
        better=Better(*told.groups()) if (told := _BETTER.search(text)) else None,
    )


_REF = re.compile(rf"^(events|{'|'.join(CHANNELS)})#(\d+) · ")
_BETTER = re.compile(
    r'^content-ready by contentType: "([^"]+)" has ([\d.]+)x the views of "([^"]+)" ', re.MULTILINE
)
_PAIR = re.compile(r'([A-Za-z]\w*)=("(?:[^"\\]|\\.)*"|\S+)')
_ITEM = re.compile(r"^[a-z0-9-]+/([LGRPSW]\d+) · ", re.MULTILINE)
_MORE = "  | "  # before every further line of a text


def _entries(text: str) -> list[str]:
    """Lines that begin with a reference, each with the lines that belong to it."""
    entries: list[str] = []
    open_entry = False
    for line in text.replace("\u200b", "").splitlines():
        if _REF.match(line):
            entries.append(line)
            open_entry = True
        elif open_entry and line.startswith(_MORE):
            entries[-1] += "\n" + line.removeprefix(_MORE)
        else:
            open_entry = False
    return entries


def _event(entry: str) -> Event | None:
    """`events#97 · pricing-change · competitor-watch · 2h ago · competitor="Cursor" …`."""
    ref, kind, sender, *rest = f"{entry} · · ".split(" · ")
    if not ref.startswith("events#") or kind not in TYPES:
        return None
    return Event(ref, kind, sender, _fields(" ".join(rest)))


def _message(entry: str) -> Message | None:
    """`strategy#4 · orchestrator · 5s ago · pinned · 1 agree: the text`."""
    head, colon, text = entry.partition(": ")
    ref, author, *marks = f"{head} · ".split(" · ")
    if not colon or ref.startswith("events#"):
        return None
    return Message(ref, ref.partition("#")[0], author, text, pinned="pinned" in marks)


def _fields(text: str) -> dict[str, str]:
    found = {}
    for name, value in _PAIR.findall(text):
        try:
            found[name] = str(json.loads(value))
        except ValueError:
            found[name] = value
    return found
