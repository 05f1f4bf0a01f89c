"""What a valid home says, resolved: every default applied, every unit a number.

Named tuples that the whole program reads, since every command pays .5 ms for each dataclass; how
the operator's YAML becomes them is `config.files` (pydantic, checked) and `config.compiled` (the
cache that the hot path loads).
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

_NONE: Final[dict[str, Any]] = {}  # shared by all that say nothing; a config is never changed


class Budget(NamedTuple):
    """Dollars; None means no limit of this kind."""

    per_day: float | None = None
    per_run: float | None = None
    tokens_per_day: int | None = None

    @property
    def of_a_day(self) -> bool:
        """Whether it limits what a day may cost, or use."""
        return self.per_day is not None or self.tokens_per_day is not None


class Claude(NamedTuple):
    """The CLI: `path` a name on PATH or a file, `env_file` a 0600 file with a key or token."""

    path: str = "claude"
    env_file: str | None = None


class Limits(NamedTuple):
    """Fleet-wide limits; `min_free` in bytes."""

    posts_per_run: int = 60
    events_per_run: int = 600
    turns_per_thread: int = 6
    hops: int = 8
    min_free: int = 1 << 30


class Vital(NamedTuple):
    """A line at the top of everybody's awareness: how many events of type `count` in `window` s."""

    label: str
    count: str  # type: ignore[assignment]  # a tuple's own count is not needed
    window: float


class Heartbeat(NamedTuple):
    """Run `run` (argv) every `every` seconds while the runner is well."""

    every: float
    run: tuple[str, ...]


class Schedule(NamedTuple):
    """One schedule entry: a crontab(5) expression, or a fixed grid from the epoch.

    Exactly one of `cron` and `every` is set; the grid has a slot each `every` seconds, shifted by
    `offset` seconds.
    """

    cron: str | None = None
    every: float | None = None
    offset: float = 0.0


class WakeOn(NamedTuple):
    """Which events wake an agent besides its schedule; `cooldown` in seconds."""

    types: tuple[str, ...] = ()
    addressed: bool = False
    cooldown: float = 600.0


class Retries(NamedTuple):
    """How often a run with one of these outcomes is tried again."""

    max: int = 2
    on: tuple[str, ...] = ("overloaded", "launch_failed")


class Expectation(NamedTuple):
    """One thing a run must leave behind: an event of a type, a file by glob, or a post."""

    event: str | None = None
    file: str | None = None
    post: str | None = None


class Expects(NamedTuple):
    """`any_of` (at least one) and `all_of` (every one); empty tuples ask nothing."""

    any_of: tuple[Expectation, ...] = ()
    all_of: tuple[Expectation, ...] = ()


class SectionBudget(NamedTuple):
    """The operator's bounds for one section; None leaves fleet's own."""

    max_items: int | None = None
    max_tokens: int | None = None


class ContextBudget(NamedTuple):
    """`max_tokens` for all sections together, and bounds by section name."""

    max_tokens: int = 6000
    sections: dict[str, SectionBudget] = _NONE


class Agent(NamedTuple):
    """A named worker. Times in seconds, money in dollars, `cwd` absolute.

    `schedule` empty: only by hand or by `wake_on`. `quiet` is (from, to) in minutes of the local
    day. `start` is seconds back, or the words "now" and "all". `account` is the name of the
    account group it belongs to ("" without one). `formerly`: names it had, under which its older
    records stand.
    """

    id: str
    file: str
    description: str
    prompt: str
    cwd: Path
    schedule: tuple[Schedule, ...] = ()
    launch: str = "claude"
    command: tuple[str, ...] = ()
    model: str | None = None
    max_turns: int | None = None
    add_dirs: tuple[str, ...] = ()
    mcp: bool = False
    claude_args: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("Bash", "Read")
    allowed_tools: tuple[str, ...] = ("Bash(fleet *)",)
    may_run: tuple[str, ...] = ()
    env_pass: tuple[str, ...] = ()
    env_set: dict[str, str] = _NONE
    timeout: float = 1200.0
    idle_timeout: float = 600.0
    grace: float = 10.0
    retries: Retries = Retries()
    rerun_if_lost: bool = False
    budget: Budget = Budget()
    max_runs_per_day: int | None = None
    priority: str = "normal"
    catch_up: float = 1800.0
    jitter: float = 0.0
    quiet: tuple[int, int] | None = None
    wake_on: WakeOn | None = None
    gate: tuple[str, ...] = ()
    expects: Expects = Expects()
    collaborators: tuple[str, ...] = ()
    interests: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    start: float | str = 86400.0
    metrics: bool = False
    team: bool = False
    metrics_after: float = 259200.0
    knowledge: str = "read"
    mode: str = "live"
    context: ContextBudget = ContextBudget()
    runs_on: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    enabled: bool = True
    account: str = ""


class Channel(NamedTuple):
    """A talkspace; `members` None means all. `keep` messages stay in the digest's reach.

    `id` is also the name of its log and the beginning of its references. A renamed channel keeps
    both, and `alias` is what it is called now ("" while its file has its id for a name).
    """

    id: str
    file: str
    name: str
    purpose: str
    members: frozenset[str] | None = None
    keep: int = 100
    max_pins: int = 20
    alias: str = ""

    def admits(self, agent: str) -> bool:
        """Whether `agent` may read and post here."""
        return self.members is None or agent in self.members


class HomeConfig(NamedTuple):
    """Everything the operator's files say.

    Attributes:
        root: the home, absolute.
        version: a hash of all files it was made from; it goes into every run's manifest.
        types: names of the event types (files in `schemas/`).
        warning: "" or one line: the files are broken now and this is the last good config.
    """

    root: Path
    version: str
    name: str = "fleet"
    timezone: str = "UTC"
    store: str = "files"
    paused: bool = False
    concurrency: int = 4
    budget: Budget = Budget()
    claude: Claude = Claude()
    accounts: dict[str, tuple[str, ...]] = _NONE
    vitals: tuple[Vital, ...] = ()
    hive: str = ""
    limits: Limits = Limits()
    retention_age: float = 90 * 86400.0
    retention_bytes: int = 2 << 30
    retention_count: int = 20_000
    on_alert: tuple[str, ...] = ()
    heartbeat: Heartbeat | None = None
    agents: dict[str, Agent] = _NONE
    channels: dict[str, Channel] = _NONE
    types: tuple[str, ...] = ()
    warning: str = ""

    @property
    def state(self) -> Path:
        """Where fleet writes."""
        return self.root / "state"

    def channel_named(self, name: str) -> Channel | None:
        """The channel that is, or is now, called so; None when there is none."""
        renamed = (one for one in self.channels.values() if name and one.alias == name)
        return self.channels.get(name) or next(renamed, None)

    def nearest_agent(self, name: str) -> str:
        """What to say of a name that no agent has: who is called otherwise now, or who is near."""
        from fleet.text import one_of

        now = self.called_now(name)
        return f"{name} is called {now} now" if now else one_of(name, self.agents)

    def called_now(self, name: str) -> str:
        """The agent that had this name formerly; "" when none had."""
        return next((one.id for one in self.agents.values() if name in one.formerly), "")

    def names_of(self, agent: str) -> tuple[str, ...]:
        """What an agent is called and was called before, newest first; any other name is its own.

        What it did stands under the name that it had then.
        """
        known = self.agents.get(agent)
        return (agent, *reversed(known.formerly if known else ()))

    def run_folder(self, run: str) -> Path:
        """The folder of one run's files."""
        return self.root / "state" / "run" / run
