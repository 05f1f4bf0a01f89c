"""Every mistake in the operator's files is an error with file, line, what and fix, all at once."""

import re

import pytest

from findings import MINIMAL, assert_says, errors, only
from fleet.config import check


def test_the_valid_home_has_no_finding(home) -> None:
    """A home without mistakes is silent."""
    assert check(home) == []


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("shedule: x", "unknown key 'shedule'", "did you mean 'schedule'?"),
        ("interrests: []", "unknown key 'interrests'", "did you mean 'interests'?"),
        ("budget: {per_dya: 1}", "unknown key 'per_dya' in budget", "'per_day'"),
        ("budget: {zzz: 1}", "unknown key 'zzz' in budget", "there are per_day, per_run"),
        ("env: {pas: [A]}", "unknown key 'pas' in env", "did you mean 'pass'?"),
        ("expects: {any_of: [{evnt: x}]}", "unknown key 'evnt' in expects.any_of[0]", "'event'"),
        ("<<: {a: 1}", "unknown key '<<'", ""),
        ("timeout: 20", "'20' is not a duration", "90s, 30m"),
        ("timeout: 0s", "timeout", ""),
        ("timeout: [1]", "timeout: must be a duration", ""),
        ("grace: -1s", "'-1s' is not a duration", ""),
        ("max_turns: many", "max_turns: 'many' must be a whole number", ""),
        ("max_turns: 0", "max_turns: '0' must be at least 1", ""),
        ("max_turns: 1.5", "must be a whole number", ""),
        ("budget: {per_run: cheap}", "budget.per_run: 'cheap' must be a number", ""),
        ("budget: {per_run: nan}", "must be a number", ""),
        ("budget: {per_run: -1}", "must be at least 0", ""),
        ("budget: 3", "budget must be a mapping", ""),
        ("enabled: maybe", "'maybe' is neither true nor false", ""),
        ("mcp: [true]", "mcp: must be true or false", ""),
        ("priority: hihg", "'hihg' is not one of high, normal, low", "did you mean 'high'?"),
        ("launch: docker", "'docker' is not one of claude, command", ""),
        ("knowledge: wirte", "is not one of read, propose, write", "did you mean 'write'?"),
        ("mode: shaddow", "is not one of live, shadow", "did you mean 'shadow'?"),
        ("tools: Bash", "tools: must be a list", "write [Bash]"),
        ("tools: [Bash, Read, Bash]", "tools: names 'Bash' twice", "keep one"),
        ("gate: ./bin/check --now", "must be a list of words", '["./bin/check", "--now"]'),
        ("gate: []", "gate is empty", ""),
        ("quiet: 22-6", "'22-6' is no span of a day", "22:00-06:00"),
        ("quiet: 25:00-06:00", "is no span of a day", ""),
        ("quiet: 06:00-06:00", "is a whole day", "enabled: false"),
        ("start: soon", "'soon' is not a duration", ""),
        ("retries: {on: [timeout]}", "'timeout' is not one of overloaded, launch_failed", ""),
        ("retries: {max: 99}", "must be at most 20", ""),
        ("context: {sections: {evens: {}}}", "'evens' is not one of you,", "'events'"),
        ("context: {max_tokens: 10}", "must be at least 500", ""),
        ("env: {set: {FLEET_AGENT: x}}", "'FLEET_AGENT' is fleet's own", ""),
        ("env: {pass: [A B]}", "'A B' is no name of an environment variable", ""),
        ("env: {set: {A: [x]}}", "env.set.A must be a text", ""),
        ("expects: {any_of: [{}]}", "must be one of event:, file: and post:", ""),
        ("expects: {any_of: [{file: ../x}]}", "leaves the agent's working folder", "cwd"),
        ("expects: {any_of: [{file: /x}]}", "leaves the agent's working folder", "cwd"),
        ("cwd: ../elsewhere", "leaves the home", ""),
        ("cwd: ~nobody-of-that-name/x", "names no user", ""),
        ("timeout: 999999999d", "timeout", "must be at most"),
        ("cwd: state/run", "lies in state/", ""),
        ("cwd: work/../agents", "lies in agents/", ""),
        ("cwd: fleet.yaml", "is no folder", ""),
        ("launch: command", "there is no command", "add command:"),
        ("command: [codex]", "launch: claude runs no command", "launch: command"),
        ("runs_on: {lables: []}", "unknown key 'lables' in runs_on", "'labels'"),
    ],
)
def test_what_an_agent_cannot_say(home, write, line, what, fix) -> None:
    """A key, a value or a kind that no agent has is named with its line and the way out."""
    write("agents/outreach.yaml", MINIMAL + line + "\n")

    assert_says(only(home), "agents/outreach.yaml", 4, what, fix)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ('"* * * * * *"', "has 6 fields"),
        ('"*/90 * * * *"', "steps by 90"),
        ('"60 * * * *"', "minute '60' is not in 0-59"),
        ('"0 22-2 * * *"', "runs backwards"),
        ('""', "has 0 fields"),
        ('"0 0 31 2 *"', "never fires"),
        ("daily", "has 1 fields"),
        ('["0 7 * * *", "0 7 * * 9"]', "weekday '9'"),
        ("{every: 0s}", "must be at least 1"),
        ("{every: soon}", "'soon' is not a duration"),
        ("{every: 1h, offset: 2h}", "offset must be shorter"),
        ('{every: 1h, cron: "@daily"}', "a crontab text or every:"),
        ("{}", "a crontab text or every:"),
        ("{evry: 1h}", "unknown key 'evry' in schedule"),
    ],
)
def test_a_schedule_that_cannot_be_is_an_error(home, write, value, what) -> None:
    """No schedule is silently never due: each bad one is one line with the field and value."""
    write("agents/outreach.yaml", MINIMAL.replace("null", value))

    found = errors(home)
    assert any(what in finding.what and "schedule" in finding.what for finding in found), found
    assert {(finding.file, finding.line) for finding in found} == {("agents/outreach.yaml", 2)}


