"""What a valid home says arrives as `config.model` has it: defaults applied, units numbers."""

from pathlib import Path

import pytest

from fleet.config import load
from fleet.config import model as shapes
from fleet.config.build import build
from fleet.config.files import SECTIONS, AgentFile
from fleet.stores.ram import RamCache

MINIMAL = "description: Does things\nschedule: null\nprompt: outreach.md.j2\n"
EVERYTHING = """
name: growth
timezone: Asia/Tokyo
store: files
paused: yes
concurrency: 7
budget: {per_day: 25.00, per_run: 1.50, tokens_per_day: 1000000}
claude: {path: /opt/claude, env_file: ~/.config/fleet/env}
defaults: {timeout: 1h, budget: {per_day: 3}, env: {set: {A: "1", B: x}}}
accounts: {main: {agents: all}, second: {agents: [reply-handler]}}
vitals: [{label: "Contacts (24h)", count: contact-made, window: 24h}]
embedder: {openai: {model: text-embedding-3-small, base_url: "https://x", api_key_env: KEY}}
hives: {write: growth, read: [growth, public], provisional: labelled}
mesh: {enabled: true, max_deliveries: 3, withhold: 0.05, high_risk: ["Bash(git push *)"]}
limits: {posts_per_run: 1, events_per_run: 2, turns_per_thread: 3, hops: 4, min_free: 2GiB}
retention: {runs: 30d, run_bytes: 64KiB}
on_alert: ["notify-send", "fleet"]
heartbeat: {every: 5m, run: ["curl", "-fsS", "https://example.org/ping"]}
"""
AGENT = """
description: >
  Writes first-touch
  e-mails
schedule: ["0 */2 * * *", {every: 6h, offset: 10m}]
prompt: outreach.md.j2
launch: command
command: ["codex", "exec", "-"]
model: sonnet
max_turns: 30
add_dirs: [shared, /srv/x]
mcp: true
claude_args: ["--verbose"]
tools: [Bash]
allowed_tools: ["Bash(fleet *)", "Bash(./bin/send-mail *)"]
may_run: ["./bin/send-mail", pytest]
cwd: work/mail
env: {pass: [TONE], set: {B: NO}}
timeout: 25m
idle_timeout: 15m
grace: 5s
retries: {max: 1, on: [overloaded]}
rerun_if_lost: on
budget: {per_run: 0.80}
max_runs_per_day: 30
priority: high
catch_up: 1h30m
jitter: 2m
quiet: "22:00-06:15"
wake_on: {types: [reply-received], addressed: 1, cooldown: 5m}
gate: ["./bin/has-new-leads"]
expects: {any_of: [{event: contact-made}, {file: "drafts/*.md"}], all_of: [{post: strategy}]}
collaborators: [reply-handler]
interests: [reply-received]
channels: [strategy]
start: now
metrics: "yes"
team: yes
metrics_after: 1d
knowledge: propose
mode: shadow
context: {max_tokens: 5000, sections: {events: {max_items: 50}, memory: {max_tokens: 1200}}}
runs_on: {labels: [gpu]}
enabled: off
formerly: [mailer]
"""


def test_three_lines_make_an_agent(home, write) -> None:
    """What an agent's file leaves out is the default of the model, and of nothing else."""
    write("agents/outreach.yaml", MINIMAL)

    agent = load(home, RamCache()).agents["outreach"]

    assert agent == shapes.Agent(
        id="outreach",
        file="agents/outreach.yaml",
        description="Does things",
        prompt="outreach.md.j2",
        cwd=home / "work/outreach",
    )


