"""Processes of `fleet` that skip its imports: forked from one process that has loaded all of it.

Each is a process of its own, with its own words, environment, folder, standard files and exit
code, in which the program's own `main` runs. What is about the start itself, about memory, or needs
a variable that counts at exec only (`fits`) starts by exec, as it does for a user. Run as a
program, this module is the process that forks.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias

AT_EXEC = ("PYTHON", "LD_", "DYLD_", "LC_", "LANG", "MALLOC_", "GCONV_")
"""How the names of variables begin that a program reads when it starts."""
CLOCK = "TEST_CLOCK"
"""The variable of `wallclock`: then what stands on PYTHONPATH is the clock, set in the fork too."""
LIBRARIES = ("apscheduler.schedulers.blocking", "cronsim", "difflib", "fastjsonschema", "hashlib",
             "jinja2.sandbox", "jsonschema", "pydantic", "ruamel.yaml", "shlex", "sqlite3",
             "subprocess", "tempfile", "zlib", "zoneinfo")  # fmt: skip
PIPE = 32 << 10  # bytes that any pipe takes at once


def fits(env: Mapping[str, str]) -> bool:
    """Whether a forked process is the same as one that was started with `env`.

    A run is recognised by the environment that its process was started with, as the kernel keeps
    it, unless a token says which run it is.
    """
    started = {name: env[name] for name in env if name.startswith(AT_EXEC)}
    started.pop("PYTHONWARNINGS", None)
    if CLOCK in env:
        started.pop("PYTHONPATH", None)
    own = {name: os.environ[name] for name in os.environ if name.startswith(AT_EXEC)}
    return started == own and ("FLEET_RUN_ID" not in env or "FLEET_RUN_TOKEN" in env)


class Forked:
    """A process of `fleet`, in what tests use of `subprocess.Popen`.

    Args:
        argv: the words behind `fleet`.
        env: its whole environment.
        cwd: its folder.
        files: its standard input, output and error: open descriptors.
        session: whether it leads a session of its own.
        code: Python that runs in its place, with `fleet` loaded; "" for fleet's own `main`.
    """

    def __init__(
        self,
        argv: Sequence[str | bytes],
        *,
        env: Mapping[str, str],
        cwd: Path,
        files: tuple[int, int, int],
        session: bool = False,
        code: str = "",
    ) -> None:
        self.returncode: int | None = None
        self._talk = socket.socket(socket.AF_UNIX)
        self._talk.connect(_server())
        said = {
            "argv": [os.fsdecode(word) for word in argv],
            "env": dict(env),
            "cwd": str(cwd),
            "session": session,
            "code": code,
        }
        data = json.dumps(said).encode()
        head = len(data).to_bytes(4)
        socket.send_fds(self._talk, [head], list(files))
        self._talk.sendall(data)
        self.pid = int(self._line() or 0)

    def poll(self) -> int | None:
        """Its exit code, minus the signal's number if one ended it; None while it runs."""
        return self._status(0)

    def wait(self, timeout: float | None = None) -> int:
        """The same, at its end; `TimeoutExpired` if that does not come within `timeout` seconds."""
        code = self._status(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("fleet", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing when it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._talk], [], [], timeout)[0]:
            line = self._line()
            self._talk.close()
            self.returncode = int(line) if line else -signal.SIGKILL
        return self.returncode

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n") and (more := self._talk.recv(1)):
            line += more
        return line

    def __del__(self) -> None:
        self._talk.close()


Process: TypeAlias = "Forked | subprocess.Popen[bytes]"
"""A `fleet`, however it was started."""


def start(
    argv: Sequence[str | bytes], env: Mapping[str, str], files: tuple[int, int, int]
) -> Process:
    """`fleet` in a session of its own, by fork where that is the same; else as `Forked`."""
    if fits(env):
        return Forked(argv, env=env, cwd=Path.cwd(), files=files, session=True)
    stdin, stdout, stderr = files
    command = [sys.executable, "-m", "fleet", *argv]
    return subprocess.Popen(
        command, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )


