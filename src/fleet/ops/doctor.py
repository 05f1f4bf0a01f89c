"""Is this machine fit for a fleet, and are the home's files what fleet left behind?

It looks and reports; it mends nothing and never reads the content of a record (see `verify`).
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.config.env_file import CREDENTIALS, env_file_of, read_env_file
from fleet.errors import BadHome, Finding, LockTimeout
from fleet.ops import claude_cli, leftovers
from fleet.ops.programs import missing
from fleet.places import HOME_FILE
from fleet.ports import last_record
from fleet.wiring.locking import file_lock

if TYPE_CHECKING:
    from fleet.wiring import Fleet

NETWORK = {
    "9p", "afs", "ceph", "cifs", "davfs", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "virtiofs",
}  # fmt: skip
PATIENCE = 10.0  # seconds for another process to answer about a lock
OTHERS, WRITE = 0o077, 0o022  # bits of a mode: of group and others, and their right to write
STEP = 60.0  # seconds that a clock may be behind the newest record
EARLIEST = datetime(2026, 1, 1).astimezone().timestamp()  # no clock shows less since fleet exists


def doctor(fleet: "Fleet") -> list[Finding]:
    """Errors are what fleet must not run on, warnings what will hurt, notes are facts.

    Raises:
        BadHome: the operator's files have errors and no good config is known: `check` first.
    """
    return [
        *_locks(fleet),
        *_file_system(fleet.places.state),
        *_space(fleet),
        *_clock(fleet),
        *_zone(fleet),
        *_python(),
        *_claude(fleet),
        *missing(fleet.config),
        *_env_file(fleet),
        *_modes(fleet.places.state),
        *_operators(fleet.root),
        *leftovers.find(fleet),
    ]


def _locks(fleet: "Fleet") -> Iterator[Finding]:
    """Two processes, one lock on the state's disk: the second must wait, and only then get it."""
    here = fleet.places.state if fleet.places.state.exists() else fleet.root
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=here) as folder:
            said = _exclusion(Path(folder) / "lock")
    except OSError as fault:
        said = f"nothing can be written here: {fault.strerror}"
    if said:
        yield Finding("error", str(here.relative_to(fleet.root)), 0, said, _MOVE)


def _exclusion(path: Path) -> str:
    """What is wrong with locks in the folder of `path`, "" when they exclude."""
    probe = [sys.executable, "-m", "fleet.ops.probe", str(path)]
    try:
        with file_lock(path, PATIENCE):
            during = subprocess.run(probe, timeout=PATIENCE, capture_output=True, check=False)
        after = subprocess.run(probe, timeout=PATIENCE, capture_output=True, check=False)
    except LockTimeout as fault:
        return f"a lock is never free here: {fault}"
    except subprocess.TimeoutExpired:
        return f"a lock hangs here for {PATIENCE:g} s"
    if during.returncode == 0:
        return "locks do not exclude here"
    return "" if after.returncode == 0 else "a released lock is not free here"


ROOM = "free some space: fleet trim says what could go"
_MOVE = "move the home to a local disk"


def _file_system(state: Path) -> Iterator[Finding]:
    kind = file_system(state)
    if kind in NETWORK:
        what = f"the state is on {kind}, where locks and renames promise nothing"
        yield Finding("error", "state", 0, what, _MOVE)


