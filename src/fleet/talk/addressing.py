"""Whom a post speaks to by name; that somebody is mentioned is not enough.

It reads texts only to count turns: nobody is told anything because of it.
"""

import re
from collections.abc import Container

MOST = 8  # names that one post passes on
_SPOKEN_TO = re.compile(
    r"(?<![\w.])@([a-z0-9][a-z0-9_-]*)|(?:^|[.!?\n])[ \t]*([a-z0-9][a-z0-9_-]*)[:,]"
)


def addressed(text: str, agents: Container[str], author: str) -> list[str]:
    """The agents that `text` speaks to: `@outreach`, or `outreach:` where a sentence begins."""
    named = (found[1] or found[2] for found in _SPOKEN_TO.finditer(text))
    others = (name for name in named if name in agents and name != author)
    return list(dict.fromkeys(others))[:MOST]
