"""Whether a text merely repeats what its run was told: words that stand in its own prompt.

It compares words, so that case, punctuation, line breaks and what makes a text harmless in a
prompt hide nothing; a text of one or two words is never called a repetition.
"""

import re
from collections.abc import Iterator

from fleet.errors import Rejected
from fleet.places import Places

FEWEST = 3  # words
_MOST = 4 << 20  # bytes of one file, above any prompt


def told(places: Places, run: str) -> str:
    """What `run` was told, as words between spaces; only a space when its files are gone."""
    return f" {' '.join(word for text in _files(places, run) for word in words(text))} "


def words(text: str) -> list[str]:
    """The words of `text`, without case."""
    return re.findall(r"\w+", text.casefold())


def stands_in(text: str, said: str) -> bool:
    """Whether the words of `text` stand one after another in `said` (see `told`)."""
    return len(words(text)) >= FEWEST and names(text, said)


def names(ref: str, said: str) -> bool:
    """Whether the reference `ref` stands in `said`."""
    return f" {' '.join(words(ref))} " in said


def _files(places: Places, run: str) -> Iterator[str]:
    for name in ("context.md", "prompt.md"):
        try:
            with (places.run_folder(run) / name).open("rb") as file:
                yield file.read(_MOST).decode("utf-8", "replace")
        except (OSError, Rejected):  # a run of another host, or one whose folder is gone
            continue
