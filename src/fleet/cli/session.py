"""One call of the command line: which home, who calls, and what is opened for it."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.errors import NotAllowed
from fleet.places import find_home

if TYPE_CHECKING:
    from datetime import tzinfo

    from fleet.wiring import Fleet


class Session:
    """What the options before the command say, and the home opened on first use.

    Attributes:
        home: `--home`, or None.
        as_agent: `--as`, or None.
        strict: refuse a home whose files have errors (else: the last good config and a warning).
        env: the environment of this process.
        words: the command line, the name of the program left out.
    """

    def __init__(
        self,
        home: str | None,
        as_agent: str | None,
        env: Mapping[str, str],
        words: Sequence[str] = (),
    ) -> None:
        self.home = home
        self.as_agent = as_agent
        self.env = env
        self.words = tuple(words)
        self.strict = not self.in_run

    @property
    def in_run(self) -> bool:
        """Whether a run of an agent calls; whose run it is, only its token can say."""
        return "FLEET_RUN_TOKEN" in self.env or "FLEET_RUN_ID" in self.env

    @property
    def as_an_agent(self) -> bool:
        """Whether an agent is shown what is asked for: a run calls, or a person for it (`--as`)."""
        return self.in_run or self.as_agent is not None

    @property
    def one_line(self) -> bool:
        """Whether a write answers in words (a run, a terminal) instead of the bare reference."""
        return self.in_run or os.isatty(1)

    @cached_property
    def root(self) -> Path:
        """The home; in a run it is the run's own."""
        cwd = _here(self.env)
        if self.in_run and self.home is not None:
            own = self.env.get("FLEET_HOME", "")
            if not own or (cwd / self.home).resolve() != Path(own).resolve():
                raise NotAllowed(
                    "a run works in its own home only", f"leave --home out: it is {own}"
                )
        return find_home(self.home, self.env, cwd)

    @cached_property
    def fleet(self) -> "Fleet":
        """The opened home, with the author already known to be who he says."""
        from fleet.wiring import open_fleet

        fleet = open_fleet(self.root, env=self.env, as_agent=self.as_agent, strict=self.strict)
        _ = fleet.author
        return fleet

    @property
    def warning(self) -> str:
        """What the config said when it was read; "" when all is well or it was not read."""
        fleet = self.__dict__.get("fleet")
        return fleet.warning if fleet else ""

    @property
    def zone(self) -> "tzinfo":
        """The home's time zone: every time is printed in it."""
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.fleet.config.timezone)


def _here(env: Mapping[str, str]) -> Path:
    """The current folder, or the path that it had before somebody removed it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/", env.get("PWD", ""))


pass_session = click.make_pass_decorator(Session)