def test_every_field_of_an_agent_arrives(home, write) -> None:
    """Each line of a full agent file becomes its value, with units as seconds and dollars."""
    write("agents/outreach.yaml", AGENT)
    write("fleet.yaml", EVERYTHING)

    agent = load(home, RamCache()).agents["outreach"]

    assert agent == shapes.Agent(
        id="outreach",
        file="agents/outreach.yaml",
        description="Writes first-touch e-mails",
        prompt="outreach.md.j2",
        cwd=home / "work/mail",
        schedule=(shapes.Schedule("0 */2 * * *"), shapes.Schedule(None, 21600.0, 600.0)),
        launch="command",
        command=("codex", "exec", "-"),
        model="sonnet",
        max_turns=30,
        add_dirs=(str(home / "shared"), "/srv/x"),
        mcp=True,
        claude_args=("--verbose",),
        tools=("Bash",),
        allowed_tools=("Bash(fleet *)", "Bash(./bin/send-mail *)"),
        may_run=("./bin/send-mail", "pytest"),
        env_pass=("TONE",),
        env_set={"A": "1", "B": "NO"},
        timeout=1500.0,
        idle_timeout=900.0,
        grace=5.0,
        retries=shapes.Retries(1, ("overloaded",)),
        rerun_if_lost=True,
        budget=shapes.Budget(per_day=3.0, per_run=0.8),
        max_runs_per_day=30,
        priority="high",
        catch_up=5400.0,
        jitter=120.0,
        quiet=(1320, 375),
        wake_on=shapes.WakeOn(("reply-received",), addressed=True, cooldown=300.0),
        gate=("./bin/has-new-leads",),
        expects=shapes.Expects(
            (shapes.Expectation(event="contact-made"), shapes.Expectation(file="drafts/*.md")),
            (shapes.Expectation(post="strategy"),),
        ),
        collaborators=("reply-handler",),
        interests=("reply-received",),
        channels=("strategy",),
        start="now",
        metrics=True,
        team=True,
        metrics_after=86400.0,
        knowledge="propose",
        mode="shadow",
        context=shapes.ContextBudget(
            5000,
            {"events": shapes.SectionBudget(50), "memory": shapes.SectionBudget(None, 1200)},
        ),
        runs_on=("gpu",),
        enabled=False,
        formerly=("mailer",),
        account="main",
    )
    changed = {
        name
        for name in shapes.Agent._fields
        if getattr(agent, name) == getattr(shapes.Agent("outreach", "", "", "", Path()), name)
    }
    assert changed == {"id"}, "this test must give each field another value than its default"


def test_every_field_of_the_fleet_arrives(home, write) -> None:
    """Each line of a full fleet.yaml becomes its value; those without a use yet are accepted."""
    write("fleet.yaml", EVERYTHING)

    config = load(home, RamCache())

    assert (config.root, config.name, config.timezone) == (home, "growth", "Asia/Tokyo")
    assert (config.store, config.paused, config.concurrency) == ("files", True, 7)
    assert config.budget == shapes.Budget(25.0, 1.5, 1_000_000)
    assert config.claude == shapes.Claude("/opt/claude", "~/.config/fleet/env")
    assert config.accounts == {
        "main": ("competitor-watch", "outreach"),
        "second": ("reply-handler",),
    }
    assert config.agents["reply-handler"].account == "second"
    assert config.vitals == (shapes.Vital("Contacts (24h)", "contact-made", 86400.0),)
    assert config.hive == "growth"
    assert config.limits == shapes.Limits(1, 2, 3, 4, 2 << 30)
    assert (config.retention_age, config.retention_bytes) == (30 * 86400.0, 65536)
    assert config.on_alert == ("notify-send", "fleet")
    assert config.heartbeat == shapes.Heartbeat(300.0, ("curl", "-fsS", "https://example.org/ping"))
    assert config.types == ("contact-made", "pricing-change", "reply-received", "task-created")
    assert config.warning == ""


@pytest.mark.parametrize("embedder", ["local", "lexical"])
def test_an_embedder_may_be_a_word(home, write, embedder) -> None:
    """The two embedders that need no service are named by one word."""
    write("fleet.yaml", f"embedder: {embedder}\n")

    assert build(home).findings == ()


def test_an_empty_mapping_is_a_home_with_defaults(home, write) -> None:
    """fleet.yaml may say nothing by `{}`: then the model's defaults hold."""
    write("fleet.yaml", "{}\n")

    config = load(home, RamCache())

    assert (config.name, config.timezone, config.concurrency) == ("fleet", "UTC", 4)
    assert config.limits == shapes.Limits()


