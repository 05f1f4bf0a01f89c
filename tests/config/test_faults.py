"""Every mistake in the operator's files is an error with file, line, what and fix, all at once."""

import os
import re
from pathlib import Path

import pytest

from fleet.config import check
from fleet.errors import Finding

MINIMAL = "description: Does things\nschedule: null\nprompt: outreach.md.j2\n"  # 3 lines


def errors(root: Path) -> list[Finding]:
    """The findings that forbid the config."""
    return [finding for finding in check(root) if finding.severity == "error"]


def only(root: Path) -> Finding:
    """The one error there is."""
    found = errors(root)
    assert len(found) == 1, [str(finding) for finding in found]
    return found[0]


def assert_says(finding: Finding, file: str, line: int, what: str, fix: str) -> None:
    """The finding is at that place, is one line, and says `what` and `fix`."""
    assert (finding.file, finding.line) == (file, line), str(finding)
    assert "\n" not in str(finding)
    assert what in finding.what, str(finding)
    assert fix in str(finding), str(finding)


def test_the_valid_home_has_no_finding(home) -> None:
    """A home without mistakes is silent."""
    assert check(home) == []


# What YAML itself makes of a line ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("schedule: */5 * * * *", 1, "begins with *", 'schedule: "*/5 * * * *"'),
        ("schedule: * * * * *", 1, "begins with *", "put quotes round the schedule"),
        ("model: a\nschedule: @daily", 2, "'@'", 'schedule: "@daily"'),
        ("prompt: {{ x }}", 1, "no word", 'prompt: "{{ x }}"'),
        ("description: a: b: c", 1, "a second ': '", 'description: "a: b: c"'),
        ('description: a: "b"', 1, "a second ': '", "description: 'a: \"b\"'"),
        ("prompt: %x", 1, "'%'", 'prompt: "%x"'),
        ("prompt: `x`", 1, "'`'", 'prompt: "`x`"'),
        ("prompt: !x y", 1, "YAML tag", 'prompt: "!x y"'),
        ("prompt: !!python/object:os.system x", 1, "YAML tag", "put quotes round"),
        ("prompt: *nothing", 1, "there is no &nothing before it", 'prompt: "*nothing"'),
        ("channels:\n  - ok\n  - @x", 3, "'@'", '- "@x"'),
        ("env:\n\tset: {}", 2, "a tab", "indent with spaces"),
        ("\tdescription: x", 1, "a tab", "indent with spaces"),
        ("description: x\n---\nprompt: y", 2, "a second document", "keep one"),
        ("tools: [Bash,\n  Read\nmodel: x", 1, "bracket that opens here", "close it"),
        ('model: x\ndescription: "never\nends', 2, "quote that opens here", "close it"),
        ("? [a]\n: b", 1, "a key that is no word", "quotes"),
        ("", 1, "the file is empty", "restore"),
        ("# nothing but a comment", 1, "the file is empty", "restore"),
        ("- a\n- b", 1, "no mapping", "description: …"),
        ("just words", 1, "no mapping", "description: …"),
        ("a: " + "[" * 40 + "]" * 40, 1, "deeper than 32", ""),
        ("a: " + "[" * 5000, 1, "deeper than 32", ""),
        ("a: \x1b[2J", 1, "does not allow (#x001b)", "remove it"),
        ("model: a\nb: \0", 2, "a NUL byte", "UTF-8"),
    ],
)
def test_broken_yaml_names_the_line_and_the_remedy(home, write, *, text, line, what, fix) -> None:
    """A text that YAML reads otherwise than a person gives one line with the corrected words."""
    write("agents/outreach.yaml", text + "\n")

    assert_says(only(home), "agents/outreach.yaml", line, what, fix)


def test_bytes_that_are_no_utf8_are_named(home) -> None:
    """A file in another encoding is refused with the line of the first foreign byte."""
    (home / "agents/outreach.yaml").write_bytes(b"model: x\ndescription: caf\xe9\n")

    assert_says(only(home), "agents/outreach.yaml", 2, "byte 0xe9 is not UTF-8", "save the file")


