"""Which values are secrets and which are not, whatever their names say; it knows no text around.

Loaded only where a name or a key word tells of a secret.
"""

import re
from math import log2

_NOTHING = frozenset(
    {"", "none", "null", "nil", "true", "false", "required", "optional", "string", "hidden"}
    | {"redacted", "unknown", "missing", "invalid", "expired", "changed", "correct", "wrong"}
)
_MASK = re.compile(r"\[masked:[a-z-]+\]")
_ELSEWHERE = re.compile(
    r"\$\{?[A-Za-z_]\w*\}?$|\$\(|[<{\[]|%[({s]|(?:~|\.{0,2})/[\w.@-]+(?:/[\w.@-]+)*/?$"
    r"|[a-z][a-z0-9+.-]*://"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+$|\d{4}-\d\d-\d\d|[\w+-]+#\d+$"
)
"""How values begin, or look as a whole, that only say where something is: a variable, a template,
a path, a URL, an address, a day, a reference."""
_PARTS = re.compile(r"[A-Za-z0-9]{8,}")
_DIGIT = re.compile(r"\d", re.ASCII)
_TURN = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_ALL = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)", re.ASCII | re.DOTALL)
_SYMBOL = re.compile(r"[0-9!@#$%^&*?~+]")
_PASSWORD, _SECRET, _VARIABLE = 6, 6, 8  # characters that it takes at least
_BOTH = 12  # characters of a part that shows both cases by chance
_LONG, _RANDOM = 32, 4.4  # characters, and bits for each, of what needs no such part


def named_value(value: str, kind: str) -> str:
    """`value` of a field whose name tells of `kind` (as `secret_name` says): itself or a mask."""
    name = kind.rstrip("?")
    if kind.endswith("?"):
        secret = is_secret(value, name)
    else:
        short = name != "password" and (len(value) < _SECRET or " " in value)
        secret = not short and not _says_nothing(value)
    return f"[masked:{name}]" if secret else value


def is_secret(value: str, kind: str) -> bool:
    """Whether `value`, which stands beside a word that tells of `kind`, looks like one itself.

    A password is a letter with a digit or a symbol; anything else has to look random.
    """
    if _says_nothing(value):
        return False
    if kind == "password":
        return (
            len(value) >= _PASSWORD
            and any(map(str.isalpha, value))
            and _SYMBOL.search(value) is not None
        )
    return is_random(value)


def is_random(value: str) -> bool:
    """Whether `value`, or a part of it, mixes letters, digits and cases as no words do."""
    if any(map(_is_mixed, _PARTS.findall(value))):
        return True
    return len(value) >= _LONG and bool(_ALL.match(value)) and _entropy(value) >= _RANDOM


def _is_mixed(part: str) -> bool:
    if part.isdigit():
        return False
    numbers = len(_DIGIT.findall(part))
    if numbers > 1:
        return True
    both = len(part) >= _BOTH and not part.islower() and not part.isupper()
    # camelCase has fewer turns than letters at random
    return both and (numbers == 1 or len(_TURN.findall(part)) * 5 >= len(part))


def _entropy(value: str) -> float:
    """Bits for each character."""
    counts = [value.count(character) for character in set(value)]
    return -sum(count / len(value) * log2(count / len(value)) for count in counts)


def is_plain(value: str) -> bool:
    """Whether the value of a variable is too short or too common to be masked wherever it stands.

    A word, a number or a path says little, and masking it would make nonsense of other text.
    """
    if len(value) < _PASSWORD or _says_nothing(value):
        return True
    if value.isdigit():
        return len(value) < 2 * _VARIABLE
    if value.isalpha() and (value.islower() or value.istitle()):
        return len(value) < 2 * _VARIABLE
    return len(value) < _VARIABLE and not is_secret(value, "password")


def _says_nothing(value: str) -> bool:
    if value.lower() in _NOTHING or _MASK.search(value) or _ELSEWHERE.match(value):
        return True
    return value.isupper() and value.replace("_", "").isalpha()  # the name of a variable
