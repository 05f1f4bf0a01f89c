"""The section of channel digests: pinned and unread messages, the newest where not all fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from fleet.config.model import Channel
from fleet.context.data import CHANNEL, REF, Fields, invisible, mark
from fleet.context.section import Built, Scene, cost
from fleet.talk import Digest, Message
from fleet.text import clip

NAME = "channels"
HEADER = "messages that agents and people posted, each with its reference, author and age"
CLIP = 700  # characters of one message


@dataclass(frozen=True, slots=True)
class Told:
    """A channel and its digest for the agent."""

    channel: Channel
    digest: Digest


def maker(scene: Scene, told: tuple[Told, ...]) -> Callable[[int], Built]:
    """What builds the section within so many tokens: asked twice, it words each message once."""
    lines = {m.ref: _message(scene, m) for one in told for m in one.digest.messages}
    return partial(_build, scene, told, lines)


def _build(scene: Scene, told: tuple[Told, ...], lines: Mapping[str, str], budget: int) -> Built:
    """What is newest in each channel, then pinned messages, important ones, and the newest."""
    if not told:
        return Built(NAME, "")
    kept = _fitting(scene, told, lines, budget)
    text = "\n".join(_around(scene, told, lines, kept))
    items = tuple(
        _item(scene, message)
        for one in told
        for message in one.digest.messages
        if message.ref in kept
    )
    return Built(NAME, text, items, sum(sum(_left(one, kept)) for one in told))


def _fitting(
    scene: Scene, told: tuple[Told, ...], lines: Mapping[str, str], budget: int
) -> frozenset[str]:
    """References of the messages that fit: each channel's newest, important ones, the newest."""
    left = budget - sum(map(cost, _around(scene, told, lines, frozenset())))
    newest = {f"{one.channel.id}#{max(one.digest.new)}" for one in told if one.digest.new}
    ranked = sorted(
        (message for one in told for message in one.digest.messages),
        key=lambda message: (message.ref in newest, _weight(message), message.at, message.seq),
        reverse=True,
    )
    kept: set[str] = set()
    for message in ranked:
        left -= cost(lines[message.ref])
        if left < 0:
            break
        kept.add(message.ref)
    return frozenset(kept)


def _weight(message: Message) -> int:
    if message.pinned:
        return 2
    return int(any(reaction["kind"] == "important" for reaction in message.reactions))


def _around(
    scene: Scene, told: tuple[Told, ...], lines: Mapping[str, str], kept: frozenset[str]
) -> list[str]:
    """Every line of the section with the messages of `kept`; with none, what it costs at most."""
    inside: list[str] = []
    quiet: list[str] = []
    marks = ""
    for one in told:
        marks += invisible(CHANNEL, one.channel.id)
        if not any((one.digest.messages, one.digest.not_shown, one.digest.trimmed)):
            quiet.append(one.channel.id)
            continue
        inside.append(_head(scene, one, kept))
        inside += [lines[m.ref] for m in one.digest.messages if m.ref in kept]
    return [
        f"## Channels{marks}",
        *([scene.fenced(HEADER, inside)] if inside else []),
        *([f"Nothing new: {', '.join(quiet)}"] if quiet else []),
    ]


def _head(scene: Scene, one: Told, kept: frozenset[str]) -> str:
    purpose = f" ({scene.line(clip(one.channel.purpose, 100))})" if one.channel.purpose else ""
    head = f"{one.channel.id}{purpose}: {one.digest.unread} unread"
    unread, pinned = _left(one, kept)
    if unread:
        head += f", {unread} of them not shown: fleet read {one.channel.id} --unread"
    if one.digest.trimmed:
        head += f", {one.digest.trimmed} more were trimmed before you read them"
    if pinned:
        head += f", {pinned} pinned not shown: fleet read {one.channel.id}"
    return head


def _left(one: Told, kept: frozenset[str]) -> tuple[int, int]:
    """How many unread messages, and pinned ones that were read before, are not shown."""
    cut = [message for message in one.digest.messages if message.ref not in kept]
    unread = sum(message.seq in one.digest.new for message in cut)
    return one.digest.not_shown + unread, len(cut) - unread


def _message(scene: Scene, message: Message) -> str:
    parts = [mark(REF, message.ref), message.from_agent, scene.ago(message.at)]
    parts += ["pinned"] if message.pinned else []
    parts += [f"answers {scene.line(message.reply_to)}"] if message.reply_to else []
    counts: dict[str, int] = {}
    for reaction in message.reactions:
        counts[reaction["kind"]] = counts.get(reaction["kind"], 0) + 1
    parts += [f"{count} {kind}" for kind, count in sorted(counts.items())]
    return f"{' · '.join(parts)}: {clipped(scene, message)}"


def clipped(scene: Scene, message: Message) -> str:
    """A message's text behind a header of ours; of a long one the beginning, and where it is."""
    cut = clip(message.text, CLIP)
    if cut == message.text:
        return scene.body(cut)
    rest = f"fleet read {message.channel} --thread {message.ref} --json"
    more = len(message.text) - len(cut) + 1
    return f"{scene.body(cut)}\n  … {more} more characters: {rest}"


def _item(scene: Scene, message: Message) -> Fields:
    said = {
        "ref": mark(REF, message.ref),
        "channel": message.channel,
        "seq": message.seq,
        "at": message.at,
        "age": scene.ago(message.at),
        "from_agent": message.from_agent,
        "pinned": message.pinned,
        "reply_to": scene.line(message.reply_to) if message.reply_to else None,
        "text": scene.line(message.text),
    }
    return Fields("message", said)
