"""Facts about the system's processes (who is alive, whose child, of which run) and their end.

Standard library only. It knows pids and signals, nothing of agents, homes or records. Linux reads
/proc; elsewhere the same questions are put to `ps` and `sysctl`, as well as these can answer.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

RUN_VARIABLE = "FLEET_RUN_ID"
"""The environment variable that marks every process of a run."""
HOME_VARIABLE = "FLEET_HOME"
"""The one that says in which home it runs."""

_LINUX = sys.platform.startswith("linux")
_PAUSE = 0.02  # seconds between two looks at processes that were just killed


class Process(NamedTuple):
    """One line of the process table.

    Attributes:
        pid: its number.
        parent: its parent's number.
        group: its process group's number.
        start: when it started: clock ticks since boot on Linux, seconds since the epoch elsewhere.
        zombie: True when it has ended and nobody has waited for it.
    """

    pid: int
    parent: int
    group: int
    start: int
    zombie: bool


def boot_id() -> str:
    """What names this boot of this machine; "" where the system does not say."""
    if _LINUX:
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_bytes().decode().strip()
        except OSError:
            return ""
    return _answer("sysctl", "-n", "kern.bootsessionuuid").strip()


def machine_id() -> str:
    """What names this machine, hashed (it is nobody's business); "" where nothing does."""
    from hashlib import blake2b  # only who leads a home asks

    said = _first_line("/etc/machine-id", "/var/lib/dbus/machine-id")
    if not said and not _LINUX:
        lines = _answer("ioreg", "-rd1", "-c", "IOPlatformExpertDevice").splitlines()
        said = next((line for line in lines if "IOPlatformUUID" in line), "")
    return blake2b(f"fleet {said}".encode(), digest_size=8).hexdigest() if said else ""


def _first_line(*paths: str) -> str:
    for path in paths:
        try:
            if said := Path(path).read_text("utf-8", "replace").strip():
                return said
        except OSError:
            continue
    return ""


def find(pid: int) -> Process | None:
    """The process `pid`, None when there is none."""
    if _LINUX:
        return _from_proc(pid)
    return next(iter(_from_ps("-p", str(pid))), None)


def start_time(pid: int) -> int | None:
    """When process `pid` started (unit: see `Process.start`), None when there is none."""
    process = find(pid)
    return process.start if process else None


def is_alive(pid: int, start: int | None, boot: str) -> bool:
    """Whether the process of that pid, start time and boot still runs; a zombie does not."""
    if pid <= 0 or boot != boot_id():
        return False
    process = find(pid)
    return process is not None and not process.zombie and process.start == start


def send(pid: int, start: int | None, boot: str, sig: int) -> bool:
    """Signal exactly that process; False when it is gone or its number names another one now."""
    if not is_alive(pid, start, boot):
        return False
    return bool(_kill([pid], sig))


def table() -> dict[int, Process]:
    """Every process there is now, by pid."""
    if not _LINUX:
        return {process.pid: process for process in _from_ps("-A")}
    found = (_from_proc(pid) for pid in _pids())
    return {process.pid: process for process in found if process}


def descendants(pid: int, within: dict[int, Process] | None = None) -> set[int]:
    """Children of `pid`, their children and so on, without `pid`; zombies left out.

    `within` is a `table()` to look in; without it a new one is taken.
    """
    processes = table() if within is None else within
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    seen: set[int] = set()
    waiting = [pid]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in seen]
        seen.update(new)
        waiting.extend(new)
    return {one for one in seen - {pid} if not processes[one].zombie}


def in_session(leader: int) -> set[int]:
    """Every process of the session that `leader` began, it among them, and all descendants."""
    processes = table()
    return descendants(leader, processes) | {pid for pid in processes if _session(pid) == leader}


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def ancestors(pid: int) -> set[int]:
    """The parent of `pid`, its parent and so on, without `pid`."""
    seen: set[int] = set()
    process = find(pid)
    while process and process.parent > 0 and process.parent not in seen:
        seen.add(process.parent)
        process = find(process.parent)
    return seen


def with_run_id(run: str, home: str | None = None) -> set[int]:
    """Every process that was started with `FLEET_RUN_ID=<run>`, but this one and its ancestors.

    Sees what this user may see; a process that was started with another environment is missed.
    With `home` only those that were started in that home: a copy of it has runs of the same ids.
    """
    wanted = {_entry(RUN_VARIABLE, run)} | ({_entry(HOME_VARIABLE, home)} if home else set())
    found = {pid for pid, entries in _environments() if wanted.issubset(entries)}
    return found - {os.getpid()} - ancestors(os.getpid()) if found else found


def unmarked(pid: int, run: str) -> list[Process]:
    """The descendants of `pid` that were not started with `FLEET_RUN_ID=<run>`; cheap on Linux.

    Elsewhere, where no process inherits orphans and a look is dear, there are none.
    """
    if not _LINUX:
        return []
    mark = _entry(RUN_VARIABLE, run)
    bare = (one for one in _brood(pid) if mark not in (_environment(one) or ()))
    return [one for one in map(find, bare) if one and not one.zombie]


