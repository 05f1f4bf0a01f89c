"""Who holds a lock: asked only when a wait has failed, so it may be slow; it takes no lock itself.

The system's lock table says which process took a lock. A process that died may have left it to a
child, so a dead one is never named: then whoever still has the lock file open is.
"""

import json
import os
import time
from dataclasses import dataclass

from fleet.records import wall_of
from fleet.units import age

_TABLE = "/proc/locks"
_START_TIME = 19  # field of /proc/<pid>/stat, counted after the name in parentheses


@dataclass(frozen=True, slots=True)
class Holder:
    """A live process.

    Attributes:
        pid: its number on this host.
        name: the program's short name.
        age: seconds since it started, None where the system does not say.
    """

    pid: int
    name: str
    age: float | None

    def __str__(self) -> str:
        started = "" if self.age is None else f", started {self.age:.0f} s ago"
        return f"{self.name} (pid {self.pid}{started})"


def describe_holder(path: str) -> str:
    """The holders of the lock file `path` in words for an error."""
    return " and ".join(str(holder) for holder in holders(path)) or "a process that is not visible"


def describe_noted(path: str) -> str:
    """The same for a lock whose holder wrote a note beside it; a note of the dead is not believed.

    The note's host decides whether its pid can be looked up here.
    """
    try:
        note = json.loads(_read(f"{path}.holder"))
        pid, host = int(note["pid"]), str(note["host"])
        since = age(time.time() - wall_of(str(note["since"])))
    except (KeyError, TypeError, ValueError):
        return describe_holder(path)
    if host == os.uname().nodename and not _alive(pid):
        return describe_holder(path)
    name = _name(pid) if host == os.uname().nodename else "a process"
    return f"{name} (pid {pid}) on {host} for {since}"


def holders(path: str) -> list[Holder]:
    """The live processes that hold the lock file `path`, by table, note in it, or open files."""
    try:
        inode = os.stat(path).st_ino
    except OSError:
        return []
    taken, waiting = _table(inode)
    pids = [pid for pid in taken or _written(path) if _alive(pid)]
    if not pids:
        pids = [pid for pid in _having_open(path) if pid not in waiting and pid != os.getpid()]
    return [Holder(pid, _name(pid), _age(pid)) for pid in sorted(set(pids))]


def _table(inode: int) -> tuple[list[int], set[int]]:
    """Pids that took a flock on `inode`, and pids that wait for one."""
    taken: list[int] = []
    waiting: set[int] = set()
    for line in _read(_TABLE).splitlines():
        fields = line.split()
        blocked = fields[1:2] == ["->"]
        fields = fields[2:] if blocked else fields[1:]
        if fields[:1] != ["FLOCK"] or fields[4].rpartition(":")[2] != str(inode):
            continue
        pid = int(fields[3])
        if blocked:
            waiting.add(pid)
        else:
            taken.append(pid)
    return taken, waiting


def _written(path: str) -> list[int]:
    """The pid in the lock file: what systems without a lock table have."""
    word = _read(path).partition(" ")[0].strip()
    return [int(word)] if word.isdigit() else []


def _having_open(path: str) -> list[int]:
    real = os.path.realpath(path)
    return [int(name) for name in _entries("/proc") if name.isdigit() and _has_open(name, real)]


def _has_open(pid: str, real: str) -> bool:
    folder = f"/proc/{pid}/fd"
    return any(_target(f"{folder}/{number}") == real for number in _entries(folder))


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _alive(pid: int) -> bool:
    """Whether `pid` runs; a zombie holds nothing."""
    stat = _read(f"/proc/{pid}/stat")
    if stat:
        return stat.rpartition(") ")[2][:1] not in ("Z", "X")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0


def _name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip() or "a process"


def _age(pid: int) -> float | None:
    fields = _read(f"/proc/{pid}/stat").rpartition(") ")[2].split()
    if len(fields) <= _START_TIME:
        return None
    started = int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