@pytest.mark.parametrize(
    ("text", "line", "key", "first"),
    [
        (MINIMAL + "model: a\nmodel: b\n", 5, "model", 4),
        (MINIMAL + "budget: {per_run: 1, per_day: 2, per_run: 3}\n", 4, "per_run", 4),
        (MINIMAL + "env:\n  set:\n    A: x\n    B: y\n    A: z\n", 8, "A", 6),
        (MINIMAL + "expects:\n  any_of:\n    - file: a\n      file: b\n", 7, "file", 6),
    ],
)
def test_a_key_that_stands_twice_names_both_lines(home, write, *, text, line, key, first) -> None:
    """Neither of two equal keys wins in silence, at any depth."""
    write("agents/outreach.yaml", text)

    what = f"'{key}' stands here and on line {first}"
    assert_says(only(home), "agents/outreach.yaml", line, what, "keep one")


@pytest.mark.parametrize("empty", ["model:", "env:\n  set:", "collaborators:\n  -"])
def test_a_key_without_a_value_is_no_null(home, write, empty) -> None:
    """A line that ends after its colon is a mistake, not the absence of a value."""
    write("agents/outreach.yaml", MINIMAL + empty + "\n")

    finding = only(home)
    assert "has no value" in finding.what
    assert finding.line == 3 + empty.count("\n") + 1


def test_aliases_are_bounded(home, write) -> None:
    """A few hundred bytes of aliases cannot stand for a billion values."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(['*' + below] * 9)}]\n"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    write("agents/outreach.yaml", bomb)

    assert "aliases included" in only(home).what


def test_an_alias_within_bounds_is_read(home, write) -> None:
    """An anchor may be used again, and cannot hold itself."""
    write("agents/outreach.yaml", MINIMAL + "tools: &t [Bash, Read]\nallowed_tools: *t\n")
    assert errors(home) == []

    write("agents/outreach.yaml", MINIMAL + "tools: &t [*t]\n")
    assert "there is no &t before it" in only(home).what


# What one file may say ---------------------------------------------------------------------------


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


# What files say about each other -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("collaborators: [reply-handlr]", "no agent 'reply-handlr'", "'reply-handler'"),
        ("collaborators: [zzz]", "no agent 'zzz'", "there are competitor-watch, outreach"),
        ("collaborators: [outreach]", "no collaborator of itself", ""),
        ("collaborators: [all]", "no agent 'all'", ""),
        ("interests: [contact-mode]", "no event type 'contact-mode'", "'contact-made'"),
        ("channels: [stratgy]", "no channel 'stratgy'", "'strategy'"),
        ("wake_on: {types: [contact-mode]}", "no event type 'contact-mode'", "'contact-made'"),
        ("wake_on: {types: [contact-made]}", "not among the interests", "add contact-made"),
        ("expects: {any_of: [{event: contact-mad}]}", "no event type", "'contact-made'"),
        ("expects: {all_of: [{post: stratgy}]}", "no channel 'stratgy'", "'strategy'"),
    ],
)
def test_a_name_that_does_not_exist_is_an_error(home, write, line, what, fix) -> None:
    """A typing mistake in any name of another thing is an error with the nearest name."""
    write("agents/outreach.yaml", MINIMAL + line + "\n")

    assert_says(only(home), "agents/outreach.yaml", 4, what, fix)


@pytest.mark.parametrize(
    ("file", "text", "line", "what"),
    [
        ("agents/outreach.yaml", MINIMAL.replace("outreach.md", "outrech.md"), 3, "no prompts/out"),
        ("agents/outreach.yaml", MINIMAL.replace("outreach.md", "../x.md"), 3, "no prompts/../x"),
        ("channels/strategy.yaml", "name: S\npurpose: p\nmembers:\n  - outreech\n", 4, "outreech"),
        ("fleet.yaml", "accounts:\n  main: {agents: [outreech]}\n", 2, "no agent 'outreech'"),
        ("fleet.yaml", "vitals:\n  - {label: x, count: contct-made, window: 1h}\n", 2, "contct"),
        ("fleet.yaml", "defaults:\n  interests: [contact-mode]\n", 2, "'contact-mode'"),
    ],
)
def test_names_are_checked_in_every_file(home, write, *, file, text, line, what) -> None:
    """Templates, members, accounts, vitals and defaults name only what exists."""
    write(file, text)

    found = [finding for finding in errors(home) if finding.file == file]
    assert [(finding.line, what in finding.what) for finding in found] == [(line, True)]


def test_a_digest_needs_membership(home, write) -> None:
    """An agent cannot subscribe to a channel that it may not read."""
    write("agents/competitor-watch.yaml", MINIMAL + "channels: [strategy, outreach-review]\n")

    fix = "add it to members in channels/outreach-review.yaml"
    what = "competitor-watch is no member of outreach-review"
    assert_says(only(home), "agents/competitor-watch.yaml", 4, what, fix)


def test_an_agent_has_one_account(home, write) -> None:
    """No usage limit is counted in two groups."""
    write(
        "fleet.yaml",
        "accounts:\n  a: {agents: [outreach]}\n  b: {agents: [reply-handler, outreach]}\n",
    )

    assert_says(only(home), "fleet.yaml", 3, "outreach belongs to the account 'a' already", "")


def test_faults_of_the_defaults_stand_where_they_are_written(home, write) -> None:
    """What only an agent together with the defaults makes wrong points to the defaults' line."""
    write("fleet.yaml", "name: x\ndefaults:\n  wake_on: {types: [task-created]}\n")

    found = errors(home)
    assert {(finding.file, finding.line) for finding in found} == {("fleet.yaml", 3)}
    assert any("for competitor-watch" in finding.what for finding in found)


