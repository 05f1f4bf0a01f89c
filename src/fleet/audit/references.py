"""What a reference means: any short name of a record or a run that people and agents type.

It says what is meant and suggests what was; who may see it is not decided here.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from fleet.audit.said import SHAPES, streams
from fleet.errors import Unknown, Usage
from fleet.memory.items import BY_NOUN, item_ref
from fleet.records import Record, parse_ref, ref_of
from fleet.runs.run import SHORT_ID
from fleet.text import clip, suggest

if TYPE_CHECKING:
    from fleet.audit.index import Index
    from fleet.wiring import Fleet

EXAMPLE = "events#97, strategy#412, outreach/L12, a run's id, outreach, outreach~1 or last"
CHANNELS, RUNS, MEMORY = "channels/", "runs/", "memory-log/"
MANY = 4  # runs that a prefix may fit, looked at to say so
SINGLE = tuple(name for name in SHAPES if name not in {"channels", "runs", "memory-log"})
_ITEM = re.compile(r"(?:(?P<agent>[a-z0-9][a-z0-9_-]*)/)?[LGRPSW](?P<seq>[1-9]\d{0,17})", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9_+/-]{0,140}", re.ASCII)
_BACK = re.compile(r"(?P<agent>[a-z0-9][a-z0-9_-]*)(?:~\d+)?", re.ASCII)
_RUN = re.compile(r"[0-9a-f][0-9a-f-]*", re.ASCII)


class Meant(NamedTuple):
    """What a reference means.

    Attributes:
        ref: as it is printed.
        stream: the log; `runs/<agent>` for a run.
        seq: the record's number; a run's first one.
        run: the run's whole id, "" for a record.
    """

    ref: str
    stream: str
    seq: int
    run: str = ""


def meant(fleet: "Fleet", index: "Index", text: str) -> Meant:
    """What `text` means; whether there is such a record is for who reads it to see.

    Args:
        fleet: the home.
        index: of the home; asked for runs only.
        text: a record's reference, also with the whole name of its log (`runs/outreach#5`), an
            item of a memory (`outreach/L12`; of one's own `L12`), or a run as `Runs.find` takes it.

    Raises:
        Unknown: no such log, agent or run; with the nearest name.
        Usage: it has no form of a reference, or fits several runs.
    """
    if "#" in text:
        return _record(fleet, text)
    if item := _ITEM.fullmatch(text):
        return _item(fleet, text, item)
    return _run(fleet, index, text)


def ref_in(stream: str, seq: int) -> str:
    """How the record is printed: short, with its whole log where the short name is another's."""
    kind, _, name = stream.partition("/")
    whole = stream.startswith((RUNS, MEMORY)) or (kind == "channels" and name in SINGLE)
    return f"{stream}#{seq}" if whole else ref_of(stream, seq)


def ref_to(record: Record) -> str:
    """How the record is printed, an item of a memory by its own name."""
    kind = BY_NOUN.get(str(record.body.get("op")))
    if kind and record.stream.startswith(MEMORY):
        return item_ref(record.stream.removeprefix(MEMORY), f"{kind.letter}{record.seq}")
    return ref_in(record.stream, record.seq)


def known_as(record: Record) -> str:
    """The reference under which prompts show the record: of a run's records, that of the run."""
    if record.stream.startswith(RUNS):
        return str(record.body.get("run"))[:SHORT_ID]
    return ref_to(record)


def channel_log(fleet: "Fleet", channel: str) -> str:
    """The log of a channel, also of one of two, and of one whose file is gone.

    Raises:
        Unknown: there is none; with the nearest.
    """
    for stream in _logs(fleet, channel) if _NAME.fullmatch(channel) else ():
        if stream.startswith(CHANNELS) and _is_here(fleet, stream):
            return stream
    known = sorted(fleet.config.channels)
    near = suggest(channel, known)
    raise Unknown(f"there is no channel '{clip(channel, 80)}'", near or "fleet channels lists them")


def _record(fleet: "Fleet", text: str) -> Meant:
    name, seq = parse_ref(text, EXAMPLE)
    for stream in _logs(fleet, name) if _NAME.fullmatch(name) else ():
        if stream in SINGLE or _is_here(fleet, stream):
            return Meant(ref_in(stream, seq), stream, seq)
    here = [*streams(fleet.store), *(f"{CHANNELS}{channel}" for channel in fleet.config.channels)]
    names = {stream.rpartition("/")[2] for stream in here}
    near = suggest(name, sorted({*names, *SINGLE}))
    raise Unknown(f"'{text}' names no log of this home", near or f"write it like {EXAMPLE}")


def _logs(fleet: "Fleet", name: str) -> tuple[str, ...]:
    """The logs that `name` may stand for, in the order in which they are looked for."""
    if "/" in name:
        return (name,) if name.startswith((CHANNELS, RUNS, MEMORY)) else ()
    channel = fleet.config.channel_named(name)
    of_two = "+".join(sorted(name.split("+")))
    return (name, f"{CHANNELS}{channel.id if channel else of_two}", f"{RUNS}{name}")


def _is_here(fleet: "Fleet", stream: str) -> bool:
    kind, _, name = stream.partition("/")
    known = kind == "channels" and name in fleet.config.channels
    return bool(name) and (known or fleet.store.head(stream) > 0)


def _item(fleet: "Fleet", text: str, item: re.Match[str]) -> Meant:
    agent = item["agent"] or fleet.author.name
    stream = fleet.memory.stream_of(agent)
    if not fleet.store.head(stream):
        others = [name for name in fleet.config.agents if name != agent]
        near = "" if agent in fleet.config.agents else suggest(agent, others)
        raise Unknown(f"{agent} has no memory, so there is no {text}", near or "fleet agents")
    return Meant(f"{agent}/{text.rpartition('/')[2]}", stream, int(item["seq"]))


def _run(fleet: "Fleet", index: "Index", text: str) -> Meant:
    past, agents = fleet.runs.agents(), fleet.config.agents
    back = _BACK.fullmatch(text)
    whole = text
    if text == "last" or (back and not set(past).isdisjoint(fleet.config.names_of(back["agent"]))):
        whole = fleet.runs.find(text).id
    elif back and back["agent"] in agents:
        raise Unknown(f"{back['agent']} has not run yet", f"fleet run {back['agent']} runs it now")
    spans = index.runs(whole, MANY) if _RUN.fullmatch(whole) else []
    fitting = [span for span in spans if span.run == whole] or spans
    if not fitting:
        raise _unknown(text, sorted({*agents, *past}))
    if len(fitting) > 1:
        some = ", ".join(f"{span.run[:SHORT_ID]} ({span.agent})" for span in fitting[:3])
        raise Usage(f"{text} fits more than one run", f"type more of it: {some}")
    span = fitting[0]
    return Meant(span.run[:SHORT_ID], f"runs/{span.agent}", span.first, span.run)


def _unknown(text: str, agents: list[str]) -> Unknown:
    if ":" in text:
        return Unknown(f"'{text}' is a claim's key", f"fleet claims --history {text}")
    if text.isdigit():
        return Unknown(f"'{text}' is a number and no reference", f"write it like {EXAMPLE}")
    near = suggest(text, agents)
    return Unknown(f"'{text}' is no record and no run", near or f"write it like {EXAMPLE}")