def file_system(path: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that holds `path`, "" where the system does not say."""
    real = os.path.realpath(path)
    found, longest = "", -1
    for line in _text(table).splitlines():
        head, _, tail = line.partition(" - ")
        mount = head.split()[4].encode().decode("unicode_escape")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= longest:
            found, longest = tail.split()[0], len(mount)
    return found


def _space(fleet: "Fleet") -> Iterator[Finding]:
    state, least = fleet.places.state, fleet.config.limits.min_free
    here = state if state.exists() else fleet.root
    free = shutil.disk_usage(here).free
    said = f"{free >> 20} MiB are free, limits.min_free is {least >> 20} MiB"
    if free < least:
        yield Finding("error", "state", 0, f"{said}: nothing starts", ROOM)
    elif free < 2 * least:
        yield Finding("warning", "state", 0, said, ROOM)
    inodes = os.statvfs(here)
    if inodes.f_files and not inodes.f_favail:
        yield Finding("error", "state", 0, "no inodes are left on this disk", "remove some files")


def _clock(fleet: "Fleet") -> Iterator[Finding]:
    now = fleet.store.now()
    if now.wall < EARLIEST:
        yield Finding("error", "", 0, "the clock shows a time before fleet existed", "set it")
    newest = last_record(fleet.store, "events")
    ahead = datetime.fromisoformat(newest.at).timestamp() - now.wall if newest else 0.0
    if newest and ahead > STEP:
        what = f"the clock is {ahead:.0f} s behind {newest.ref}"
        yield Finding("warning", "", 0, what, "set it; order does not depend on it, due slots do")


def _zone(fleet: "Fleet") -> Iterator[Finding]:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(fleet.config.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        what = f"this machine has no data for the time zone {fleet.config.timezone}"
        yield Finding("error", "fleet.yaml", 0, what, "install tzdata")


def _python() -> Iterator[Finding]:
    yield Finding("note", "", 0, f"Python {sys.version.split()[0]} at {sys.executable}")


def _claude(fleet: "Fleet") -> Iterator[Finding]:
    """The CLI, when any agent needs it."""
    needed = [a.id for a in fleet.config.agents.values() if a.enabled and a.launch == "claude"]
    name = fleet.config.claude.path
    found = shutil.which(Path(name).expanduser())
    if not needed:
        return
    if found is None:
        what = f"there is no {name}, which {len(needed)} agents are launched with"
        yield Finding("error", "fleet.yaml", 0, what, "install the CLI, or name it in claude.path")
        return
    answer = claude_cli.ask(found, os.environ)
    if answer.fault:
        yield Finding("error", "", 0, answer.fault, "install the CLI anew, or name another one")
    else:
        yield Finding("note", "", 0, f"CLI {answer.version} at {found}")
    known = claude_cli.known(fleet.store)
    if known and known.is_new:
        what = f"CLI {known.version or 'of no version'} has to show that it works: agents worked"
        fix = "its first run shows it; fleet doctor --claude probes it"
        yield Finding("warning", "", 0, f"{what} with {known.accepted}", fix)
    yield from _login(fleet)


def _login(fleet: "Fleet") -> Iterator[Finding]:
    """Whether the CLI finds a login, and where; never the login itself."""
    where = "fleet.yaml's claude.env_file"
    path, said = env_file_of(fleet.config), {}
    with suppress(BadHome):  # said by `_env_file`
        said = read_env_file(path) if path else {}
    found = next((name for name in CREDENTIALS if said.get(name)), "")
    if not found:
        where = "the environment"
        found = next((name for name in CREDENTIALS if os.environ.get(name)), "")
    if found:
        yield Finding("note", "", 0, f"the CLI's login is {found} of {where}")
        return
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    if (folder / ".credentials.json").is_file():
        yield Finding("note", "", 0, f"the CLI's login is the one in {folder}")
    elif sys.platform == "darwin":
        yield Finding("note", "", 0, "the CLI's login, if there is one, is in the keychain")
    else:
        fix = "claude setup-token makes one; keep it in claude.env_file"
        yield Finding("warning", "", 0, "no login for the CLI was found here", fix)


def _env_file(fleet: "Fleet") -> Iterator[Finding]:
    """What `claude: env_file` names must be a file that only its owner may read."""
    path = env_file_of(fleet.config)
    if path is None:
        return
    try:
        read_env_file(path)
    except BadHome as fault:
        yield Finding("error", str(path), 0, f"claude.env_file: {fault.what}", fault.fix)


def _modes(state: Path) -> Iterator[Finding]:
    """What other users of this machine may read or write; a state not made yet is made 0700."""
    if not (state / "FORMAT").exists():
        return
    mode = state.stat().st_mode
    if mode & OTHERS:
        may = "write into" if mode & WRITE else "look into"
        what = f"other users of this machine may {may} the state: its mode is {mode & 0o777:o}"
        severity = "error" if mode & WRITE else "warning"
        yield Finding(severity, "state", 0, what, f"chmod 700 {state}")
    wide = [(path, path.lstat().st_mode) for path in _fleets_own(state)]
    wide = [(path, mode) for path, mode in wide if mode & OTHERS and not stat.S_ISLNK(mode)]
    if wide:
        path, mode = max(wide, key=lambda one: one[1] & WRITE)
        more = f", and {len(wide) - 1} more are too wide" if len(wide) > 1 else ""
        what = f"its mode is {mode & 0o777:o}, fleet makes it {0o777 & ~OTHERS & mode:o}{more}"
        severity = "error" if mode & WRITE else "warning"
        name = str(path.relative_to(state.parent))
        yield Finding(severity, name, 0, what, f"chmod -R go= {state}")


def _operators(root: Path) -> Iterator[Finding]:
    """What others may write of the files that say which commands run."""
    folders = [root / name for name in ("agents", "channels", "schemas", "prompts")]
    inside = [path for folder in folders for path in sorted(folder.rglob("*"))]
    wide = [
        path
        for path in (root, root / HOME_FILE, *folders, *inside)
        if (found := _mode(path)) & WRITE and not stat.S_ISLNK(found)
    ]
    if wide:
        name = str(wide[0].relative_to(root))
        more = f", and {len(wide) - 1} more" if len(wide) > 1 else ""
        mode = f"{_mode(wide[0]) & 0o777:o}"
        what = f"others may write it, and so decide what runs: its mode is {mode}"
        yield Finding("warning", name, 0, what + more, f"chmod -R go-w {root}")


def _mode(path: Path) -> int:
    """0 for what is not there."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _fleets_own(state: Path) -> Iterator[Path]:
    """Every file and folder in the state but those that are made for, or by, other programs."""
    for folder, folders, files in os.walk(state):
        if Path(folder) == state:
            folders[:] = sorted(set(folders) - {"claude", "export"})
            files[:] = sorted(set(files) - {"README.md"})
        for name in (*folders, *files):
            yield Path(folder, name)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
