"""`check` says everything at once: faults of config, schemas and templates, and forgotten maps."""

import json
from pathlib import Path

import pytest

from fleet.errors import Finding
from fleet.homes import copy
from fleet.ops.check import check
from fleet.ops.doctor import doctor
from fleet.wiring import open_fleet

AGENT = "description: Does things\nschedule: null\nprompt: outreach.md.j2\n"
WOKEN = (
    AGENT
    + "interests: [{on}]\nwake_on: {{types: [{on}]}}\nexpects: {{any_of: [{{event: {out}}}]}}\n"
)


@pytest.fixture
def quiet_home(home, write) -> Path:
    """The small home with an ear for each of its types: no finding at all."""
    write(
        "agents/competitor-watch.yaml",
        'description: Watches\nschedule: "@daily"\nprompt: competitor-watch.md.j2\n'
        "interests: [contact-made, reply-received]\n",
    )
    assert check(home) == []
    return home


def said(root: Path, severity: str) -> list[tuple[str, str]]:
    """File and sentence of each finding of one severity."""
    return [(found.file, found.what) for found in check(root) if found.severity == severity]


@pytest.mark.parametrize("name", ["growth", "minimal"])
def test_the_shipped_homes_have_no_finding(tmp_path, name) -> None:
    """What `init` writes is valid, and no part of its maps is forgotten; notes may remain."""
    copy(name, tmp_path / "new")

    assert {found.severity for found in check(tmp_path / "new")} <= {"note"}


def test_what_was_taken_away_is_said_beside_other_faults(quiet_home, write) -> None:
    """As many faults as the warning of the last good config counts; alone it is accepted."""
    write("agents/spare.yaml", AGENT)
    write("agents/other.yaml", AGENT)
    check(quiet_home)
    for name in ("spare", "other"):
        (quiet_home / "agents" / f"{name}.yaml").unlink()
    write("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nkeeep: 3\n")

    errors = said(quiet_home, "error")
    warning = open_fleet(quiet_home, env={}).config.warning

    assert [what for _, what in errors[:2]] == ["the file is gone"] * 2
    assert len(errors) == 3
    assert "(and 2 more: fleet check)" in warning
    write("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\n")
    assert said(quiet_home, "error") == []


def test_faults_of_all_kinds_come_together(quiet_home, write) -> None:
    """One call names faults of YAML, of names and of schemas, in order."""
    write("agents/outreach.yaml", AGENT + "shedule: x\n")
    write("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nkeeep: 3\n")
    write("schemas/contact-made.json", '{"type": "objekt"}')
    write("schemas/Bad Name.json", "{}")

    assert list(dict.fromkeys(file for file, _ in said(quiet_home, "error"))) == [
        "agents/outreach.yaml",
        "channels/strategy.yaml",
        "schemas/Bad Name.json",
        "schemas/contact-made.json",
    ]


def test_a_template_that_cannot_be_rendered_is_an_error(quiet_home, write) -> None:
    """A misspelt name in a template is found before a run meets it, once for all who use it."""
    base = (quiet_home / "prompts/base.md.j2").read_text()
    write(
        "prompts/base.md.j2", "{# first line #}\n" + base.replace("{{ you }}", "{{ agent.nmae }}")
    )

    (found,) = check(quiet_home)
    assert (found.severity, found.file, found.line) == ("error", "prompts/base.md.j2", 2)
    assert "'nmae'" in found.what
    assert "and 2 more" in found.what


def test_a_type_that_nobody_hears_is_a_warning(quiet_home, write) -> None:
    """A type without interested agents is named, unless a vital counts it or x-to addresses it."""
    write("schemas/unheard.json", '{"type": "object"}')
    write("schemas/counted.json", '{"type": "object"}')
    addressed = {"type": "object", "properties": {"to": {"type": "string"}}, "x-to": "{to}"}
    write("schemas/addressed.json", json.dumps(addressed))
    write("fleet.yaml", "vitals: [{label: x, count: counted, window: 1h}]\n")

    assert said(quiet_home, "warning") == [
        ("schemas/unheard.json", "no agent is interested in unheard")
    ]


