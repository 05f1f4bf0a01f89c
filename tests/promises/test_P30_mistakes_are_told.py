"""P30: every mistake at once with its place; a broken edit changes nothing of what runs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import call, many
from fleets import Scripted, running, until

FAULTS = {
    "fleet.yaml": ("name: x\ntimezone: Nowhere\n", 2),
    "agents/outreach.yaml": ("description: x\nshedule: null\nprompt: outreach.md.j2\n", 2),
    "agents/reply-handler.yaml": ("description: x\nschedule: */5 * * * *\nprompt: x\n", 2),
    "agents/competitor-watch.yaml": (
        "description: x\nschedule: '60 * * * *'\nprompt: gone.j2\n",
        2,
    ),
    "agents/new one.yaml": ("description: x\n", 0),
    "channels/strategy.yaml": ("name: x\npurpose: y\nmembers: [nobody]\n", 3),
    "schemas/contact-made.json": ('{"type": "object",\n "required": "email"}', 2),
    "schemas/pricing-change.json": ('{"type": "object",\n}', 2),
    "schemas/x.yaml": ("{}", 0),
}


def test_every_mistake_of_every_file_comes_at_once(home: Path) -> None:
    """P30: YAML, keys, names, crontabs, schemas, file names: one call, each with file and line."""
    for name, (text, _) in FAULTS.items():
        (home / name).write_text(text)

    (as_json, plain) = many(home, [call("check", "--json"), call("check")])

    found = [one for one in map(json.loads, as_json.out.splitlines()) if one["severity"] != "note"]
    assert (as_json.code, plain.code) == (7, 7)
    assert {(name, line) for name, (_, line) in FAULTS.items()} <= {
        (one["file"], one["line"]) for one in found
    }
    for one in found:
        assert "\n" not in one["what"] + one["fix"]
        assert one["file"] in plain.out
    assert "Traceback" not in plain.err + as_json.err


def good(home: Scripted) -> None:
    """Two agents that run every second and say which prompt they had."""
    home.put(
        "prompts/base.md.j2", "{% block context %}x{% endblock %}{% block task %}one{% endblock %}"
    )
    for name in ("first", "second"):
        home.agent(name, "tail -1 >> ../said; echo done", schedule="{every: 1s}")


def _text(name: str, text: str) -> Callable[[Scripted], object]:
    return lambda home: home.put(name, text)


EDITS: dict[str, Callable[[Scripted], object]] = {
    "a typo in an agent": _text("agents/first.yaml", "description: x\nshedule: null\n"),
    "an empty file": _text("agents/first.yaml", ""),
    "fleet.yaml gone": lambda home: (home.root / "fleet.yaml").unlink(),
    "the agents gone": lambda home: shutil.rmtree(home.root / "agents"),
}


def still_running(home: Scripted) -> bool:
    """Whether both agents start anew within the deadline."""
    before = {name: len(home.runs(name)) for name in ("first", "second")}
    return until(lambda: all(len(home.runs(name)) > count for name, count in before.items()), 20)


def test_a_broken_edit_leaves_the_last_good_config_in_force(tmp_path: Path) -> None:
    """P30: whatever is saved while `up` runs, both agents go on, it is said, and a mend counts."""
    home = Scripted(tmp_path / "home", extra="")
    good(home)
    shutil.copytree(home.root, tmp_path / "kept")

    with running(home) as up:
        assert still_running(home), up.said()
        for name, edit in EDITS.items():
            said = len(up.said())
            edit(home)
            assert until(lambda said=said: "last good" in up.said()[said:]), (name, up.said())
            assert still_running(home), (name, up.said())
            status = home.call("status", "--json")
            agents = {one["id"] for one in json.loads(status.stdout)["agents"]}
            assert agents == {"first", "second"}, name
            assert status.stderr, name
            shutil.copytree(tmp_path / "kept", home.root, dirs_exist_ok=True)

        prompt = (tmp_path / "kept" / "prompts" / "base.md.j2").read_text()
        home.put("prompts/base.md.j2", prompt.replace("one", "two"))
        heard = home.root / "work" / "said"
        assert until(lambda: heard.read_text().endswith("two\n")), up.said()


@pytest.mark.parametrize("name", ["no", "null", "1e3"])
def test_an_id_is_the_text_that_was_written(tmp_path: Path, name: str) -> None:
    """P30: an agent and a channel of that name run, post and are counted under that very name."""
    home = Scripted(tmp_path / "home")
    home.put(f"channels/{name}.yaml", "name: x\npurpose: y\nmembers: all\n")
    home.agent(name, f"cat > /dev/null; fleet post {name} x; echo done", "description: x")

    assert home.call("run", name).returncode == 0
    shown = json.loads(home.call("read", name, "--json").stdout)
    assert (shown["channel"], shown["from_agent"]) == (name, name)
    assert home.runs()[0].agent == name
