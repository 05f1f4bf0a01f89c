"""One run from its start to its end, as its keeper sees it: processes, limits, signals."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fleet import processes
from fleet.keeper import files
from fleet.keeper.escaped import Escaped
from fleet.keeper.output import Results, Transcript, shorten, size
from fleet.masking import mask, secret_values
from fleet.masking.run_files import mask_run

TICK = 0.25  # seconds between two looks at the command's output
STEP = 0.05  # the same while everything is being ended
LEAVE = 1.0  # seconds that what outlived its command gets to leave by itself
SWEEP = 1.5  # seconds within which the sweep must have killed everything
CAPS = 4  # an output file of so many times its cap ends the run
HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Ending(NamedTuple):
    """Why the command ended or has to: a word of `ended_by`, and one line."""

    by: str
    reason: str = ""


class Keeper:
    """Keeps one run. `keep()` is all there is to call, once, in a process of its own."""

    def __init__(self, folder: Path, order: files.Order) -> None:
        self._folder = folder
        self._order = order
        self._me = os.getpid()
        self._secrets = secret_values(os.environ)
        self._started = files.stamp()
        self._stdout = folder / order.stdout
        self._stderr = folder / order.stderr
        self._results = Results(self._stdout)
        self._transcript = Transcript(order.transcript, order.run)
        self._escaped = Escaped(folder, order.run)
        self._prctl = _prctl()
        self._wake = -1
        self._told = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._began = self._moved = time.monotonic()
        self._written = 0
        self._result_at: float | None = None
        self._swept: set[int] = set()

    def keep(self) -> None:
        """Run the command to its end and write `exit.json`.

        Raises:
            OSError: `exit.json` could not be written; nothing of the run is left all the same.
        """
        self._stand_alone()
        try:
            files.reserve_exit(self._folder)
            self._say_alive()
            self._start()
        except (OSError, ValueError) as error:
            return self._finish(Ending("launch", self._launch_reason(error)))
        with contextlib.suppress(OSError):
            self._say_alive()
        ending = self._watch()
        self._sweep(ending)
        return self._finish(ending)

    # Starting

    def _stand_alone(self) -> None:
        """A session of its own, ears for signals, and the parent of whatever is orphaned."""
        with contextlib.suppress(PermissionError):
            os.setsid()
        self._wake, speak = os.pipe()
        os.set_blocking(speak, False)
        signal.set_wakeup_fd(speak, warn_on_full_buffer=False)
        # Handlers, not SIG_IGN: the command would inherit that, a handler ends at its exec.
        for number in (signal.SIGCHLD, *HEARD):
            signal.signal(number, self._hear)
        # Whoever launched us may have held them back, so that none came before the handlers.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        self._prctl(PR_SET_CHILD_SUBREAPER, 1)

    def _hear(self, number: int, _frame: object) -> None:
        if number in (signal.SIGINT, signal.SIGTERM):
            self._told = self._told or signal.Signals(number).name

    def _say_alive(self) -> None:
        child = self._child.pid if self._child else None
        files.write_alive(
            self._folder,
            {
                "run": self._order.run,
                "pid": self._me,
                "start": processes.start_time(self._me),
                "boot": processes.boot_id(),
                "child_pid": child,
                "child_start": processes.start_time(child) if child else None,
                "since": self._started,
            },
        )

    def _start(self) -> None:
        order = self._order
        if not Path(order.cwd).is_dir():
            raise NotADirectoryError(0, "no such folder", order.cwd)
        with (
            self._stdin() as stdin,
            files.new_file(self._stdout) as stdout,
            files.new_file(self._stderr) as stderr,
        ):
            self._child = subprocess.Popen(
                order.argv,
                cwd=order.cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=self._tie_to_me,  # noqa: PLW1509 - a keeper has one thread
            )
        self._began = self._moved = time.monotonic()

    def _stdin(self) -> BinaryIO:
        """A regular file: the one that is given, or all of them joined."""
        paths = [self._folder / name for name in self._order.stdin]
        if len(paths) == 1:
            return paths[0].open("rb")
        joined = self._folder / "stdin.txt"
        with files.new_file(joined) as file:
            for path in paths:
                file.write(path.read_bytes().rstrip(b"\n") + b"\n")
        return joined.open("rb")

    def _tie_to_me(self) -> None:
        """In the child, before exec: die when the keeper dies, even if it just did.

        The signal follows the thread that forked, which is the keeper's only one.
        """
        self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._me:
            os.kill(os.getpid(), signal.SIGKILL)

    def _launch_reason(self, error: OSError | ValueError) -> str:
        command = self._order.argv[0]
        if isinstance(error, ValueError):
            return f"cannot start {command}: {error}"
        if isinstance(error, FileNotFoundError) and error.filename == command:
            return f"cannot start {command}: no such command"
        where = f": {error.filename}" if error.filename not in {None, command} else ""
        return f"cannot start {command}: {(error.strerror or str(error)).lower()}{where}"

    # Watching

    def _watch(self) -> Ending:
        while True:
            self._pause(TICK)
            self._reap()
            self._look()
            if self._status is not None:
                return Ending("exit")
            self._escaped.look()
            if ending := self._due():
                self._stop()
                return ending

    def _pause(self, seconds: float) -> None:
        """Wait so long, or until a child ends or a signal comes."""
        if select.select([self._wake], [], [], seconds)[0]:
            os.read(self._wake, 4096)

    def _reap(self) -> None:
        """Wait for whatever has ended: the command itself, and orphans that fell to the keeper."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if self._child and ended[0] == self._child.pid:
                    self._status = self._child.returncode = os.waitstatus_to_exitcode(ended[1])

    def _look(self) -> None:
        written = size(self._stdout) + size(self._stderr)
        if written != self._written:
            self._written, self._moved = written, time.monotonic()
            if self._order.format == "claude" and self._results.look():
                self._result_at = self._moved
        elif self._transcript.grew():
            self._moved = time.monotonic()

    def _due(self) -> Ending | None:
        """Why the command has to end now; None while it may go on."""
        order, now = self._order, time.monotonic()
        late = now - self._began >= order.timeout
        if self._result_at is not None:
            if late or self._told or now - self._result_at >= order.after_result:
                return Ending("after_result", "it gave its result and did not leave")
        elif now - self._moved >= order.idle_timeout:
            return Ending("stalled", f"no sign of life for {order.idle_timeout:g} s")
        if self._told:
            return Ending("stopped", f"its keeper got {self._told}")
        if late:
            return Ending("timeout", f"still running after {order.timeout:g} s")
        if max(size(self._stdout), size(self._stderr)) > CAPS * order.output_cap:
            return Ending("output_cap", f"it wrote more than {CAPS * order.output_cap} bytes")
        return None

    # Ending

    def _rest(self) -> set[int]:
        """What is left of the run: the command, its descendants, its group, its marked ones."""
        everything = processes.table()
        rest = processes.descendants(self._me, everything)
        if self._child:
            group = self._child.pid
            rest |= {
                one.pid for one in everything.values() if one.group == group and not one.zombie
            }
        return rest | processes.with_run_id(self._order.run)

    def _tell(self, sig: signal.Signals) -> bool:
        """Send `sig` to all that is left; False when nothing is."""
        rest = self._rest()
        processes.send_all(rest, sig)
        if self._status is not None:
            self._swept |= rest
        return bool(rest)

    def _stop(self) -> None:
        """INT, TERM, KILL to all of the run, each with a third of the grace period."""
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            self._tell(sig)
            if self._gone_within(self._order.grace / 3):
                return

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            self._reap()
            if self._status is not None and not self._rest():
                return True
            if time.monotonic() >= deadline:
                return False
            self._pause(STEP)

    def _sweep(self, ending: Ending) -> None:
        """End what outlived its command, wherever it went; only a free end leaves it a moment."""
        if ending.by == "exit" and self._tell(signal.SIGTERM):
            self._gone_within(LEAVE)
        killed, _ = processes.kill_all(self._rest, within=SWEEP, reap=self._reap)
        self._swept |= killed
        self._reap()

    def _finish(self, ending: Ending) -> None:
        """Cut and mask what was written, then say how it ended."""
        with contextlib.suppress(OSError):
            self._look()
        sizes = size(self._stdout), size(self._stderr)
        status = self._status
        said = {
            "run": self._order.run,
            "pid": self._me,
            "started": self._started,
            "ended": files.stamp(),
            "returncode": status if status is not None and status >= 0 else None,
            "signal": -status if status is not None and status < 0 else None,
            "ended_by": ending.by,
            "reason": mask(ending.reason, self._secrets),
            "result_seen": self._result_at is not None,
            "stdout_bytes": sizes[0],
            "stderr_bytes": sizes[1],
            "truncated": self._shorten(),
            "swept": len(self._swept),
        }
        self._mask()
        files.write_exit(self._folder, said)

    def _shorten(self) -> bool:
        """Cut both outputs to their cap; what cannot be cut stays as it is."""
        cap, is_json = self._order.output_cap, self._order.format == "claude"
        cut = False
        with contextlib.suppress(OSError):
            cut = shorten(self._stdout, cap, last=self._results.last, json_mark=is_json)
        with contextlib.suppress(OSError):
            cut |= shorten(self._stderr, cap)
        return cut

    def _mask(self) -> None:
        with contextlib.suppress(OSError):
            mask_run(self._folder, self._order.run, self._order.transcript, self._secrets)


def _prctl() -> Callable[[int, int], object]:
    """Linux's prctl(option, argument); elsewhere, or without ctypes, what does nothing."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda _option, _argument: None
