"""What a service of fleet is, whichever manager runs it; no format is here."""

from pathlib import Path
from typing import NamedTuple


class Service(NamedTuple):
    """One home's `fleet up`.

    Attributes:
        name: what its file is called after: `A-Z a-z 0-9 _ . -`.
        title: the home's name, for people.
        program: the `fleet` command, absolute.
        home: the home, absolute.
        path: the PATH that it gets.
        user: the user's own folder.
        stop_within: seconds that a stop may take.
    """

    name: str
    title: str
    program: str
    home: str
    path: str
    user: Path
    stop_within: float