@pytest.mark.parametrize("key", ["description", "prompt"])
def test_what_an_agent_must_say(home, write, key) -> None:
    """A missing line is an error that says which, unless the defaults have it."""
    kept = "".join(line for line in MINIMAL.splitlines(True) if not line.startswith(key))
    write("agents/outreach.yaml", kept)
    assert_says(only(home), "agents/outreach.yaml", 1, f"'{key}' is missing", f"add {key}")

    write("fleet.yaml", f"defaults: {{{key}: outreach.md.j2}}\n")
    assert errors(home) == []


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("timezone: Europe/Berlinn", "'Europe/Berlinn' is no time zone", "'Europe/Berlin'"),
        ("timezone: ../../etc/passwd", "is no time zone", ""),
        ("store: postgresql://u:secret@h/db", "store does not exist", "write files"),
        ("store: sqlite", "'sqlite' is no store", "files"),
        ("concurrency: 0", "must be at least 1", ""),
        ("paused: nearly", "neither true nor false", ""),
        ("defaults: {timeuot: 1m}", "unknown key 'timeuot' in defaults", "'timeout'"),
        ("defaults: [1]", "defaults must be a mapping", ""),
        ("accounts: {main: {agents: outreach}}", "must be all or a list", "write [outreach]"),
        ("accounts: {main: {}}", "'agents' is missing in accounts.main", ""),
        ("accounts: {Main: {agents: all}}", "'Main' cannot be a name", ""),
        ("vitals: [{label: x, count: contact-made}]", "'window' is missing in vitals[0]", ""),
        (
            "vitals: [{label: x, count: contact-made, window: 30d}]",
            "must be at most 7d",
            "older events are not counted",
        ),
        ("embedder: magic", "'magic' is no embedder", "local, lexical"),
        ("embedder: {openai: {}}", "'model' is missing in embedder.openai", ""),
        ("hives: {write: A}", "'A' cannot be a name", ""),
        ("hives: {provisional: shown}", "is not one of labelled, hidden", ""),
        ("mesh: {withhold: 2}", "must be at most 1", ""),
        ("limits: {min_free: much}", "'much' is not a size", ""),
        ("limits: {hop: 1}", "unknown key 'hop' in limits", "'hops'"),
        ("retention: {runs: 90}", "'90' is not a duration", ""),
        ("on_alert: notify-send fleet", "must be a list of words", '["notify-send", "fleet"]'),
        ("heartbeat: {every: 5m}", "'run' is missing in heartbeat", ""),
        ("claude: {pth: x}", "unknown key 'pth' in claude", "'path'"),
        ("agents: {outreach: {}}", "unknown key 'agents'", ""),
    ],
)
def test_what_fleet_yaml_cannot_say(home, write, text, what, fix) -> None:
    """A mistake in fleet.yaml is named with its line and the way out."""
    write("fleet.yaml", f"name: x\n{text}\n")

    assert_says(only(home), "fleet.yaml", 2, what, fix)


