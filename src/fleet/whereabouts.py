"""Where a home stands: what tells it from its copies. It reads and compares; it starts nothing.

A folder that was moved keeps its device and inode, one that was restored in place keeps its path;
a copy has neither, and one on another machine has another machine's name.
"""

import os
import socket
from pathlib import Path
from typing import NamedTuple

from fleet import processes
from fleet.records import Body

LEADER = "schedule/fleet"
"""The document in which the runner says who leads, and where the home's agents run."""
HOME = "home"


class Spot(NamedTuple):
    """Where a home stands.

    Attributes:
        machine: a hash that names the machine, "" where nothing does.
        host: its name, for people.
        path: the home's folder.
        folder: device and inode of its state.
    """

    machine: str
    host: str
    path: str
    folder: list[int]


def spot(state: Path) -> Spot:
    """Where the home of the folder `state`, which must be there, stands now."""
    machine, host = processes.machine_id(), socket.gethostname()
    return Spot(machine, host, str(state.parent), identity(state))


def noted(body: Body | None) -> Spot | None:
    """Where the document `LEADER` says that the home's agents run; None when it says nothing."""
    said = (body or {}).get(HOME)
    if not isinstance(said, dict):
        return None
    folder = said.get("folder")
    return Spot(
        str(said.get("machine", "")),
        str(said.get("host", "")),
        str(said.get("path", "")),
        folder if isinstance(folder, list) else [],
    )


def same(one: Spot, other: Spot) -> bool:
    """Whether both are one home: moved, or restored in place, but no copy.

    A machine without a name is no other machine: containers come without one.
    """
    if one.machine and other.machine and one.machine != other.machine:
        return False
    return one.path == other.path or one.folder == other.folder


def is_here(body: Body | None, state: Path) -> bool:
    """Whether what the document `LEADER` says of processes is about this home and no other copy."""
    said = noted(body)
    return said is None or (state.exists() and same(said, spot(state)))


def original(body: Body | None, state: Path) -> Spot | None:
    """Where the agents of this home run, when it is a copy; None for a home that is none."""
    return None if is_here(body, state) else noted(body)


def identity(folder: Path) -> list[int]:
    """Device and inode of a folder, empty when it is not there: a copy has others."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - asked at every look at a run
    except OSError:
        return []
    return [found.st_dev, found.st_ino]
