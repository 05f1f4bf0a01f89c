"""How far a text is about what is asked for: the words that both have, and nothing cleverer.

No meaning, no synonyms, no learning: the same texts give the same answer for ever.
"""

import re
from collections.abc import Iterable, Mapping

SHORTEST = 3  # letters of a word that says something
_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    {
        "about", "after", "all", "also", "and", "any", "are", "been", "before", "but", "can",
        "could", "did", "does", "for", "from", "get", "give", "had", "has", "have", "how", "into",
        "its", "just", "look", "more", "most", "need", "needs", "new", "not", "now", "off", "one",
        "only", "our", "out", "over", "she", "should", "some", "than", "that", "the", "their",
        "them", "then", "there", "they", "this", "two", "use", "was", "were", "what", "when",
        "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your",
    }
)  # fmt: skip
_ENDINGS = ("ing", "ed", "es", "s", "e")


def words_of(text: str) -> dict[str, str]:
    """The words of a text that say something, in lower case, each by what it is compared by."""
    found = dict.fromkeys(_WORD.findall(text.lower()))
    said = [word for word in found if len(word) >= SHORTEST and word not in _STOP]
    return {_stem(word): word for word in reversed(said)}


def _stem(word: str) -> str:
    """`replies` and `reply`, `pricing` and `price` are one word each."""
    if word.endswith("ies") and len(word) > SHORTEST + 1:
        return f"{word[:-3]}y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            return word[: -len(ending)]
    return word


def shared(wanted: Mapping[str, str], texts: Iterable[str]) -> frozenset[str]:
    """The words of `wanted` (see `words_of`) that stand in any of `texts`."""
    there = set[str]().union(*map(words_of, texts))
    return frozenset(word for stem, word in wanted.items() if stem in there)
