"""What becomes part of a path is a name; everything else is refused, and nothing is written."""

import json
import os
from pathlib import Path

import pytest

from calls import call, many, tree
from conftest import Write

BAD = [
    "../x", "a/b", "/etc/x", ".", "..", "", "x" * 300, "a.", "a ", "A", "é", "a\nb", "-a", "a\\b"
]  # fmt: skip
KEYS = ["../../x", "/etc/x", "a/b/../../../x", "..", ".", "CON", "%2e%2e/x", "é" * 90]
FILES = [b"a b", b".hidden.x", b"A", b"x" * 80, b"a.b", b"caf\xe9", b"-x", b"a\nb"]
AGENT = "description: x\nschedule: null\nprompt: outreach.md.j2\n"


def outside(home: Path) -> dict[str, bytes]:
    """Everything around the home."""
    return {name: data for name, data in tree(home.parent).items() if not name.startswith("home")}


def test_no_name_on_the_command_line_is_a_path(home: Path) -> None:
    """F22: agent, channel, type and reference: each bad name is refused, no file comes of it."""
    before = tree(home.parent)
    calls = [
        one
        for name in BAD
        for one in (
            call("post", name, "hi"),
            call("emit", name or "''", "n=1"),
            call("emit", "pricing-change", "competitor=x", "newPrice=1", "--to", name),
            call("emit", "task-created", "taskId=1", "title=x", f"assignedTo={name}"),
            call("run", name),
            call("logs", name),
            call("reply", f"{name}#1", "hi"),
        )
    ]

    done = many(home, calls)

    wrong = [(one.argv, d) for one, d in zip(calls, done, strict=True) if d.code not in {2, 3, 4}]
    assert wrong == []
    assert {one.out for one in done} == {""}
    assert all(one.err.count("\n") == 1 and len(one.err) < 1000 for one in done)
    kept = {k: v for k, v in tree(home.parent).items() if not k.startswith("home/state")}
    assert kept == {k: v for k, v in before.items() if not k.startswith("home/state")}
    assert not list((home / "state").rglob("*.jsonl"))


def test_a_claims_key_is_any_text_and_one_file(home: Path) -> None:
    """F22: keys with slashes and dots are held like others, each in one file inside of claims/."""
    around = outside(home)

    taken = many(home, [call("--as", "outreach", "claim", key) for key in KEYS])
    again = many(home, [call("--as", "reply-handler", "claim", key) for key in KEYS])
    (listed,) = many(home, [call("claims", "--json")])

    assert {one.code for one in taken} == {0}
    assert {one.code for one in again} == {6}
    assert {json.loads(line)["key"] for line in listed.out.splitlines()} == set(KEYS)
    found = [p.parent.name for p in (home / "state" / "claims").rglob("*.json")]
    assert found == ["claims"] * len(KEYS)
    assert outside(home) == around


def test_keys_that_differ_by_case_are_two(home: Path) -> None:
    """F22: upper and lower twins, and near twins of the encoding, never share a file."""
    keys = ["lead:A", "lead:a", "LEAD:a", "lead%3Aa", "lead:a.", "lead:a ."]

    done = many(home, [call("claim", key) for key in keys])

    assert [one.code for one in done] == [0] * len(keys)
    names = [path.name.lower() for path in (home / "state" / "claims").glob("*.json")]
    assert len(set(names)) == len(keys)


def test_ids_given_by_callers_are_no_paths(home: Path) -> None:
    """F22: `--id` and an `x-claim` value may hold anything; they stay in the log and in claims/."""
    around = outside(home)
    calls = [call("post", "strategy", "x", "--id", f"{bad}/../../x") for bad in BAD[:5]]
    calls += [call("emit", "contact-made", f"email={bad}/../../x", "method=m") for bad in BAD[:5]]

    assert {one.code for one in many(home, calls)} == {0}
    assert outside(home) == around
    assert not list(home.rglob("x"))


@pytest.mark.parametrize("folder", ["agents", "channels", "schemas"])
def test_a_files_name_is_an_id_or_an_error(home: Path, folder: str) -> None:
    """F22: a file whose name is no id is named by `check`, or nobody's; never half an agent."""
    end = b".json" if folder == "schemas" else b".yaml"
    for name in FILES:
        path = Path(os.fsdecode(os.fsencode(home / folder) + b"/" + name + end))
        path.write_text("{}" if folder == "schemas" else AGENT)

    (checked,) = many(home, [call("check", "--json")])

    found = [json.loads(line) for line in checked.out.splitlines()]
    files = {one["file"] for one in found if one["severity"] == "error"}
    assert checked.code == 7
    assert len(files) == len(FILES) - 1, files
    assert all(file.startswith(f"{folder}/") and file.isprintable() for file in files)


def test_names_inside_the_files_are_no_paths(home: Path, write: Write) -> None:
    """F22: a member, collaborator, channel, prompt or folder that climbs out is an error each."""
    write(
        "agents/outreach.yaml",
        "description: x\nschedule: null\nprompt: ../../etc/passwd\ncollaborators: [../x]\n"
        "channels: [../../x]\ninterests: [/etc/passwd]\ncwd: ../../elsewhere\n"
        "expects: {any_of: [{file: ../../x}]}\n",
    )
    write("channels/strategy.yaml", "name: x\npurpose: y\nmembers: [../outreach]\n")

    (checked,) = many(home, [call("check", "--json")])

    found = {(one["file"], one["line"]) for one in map(json.loads, checked.out.splitlines())}
    assert checked.code == 7
    assert {("agents/outreach.yaml", n) for n in (3, 4, 5, 6, 7, 8)} <= found
    assert ("channels/strategy.yaml", 3) in found
