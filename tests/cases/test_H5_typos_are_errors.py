"""A name that nothing has is an error with the nearest one that there is, never silence."""

import json
from pathlib import Path

from calls import Actor, call, many
from conftest import Write
from fleets import Scripted

TYPOS = {
    "fleet.yaml": (
        ("nmae: test\ntimezone: Europe/Berlinn\nlimits: {min_fre: 1MiB}\n"
        "accounts: {main: {agents: [outreech]}}\n"
        "vitals: [{label: x, count: contact-mode, window: 24h}]\n"),
        {1: "'name'", 2: "Europe/Berlin", 3: "'min_free'", 4: "'outreach'", 5: "'contact-made'"},
    ),
    "agents/outreach.yaml": (
        ("description: x\nshedule: null\nprompt: outreech.md.j2\ncollaborators: [reply-handlr]\n"
        "interests: [contact-mode]\nchannels: [stratgy]\nallowed_tool: []\npriority: hihg\n"
        "wake_on: {types: [contact-made], adressed: true}\nexpects: {any_of: [{evnt: x}]}\n"
        "context: {sections: {evens: {}}}\n"),
        {2: "'schedule'", 3: "outreach.md.j2", 4: "'reply-handler'", 5: "'contact-made'",
         6: "'strategy'", 7: "'allowed_tools'", 8: "'high'", 9: "'addressed'", 10: "'event'",
         11: "'events'"},
    ),
    "agents/reply-handler.yaml": (
        ("description: x\nschedule: null\nprompt: reply-handler.md.j2\n"
        "interests: [reply-recieved]\nexpects: {any_of: [{event: contact-mad}]}\n"),
        {4: "'reply-received'", 5: "'contact-made'"},
    ),
    "channels/strategy.yaml": (
        ("name: x\npurpose: y\nmembers: [outreech, reply-handler]\nkep: 5\n"),
        {3: "'outreach'", 4: "'keep'"},
    ),
}  # fmt: skip


def test_every_typo_of_every_file_comes_at_once(home: Path, write: Write) -> None:
    """H5: keys, agents, types, channels, members, words: all in one `check`, with the right one."""
    for name, (text, _) in TYPOS.items():
        write(name, text)

    (done,) = many(home, [call("check", "--json")])

    assert done.code == 7
    errors = [one for one in map(json.loads, done.out.splitlines()) if one["severity"] == "error"]
    for name, (_, expected) in TYPOS.items():
        for line, near in expected.items():
            found = [one for one in errors if (one["file"], one["line"]) == (name, line)]
            assert found, (name, line)
            assert any(near in f"{one['what']} {one['fix']}" for one in found), found


def test_nothing_starts_on_typos(home: Path, write: Write) -> None:
    """H5: the operator's commands refuse a home with a typo and say which."""
    write("agents/outreach.yaml", TYPOS["agents/outreach.yaml"][0])

    done = many(home, [call("up"), call("run", "reply-handler"), call("next")])

    assert {one.code for one in done} == {7}
    assert all("did you mean 'schedule'?" in one.err for one in done)


CALLS = {
    "post stratgy hi": (4, "'strategy'"),
    "read stratgy": (4, "'strategy'"),
    "reply stratgy#1 hi": (4, "'strategy'"),
    "react strategy#1 agre": (3, "'agree'"),
    "emit pricing-chnage competitor=x newPrice=1": (4, "'pricing-change'"),
    "emit pricing-change competitor=x newPrice=1 --to outreech": (4, "'outreach'"),
    "emit task-created taskId=1 title=x assignedTo=outreech": (3, "'outreach'"),
    "emit pricing-change competitor=x newprice=1": (3, "newPrice=…"),
    "events --for outreech": (4, "'outreach'"),
    "events --type pricing-chnage": (4, "'pricing-change'"),
    "schema show pricing-chnage": (4, "'pricing-change'"),
    "run outreech": (4, "'outreach'"),
    "runs outreech": (4, "'outreach'"),
    "logs outreech": (4, ""),
    "context outreech": (4, "'outreach'"),
    "pause outreech": (4, "'outreach'"),
    "resume outreech": (4, "'outreach'"),
    "halt outreech": (4, "'outreach'"),
    "skip outreech --to now": (4, "'outreach'"),
    "--as outreech post strategy hi": (4, "'outreach'"),
    "pots strategy hi": (2, "'post'"),
    "post strategy hi --reply-too x": (2, "--reply-to"),
    "release lead:sara@acme.com": (4, "'lead:sarah@acme.com'"),
}


def test_every_name_on_the_command_line_has_a_nearest(home: Path) -> None:
    """H5: a wrong channel, agent, type, field, option or key is answered with the right one."""
    many(home, [call("post", "strategy", "x"), call("claim", "lead:sarah@acme.com")])

    done = many(home, [call(*words.split()) for words in CALLS])

    wrong = {
        words: one
        for (words, (code, near)), one in zip(CALLS.items(), done, strict=True)
        if one.code != code or near not in one.err or one.out
    }
    assert wrong == {}


def test_a_run_is_helped_in_the_same_way(tmp_path: Path) -> None:
    """H5: inside a run a typo writes nothing, names the right word and is no success."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")

    done = actor.does(
        call("post", "stratgy", "x"), call("emit", "noet", "n=1"), call("emit", "note", "m=1")
    )

    assert [one.code for one in done] == [4, 4, 3]
    assert "'strategy'" in done[0].err
    assert "'note'" in done[1].err
    assert "fleet emit note n=" in done[2].err
    assert home.fleet.store.head("events") == 0
