"""What a template sees: other people's data made harmless, and sections that know what they show.

References are printed between two control characters that no harmless text can hold; `found` takes
them out again. So what a prompt really shows is read from its rendered bytes, and a message that
merely quotes `events#97` shows nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from fleet.text import clip, harmless

OPEN, CLOSE = "\x02", "\x03"
EVENT, REF, CHANNEL = "e", "r", "c"  # consumes an event, shows a record, shows a channel's digest
_MARK = re.compile(f"{OPEN}([a-z]):([^{OPEN}{CLOSE}]*){CLOSE}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
MAX_DEPTH = 8  # of nested payloads; below it their JSON is clipped text
VALUE_LIMIT = 400  # characters of one payload value in a line


def mark(kind: str, ref: str) -> str:
    """`ref` as it is printed, so that `found` knows that it was."""
    return f"{OPEN}{kind}:{ref}{CLOSE}"


def invisible(kind: str, name: str) -> str:
    """A mark that `found` sees and that leaves nothing behind."""
    return f"{OPEN}{kind}:{name}:{CLOSE}"


def found(text: str) -> tuple[str, dict[str, list[str]]]:
    """`text` without marks, and by kind the names that were marked, each once, in order."""
    names: dict[str, dict[str, None]] = {}

    def take(mark: re.Match[str]) -> str:
        name = mark[2].removesuffix(":")
        names.setdefault(mark[1], {})[name] = None
        return "" if mark[2].endswith(":") else name

    plain = _MARK.sub(take, text)
    plain = plain.replace(OPEN, "").replace(CLOSE, "")
    return plain, {kind: list(marked) for kind, marked in names.items()}


class Fields:
    """Named values for templates: `x.items` and `x["items"]` are the field, never a method.

    Iterating gives the names; printing gives `name="value"` for each.
    """

    __slots__ = ("_name", "_values")

    def __init__(self, name: str, values: Mapping[str, object]) -> None:
        self._name = name
        self._values = dict(values)

    def __getitem__(self, key: str) -> object:
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        return " ".join(f"{name}={_shown(value)}" for name, value in self._values.items())


def names_of(fields: Fields) -> tuple[str, list[str]]:
    """What the object is called in messages, and the names it has."""
    return fields._name, list(fields)  # noqa: SLF001 - a template must see fields only


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value) if isinstance(value, Fields) else json.dumps(value, default=str)


def safe(value: object, nonce: str, *, name: str = "payload", depth: int = 0) -> object:
    """`value` for a template: every text in it harmless and one line, objects as `Fields`."""
    if isinstance(value, str):
        return harmless(value, nonce=nonce)
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if depth == MAX_DEPTH:
        return harmless(clip(json.dumps(value), VALUE_LIMIT), nonce=nonce)
    if isinstance(value, Mapping):
        pairs = {
            harmless(str(key), nonce=nonce): safe(one, nonce, name=str(key), depth=depth + 1)
            for key, one in value.items()
        }
        return Fields(name, pairs)
    if isinstance(value, Sequence):
        return tuple(safe(one, nonce, name=name, depth=depth + 1) for one in value)
    return harmless(str(value), nonce=nonce)


def line_of(payload: object, nonce: str, limit: int) -> str:
    """A payload as one line of `key="value"`, at most about `limit` characters, harmless."""
    pairs = payload.items() if isinstance(payload, Mapping) else [("payload", payload)]
    parts: list[str] = []
    left = limit
    for index, (key, value) in enumerate(pairs):
        if left <= 0:
            parts.append(f"… {len(pairs) - index} more fields")
            break
        part = _pair(str(key), value, min(left, VALUE_LIMIT))
        left -= len(part) + 1
        parts.append(part)
    return harmless(" ".join(parts), nonce=nonce)


def _pair(key: str, value: object, limit: int) -> str:
    name = key if _KEY.fullmatch(key) else json.dumps(clip(key, 64), ensure_ascii=False)
    if isinstance(value, str):
        cut = clip(value, limit)
        more = f" (+{len(value) - len(cut) + 1} characters)" if cut != value else ""
        return f"{name}={json.dumps(cut, ensure_ascii=False)}{more}"
    return f"{name}={clip(json.dumps(value, ensure_ascii=False), limit)}"


class View:
    """A section as a template sees it: `{{ events }}` prints it, `events.items` are its items.

    Attributes:
        items: its items as `Fields`, those that its text shows.
        left_out: how many it leaves out.
    """

    __slots__ = ("_text", "items", "left_out")

    def __init__(self, text: str = "", items: Sequence[Fields] = (), left_out: int = 0) -> None:
        self._text = text
        self.items = tuple(items)
        self.left_out = left_out

    def __str__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __iter__(self) -> Iterator[Fields]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