def run(
    argv: Sequence[str | bytes],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes = b"",
    timeout: float = 60.0,
    code: str = "",
) -> "subprocess.CompletedProcess[bytes]":
    """`subprocess.run(["fleet", *argv], capture_output=True)`, by fork where that is the same.

    It waits, as that does, until nobody holds the output any more. Arguments as for `Forked`.
    """
    if not fits(env) or len(stdin) > PIPE:
        command = [sys.executable, *(["-c", code] if code else ["-m", "fleet"]), *argv]
        return subprocess.run(command, input=stdin, env=env, cwd=cwd, capture_output=True,
                              timeout=timeout, check=False)  # fmt: skip
    (given, giver), (out, told), (err, warned) = os.pipe(), os.pipe(), os.pipe()
    os.write(giver, stdin)
    os.close(giver)
    try:
        process = Forked(argv, env=env, cwd=cwd, files=(given, told, warned), code=code)
    finally:
        for end in (given, told, warned):
            os.close(end)
    with open(out, "rb") as outs, open(err, "rb") as errs:  # noqa: PTH123 - descriptors
        said = _read(process, [outs, errs], time.monotonic() + timeout)
    return subprocess.CompletedProcess(["fleet", *argv], process.wait(timeout), *said)


def _read(process: Forked, files: list[BinaryIO], deadline: float) -> list[bytes]:
    parts: dict[BinaryIO, bytes] = dict.fromkeys(files, b"")
    left = list(files)
    while left:
        ready = select.select(left, [], [], max(0.0, deadline - time.monotonic()))[0]
        if not ready:
            process.kill()
            raise subprocess.TimeoutExpired("fleet", deadline)
        for file in ready:
            more = os.read(file.fileno(), 1 << 16)
            parts[file] += more
            if not more:
                left.remove(file)
    return [parts[file] for file in files]


def together(
    calls: Sequence[Sequence[str]], *, env: Mapping[str, str], cwd: Path
) -> "list[subprocess.CompletedProcess[bytes]]":
    """`run` of all calls at once; arguments as there."""
    _server()
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda argv: run(argv, env=env, cwd=cwd), calls))


# The process that forks -------------------------------------------------------------------------

_STARTED: list[tuple[str, "subprocess.Popen[bytes]"]] = []


def _server() -> str:
    """The address of this process's own; started at the first call, gone when this process is."""
    if not _STARTED:  # before any thread: see `together`
        address = f"\0fleet-tests-{os.getpid()}-{time.monotonic_ns()}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("FLEET_")},
            cwd="/",
        )
        listener.close()
        _STARTED.append((address, process))
        atexit.register(process.communicate)  # closes its input, and waits
    return _STARTED[0][0]


def _serve(listener: socket.socket) -> None:
    """Fork a process for each call until standard input ends; tell each caller of its end."""
    wake, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    callers: dict[int, socket.socket] = {}
    while True:
        ready = select.select([listener, wake, 0], [], [])[0]
        if 0 in ready:
            return
        if wake in ready:
            os.read(wake, 4096)
            _tell(callers)
        if listener in ready:
            caller, _ = listener.accept()
            head, files, *_ = socket.recv_fds(caller, 4, 3)
            call = json.loads(caller.recv(int.from_bytes(head), socket.MSG_WAITALL))
            pid = os.fork()
            if not pid:
                _become(call, files)
            callers[pid] = caller
            for file in files:
                os.close(file)
            with contextlib.suppress(OSError):
                caller.sendall(b"%d\n" % pid)


def _tell(callers: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with callers.pop(ended[0]) as caller, contextlib.suppress(OSError):
                caller.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))


def _become(call: dict[str, object], files: list[int]) -> NoReturn:
    """In the fork: be `fleet`, as if it had just been started like that."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for place, file in enumerate(files):
            os.dup2(file, place)
        os.closerange(3, 256)
        if call["session"]:
            os.setsid()
        os.chdir(str(call["cwd"]))
        os.environ.clear()
        os.environ.update(call["env"])  # type: ignore[call-overload]  # text by text, from JSON
        time.tzset()
        _open_streams()
        if CLOCK in os.environ:
            exec((Path(os.environ["PYTHONPATH"]) / "sitecustomize.py").read_text(), {})
        sys.argv = ["fleet", *call["argv"]]  # type: ignore[misc]  # as above
        if call["code"]:
            exec(str(call["code"]), {"__name__": "__main__"})
            sys.exit()
        from fleet.__main__ import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter: a traceback and exit 1
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code)


def _open_streams() -> None:
    """Standard streams that know what files they stand on, as the interpreter opens them."""
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(  # noqa: SIM115 - descriptors, for as long as the process lives
            place,
            "w" if place else "r",
            encoding=old.encoding,
            errors=old.errors,
            buffering=1 if name == "stderr" else -1,
            closefd=False,
        )
        setattr(sys, name, new)


def _load() -> None:
    import fleet

    for module in pkgutil.walk_packages(fleet.__path__, "fleet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _load()
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        _serve(listening)
