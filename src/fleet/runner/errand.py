"""One run of an operator's own command beside the loop: without a shell, bounded, never waited for.

What it is told and what its end means is its caller's business. Runs of agents are no errands.
"""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO

from fleet.masking import mask
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
    """

    def __init__(
        self, fleet: Fleet, argv: tuple[str, ...], limit: float, told: bytes = b""
    ) -> None:
        """Start `argv` in the home's folder.

        Args:
            fleet: the home, whose environment is passed on as far as `environment.of_errands` says.
            argv: the command; a relative name is looked for on PATH.
            limit: seconds after which it is killed.
            told: what it can read on its standard input.
        """
        self.fault = ""
        self._limit = limit
        self._until = time.monotonic() + limit
        self._errors = b""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            with _readable(told) as given:
                self._process = subprocess.Popen(
                    argv,
                    cwd=fleet.root,
                    env=environment.of_errands(fleet.env, fleet.root),
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except OSError as fault:
            self.fault = f"{argv[0]} could not be started: {fault.strerror}"
        else:
            os.set_blocking(self._stderr.fileno(), False)

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

    def close(self) -> None:
        """The runner ends: a moment to finish, then it is killed."""
        end = min(self._until, time.monotonic() + CLOSING)
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
        with suppress(ProcessLookupError):  # nobody has waited for it: the number is still its own
            os.killpg(self._process.pid, signal.SIGKILL)

    def _listen(self) -> None:
        """Take what it said meanwhile; an unread pipe would hold it up."""
        with suppress(BlockingIOError):
            while data := os.read(self._stderr.fileno(), HEARD):
                self._errors = (self._errors + data)[-HEARD:]

    def _last_line(self) -> str:
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {clip(mask(last), SAID)}" if last else ""


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