# What files there are ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Outreach", "differs from 'outreach' by case alone"),
        ("-x", "cannot be an id"),
        ("a b", "cannot be an id"),
        ("x.y", "cannot be an id"),
        ("é", "cannot be an id"),
        ("x" * 65, "cannot be an id"),
        ("operator", "fleet's own"),
        ("human", "fleet's own"),
        ("system", "fleet's own"),
        ("all", "fleet's own"),
        ("fleet", "fleet's own"),
    ],
)
@pytest.mark.parametrize("folder", ["agents", "channels"])
def test_a_file_name_that_is_no_id_is_refused(home, write, folder, name, what) -> None:
    """A name that is no id, is fleet's own or differs by case alone is never an agent."""
    write(f"{folder}/{name}.yaml", MINIMAL)

    finding = only(home)
    assert finding.file == f"{folder}/{name}.yaml"
    assert what.replace("'outreach'", "") in finding.what.replace("'outreach'", "") or (
        folder == "channels" and "cannot be an id" in finding.what
    )


@pytest.mark.parametrize("name", ["on", "off", "yes", "no", "null", "true", "007", "1e3"])
def test_ids_are_text_as_written(home, write, name) -> None:
    """A word that other YAML readers turn into a truth or a number stays the name that it is."""
    write(f"agents/{name}.yaml", MINIMAL)
    write(f"channels/{name}.yaml", f"name: x\npurpose: y\nmembers: ['{name}']\n")
    write("agents/outreach.yaml", MINIMAL + f"collaborators: ['{name}']\n")
    if name != "null":
        write(f"agents/{name}.yaml", MINIMAL + f"channels: [{name}]\n")

    assert errors(home) == []


def test_a_list_of_words_that_look_like_something_else(home, write) -> None:
    """`[on, off, NO, 1.0]` are four texts; null among names is one clear error."""
    write("agents/outreach.yaml", MINIMAL + "claude_args: [on, off, NO, 1.0]\n")
    assert errors(home) == []

    write("agents/outreach.yaml", MINIMAL + "collaborators: [null]\n")
    assert_says(only(home), "agents/outreach.yaml", 4, "collaborators[0] must be a text", "")


