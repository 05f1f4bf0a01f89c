"""What the operator may write: one pydantic model for each kind of file and each part of one.

Defaults are not here: a field that is left out is None, and `config.model` says what that means.
Names of other things are texts here; whether they exist is for `config.crosscheck`.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fleet.config.values import (
    Argv,
    Bool,
    Count,
    Cron,
    Duration,
    Glob,
    Id,
    Line,
    Money,
    Names,
    NamesOrAll,
    Number,
    Quiet,
    Share,
    Size,
    Span,
    Start,
    StoreName,
    Text,
    Texts,
    Variable,
    Window,
    Zone,
    fault,
    one_of,
)

SECTIONS = (
    "you",
    "awareness",
    "corrections",
    "events",
    "channels",
    "inbox",
    "memory",
    "metrics",
    "team",
    "knowledge",
    "matches",
    "how_to",
)
RETRIED = ("overloaded", "launch_failed")


class Part(BaseModel):
    """A mapping that refuses every key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BudgetFile(Part):
    """Dollars, and tokens for a subscription."""

    per_day: Money | None = None
    per_run: Money | None = None
    tokens_per_day: Count | None = None


class ScheduleFile(Part):
    """One schedule entry; a text alone is its `cron`."""

    cron: Cron | None = None
    every: Annotated[Duration, Field(ge=1)] | None = None
    offset: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def _text_is_cron(cls, value: Any) -> Any:
        return {"cron": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_kind(self) -> "ScheduleFile":
        if (self.cron is None) == (self.every is None):
            raise fault("must hold a crontab text or every:", 'write "0 7 * * *" or {every: 6h}')
        if self.offset is not None and (self.every is None or self.offset >= self.every):
            raise fault("offset must be shorter than every", "shorten it or leave it out")
        return self


class RetriesFile(Part):
    """How often, and after which outcomes, a run is tried again."""

    max: Annotated[Number, Field(le=20)] | None = None
    on: tuple[Annotated[str, one_of(*RETRIED)], ...] | None = None


class WakeOnFile(Part):
    """Which events wake the agent besides its schedule."""

    types: Names | None = None
    addressed: Bool | None = None
    cooldown: Duration | None = None


class ExpectationFile(Part):
    """One thing a run must leave behind."""

    event: Text | None = None
    file: Glob | None = None
    post: Text | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "ExpectationFile":
        if sum(value is not None for value in (self.event, self.file, self.post)) != 1:
            raise fault("must be one of event:, file: and post:", "write an entry for each")
        return self


class ExpectsFile(Part):
    """What a run must leave behind to be ok."""

    any_of: tuple[ExpectationFile, ...] | None = None
    all_of: tuple[ExpectationFile, ...] | None = None


class EnvFile(Part):
    """What of the environment a run gets besides the allow-list."""

    pass_: tuple[Variable, ...] | None = Field(None, alias="pass")
    set: dict[Variable, str] | None = None


class SectionFile(Part):
    """Bounds for one section of the context."""

    max_items: Number | None = None
    max_tokens: Number | None = None


class ContextFile(Part):
    """Bounds for the context."""

    max_tokens: Annotated[Count, Field(ge=500)] | None = None
    sections: dict[Annotated[str, one_of(*SECTIONS)], SectionFile] | None = None


class RunsOnFile(Part):
    """Which hosts may run the agent, once there are several."""

    labels: Names | None = None


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class AgentFile(Part):
    """agents/<agent>.yaml; the same fields, none of them required, are `defaults` in fleet.yaml."""

    description: Line
    prompt: Text
    schedule: Annotated[tuple[ScheduleFile, ...], BeforeValidator(_as_list)] | None = None
    launch: Annotated[str, one_of("claude", "command")] | None = None
    command: Argv | None = None
    cwd: Text | None = None
    model: Text | None = None
    max_turns: Count | None = None
    add_dirs: Names | None = None
    mcp: Bool | None = None
    claude_args: Texts | None = None
    tools: Names | None = None
    allowed_tools: Names | None = None
    may_run: Names | None = None
    env: EnvFile | None = None
    timeout: Span | None = None
    idle_timeout: Span | None = None
    grace: Span | None = None
    retries: RetriesFile | None = None
    rerun_if_lost: Bool | None = None
    budget: BudgetFile | None = None
    max_runs_per_day: Count | None = None
    priority: Annotated[str, one_of("high", "normal", "low")] | None = None
    catch_up: Duration | None = None
    jitter: Duration | None = None
    quiet: Quiet | None = None
    wake_on: WakeOnFile | None = None
    gate: Argv | None = None
    expects: ExpectsFile | None = None
    collaborators: Names | None = None
    interests: Names | None = None
    channels: Names | None = None
    start: Start | None = None
    metrics: Bool | None = None
    team: Bool | None = None
    metrics_after: Span | None = None
    knowledge: Annotated[str, one_of("read", "propose", "write")] | None = None
    mode: Annotated[str, one_of("live", "shadow")] | None = None
    context: ContextFile | None = None
    runs_on: RunsOnFile | None = None
    formerly: tuple[Id, ...] | None = None
    enabled: Bool | None = None


class ChannelFile(Part):
    """channels/<channel>.yaml."""

    name: Line
    purpose: Line
    members: NamesOrAll
    keep: Annotated[Count, Field(le=1000)] | None = None
    max_pins: Annotated[Number, Field(le=100)] | None = None
    log: Id | None = None


class ClaudeFile(Part):
    """Where the CLI is and what it authenticates with."""

    path: Text | None = None
    env_file: Text | None = None


class AccountFile(Part):
    """Agents that share one login and one usage limit."""

    agents: NamesOrAll


class VitalFile(Part):
    """One line at the top of everybody's awareness."""

    label: Line
    count: Text
    window: Window


class OpenAiFile(Part):
    """An embedding service that speaks OpenAI's protocol."""

    model: Text
    base_url: Text | None = None
    api_key_env: Variable | None = None


class EmbedderFile(Part):
    """The words `local` and `lexical`, or a service."""

    openai: OpenAiFile | None = None

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        if isinstance(value, str) and value not in {"local", "lexical"}:
            raise fault(f"{value!r} is no embedder", "write local, lexical or {openai: {model: …}}")
        return {} if isinstance(value, str) else value


class HivesFile(Part):
    """Which hive the agents write to and which they read."""

    write: Id | None = None
    read: tuple[Id, ...] | None = None
    provisional: Annotated[str, one_of("labelled", "hidden")] | None = None


class MeshFile(Part):
    """How matches of trajectories reach a run."""

    enabled: Bool | None = None
    max_deliveries: Number | None = None
    withhold: Share | None = None
    high_risk: Names | None = None


class LimitsFile(Part):
    """Limits that hold for every agent."""

    posts_per_run: Number | None = None
    events_per_run: Number | None = None
    turns_per_thread: Number | None = None
    hops: Number | None = None
    min_free: Size | None = None


class RetentionFile(Part):
    """How long run folders stay, how many, and how much they may take."""

    runs: Span | None = None
    run_count: Count | None = None
    run_bytes: Size | None = None


class HeartbeatFile(Part):
    """What tells the outside that the runner is well."""

    every: Annotated[Duration, Field(ge=1)]
    run: Argv


class FleetFile(Part):
    """fleet.yaml; `defaults` is checked as an agent file of its own."""

    name: Line | None = None
    timezone: Zone | None = None
    store: StoreName | None = None
    paused: Bool | None = None
    concurrency: Annotated[Count, Field(le=1000)] | None = None
    budget: BudgetFile | None = None
    claude: ClaudeFile | None = None
    defaults: dict[str, Any] | None = None
    accounts: dict[Id, AccountFile] | None = None
    vitals: tuple[VitalFile, ...] | None = None
    embedder: EmbedderFile | None = None
    hives: HivesFile | None = None
    mesh: MeshFile | None = None
    limits: LimitsFile | None = None
    retention: RetentionFile | None = None
    on_alert: Argv | None = None
    heartbeat: HeartbeatFile | None = None
