"""What `check` says about the files in `schemas/`."""

import os

import pytest

from fleet.schemas.check import check_files


def test_a_sound_home_has_no_findings(home) -> None:
    """The small home's four types are without fault."""
    assert check_files(home) == []


BAD = {
    "cut": ('{"type": "object",\n "required": [', "error", 2, "not JSON"),
    "comma": ('{\n\n"type": "object",\n}', "error", 4, "not JSON"),
    "twice": ('{"title": "twice",\n "a": {\n  "b": 1, "b": 2}}', "error", 2, "'b' stands twice"),
    "nan": ('{"minimum": NaN}', "error", 0, "NaN"),
    "utf8": (b'{"title": "\xff"}', "error", 0, "UTF-8"),
    "list": ("[]", "error", 1, "no JSON object"),
    "draft": ('{\n"$schema": "http://json-schema.org/draft-03/schema#"}', "error", 2, "unknown"),
    "typ": ('{"type": "object", "properties":\n{"a":\n{"type": "text"}}}', "error", 3, "a.type"),
    "requires": ('{"required": "email"}', "error", 1, "required: 'email' is not of type 'array'"),
    "remote": ('{"$ref": "https://example.org/x.json"}', "error", 0, "leaves the file"),
    "file": ('{"properties": {"a": {"$ref": "b.json"}}}', "error", 1, "leaves the file"),
    "lost": ('{"properties": {"a": {"$ref": "#/definitions/a"}}}', "error", 1, "points nowhere"),
    "regex": ('{"properties": {"a": {"pattern": "("}}}', "error", 1, "the pattern '('"),
    "regex2": ('{"properties": {"pattern": {"pattern": "("}}}', "error", 1, "the pattern '('"),
    "regex3": ('{"patternProperties": {"(": {}}}', "error", 1, "the pattern '('"),
    "inner-id": ('{"properties": {"a": {"$id": "x"}}}', "error", 1, "$id below the top"),
    "title": ('{"title": "other"}', "warning", 1, "the title is 'other'"),
    "array": ('{\n"type": "array"}', "error", 2, "always an object"),
    "claim1": ('{"x-claim": "lead:{email}"}', "error", 1, "unknown field 'email'"),
    "claim2": ('{"x-claim": "lead:{a", "required": ["a"]}', "error", 1, "brace"),
    "claim3": ('{"x-claim": 3}', "error", 1, "x-claim is no text"),
    "claim4": ('{"x-claim": "agent:{a}", "required": ["a"]}', "error", 1, "fleet's own"),
    "claim5": ('{"x-claim": "k:{a}", "properties": {"a": {}}}', "warning", 1, "may be left out"),
    "claim6": (
        '{"x-claim": "k:{a}", "required": ["a"], "properties": {"a": {"type": "array"}}}',
        "error", 1, "which is array",
    ),
    "to1": ('{"x-to": "{who}"}', "error", 1, "unknown field 'who'"),
    "to2": ('{"x-to": "outreach"}', "error", 1, "names no field"),
    "subject1": ('{"x-subject": "{draftId}"}', "error", 1, "unknown field 'draftId'"),
    "subject2": ('{"x-subject": "draft"}', "error", 1, "names no field"),
    "subject3": (
        '{"x-subject": "{a}", "properties": {"a": {"type": "object"}}}',
        "error", 1, "which is object",
    ),
    "to3": ('{"x-to": "{a}{b}", "required": ["a", "b"]}', "error", 1, "more than one"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_each_fault_is_found(home, write, name) -> None:
    """The fault is named with its file, and with its line where it has one."""
    text, severity, line, words = BAD[name]
    path = write(f"schemas/{name}.json", "")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    (finding,) = check_files(home)

    assert finding.file == f"schemas/{name}.json"
    assert words in finding.what
    assert (finding.severity, finding.line) == (severity, line)


def test_all_faults_come_at_once(home, write) -> None:
    """Several files and several faults in one file are all listed; a near name is suggested."""
    write("schemas/a.json", '{"x-claim": "l:{emial}", "x-to": "{c}", "required": ["email"]}')
    write("schemas/b.json", "{")
    write("schemas/Upper.json", "{}")
    write("schemas/note.txt", "")

    findings = check_files(home)

    assert [f"{finding.file}" for finding in findings] == [
        "schemas/Upper.json", "schemas/a.json", "schemas/a.json", "schemas/b.json",
        "schemas/note.txt",
    ]  # fmt: skip
    assert "did you mean 'email'?" in [finding.fix for finding in findings]


def test_what_is_no_plain_file_is_refused(home, write) -> None:
    """Symlinks, pipes, folders and files over 256 KiB are faults; nothing waits for a pipe."""
    folder = home / "schemas"
    (folder / "link.json").symlink_to(folder / "contact-made.json")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    write("schemas/large.json", '{"description": "' + "x" * (256 << 10) + '"}')

    found = {finding.file[8:]: finding.what for finding in check_files(home)}

    assert found == {
        "link.json": "link.json is a symlink",
        "folder.json": "folder.json is no regular file",
        "pipe.json": "pipe.json is no regular file",
        "large.json": "large.json has more than 256 KiB",
    }


def test_constants_and_property_names_are_no_keywords(home, write) -> None:
    """A field called `$ref` or `pattern` and a default that looks like a schema are no faults."""
    write(
        "schemas/odd.json",
        '{"properties": {"$ref": {"type": "string"}, "pattern": {"enum": ["("]},'
        ' "properties": {"default": {"$ref": "x", "pattern": "("}}, "id": {"type": "string"}}}',
    )

    assert check_files(home) == []


def test_a_home_without_types_gets_a_remark(tmp_path) -> None:
    """No folder is no crash."""
    (finding,) = check_files(tmp_path)

    assert finding.severity == "warning"
