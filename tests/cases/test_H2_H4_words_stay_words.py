"""YAML's old truths and its silent last-one-wins do not reach a fleet."""

import json
from pathlib import Path

import pytest

from calls import call, many
from conftest import Write

WORDS = ["on", "off", "yes", "no", "true", "false", "null", "y", "n", "007", "1e3", "0x1f", "1_000"]
AGENT = "description: x\nschedule: null\nprompt: outreach.md.j2\n"


def findings(home: Path) -> list[dict[str, object]]:
    """The errors of `check --json`."""
    (done,) = many(home, [call("check", "--json")])
    found = [one for one in map(json.loads, done.out.splitlines()) if one["severity"] == "error"]
    assert done.code == (7 if found else 0)
    return found


def test_names_are_text_as_written(home: Path, write: Write) -> None:
    """H2: agents and channels called on, off, no, null or 007 are those, in lists too."""
    for word in WORDS:
        write(f"agents/{word}.yaml", AGENT)
        write(f"channels/{word}.yaml", "name: NO\npurpose: yes\nmembers: all\n")
    plain = ", ".join(word for word in WORDS if word != "null")
    named = f"collaborators: [{plain}, 'null']\nchannels: [{plain}]\n"
    write("agents/outreach.yaml", AGENT + named)

    assert findings(home) == []
    post = call("--as", "on", "post", "off", "no")
    posts, status, channels = many(
        home, [post, call("status", "--json"), call("channels", "--json")]
    )
    assert posts.out == "off#1\n"
    agents = {one["id"] for one in json.loads(status.out)["agents"]}
    assert set(WORDS) <= agents
    shown = {one["id"]: one["name"] for one in map(json.loads, channels.out.splitlines())}
    assert {shown[word] for word in WORDS} == {"NO"}


@pytest.mark.parametrize(
    ("text", "runs"),
    [("yes", True), ('"yes"', True), ("on", True), ("1", True), ("TRUE", True), ("'true'", True),
     ("no", False), ('"no"', False), ("off", False), ("0", False), ("False", False)],
)  # fmt: skip
def test_a_switch_means_what_it_says(home: Path, write: Write, text: str, runs: bool) -> None:
    """H2: `enabled` is true for each word that says yes, quoted or not, and false for each no."""
    write("agents/outreach.yaml", AGENT.replace("null", '"0 7 * * *"') + f"enabled: {text}\n")

    (done,) = many(home, [call("next", "--days", "2", "--json")])

    due = {json.loads(line)["agent"] for line in done.out.splitlines()}
    assert ("outreach" in due) == runs


@pytest.mark.parametrize("text", ["maybe", "2", "", "[true]", "tru", "nein"])
def test_a_switch_that_says_neither_is_an_error(home: Path, write: Write, text: str) -> None:
    """H2: anything else is one error with file and line, never "off"."""
    write("agents/outreach.yaml", AGENT + f"enabled: {text}\n")

    (found,) = findings(home)

    assert (found["file"], found["line"]) == ("agents/outreach.yaml", 4)
    assert "enabled" in str(found["what"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("agents/outreach.yaml", AGENT + "timeout: 5m\ntimeout: 9m\n", (5, "timeout", 4)),
        ("agents/outreach.yaml", AGENT + "budget: {per_day: 1, per_run: 1, per_day: 2}\n",
         (4, "per_day", 4)),
        ("agents/outreach.yaml", AGENT + "expects:\n  any_of:\n    - event: a\n      event: b\n",
         (7, "event", 6)),
        ("agents/outreach.yaml", AGENT + "'timeout': 5m\n\"timeout\": 9m\n", (5, "timeout", 4)),
        ("fleet.yaml", "name: a\naccounts:\n  main: {agents: all}\n  main: {agents: all}\n",
         (4, "main", 3)),
        ("fleet.yaml", "name: a\ndefaults:\n  timeout: 1m\n  grace: 1s\n  timeout: 2m\n",
         (5, "timeout", 3)),
        ("channels/strategy.yaml", "name: a\npurpose: b\nmembers: all\nmembers: [outreach]\n",
         (4, "members", 3)),
    ],
)  # fmt: skip
def test_a_key_that_stands_twice_is_an_error(
    home: Path, write: Write, name: str, text: str, says: tuple[int, str, int]
) -> None:
    """H4: at every level of every file both lines are named; the last one never wins in silence."""
    write(name, text)

    (found,) = [one for one in findings(home) if "stands here and on" in str(one["what"])]

    line, key, before = says
    assert (found["file"], found["line"]) == (name, line)
    assert f"'{key}' stands here and on line {before}" in str(found["what"])


def test_a_name_twice_in_a_schema_is_an_error(home: Path, write: Write) -> None:
    """H4: in JSON the first of two equal names does not vanish either."""
    write(
        "schemas/x.json",
        '{"title": "x", "description": "x", "type": "object",\n "properties": {"a": {}, "a": {}}}',
    )

    (found,) = findings(home)

    assert found["file"] == "schemas/x.json"
    assert "'a' stands twice" in str(found["what"])
