"""What a memory is made of: six sections of items, their references, limits and when two are one.

Plain data and pure functions; the rules by which items change are in `rules`.
"""

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypedDict

from fleet.errors import Rejected, Usage
from fleet.strictjson import dumps

Item: TypeAlias = dict[str, Any]
"""One entry of a section, as JSON; which names it has is said in state/README.md."""


class State(TypedDict):
    """A memory as its log tells it.

    `updated` is the instant of the newest change; in each section the item that was touched last
    stands last.
    """

    updated: str
    sections: dict[str, list[Item]]


class Kind(NamedTuple):
    """One kind of item.

    Attributes:
        noun: its word, which is also the operation of the record that adds one.
        section: where it is kept.
        letter: the first letter of its items' ids.
        text: the name under which an item holds its text.
        limit: bytes of that text.
        most: how many are kept live; of goals, active ones.
        notes: the name under which an item holds what was noted of it over time; "" for none.
    """

    noun: str
    section: str
    letter: str
    text: str
    limit: int
    most: int
    notes: str = ""


KINDS = (
    Kind("lesson", "lessons", "L", "text", 600, 50),
    Kind("strength", "strengths", "S", "text", 300, 15),
    Kind("weakness", "weaknesses", "W", "text", 300, 15),
    Kind("goal", "goals", "G", "text", 400, 15, "progress"),
    Kind("research", "research", "R", "finding", 800, 30),
    Kind("plan", "plans", "P", "text", 600, 10, "notes"),
)
BY_NOUN = {kind.noun: kind for kind in KINDS}
BY_LETTER = {kind.letter: kind for kind in KINDS}
BY_SECTION = {kind.section: kind for kind in KINDS}

CATEGORIES = ("success", "failure", "observation", "improvement")
IMPORTANCES = ("low", "medium", "high")  # in this order
ACTIVE, ACHIEVED, ABANDONED = "active", "achieved", "abandoned"

ENDED = 10  # goals that ended and are still shown
NOTES = 5  # newest notes that an item keeps; the log keeps all
LESSONS = 10  # newest lessons that stand behind a strength or weakness
NOTE, REASON, SOURCE = 300, 300, 300  # bytes of each
_DIGITS = 18  # of an id's number, far above any log's


def empty() -> State:
    """A memory in which nothing is."""
    return {"updated": "", "sections": {kind.section: [] for kind in KINDS}}


def item_ref(stream: str, item: str) -> str:
    """`outreach/L12`: how an item of the memory with the log `stream` is called anywhere."""
    return f"{stream.rpartition('/')[2]}/{item}"


def parse_item(text: str, agent: str) -> tuple[str, str]:
    """Agent and id of `L12` (one of `agent`'s) or `outreach/L12`.

    Raises:
        Usage: it has neither form.
    """
    owner, slash, item = text.rpartition("/")
    letter, number = item[:1].upper(), item[1:]
    known = letter in BY_LETTER and number.isascii() and number.isdigit()
    if not known or len(number) > _DIGITS or (slash and not owner):
        fix = f"write it like L12 or {agent}/L12: fleet memory show lists them"
        raise Usage(f"'{text}' is no item of a memory", fix)
    return owner or agent, f"{letter}{int(number)}"


def check(what: str, text: str, limit: int) -> str:
    """`text`, when it may stand in a memory as `what` ("lesson", "source").

    Measured as JSON, so that the largest memory is known.

    Raises:
        Rejected: blank, over `limit` bytes, or no valid Unicode.
    """
    if not text.strip():
        raise Rejected(f"a {what} without text", "say it in one sentence")
    size = len(dumps(text).encode()) - 2
    if size > limit:
        raise Rejected(
            f"the {what} has {size} bytes, the limit is {limit}",
            "say it in one or two sentences, and put the rest into a file that you name",
        )
    return text


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """`text` without what makes no difference: case, white space, punctuation at its end."""
    folded = " ".join(text.casefold().split())
    return folded.rstrip(" .!?…;:,") or folded


def twin_of(items: list[Item], kind: Kind, body: Item) -> Item | None:
    """The item that says what `body` says already; a goal that ended says nothing."""
    said = plain(str(body.get(kind.text)))
    source = plain(str(body.get("source", "")))  # the same finding elsewhere is another one
    return next(
        (
            item
            for item in items
            if plain(item[kind.text]) == said
            and plain(item.get("source", "")) == source
            and item.get("state", ACTIVE) == ACTIVE
        ),
        None,
    )
