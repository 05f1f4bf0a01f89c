"""A text that YAML reads as something else is explained by the file, the line and the way out."""

import json
from pathlib import Path

import pytest

from calls import call, many
from conftest import Write

HEAD = "description: x\nprompt: outreach.md.j2\n"
FAULTS = {
    "star": ("schedule: */5 * * * *\n", 3, "quotes"),
    "star-in-a-list": ("schedule:\n  - 0 7 * * *\n  - */5 * * * *\n", 5, "quotes"),
    "at": ("schedule: @daily\n", 3, "quotes"),
    "mustache": ("schedule: null\nmodel: {{ x }}\n", 4, "quotes"),
    "colons": ("schedule: null\nmodel: a: b: c\n", 4, "quotes"),
    "percent": ("schedule: null\nmodel: %x\n", 4, "quotes"),
    "ampersand": ("schedule: null\nmodel: &x y z: 1\n", 4, "quotes"),
    "bang": ("schedule: null\nmodel: !x y\n", 4, ""),
    "backtick": ("schedule: null\nmodel: `x`\n", 4, "quotes"),
    "tab": ("schedule: null\nbudget:\n\tper_day: 1\n", 5, "spaces"),
    "second-document": ("schedule: null\n---\nmodel: x\n", 4, "---"),
    "open-bracket": ("schedule: null\nchannels: [strategy\ntimeout: 5m\n", 4, "close"),
    "open-quote": ("schedule: null\nmodel: 'x\ntimeout: 5m\n", 4, ""),
    "indent": ("schedule: null\n  model: x\n", 4, ""),
    "empty": (None, 1, "restore"),
    "only-text": ("", 1, ""),
}


@pytest.fixture
def checked(home: Path, write: Write) -> dict[str, dict[str, object]]:
    """Every faulty file at once in one home, and what `check` says of each."""
    for name, (text, _, _) in FAULTS.items():
        write(
            f"agents/{name}.yaml", "" if text is None else HEAD + text if text else "just words\n"
        )
    (done,) = many(home, [call("check", "--json")])
    assert done.code == 7
    found = [one for one in map(json.loads, done.out.splitlines()) if one["severity"] == "error"]
    assert len(found) == len(FAULTS), found
    return {Path(one["file"]).stem: one for one in found}


def test_each_mistake_is_named_with_its_line(checked: dict[str, dict[str, object]]) -> None:
    """H1: unquoted crontabs, @words, braces, colons, tabs, `---`: file, agent, line, what to do."""
    wrong = {
        name: (one["line"], one["what"], one["fix"])
        for name, one in checked.items()
        if one["line"] != FAULTS[name][1] or FAULTS[name][2] not in str(one["fix"])
    }
    assert wrong == {}


def test_no_parser_word_stands_alone(checked: dict[str, dict[str, object]]) -> None:
    """H1: nobody has to know what "scanning an alias" is: one line each, with something to do."""
    for name, one in checked.items():
        said = f"{one['what']} {one['fix']}"
        assert "\n" not in said
        assert "while scanning" not in said
        assert one["fix"] or "YAML" in said, name


@pytest.mark.parametrize("command", [["status"], ["next"], ["run", "outreach"], ["up"]])
def test_every_command_says_where(home: Path, write: Write, command: list[str]) -> None:
    """H1: a command that cannot work with the files names the same file and line, exit 7."""
    write("agents/star.yaml", HEAD + FAULTS["star"][0])

    (done,) = many(home, [call(*command)])

    assert done.code == 7
    assert "agents/star.yaml:3: " in done.err
    assert "quotes" in done.err
    assert "Traceback" not in done.err
