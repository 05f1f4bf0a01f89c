"""A name in the operator's files is text as written, and is the name of something that exists."""

import os

import pytest

from findings import MINIMAL, assert_says, errors, only
from fleet.audit.said import SHAPES
from fleet.config import check, load
from fleet.config.sources import LOGS, TAKEN
from fleet.stores.ram import RamCache


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


def test_an_account_has_a_name_of_its_own(home, write) -> None:
    """`fleet` is what the agents share that no account names, so no account is called so."""
    write("fleet.yaml", "accounts:\n  fleet: {agents: [outreach]}\n")

    assert_says(only(home), "fleet.yaml", 2, "'fleet' is fleet's own", "name it otherwise")


def test_faults_of_the_defaults_stand_where_they_are_written(home, write) -> None:
    """What only an agent together with the defaults makes wrong points to the defaults' line."""
    write("fleet.yaml", "name: x\ndefaults:\n  wake_on: {types: [task-created]}\n")

    found = errors(home)
    assert {(finding.file, finding.line) for finding in found} == {("fleet.yaml", 3)}
    assert any("for competitor-watch" in finding.what for finding in found)


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


def test_a_broken_agent_still_exists_for_the_others(home, write) -> None:
    """A file that cannot be read does not make its name unknown elsewhere."""
    write("agents/reply-handler.yaml", "{{{{\n")

    assert {finding.file for finding in errors(home)} == {"agents/reply-handler.yaml"}


@pytest.mark.parametrize("folder", ["agents", "channels", "schemas", "prompts"])
@pytest.mark.parametrize("end", [b".yaml", b".json", b".md.j2"])
def test_a_name_in_another_encoding_stops_nothing(home, folder, end) -> None:
    """A file name that is no UTF-8 is a finding or nobody's, never a traceback."""
    (home / folder / os.fsdecode(b"caf\xe9" + end)).touch()

    assert all(str(finding).isprintable() for finding in check(home))
    if folder == "prompts":
        assert load(home, RamCache()).warning == ""


def test_no_channel_has_the_name_of_a_log_of_fleets_own(home, write) -> None:
    """A file of such a name, or with such a `log`, is the only error; `last` names no agent."""
    write("channels/strategy.yaml", "name: S\npurpose: p\nmembers: all\nlog: events\n")
    write("channels/metrics.yaml", "name: M\npurpose: p\nmembers: all\n")
    write("agents/last.yaml", MINIMAL)
    write("schemas/reminder-due.json", "{}")

    found = {finding.file: finding for finding in errors(home)}

    taken = [
        ("channels/metrics.yaml", "metrics"),
        ("agents/last.yaml", "last"),
        ("schemas/reminder-due.json", "reminder-due"),
    ]
    assert set(found) == {"channels/strategy.yaml", *(file for file, _ in taken)}
    for file, name in taken:
        assert_says(found[file], file, 0, f"the name '{name}', which is fleet's", "choose another")
    assert_says(found["channels/strategy.yaml"], "channels/strategy.yaml", 4, "'events'", "another")
    assert set(SHAPES) <= LOGS < TAKEN["channels"]
