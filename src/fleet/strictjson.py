"""JSON as RFC 8259 means it: what other readers would take differently is refused, not guessed.

Standard library only; it knows nothing of records or schemas.
"""

import json
from typing import NoReturn

from fleet.errors import Rejected

MAX_DEPTH = 32
MAX_DIGITS = 400


def loads(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> object:
    """The value that `text` says.

    Raises:
        Rejected: not UTF-8, not JSON, a number that is not finite, a name twice in one object,
            nesting deeper than `max_depth`, or half a surrogate pair.
    """
    try:
        plain = text.decode("utf-8") if isinstance(text, bytes) else text
        value: object = _DECODER.decode(plain)
        if "\\u" in plain or isinstance(text, str):
            _ENCODER.encode(value).encode("utf-8")
    except UnicodeDecodeError as fault:
        raise Rejected(f"not UTF-8: byte {fault.start} cannot be read") from None
    except UnicodeEncodeError:
        raise Rejected("half a surrogate pair is no character") from None
    except RecursionError:
        raise Rejected(f"nested deeper than {max_depth} levels") from None
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno} column {fault.colno}"
        raise Rejected(f"not JSON: {fault.msg} at {where}") from None
    except ValueError as fault:
        raise Rejected(f"not JSON: {fault}") from None
    if plain.count("[") + plain.count("{") > max_depth:
        check_depth(value, max_depth)
    return value


def check_depth(value: object, max_depth: int = MAX_DEPTH) -> None:
    """Refuse a value that did not come through `loads` and nests deeper than `max_depth`.

    Raises:
        Rejected: it does.
    """
    if _deeper(value, max_depth):
        raise Rejected(f"nested deeper than {max_depth} levels")


def dumps(value: object) -> str:
    """The shortest JSON text of `value`, characters as they are, always on one line.

    Raises:
        Rejected: a value that JSON has no word for: NaN, an infinity, half a surrogate pair, an
            object of another kind.
    """
    try:
        text = _ENCODER.encode(value)
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError:
        raise Rejected("half a surrogate pair is no character") from None
    except RecursionError:
        raise Rejected("nested too deeply") from None
    except (TypeError, ValueError) as fault:
        raise Rejected(f"cannot be written as JSON: {fault}") from None
    return text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} stands twice in one object")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return value


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too long")
    return int(text)


def _deeper(value: object, limit: int) -> bool:
    """Whether `value` nests deeper than `limit`; level by level, so that no depth can hurt it."""
    level = [value]
    for _ in range(limit + 1):
        containers = [item for item in level if isinstance(item, (dict, list))]
        if not containers:
            return False
        level = [
            child
            for item in containers
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return True


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
