"""One run of an operator's own command beside the loop: without a shell, bounded, never waited for.

What it is told and what its end means is its caller's business. Runs of agents are no errands.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from fleet import processes
from fleet.masking import mask, secret_values
from fleet.runner.launchers import environment
from fleet.text import clip
from fleet.wiring import Fleet

HEARD = 4096  # newest bytes of its errors that are looked at
SAID = 200  # characters of its last line that are repeated
CLOSING = 1.0  # seconds that one may go on when the runner ends


class Errand:
    """One process of its own session, with a limit; ask `over` now and then.

    Attributes:
        fault: one line, why it did not do its work; "" when it did, or is not over.
        started: whether there was such a program.
    """

    def __init__(
        self,
        fleet: Fleet,
        argv: tuple[str, ...],
        limit: float,
        told: bytes = b"",
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `argv`.

        Args:
            fleet: the home.
            argv: the command; a relative name is looked for on PATH.
            limit: seconds after which it is killed.
            told: what it can read on its standard input.
            cwd: the folder that it is started in; the home's without one.
            env: its whole environment; without one what `environment.of_errands` says.
        """
        self._env = environment.of_errands(fleet.env, fleet.root) if env is None else env
        self.fault = ""
        self._limit = limit
        self._until = time.monotonic() + limit
        self._errors = b""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            with _readable(told) as given:
                self._process = subprocess.Popen(
                    argv,
                    cwd=cwd or fleet.root,
                    env=self._env,
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except OSError as fault:
            self.fault = f"{argv[0]} could not be started: {fault.strerror}"
        else:
            os.set_blocking(self._stderr.fileno(), False)
        self.started = self._process is not None

    @property
    def _stderr(self) -> IO[bytes]:
        assert self._process is not None  # noqa: S101 - asked only of a process
        assert self._process.stderr is not None  # noqa: S101 - it was started with a pipe
        return self._process.stderr

    def over(self) -> bool:
        """Whether it has ended; ends it when its time is up. Never waits."""
        if self._process is None:
            return True
        self._listen()
        code = self._process.poll()
        if code is None:
            if not self.fault and time.monotonic() >= self._until:
                self.fault = f"{self._name} did not end within {self._limit:g} s and was killed"
                self._kill()
            return False
        if code and not self.fault:
            self.fault = f"{self._name} {_ended(code)}{self._last_line()}"
        self._stderr.close()
        self._process = None
        return True

    def terminate(self) -> None:
        """Ask it to end: SIGTERM, to it alone."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def close(self, within: float = CLOSING) -> None:
        """The runner ends: so many seconds to finish, then it is killed."""
        end = min(self._until, time.monotonic() + within)
        while not self.over() and time.monotonic() < end:
            time.sleep(0.02)
        if self._process is not None:
            self._kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING)
            self._stderr.close()
            self._process = None

    @property
    def _name(self) -> str:
        assert self._process is not None  # noqa: S101 - asked only of a process
        return str(self._process.args[0])  # type: ignore[index]  # argv, as it was given

    def _kill(self) -> None:
        assert self._process is not None  # noqa: S101 - asked only of a process
        # Nobody has waited for it: the number is still its own.
        processes.send_all(processes.in_session(self._process.pid), signal.SIGKILL)

    def _listen(self) -> None:
        """Take what it said meanwhile; an unread pipe would hold it up."""
        with suppress(BlockingIOError):
            while data := os.read(self._stderr.fileno(), HEARD):
                self._errors = (self._errors + data)[-HEARD:]

    def _last_line(self) -> str:
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {clip(mask(last, secret_values(self._env)), SAID)}" if last else ""


def _ended(code: int) -> str:
    return f"exited with {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"


def _readable(told: bytes) -> IO[bytes]:
    """A file that begins with `told`: unlike a pipe it holds any length, read or not."""
    # In memory where that can be: what is to be told may be that the disk is full.
    create = getattr(os, "memfd_create", None)
    file = os.fdopen(create("told"), "w+b") if create else tempfile.TemporaryFile()  # noqa: SIM115
    file.write(told)
    file.flush()
    file.seek(0)
    return file
