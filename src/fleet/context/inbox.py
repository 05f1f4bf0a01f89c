"""The section of direct messages: the unread of all channels of two, the newest where not all fit.

What is cut is counted; a channel of which nothing was shown keeps its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fleet.context.channels import clipped
from fleet.context.data import CHANNEL, REF, Fields, invisible, mark
from fleet.context.section import Built, Scene, cost
from fleet.talk import Digest, Message

NAME = "inbox"
HEADER = "messages to you alone, each with its reference, author and age"
ANSWER = "Answer one: fleet reply REF 'TEXT'. Write to somebody: fleet send AGENT 'TEXT'"
MESSAGES = 40  # shown at most


@dataclass(frozen=True, slots=True)
class Unread:
    """Digests of the channels of two with something unread, and how many messages may be shown."""

    digests: tuple[Digest, ...]
    most: int


def build(scene: Scene, unread: Unread, budget: int) -> Built:
    """The section within `budget` tokens: the newest messages that fit, oldest first."""
    waiting = sum(one.unread for one in unread.digests)
    trimmed = sum(one.trimmed for one in unread.digests)
    if not waiting:
        text = f"## Inbox\n{_gone(trimmed)}" if trimmed else ""
        return Built(NAME, text)
    messages = sorted(
        (message for one in unread.digests for message in one.messages if message.seq in one.new),
        key=lambda message: (message.at, message.seq),
    )[-unread.most :]
    lines = [_line(scene, message) for message in messages]
    kept = _fitting(scene, lines, budget, waiting)
    if not kept:
        return Built(NAME, "", (), waiting)
    around = _around(scene, lines[-kept:], waiting - kept)
    text = "\n".join([*around, *([_gone(trimmed)] if trimmed else [])])
    items = tuple(_item(scene, message) for message in messages[-kept:])
    return Built(NAME, text, items, waiting - kept)


def _fitting(scene: Scene, lines: Sequence[str], budget: int, waiting: int) -> int:
    """How many of the newest lines fit."""
    left = budget - sum(map(cost, _around(scene, [], waiting)))
    kept = 0
    for line in reversed(lines):
        left -= cost(line)
        if left < 0:
            break
        kept += 1
    return kept


def _around(scene: Scene, lines: Sequence[str], left: int) -> list[str]:
    older = f"{left} older not shown: fleet inbox"
    return [
        "## Inbox",
        scene.fenced(HEADER, lines),
        *([older] if left else []),
        ANSWER,
    ]


def _gone(count: int) -> str:
    return f"{count} more were trimmed before you read them: an operator has them."


def _line(scene: Scene, message: Message) -> str:
    parts = [mark(REF, message.ref) + invisible(CHANNEL, message.channel), message.from_agent]
    parts.append(scene.ago(message.at))
    parts += [f"answers {scene.line(message.reply_to)}"] if message.reply_to else []
    return f"{' · '.join(parts)}: {clipped(scene, message)}"


def _item(scene: Scene, message: Message) -> Fields:
    said = {
        "ref": mark(REF, message.ref),
        "seq": message.seq,
        "from_agent": message.from_agent,
        "at": message.at,
        "age": scene.ago(message.at),
        "reply_to": scene.line(message.reply_to) if message.reply_to else None,
        "text": scene.line(message.text),
    }
    return Fields("message", said)