@pytest.mark.parametrize("word", ["true", "True", "yes", "on", "ON", "1", '"yes"', "'1'"])
def test_yes_is_yes(home, write, word) -> None:
    """Every word for yes means it, quoted or not."""
    write("agents/outreach.yaml", MINIMAL + f"enabled: no\nmcp: {word}\n")

    agent = load(home, RamCache()).agents["outreach"]
    assert (agent.enabled, agent.mcp) == (False, True)


@pytest.mark.parametrize("word", ["false", "No", "off", "0", '"off"'])
def test_no_is_no(home, write, word) -> None:
    """Every word for no means it, quoted or not."""
    write("agents/outreach.yaml", MINIMAL + f"enabled: {word}\n")

    assert load(home, RamCache()).agents["outreach"].enabled is False


def test_words_of_the_environment_stay_as_written(home, write) -> None:
    """Values for the environment are the text that stands there."""
    written = "{A: NO, B: 007, C: 1.0, D: 'null', E: '', F: 2026-11-30}"
    write("agents/outreach.yaml", MINIMAL + f"env: {{set: {written}}}\n")

    assert load(home, RamCache()).agents["outreach"].env_set == {
        "A": "NO",
        "B": "007",
        "C": "1.0",
        "D": "null",
        "E": "",
        "F": "2026-11-30",
    }


def test_null_undoes_a_default(home, write) -> None:
    """`quiet: null` is as if neither the agent nor the defaults had the line."""
    write("fleet.yaml", "defaults: {quiet: '22:00-06:00', model: sonnet}\n")
    write("agents/outreach.yaml", MINIMAL + "quiet: null\n")

    agents = load(home, RamCache()).agents
    assert (agents["outreach"].quiet, agents["outreach"].model) == (None, "sonnet")
    assert agents["reply-handler"].quiet == (1320, 360)


def test_lists_replace_and_budgets_add_up(home, write) -> None:
    """An agent's list stands for the default's, its budget is read key by key."""
    write("fleet.yaml", "defaults: {tools: [Bash, Read, Edit], budget: {per_run: 2, per_day: 9}}\n")
    write("agents/outreach.yaml", MINIMAL + "tools: [Bash]\nbudget: {per_day: 4}\n")

    agent = load(home, RamCache()).agents["outreach"]
    assert agent.tools == ("Bash",)
    assert agent.budget == shapes.Budget(per_day=4.0, per_run=2.0)


@pytest.mark.parametrize(("fleets", "own", "smaller"), [(1.5, 0.8, 0.8), (0.5, 0.8, 0.5)])
def test_the_smaller_price_of_a_run_wins(home, write, fleets, own, smaller) -> None:
    """Neither the fleet nor an agent can raise what the other allows for one run."""
    write("fleet.yaml", f"budget: {{per_run: {fleets}}}\n")
    write("agents/outreach.yaml", MINIMAL + f"budget: {{per_run: {own}}}\n")

    agents = load(home, RamCache()).agents
    assert agents["outreach"].budget.per_run == smaller
    assert agents["reply-handler"].budget.per_run == fleets


def test_every_section_may_be_bounded(home, write) -> None:
    """Each section has its name in `context.sections`."""
    bounds = ", ".join(f"{name}: {{max_items: 1}}" for name in SECTIONS)
    write("agents/outreach.yaml", MINIMAL + f"context: {{sections: {{{bounds}}}}}\n")

    assert len(load(home, RamCache()).agents["outreach"].context.sections) == len(SECTIONS)


def test_the_model_has_each_field_that_files_may_say() -> None:
    """No field is accepted and then forgotten."""
    renamed = {"env": "env_pass"}
    known = set(shapes.Agent._fields)

    assert {renamed.get(name, name) for name in AgentFile.model_fields} <= known


def test_the_version_changes_with_every_file(home, write) -> None:
    """The hash in a run's manifest tells two configs apart, and equal files give equal hashes."""
    versions = [load(home, RamCache()).version, load(home, RamCache()).version]
    write("agents/outreach.yaml", MINIMAL)
    versions.append(load(home, RamCache()).version)
    write("schemas/new-type.json", "{}")
    versions.append(load(home, RamCache()).version)

    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