@pytest.mark.parametrize(
    ("name", "fix"),
    [("agents/x.yml", "call it x.yaml"), ("agents/x.json", "x.yaml"), ("schemas/x.yaml", "x.json")],
)
def test_a_file_that_would_be_ignored_is_an_error(home, write, name, fix) -> None:
    """A wrong ending does not make an agent or a type vanish in silence."""
    write(name, MINIMAL)

    assert_says(only(home), name, 0, "is not read", fix)


@pytest.mark.parametrize("name", ["README.md", ".x.yaml.swp", "x.yaml~", "#x.yaml#", ".git"])
def test_what_editors_leave_is_nobodys(home, write, name) -> None:
    """READMEs and editors' own files are no faults."""
    write(f"agents/{name}", "{{{{")

    assert check(home) == []


def test_other_files_are_a_warning(home, write) -> None:
    """A file that nothing reads is named, and forbids nothing."""
    write("agents/notes.txt", "x")

    assert [(found.severity, found.file) for found in check(home)] == [
        ("warning", "agents/notes.txt")
    ]


def test_symlinks_and_devices_are_refused(home, tmp_path) -> None:
    """No file or folder of the home is read through a link, and a pipe is no file."""
    secret = tmp_path / "secret.yaml"
    secret.write_text(MINIMAL)
    (home / "agents/linked.yaml").symlink_to(secret)
    os.mkfifo(home / "agents/pipe.yaml")
    (home / "channels").rename(tmp_path / "moved")
    (home / "channels").symlink_to(tmp_path / "moved")

    said = {finding.file: finding.what for finding in errors(home) if not finding.line}
    assert said["agents/linked.yaml"] == "the file is a symlink"
    assert said["agents/pipe.yaml"] == "the file is no regular file"
    assert said["channels"] == "the folder is a symlink"


def test_a_file_has_a_bound(home, write) -> None:
    """256 KiB is the most that one file may have."""
    comment = "# " + "x" * 1000 + "\n"
    write("agents/outreach.yaml", comment * 255 + MINIMAL)
    assert errors(home) == []

    write("agents/outreach.yaml", comment * 270 + MINIMAL)
    assert "more than 256 KiB" in only(home).what


def test_a_home_without_agents_is_an_error(home) -> None:
    """An empty or vanished folder never means that there is nothing to do."""
    for file in (home / "agents").iterdir():
        file.unlink()
    assert any("the home has no agent" in finding.what for finding in errors(home))

    (home / "agents").rmdir()
    assert any("the home has no agent" in finding.what for finding in errors(home))


def test_all_faults_come_at_once(home, write) -> None:
    """One call lists the faults of every file, of text, kind and names alike, in order."""
    write("fleet.yaml", "timezone: Nowhere/Land\nconcurency: 3\n")
    write("agents/outreach.yaml", "shedule: x\n" + MINIMAL + "collaborators: [reply-handlr]\n")
    write("agents/reply-handler.yaml", "schedule: */5 * * * *\n")
    write("agents/competitor-watch.yaml", MINIMAL + "interests: [contact-mode]\ntimeout: 5\n")
    write("channels/strategy.yaml", "name: x\npurpose: y\nmembers: [outreech]\n")

    found = [(finding.file, finding.line) for finding in errors(home)]
    assert found == [
        ("agents/competitor-watch.yaml", 4),
        ("agents/competitor-watch.yaml", 5),
        ("agents/outreach.yaml", 1),
        ("agents/outreach.yaml", 5),
        ("agents/reply-handler.yaml", 1),
        ("channels/strategy.yaml", 3),
        ("fleet.yaml", 1),
        ("fleet.yaml", 2),
    ]


def test_a_broken_agent_still_exists_for_the_others(home, write) -> None:
    """A file that cannot be read does not make its name unknown elsewhere."""
    write("agents/reply-handler.yaml", "{{{{\n")

    assert {finding.file for finding in errors(home)} == {"agents/reply-handler.yaml"}


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
