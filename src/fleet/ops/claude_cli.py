"""The `claude` CLI as a program on this machine: which file it is, which version it says it is.

It starts nothing but `--version`; what becomes of another version is the runner's.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fleet.ports import Store
from fleet.records import Body
from fleet.text import clip, escape

ANSWER = 10.0  # seconds for the CLI to say its version
KNOWN = "control/cli:claude"
"""The document that says what is known of the CLI; no agent has this name."""
_KEPT_BACK = ("ANTHROPIC_", "CLAUDE", "FLEET_")  # how names begin that it is not given
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class Answer(NamedTuple):
    """What `--version` gave: the version, or "" and why there is none."""

    version: str
    fault: str = ""


class Known(NamedTuple):
    """What the home knows of its CLI.

    Attributes:
        name: what fleet.yaml called it then.
        path: the program that was asked.
        stamp: which file that was, see `stamp`.
        version: what it said it is, "" when it did not say.
        at: when it was first seen to be that version, RFC 3339.
        accepted: the version that agents work with, "" when there was none yet.
        probed: whether a version that is not accepted went through the probes.
        held: until when nothing of it starts, since its last run showed that it does not work:
            RFC 3339, "" when it may.
    """

    name: str
    path: str
    stamp: str
    version: str
    at: str
    accepted: str
    probed: bool = False
    held: str = ""

    @property
    def is_new(self) -> bool:
        """Whether agents work with another version, and this one has to show that it works."""
        return bool(self.accepted) and self.version != self.accepted


def known(store: Store) -> Known | None:
    """What is known; None when the CLI was never asked."""
    return known_of(store.get(KNOWN)[0])


def known_of(body: Body | None) -> Known | None:
    """What the document's body says."""
    if body is None:
        return None
    texts = ("name", "path", "stamp", "version", "at", "accepted", "held")
    said = {name: str(body.get(name) or "") for name in texts}
    return Known(**said, probed=bool(body.get("probed")))


def version_of(store: Store, program: str) -> str:
    """The version of `program` as far as it is known; "" when this very file was not asked."""
    one = known(store)
    return one.version if one and one.path == program and one.stamp == stamp(program) else ""


def stamp(program: str) -> str:
    """What names this very file, whatever its path: inode, time of change and size; "" for none."""
    try:
        found = Path(program).stat()
    except OSError:
        return ""
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"


def ask(program: str, environ: Mapping[str, str]) -> Answer:
    """Ask `program` for its version, within `ANSWER` seconds; nothing that it starts stays.

    Args:
        program: a path.
        environ: the environment it gets; its configuration goes to a folder that is removed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fleet-cli-", ignore_cleanup_errors=True) as folder,
        (Path(folder) / "said").open("w+b") as said,
    ):
        # A folder of its own, and no key: asking for the version must not touch anybody's login.
        env = {name: text for name, text in environ.items() if not name.startswith(_KEPT_BACK)}
        env |= {"CLAUDE_CONFIG_DIR": folder, "DISABLE_AUTOUPDATER": "1"}
        try:
            process = subprocess.Popen(
                [program, "--version"],
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as fault:
            return Answer("", f"{program} --version did not answer: {fault.strerror}")
        try:
            code = process.wait(ANSWER)
        except subprocess.TimeoutExpired:
            return Answer("", f"{program} --version did not answer in {ANSWER:g} s")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        return _read(program, code, said.read(1 << 12).decode("utf-8", "replace"))


def _read(program: str, code: int, said: str) -> Answer:
    if code:
        return Answer("", f"{program} --version failed with {code}")
    if number := _NUMBER.search(said):
        return Answer(clip(number[0], 40))
    return Answer("", f"{program} --version says no version: '{escape(clip(said.strip(), 80))}'")