def test_a_database_password_is_not_repeated(home, write) -> None:
    """The text of a refused store may hold a secret, so it is not printed."""
    write("fleet.yaml", "store: postgresql://u:hunter2@h/db\n")

    assert "hunter2" not in str(only(home))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name: x\npurpose: y\n", "'members' is missing"),
        ("name: x\npurpose: y\nmembers: outreach\n", "must be all or a list"),
        ("name: x\npurpose: y\nmembers: null\n", "must be all or a list"),
        ("name: x\npurpose: y\nmembers: all\nkeep: 0\n", "must be at least 1"),
        ("name: x\npurpose: y\nmembers: all\nmax_pin: 1\n", "did you mean 'max_pins'?"),
        ("name: ''\npurpose: y\nmembers: all\n", "name is empty"),
        ("name: '  '\npurpose: y\nmembers: all\n", "name is empty"),
        ("name: x\npurpose: null\nmembers: all\n", "purpose must be a text, null is none"),
    ],
)
def test_what_a_channel_cannot_say(home, write, text, what) -> None:
    """A mistake in a channel's file is named."""
    write("channels/strategy.yaml", text)

    finding = only(home)
    assert finding.file == "channels/strategy.yaml"
    assert what in str(finding)


def test_all_faults_come_at_once(home, write) -> None:
    """One call lists the faults of every file, of text, kind and names alike, fleet.yaml first."""
    write("fleet.yaml", "timezone: Nowhere/Land\nconcurency: 3\n")
    write("agents/outreach.yaml", "shedule: x\n" + MINIMAL + "collaborators: [reply-handlr]\n")
    write("agents/reply-handler.yaml", "schedule: */5 * * * *\n")
    write("agents/competitor-watch.yaml", MINIMAL + "interests: [contact-mode]\ntimeout: 5\n")
    write("channels/strategy.yaml", "name: x\npurpose: y\nmembers: [outreech]\n")

    found = [(finding.file, finding.line) for finding in errors(home)]
    assert found == [
        ("fleet.yaml", 1),
        ("fleet.yaml", 2),
        ("agents/competitor-watch.yaml", 4),
        ("agents/competitor-watch.yaml", 5),
        ("agents/outreach.yaml", 1),
        ("agents/outreach.yaml", 5),
        ("agents/reply-handler.yaml", 1),
        ("channels/strategy.yaml", 3),
    ]


def test_no_text_makes_check_raise(home, write) -> None:
    """Whatever stands in a value, the answer is findings, each on one line."""
    shapes = ["null", "[]", "{}", "[[]]", "{a: {b: c}}", "''", "x", "0", "-1", "'\\n'", "[null]"]
    fields = "description prompt schedule launch command cwd env budget wake_on expects context"
    for field in fields.split():
        for shape in shapes:
            kept = [line for line in MINIMAL.splitlines() if not line.startswith(f"{field}:")]
            write("agents/outreach.yaml", "\n".join([*kept, f"{field}: {shape}"]) + "\n")
            for finding in check(home):
                assert not re.search(r"[\n\x00]", str(finding))


@pytest.mark.parametrize("key", ['"a\\nb"', '"\\x1b[2J"', '"\\u202e"', "x" * 5000, '"\\r"'])
@pytest.mark.parametrize("line", ["{key}: 1", "budget: {{{key}: 1}}", "collaborators: [{key}]"])
def test_a_finding_is_one_safe_line(home, write, key, line) -> None:
    """Whatever a key or name holds, no finding breaks its line or reaches the terminal raw."""
    write("agents/outreach.yaml", MINIMAL + line.format(key=key) + "\n")

    said = str(check(home)[0])
    assert said.isprintable()
    assert len(said) < 3000
