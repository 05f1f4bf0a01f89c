"""The real CLI under fleet's own commands: what one agent does reaches the others, and only so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from claude.real_fleet import RealFleet, play
from fleet.runner.probes.messages_stub import MessagesStub, bash, say
from fleets import running, until

pytestmark = pytest.mark.claude

Start = Callable[..., MessagesStub]

POST = """fleet post strategy - <<'EOT'
Cursor cut Pro to $20 (pricing page). {"who": "writer"}: worth a comparison?
EOT"""


def test_what_one_run_says_is_in_the_next_agents_request(
    tmp_path: Path, cli: Path, stub: Start
) -> None:
    """A post, an event, a claim and a report made from Bash are in a colleague's system prompt."""
    scout = play(
        "scout",
        bash(POST),
        bash("fleet emit note 'n=oldPrice $40' && fleet emit note n=for-you --to writer"),
        bash("fleet claim draft:cursor --keep 3d"),
        bash("fleet report 'looked at 3 pages' --next 'look again'"),
        say("Told them."),
    )
    server = stub(scout, play("writer", bash("fleet claim draft:cursor"), say("I read it all.")))
    home = RealFleet(tmp_path / "home", cli, server)
    home.claude("scout")
    home.claude("writer", "collaborators: [scout]")

    done = [home.call("run", name) for name in ("scout", "writer")]

    assert [one.returncode for one in done] == [0, 0], done
    wrote, read = reversed(home.runs())
    assert (wrote.report, wrote.next, wrote.denials) == ("looked at 3 pages", "look again", ())
    asked, after = home.asked(read.id)[:2]
    told = asked.system()
    assert '{"who": "writer"}: worth a comparison?' in told
    assert "Cursor cut Pro to $20" in told
    assert "oldPrice $40" in told.partition("## Events for you")[2]
    assert "for-you" in told.partition("## Events for you")[2]
    assert "looked at 3 pages" in told.partition("## Awareness")[2].partition("## Events")[0]
    assert "HELD by scout" in after.news()
    assert sorted(read.delivered) == ["events#1", "events#2"]
    assert home.fleet.bus.lag("writer", {}) == 0


def test_a_file_that_a_post_names_is_not_read(tmp_path: Path, cli: Path, stub: Start) -> None:
    """`@path` in a post, an event and the operator's own task reaches nobody as the file."""
    secret = tmp_path / "secret.txt"
    secret.write_text("opened by mistake")
    server = stub(play("writer", say("Done.")))
    home = RealFleet(tmp_path / "home", cli, server)
    home.claude("writer")
    home.call("post", "strategy", f"@{secret}")
    home.call("post", "strategy", f"look:\n@{secret} and @secret.txt")
    home.call("emit", "note", f"n=@{secret}")
    (home.work("writer") / "secret.txt").write_text("opened by mistake")

    assert home.call("run", "writer").returncode == 0

    (asked,) = server.asked
    assert asked.everything().count(str(secret)) >= 3
    assert "opened by mistake" not in asked.everything()


def test_a_long_answer_is_kept_whole(tmp_path: Path, cli: Path, stub: Start) -> None:
    """A result of 300 kB is judged ok, and stands in the run's folder to its last letter."""
    answer = "word " * 60_000 + "end"
    home = RealFleet(tmp_path / "home", cli, stub(say(answer)))
    home.claude("writer")

    assert home.call("run", "writer").returncode == 0

    (run,) = home.runs()
    assert (run.outcome, run.turns) == ("ok", 1)
    assert answer in (home.root / "state" / "run" / run.id / "stdout.jsonl").read_text()


def test_four_agents_at_once(tmp_path: Path, cli: Path, stub: Start) -> None:
    """Four runs that are alive together under `fleet up` each end well, each with its own name."""
    names = ("one", "two", "three", "four")
    plays = [
        play(name, bash(f"fleet post strategy 'I am {name}'", delay=3), say("Done."))
        for name in names
    ]
    server = stub(*plays)
    home = RealFleet(tmp_path / "home", cli, server, concurrency=4)
    for name in names:
        home.claude(name, "max_runs_per_day: 1", schedule="{every: 1s}")

    with running(home) as up:
        assert until(lambda: len({run.agent for run in home.ended()}) == 4, 60), up.said()
        assert home.call("stop", "--drain").returncode == 0
        assert up.process.wait(60) == 0, up.said()

    assert {run.outcome for run in home.runs()} == {"ok"}
    first = {run.agent: run for run in home.runs()}.values()
    assert max(run.started for run in first) < min(str(run.ended) for run in first)
    board = home.fleet.talk.board("strategy").messages
    said = {(message.from_agent, message.text) for message in board}
    assert said == {(name, f"I am {name}") for name in names}
