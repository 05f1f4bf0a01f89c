"""How text that others wrote becomes harmless: for terminals, prompts, fences, and by its size.

Standard library only and no I/O; the hook and the keeper import nothing else of fleet. It knows
characters, not records: what is shown and in which order is decided by its callers.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

SURROGATE = "[\ud800-\udfff]"
# Everything a terminal or a model may obey or not see: C0 and C1 controls, bidi, zero-width and
# filler characters, line separators, tags and those variation selectors that emoji do not need.
UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
UNSEEN_BUT_LINES = UNSEEN.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")  # LF and TAB may stay
ZERO_WIDTH_SPACE = "\u200b"
# `@path` pulls a file into a prompt at the start of a text or after white space. Every @ counts
# that does not follow a letter, a digit or a visible ASCII character other than @ itself.
ARMED_AT = "(?<![!-?A-~\\w])@(?!\u200b)"
ARMED_SLASH = "(^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])(\\s*)/"
FENCE = "fleet-data"

# Weights fitted on samples of real prompts (errors -12 … +10 %), the margin makes the guess safe.
PER_WORD, PER_LETTER_BEYOND_4, PER_DIGIT, PER_MARK, PER_NEWLINE = 1.245, 0.295, 0.30, 0.81, 1.33
PER_NON_ASCII, PER_EXTRA_SPACE, MARGIN = 1.2, 0.15, 1.15
_PAID = 4  # letters of a word that `PER_WORD` pays for


def clean(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD: what is left always encodes."""
    return re.sub(SURROGATE, "\ufffd", text)


def escape(text: str, *, newlines: bool = False) -> str:
    r"""`text` with what a terminal may obey or hide shown as `\x1b`, `\u202e`, `\U000e0041`.

    Args:
        text: anything; lone surrogates become U+FFFD.
        newlines: leave LF and TAB as they are; without it the answer is always one line.
    """
    if _is_plain(text.replace("\n", "") if newlines else text):
        return text  # most are: a prompt is made of hundreds, and no pattern is free
    pattern = UNSEEN_BUT_LINES if newlines else UNSEEN
    return re.sub(pattern, lambda found: _visible(found.group()), clean(text))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _visible(character: str) -> str:
    code = ord(character)
    named = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if named:
        return named
    return (
        f"\\x{code:02x}"
        if code < 1 << 8
        else f"\\u{code:04x}"
        if code < 1 << 16
        else f"\\U{code:08x}"
    )


def disarm(text: str) -> str:
    """`text` in which no `@path` names a file and no line begins a slash command.

    A U+200B goes behind such an @ and before such a /; addresses like `sarah@acme.com` stay.
    Applying it twice changes nothing. Escape first: `escape` would show the U+200B.
    """
    if "@" in text:
        text = re.sub(ARMED_AT, "@" + ZERO_WIDTH_SPACE, text)
    return re.sub(ARMED_SLASH, f"\\1\\2{ZERO_WIDTH_SPACE}/", text) if "/" in text else text


def harmless(text: str, *, nonce: str = "", newlines: bool = False) -> str:
    """`text` escaped, disarmed and unable to open or close a fence: fit for a prompt.

    Args:
        text: what somebody wrote.
        nonce: the render's nonce, broken up wherever it occurs; "" when there is none.
        newlines: as in `escape`.
    """
    return disarm(_unfenced(escape(text, newlines=newlines), nonce))


def _unfenced(text: str, nonce: str) -> str:
    if "<" in text:
        text = re.sub(f"(?i)<(/?\\s*{FENCE})", f"<{ZERO_WIDTH_SPACE}\\1", text)
    return text.replace(nonce, nonce[:1] + ZERO_WIDTH_SPACE + nonce[1:]) if nonce else text


def quoted(text: str, *, nonce: str = "") -> str:
    """`text` made harmless, each line behind `  | `: no line of it can pass for one of fleet's."""
    lines = harmless(text, nonce=nonce, newlines=True).split("\n")
    return "\n".join(f"  | {line}" for line in lines)


def fence(text: str, *, nonce: str, header: str) -> str:
    """A block of data that its text cannot leave.

    Args:
        text: lines of fleet's own and what `quoted` or `harmless` made of others' words; any
            occurrence of the nonce or of the markers' shape is broken up once more.
        nonce: new for each render; nobody who wrote the text can have known it.
        header: one line of fleet's own that says what the block holds and who wrote it.

    Returns:
        `<fleet-data NONCE: HEADER>`, the text, `</fleet-data NONCE>`, without a last newline.
    """
    inside = _unfenced(clean(text), nonce)
    return f"<{FENCE} {nonce}: {escape(header)}>\n{inside}\n</{FENCE} {nonce}>"


def clip(text: str, limit: int, more: str = "…") -> str:
    """`text` itself, or its beginning and `more`: at most `limit` characters altogether."""
    if len(text) <= limit:
        return text
    return text[: max(0, limit - len(more))].rstrip() + more[: max(0, limit)]


@lru_cache(maxsize=512)
def tokens(text: str) -> int:
    """About how many tokens a current model makes of `text`, rather too many than too few."""
    words = re.findall(r"[^\W\d_]+", text)
    long = [len(word) for word in words if len(word) > _PAID]
    letters = sum(map(len, words))
    digits = sum(map(text.count, "0123456789"))
    space = len(text) - sum(map(len, text.split()))
    foreign = runs = 0
    if not _is_plain(text.replace("\n", "")):
        digits = len(re.findall(r"\d", text))
        foreign = len(re.findall(r"[^\x00-\x7f]", text))
        runs = sum(len(run) - 1 for run in re.findall(r"[^\S\n]{2,}", text))
    elif "  " in text:
        runs = sum(len(run) - 1 for run in re.findall(" {2,}", text))
    return round(
        MARGIN
        * (
            PER_WORD * len(words)
            + PER_LETTER_BEYOND_4 * (sum(long) - _PAID * len(long))
            + PER_DIGIT * digits
            + PER_MARK * (len(text) - letters - digits - space)
            + PER_NEWLINE * text.count("\n")
            + PER_NON_ASCII * foreign
            + PER_EXTRA_SPACE * runs
        )
        + 0.5
    )


def one_of(word: str, known: Iterable[str]) -> str:
    """What to say instead of `word`: the nearest of `known`, or all of them; they are not none."""
    names = sorted(known)
    return suggest(word, names) or clip(f"there are {', '.join(names)}", 400)


def suggest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'reply-handler'?`, or "" when nothing is near."""
    from difflib import get_close_matches  # 3 ms that only a mistake pays

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""