def still(noted: object) -> set[int]:
    """The noted processes that are the same ones still, with their descendants.

    This process and its ancestors are left out.

    Args:
        noted: `{"boot": …, "processes": [[pid, start], …]}`; anything else notes nothing.
    """
    said = noted if isinstance(noted, dict) else {}
    pairs = said.get("processes")
    if not isinstance(pairs, list) or not pairs or said.get("boot") != boot_id():
        return set()
    everything = table()
    same = [one.pid for one in everything.values() if [one.pid, one.start] in pairs]
    found = {pid for pid in same if not everything[pid].zombie}
    for pid in tuple(found):
        found |= descendants(pid, everything)
    return found - {os.getpid()} - ancestors(os.getpid()) if found else found


def of_home(home: str) -> dict[int, str]:
    """Every process of a run in that home with the run's id, but this one and its ancestors."""
    wanted, prefix = _entry(HOME_VARIABLE, home), _entry(RUN_VARIABLE, "")
    own = {os.getpid()} | ancestors(os.getpid())
    return {
        pid: os.fsdecode(entry.removeprefix(prefix))
        for pid, entries in _environments()
        if wanted in entries and pid not in own
        for entry in entries
        if entry.startswith(prefix)
    }


def _entry(name: str, value: str) -> bytes:
    return os.fsencode(f"{name}={value}")


def _environments() -> Iterable[tuple[int, list[bytes]]]:
    """Every process that this user may look into, with the environment it was started with."""
    return _environments_in_proc() if _LINUX else _environments_in_ps()


def kill_all(
    find_them: Callable[[], Iterable[int]],
    *,
    within: float,
    reap: Callable[[], None] = lambda: None,
) -> tuple[set[int], set[int]]:
    """SIGKILL what `find_them` returns, again and again, until it returns nothing.

    Args:
        find_them: the pids to end; asked anew after each round, so that children born meanwhile
            are found.
        within: seconds after which it gives up (a process may hang in the kernel).
        reap: called after each round, for a caller whose own children are among them.

    Returns:
        The pids that were killed, and those that were still there at the end (normally none).
    """
    from signal import SIGKILL

    deadline = time.monotonic() + within
    killed: set[int] = set()
    while left := set(find_them()):
        killed |= _kill(left, SIGKILL)
        reap()
        if time.monotonic() >= deadline:
            return killed, left
        time.sleep(_PAUSE)
    return killed, set()


def send_all(pids: Iterable[int], sig: int) -> None:
    """Send `sig` to each of `pids`; those that are gone, or another user's, are passed over."""
    _kill(pids, sig)


def _kill(pids: Iterable[int], sig: int) -> set[int]:
    reached = set()
    for pid in pids:
        try:
            os.kill(pid, sig)
        except (ProcessLookupError, PermissionError):
            continue
        reached.add(pid)
    return reached


# Linux -----------------------------------------------------------------------------------------


def _from_proc(pid: int) -> Process | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, so fields are counted from the last one.
    fields = line[line.rindex(b")") + 2 :].split()
    parent, group, threads, start = (int(fields[index]) for index in (1, 2, 17, 19))
    # With its first thread gone and others at work a process looks like a zombie and is none.
    return Process(pid, parent, group, start, zombie=fields[0] in b"ZX" and threads <= 1)


def _pids() -> Iterable[int]:
    return (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal())


def _environments_in_proc() -> Iterable[tuple[int, list[bytes]]]:
    for pid in _pids():
        if (environment := _environment(pid)) is not None:
            yield pid, environment


def _environment(pid: int) -> list[bytes] | None:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None


def _brood(pid: int) -> set[int]:
    """Children of `pid`, theirs and so on, as the kernel lists them: no look at all the others.

    The list may lack one while its sisters end. A kernel without these lists is asked for all.
    """
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        return descendants(pid)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = [child for child in _children(waiting.pop()) if child not in found]
        found.update(new)
        waiting.extend(new)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it has ended
        for task in os.scandir(f"/proc/{pid}/task"):
            with suppress(OSError):  # this thread of it has
                found.extend(map(int, Path(task.path, "children").read_bytes().split()))
    return found


# Elsewhere -------------------------------------------------------------------------------------


def _from_ps(*which: str) -> Iterable[Process]:
    for line in _answer("ps", *which, "-o", "pid=,ppid=,pgid=,state=,lstart=").splitlines():
        pid, parent, group, state, *started = line.split()
        start = int(time.mktime(time.strptime(" ".join(started), "%a %b %d %H:%M:%S %Y")))
        yield Process(int(pid), int(parent), int(group), start, zombie=state.startswith("Z"))


def _environments_in_ps() -> Iterable[tuple[int, list[bytes]]]:
    for line in _answer("ps", "-A", "-E", "-ww", "-o", "pid=,command=").splitlines():
        pid, *words = line.split()
        yield int(pid), list(map(os.fsencode, words))


def _answer(*argv: str) -> str:
    """What a system tool prints, "" when it cannot; in the C locale, for its dates."""
    import subprocess  # only here: a hot path that asks for the boot id does without it

    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
    except OSError:
        return ""
    return done.stdout