def test_a_channel_that_nobody_reads_is_a_warning(quiet_home, write) -> None:
    """A channel that is in no digest is named."""
    write("channels/silent.yaml", "name: S\npurpose: p\nmembers: all\n")

    assert said(quiet_home, "warning") == [
        ("channels/silent.yaml", "no agent gets a digest of silent")
    ]


@pytest.mark.parametrize("extra", ["", "wake_on: {addressed: false}\n"])
def test_an_agent_that_nothing_wakes_is_a_warning(quiet_home, write, extra) -> None:
    """Neither schedule nor wake: it runs by hand only, and check says so."""
    write("agents/idle.yaml", AGENT + extra)

    assert said(quiet_home, "warning") == [("agents/idle.yaml", "idle runs only by hand")]


@pytest.mark.parametrize("extra", ["wake_on: {addressed: true}\n", "enabled: false\n"])
def test_an_agent_that_is_woken_or_off_is_none(quiet_home, write, extra) -> None:
    """A wake is enough, and who is switched off needs none."""
    write("agents/idle.yaml", AGENT + extra)

    assert said(quiet_home, "warning") + said(quiet_home, "error") == []


@pytest.mark.parametrize(
    ("line", "field"),
    [("mcp: true", "mcp"), ("runs_on: {labels: [gpu]}", "runs_on")],
)
def test_a_field_that_nothing_acts_on_is_said(quiet_home, write, line, field) -> None:
    """What an operator sets and this version ignores is a note by name, never silence."""
    write("agents/idle.yaml", AGENT + f"{line}\n")

    notes = said(quiet_home, "note")
    assert notes == [("agents/idle.yaml", f"{field}: this version does not act on it")]


@pytest.mark.parametrize(
    ("budget", "run", "day"),
    [("{per_day: 0.30}", "0.50", "0.30"), ("{per_run: 2, per_day: 1}", "2.00", "1.00")],
)
def test_a_budget_into_which_no_run_fits_is_a_warning(quiet_home, write, budget, run, day) -> None:
    """An agent that can never start for its budget is named; one that fits is not."""
    daily = AGENT.replace("null", '"@daily"')
    write("agents/idle.yaml", f"{daily}budget: {budget}\n")
    write("agents/fits.yaml", f"{daily}budget: {{per_run: 1, per_day: 1}}\n")

    what = f"idle does not start: a run is reserved ${run} of ${day} a day"
    assert said(quiet_home, "warning") == [("agents/idle.yaml", what)]


def test_agents_that_wake_each_other_are_a_warning(quiet_home, write) -> None:
    """A ring of wakes is named once, by its agents in order; a chain is none."""
    types = ["one", "two", "three"]
    for name in types:
        write(f"schemas/{name}.json", '{"type": "object"}')
    write("agents/a.yaml", WOKEN.format(on="three", out="one"))
    write("agents/b.yaml", WOKEN.format(on="one", out="two"))
    write("agents/c.yaml", WOKEN.format(on="two", out="three"))
    write("agents/d.yaml", WOKEN.format(on="two", out="pricing-change"))

    assert said(quiet_home, "warning") == [
        ("agents/a.yaml", "these agents wake each other in a ring: a > b > c > a")
    ]

    write("agents/c.yaml", WOKEN.format(on="two", out="contact-made"))
    assert said(quiet_home, "warning") == []


def test_a_prompt_without_events_is_a_warning(quiet_home, write) -> None:
    """Who never prints events would consume none, and corrections be told none: check says so."""
    plain = "{% block context %}{{ you }}{% endblock %}{% block task %}Work.{% endblock %}\n"
    write("prompts/outreach.md.j2", plain)

    found = check(quiet_home)
    assert {(one.severity, one.file) for one in found} == {("warning", "prompts/outreach.md.j2")}
    assert ["consumes none" in found[0].what, "not told" in found[1].what] == [True, True]


