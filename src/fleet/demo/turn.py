"""One run of the stand-in: the `fleet` calls that a role may make, said aloud; no role itself."""

import json
import random
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fleet.demo.prompt import Message, Prompt
from fleet.demo.world import Sight

HELD, LATER = 6, 75  # exit codes that a run goes on after
CALL_TIMEOUT = 20.0  # seconds; a call that takes longer is a fault of this machine

T = TypeVar("T")

Call: TypeAlias = Callable[[Sequence[str]], tuple[int, str]]
"""Runs `fleet` with these words; its exit code, and what it printed on both outputs."""


def call_program(words: Sequence[str]) -> tuple[int, str]:
    """The `fleet` on PATH, as any agent calls it."""
    ended = subprocess.run(
        ["fleet", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CALL_TIMEOUT,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


class Turn:
    """What was read, what was done so far, and the way to do more.

    Attributes:
        prompt: what this run was told.
        done: short phrases for the report, in order.
        left: keys that others held.
    """

    def __init__(self, prompt: Prompt, *, seed: str, call: Call = call_program) -> None:
        self.prompt = prompt
        self._call = call
        self.me = prompt.me
        self.done: list[str] = []
        self.left: list[str] = []
        self._seed = seed
        self._place = prompt.place
        self._refused = False

    # Saying and choosing ---------------------------------------------------------------------

    def say(self, text: str) -> None:
        """One line of transcript."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def choice(self, options: Sequence[T], about: str) -> T:
        """One of `options`, always the same for this seed, agent and `about`."""
        key = f"{self._seed}/{self.me}/{about}".encode()
        return options[zlib.crc32(key) % len(options)]

    def dice(self, about: str, sides: int) -> int:
        """A number below `sides`, always the same for this seed, agent and `about`."""
        return self.choice(range(sides), about)

    def outside(self, found: Sequence[T], most: int) -> list[T]:
        """The next `most` things of what this agent finds outside; its report keeps the place."""
        order = list(found)
        if self._seed:
            random.Random(f"{self._seed}/{self.me}").shuffle(order)  # noqa: S311 - a demo's dice
        new = order[self._place : self._place + most]
        self._place += len(new)
        return new

    # Calls -------------------------------------------------------------------------------------

    def fleet(self, *args: str) -> int:
        """Run `fleet` with `args`, show both sides, return the exit code.

        Anything but done, held and try again is a fault of the stand-in and fails the run.
        """
        self.say("$ fleet " + " ".join(_shown(arg) for arg in args))
        code, printed = self._call(args)
        for line in printed.splitlines():
            self.say("  " + line)
        if code not in {0, HELD, LATER}:
            self.say(f"  exit {code}: that was not expected")
            self._refused = True
        return code

    def ask(self, *args: str) -> list[dict[str, Any]]:
        """What a reading command prints as JSON, one object a line."""
        self.say("$ fleet " + " ".join(_shown(arg) for arg in args))
        code, printed = self._call(args)
        if code:
            self.say(f"  exit {code}: {printed}")
            self._refused = True
            return []
        return [json.loads(line) for line in printed.splitlines()]

    def claim(self, key: str, *options: str) -> bool:
        """Take `key`; False when somebody else has it, and then this run leaves it alone."""
        if self.fleet("claim", key, *options) == 0:
            return True
        self.say(f"{key} is with somebody else: I leave it alone")
        self.left.append(key)
        return False

    def emit(self, kind: str, fields: dict[str, str], *, once: str = "", cause: str = "") -> bool:
        """Emit an event; `once` is the id under which a repetition is the same event."""
        options = [*(("--id", once) if once else ()), *(("--cause", cause) if cause else ())]
        pairs = [f"{name}={value}" for name, value in fields.items()]
        return self.fleet("emit", kind, *pairs, *options) == 0

    def post(self, channel: str, text: str, *options: str) -> None:
        """Add a message to a channel that this agent is a member of."""
        self.fleet("post", channel, text, *options)

    def see(self, sight: Sight, channel: str = "") -> None:
        """Turn something seen outside into its event and, with a text, into a post."""
        once = f"demo-{self.me}-{zlib.crc32(repr(sight).encode()):08x}"
        if self.emit(sight.type, sight.fields, once=once):
            self.done.append(f"reported {sight.type}")
        if channel and sight.text:
            self.post(channel, sight.text, "--id", once)

    def write(self, name: str, text: str) -> None:
        """Leave a file in the own folder."""
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.say(f"wrote {name}")

    # What every agent does -------------------------------------------------------------------

    def answer_those_who_ask(self) -> None:
        """Reply once to a message that asks this agent by name, and agree with what it says."""
        asked = [m for m in self.prompt.messages if f"{self.me}:" in m.text and not m.pinned]
        for message in asked[:1]:
            self.say(f"I read {message.ref}: {message.author} asks me")
            self.fleet("reply", message.ref, f"Yes, {message.author}, I take it from here.")
            self.fleet("react", message.ref, "agree")
            self.done.append(f"answered {message.ref}")

    def take_work_given(self) -> None:
        """Take what task-created gives to this agent, unless somebody has it already."""
        for event in self.prompt.of("task-created"):
            if event.fields.get("assignedTo", self.me) != self.me:
                continue
            name = event.fields.get("taskId", event.ref)
            self.say(f"I read {event.ref}: work for me, {event.fields.get('title', name)}")
            if self.claim(f"work:{name}"):
                self.done.append(f"took {name} from {event.ref}")

    def message_about(self, word: str) -> Message | None:
        """The newest message that was read and contains `word`."""
        about = [m for m in self.prompt.messages if word and word in m.text]
        return about[-1] if about else None

    # The end -----------------------------------------------------------------------------------

    def finish(self) -> int:
        """Report, as the last thing; 0, or 1 when fleet refused something unexpected."""
        place = f"{self.me} list: {self._place}"
        left = f"; left to others: {', '.join(self.left)}" if self.left else ""
        if self.done:
            ended = self.fleet("report", "; ".join(self.done) + left, "--next", place)
        else:
            ended = self.fleet("report", "--idle", f"nothing new for me{left} ({place})")
        return 1 if self._refused or ended else 0


def _shown(argument: str) -> str:
    return argument if argument.replace("-", "").isalnum() else "'" + argument + "'"
