"""Whatever is exclusive is decided once, however many ask at the same moment."""

import os
from collections.abc import Sequence
from pathlib import Path

import warm
from calls import Actor, call
from conftest import Fleet
from fleets import Scripted, until

AGENTS = ("outreach", "reply-handler", "competitor-watch", None)


def at_once(commands: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Start every command before any is waited for; exit code and standard error of each."""
    done = warm.together(commands, env=os.environ.copy(), cwd=Path.cwd())
    return [(one.returncode, one.stderr.decode()) for one in done]


def as_(agent: str | None, *words: str) -> list[str]:
    """The words of a command by the operator, or for an agent."""
    return [*(["--as", agent] if agent else []), *words]


def test_four_callers_and_one_winner(home: Path) -> None:
    """F3: of four processes that claim one key at once one gets it, the others its owner's name."""
    for number in range(5):
        answers = at_once([as_(agent, "claim", f"lead:{number}") for agent in AGENTS])

        codes = [code for code, _ in answers]
        assert sorted(codes) == [0, 6, 6, 6]
        winner = AGENTS[codes.index(0)] or "operator"
        assert all(f"HELD by {winner} until" in said for code, said in answers if code)


def test_what_is_to_be_done_once_is_done_once(home: Path, tmp_path: Path, fleet: Fleet) -> None:
    """F3: `claim KEY --once 7d -- CMD` from four processes at once runs CMD once, ever."""
    done = tmp_path / "done"
    command = ["claim", "report:weekly", "--once", "7d", "--", "sh", "-c", f"echo x >> {done}"]

    answers = at_once([as_(agent, *command) for agent in AGENTS])

    assert sorted(code for code, _ in answers) == [0, 6, 6, 6]
    assert fleet(*command).returncode == 6
    assert done.read_text() == "x\n"


def test_agents_that_meet_at_one_lead_mail_it_once(tmp_path: Path) -> None:
    """F3: four runs emit one `x-claim` event at once: one is stored, the others learn whose."""
    home = Scripted(tmp_path / "home")
    home.put(
        "schemas/contact-made.json",
        '{"title": "contact-made", "description": "x", "type": "object", "required": ["email"],'
        ' "properties": {"email": {"type": "string"}}, "x-claim": "lead:{email}"}',
    )
    race = (
        "cat > /dev/null; touch ../$FLEET_AGENT.ready;"
        " while [ ! -e ../go ]; do sleep 0.05; done;"
        " fleet emit contact-made email=sarah@acme.com 2> err; echo $? > code;"
        " touch ../$FLEET_AGENT.done; while [ ! -e ../end ]; do sleep 0.05; done; echo done"
    )
    names = ["a", "b", "c", "d"]
    for name in names:
        home.agent(name, race)
    runs = [home.start("run", name) for name in names]
    work = home.root / "work"
    try:
        assert until(lambda: all((work / f"{name}.ready").exists() for name in names), 40)
        (work / "go").touch()
        assert until(lambda: all((work / f"{name}.done").exists() for name in names), 40)
    finally:
        (work / "end").touch()
        assert [run.wait(40) for run in runs] == [0] * 4

    codes = [int((work / name / "code").read_text()) for name in names]
    assert sorted(codes) == [0, 6, 6, 6]
    (event,) = home.fleet.store.read("events", 0, 9).records
    assert event.body["from_agent"] == names[codes.index(0)]
    for name, code in zip(names, codes, strict=True):
        said = (work / name / "err").read_text()
        assert code == 0 or f"HELD by {event.body['from_agent']}" in said


def test_a_token_of_yesterday_writes_nothing(tmp_path: Path) -> None:
    """F3: a key that changed hands keeps the former holder's guarded event out."""
    home = Scripted(tmp_path / "home")
    home.put(
        "schemas/contact-made.json",
        '{"title": "contact-made", "description": "x", "type": "object", "required": ["email"],'
        ' "properties": {"email": {"type": "string"}}, "x-claim": "lead:{email}"}',
    )
    first, second = Actor(home, "first"), Actor(home, "second")
    emit = call("emit", "contact-made", "email=a@b.c")

    mine = first.does(call("claim", "lead:a@b.c", "--keep", "1h"), emit)
    theirs = second.does(emit, call("release", "lead:a@b.c"), call("renew", "lead:a@b.c"))
    home.call("--as", "first", "release", "lead:a@b.c")
    (then,) = second.does(emit)

    assert [one.code for one in mine] == [0, 0]
    assert [one.code for one in theirs] == [6, 6, 6]
    assert then.code == 0
    authors = [r.body["from_agent"] for r in home.fleet.store.read("events", 0, 9).records]
    assert authors == ["first", "second"]