def test_state_without_a_file_is_noted_once(quiet_home, write) -> None:
    """What a removed agent left is one note, a channel another; fleet's own state is none."""
    write("state/FORMAT", "fleet-state 1\n")
    for name in ("outreach", "gone"):
        write(f"state/memory/{name}.json", "{}")
        write(f"state/runs/{name}/00000000000000000001.jsonl", "")
    write("state/schedule/fleet.json", "{}")
    write("state/channels/strategy/00000000000000000001.jsonl", "")
    write("state/channels/closed/00000000000000000001.jsonl", "")

    assert said(quiet_home, "warning") == []
    assert said(quiet_home, "note") == [
        ("state", "there is state of gone, an agent without a file: memory, runs"),
        ("state/channels", "there are messages in closed, a channel without a file"),
    ]


@pytest.mark.parametrize(
    ("program", "found"),
    [("/nonexistent/prog", False), ("no-such-program", False), ("./tool", True), ("sh", True)],
)
def test_a_command_that_is_not_there_is_a_warning(
    quiet_home, write, program: str, *, found: bool
) -> None:
    """`check` and `doctor` name an agent whose program its runs would not find."""
    tool = write("work/runs-it/tool", "#!/bin/sh\n")
    tool.chmod(0o755)
    write("agents/runs-it.yaml", f"{AGENT}launch: command\ncommand: [{program}]\n")

    told = [
        (finding.severity, finding.file)
        for finding in (*check(quiet_home), *doctor(open_fleet(quiet_home, env={})))
        if f"launched with {program}, which is not found" in finding.what
    ]

    assert told == ([] if found else [("warning", "agents/runs-it.yaml")] * 2)


@pytest.mark.parametrize(
    ("program", "found"),
    [("/nonexistent/prog", False), ("no-such-program", False), ("./bin/tell", True), ("sh", True)],
)
@pytest.mark.parametrize("name", ["on_alert", "heartbeat"])
def test_an_operators_program_that_is_not_there_is_a_warning(
    quiet_home, write, name: str, program: str, *, found: bool
) -> None:
    """Who would tell a person, and cannot be started, is said before there is anything to tell."""
    write("bin/tell", "#!/bin/sh\n").chmod(0o755)
    said = f"[{program}]" if name == "on_alert" else f"{{every: 5m, run: [{program}]}}"
    text = (quiet_home / "fleet.yaml").read_text()
    write("fleet.yaml", f"{text}\n{name}: {said}\n")

    told = [
        (finding.severity, finding.file)
        for finding in (*check(quiet_home), *doctor(open_fleet(quiet_home, env={})))
        if f"{name} starts {program}, which is not found" in finding.what
    ]

    assert told == ([] if found else [("warning", "fleet.yaml")] * 2)


def test_every_finding_is_one_line_with_a_remedy(quiet_home, write) -> None:
    """Whatever is found can be shown in a list and says what to do."""
    write("agents/idle.yaml", AGENT)
    write("channels/silent.yaml", "name: S\npurpose: p\nmembers: all\n")
    write("schemas/unheard.json", '{"type": "object"}')
    write("agents/notes.txt", "")

    found = check(quiet_home)
    assert len(found) == 4
    assert all(isinstance(finding, Finding) and finding.fix for finding in found)
    assert not any("\n" in str(finding) for finding in found)


def test_check_accepts_what_was_taken_away(quiet_home) -> None:
    """After an agent's file is removed, a check makes the home without it the valid one."""
    (quiet_home / "agents/competitor-watch.yaml").unlink()

    before = open_fleet(quiet_home, env={}).config
    check(quiet_home)
    after = open_fleet(quiet_home, env={}).config

    assert "agents/competitor-watch.yaml: the file is gone" in before.warning
    assert (len(before.agents), len(after.agents)) == (3, 2)
    assert after.warning == ""
