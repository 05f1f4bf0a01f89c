"""What a launcher answers: everything that a keeper needs to start one run. No process is here."""

from dataclasses import dataclass, field
from pathlib import Path

from fleet.config.model import Agent
from fleet.records import Body

AFTER_RESULT = 30.0  # seconds that a command may stay when its result is there
OUTPUT_CAP = 4 << 20  # bytes that are kept of each output


@dataclass(frozen=True, slots=True)
class Plan:
    """One run, ready to be written down and started.

    Attributes:
        argv: the command; its first word may be a name that is found nowhere (the keeper says so).
        env: its whole environment, the run's token and the operator's key among it: never written
            down, never shown.
        cwd: where it starts, absolute.
        files: what goes into the run folder, by name.
        stdin: names of the files that it reads as its input, in this order.
        folders: folders that have to be there, made with mode 0700 where they are missing.
        format: "claude" when its stdout is stream-json, else "command".
        transcript: the folder in which the CLI keeps its own records, None without one.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = field(repr=False)
    cwd: Path
    files: dict[str, bytes] = field(repr=False)
    stdin: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    format: str = "command"
    transcript: Path | None = None

    def order(self, run: str, agent: Agent) -> Body:
        """The keeper's order, `keeper.json` (see `fleet.keeper.files.Order`)."""
        return {
            "run": run,
            "argv": list(self.argv),
            "cwd": str(self.cwd),
            "stdin": list(self.stdin),
            "timeout": agent.timeout,
            "idle_timeout": agent.idle_timeout,
            "grace": agent.grace,
            "after_result": AFTER_RESULT,
            "output_cap": OUTPUT_CAP,
            "transcript": str(self.transcript) if self.transcript else None,
            "format": self.format,
        }
