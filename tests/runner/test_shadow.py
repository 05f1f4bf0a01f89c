"""Shadow runs: real runs whose writes wait for a person."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from calls import Actor, call, many
from fleet.alerts import open_ones, raise_alert
from fleet.errors import TryAgain
from fleet.ops import shadows
from fleet.records import Body, Draft
from fleet.shadow import Staged
from fleets import Scripted
from people import OPERATOR

SHAPES = Path(__file__).parents[2] / "docs" / "json"
SCRIPT = """
cat > /dev/null
fleet post strategy 'a shadow speaks'
fleet emit note n=1 --id K
fleet emit note n=1 --id K
fleet claim lead:x --keep 1d
fleet react strategy#1 agree
fleet report 'I would have mailed' --next 'again'
"""


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """A shadow agent, and one that would read what it says."""
    home = Scripted(tmp_path / "home")
    home.agent("ghost", SCRIPT, "mode: shadow", "expects: {all_of: [{event: note}]}")
    home.agent("reader", "cat", "collaborators: [ghost]")
    home.fleet.talk.post(OPERATOR, "strategy", "first")
    assert home.call("run", "ghost").returncode == 0
    return home


def written(home: Scripted) -> list[Body]:
    """What stands in the shared logs beyond the first message."""
    store = home.fleet.store
    records = [
        *store.read("events", 0, 99).records,
        *store.read("channels/strategy", 1, 99).records,
    ]
    return [record.body for record in records]


def test_nothing_of_a_shadow_run_reaches_anybody(home: Scripted) -> None:
    """Its run is ok and counted, its writes are staged once each, and no prompt shows any of it."""
    (run,) = home.ended("ghost")

    assert (run.outcome, run.shadow, run.report) == ("ok", True, "I would have mailed")
    assert written(home) == []
    assert [one.body["stream"] for one in home.fleet.shadow.staged(run.id)] == [
        "channels/strategy", "events", "channels/strategy",
    ]  # fmt: skip
    assert home.fleet.claims.get("lead:x") is None  # it held it, and not beyond its end
    seen = home.call("context", "reader").stdout
    assert "[ghost] ok" in seen
    assert "a shadow speaks" not in seen
    assert "would have mailed" not in seen
    (alert,) = home.fleet.store.read("alerts", 0, 9).records
    assert alert.body["what"] == "3 writes of ghost's shadow run wait"


def test_what_is_accepted_stands_as_if_the_run_had_written_it(home: Scripted) -> None:
    """The difference is shown; accepting writes it once, however often it is said."""
    env = {"FLEET_HOME": str(home.root)}
    listed, whole, shown, accepted, again, dropped, left = many(
        home.root,
        [
            call("shadow", "list", "--json"),
            call("shadow", "list", "ghost", "--json"),
            call("shadow", "list", "ghost"),
            call("shadow", "accept", "ghost"),
            call("shadow", "accept", "ghost"),
            call("shadow", "drop", "ghost"),
            call("shadow", "list", "--json"),
        ],
        env,
    )

    assert json.loads(listed.out)["writes"] == 3
    for shape, printed in (("waiting", listed), ("staged", whole)):
        for line in printed.out.splitlines():
            jsonschema.validate(
                json.loads(line), json.loads((SHAPES / f"{shape}.json").read_text())
            )
    assert "+ strategy: post" in shown.out
    assert "a shadow speaks" in shown.out
    assert "+ events: note" in shown.out
    assert (accepted.code, again.code, dropped.code) == (0, 0, 3)
    assert again.out.startswith("nothing is new: the writes of run ")
    assert " were accepted by operator, " in again.out
    assert left.out == ""
    (run,) = home.ended("ghost")
    assert [(b["op"], b["from_agent"], b["run"]) for b in written(home)] == [
        ("event", "ghost", run.id), ("post", "ghost", run.id), ("react", "ghost", run.id),
    ]  # fmt: skip
    assert "a shadow speaks" in home.call("context", "reader").stdout


def test_what_is_dropped_is_never_written(home: Scripted) -> None:
    """After a drop nothing is there, accepting is refused, and what it was stays on record."""
    done = many(
        home.root,
        [call("shadow", "drop", "ghost", "--reason", "spam"), call("shadow", "accept", "ghost")],
        {"FLEET_HOME": str(home.root)},
    )

    assert [one.code for one in done] == [0, 3]
    assert written(home) == []
    (run,) = home.ended("ghost")
    assert len(home.fleet.shadow.staged(run.id)) == 3


def test_a_claim_that_another_one_holds_stops_the_acceptance(home: Scripted) -> None:
    """What needs a claim is not written past its holder, and goes on when it is free."""
    home.put(
        "schemas/note.json",
        (home.root / "schemas/note.json").read_text().replace("}}", '}}, "x-claim": "note:{n}"', 1),
    )
    home.call("run", "ghost")
    run = home.ended("ghost")[0]
    other = home.fleet.claims.take(OPERATOR, "note:1", ttl=60.0)

    refused = home.call("shadow", "accept", run.id)
    home.fleet.claims.release(OPERATOR, other.key)
    accepted = home.call("shadow", "accept", run.id)

    assert refused.returncode == 3
    assert "needs note:1, which another one holds" in refused.stderr
    assert accepted.returncode == 0
    assert [body["op"] for body in written(home)] == ["event", "post", "react"]


def test_a_shadow_run_executes_nothing_through_fleet(tmp_path: Path) -> None:
    """`claim KEY -- CMD` is refused to it even where its file would allow the command."""
    home = Scripted(tmp_path / "home")
    mail = home.put("work/ghost/mail", "#!/bin/sh\ntouch mailed\n")
    mail.chmod(0o755)
    home.agent("ghost", "fleet claim k -- ./mail; echo $?", "mode: shadow", "may_run: [./mail]")

    home.call("run", "ghost")

    assert "5\n" in home.call("logs", "ghost").stdout
    assert not (home.root / "work/ghost/mailed").exists()


def test_every_write_of_a_shadow_run_says_that_it_is_staged(tmp_path: Path) -> None:
    """Each exits 0 with one line that says so, and `"staged": true`; what is its own says nothing.

    An id that is used twice is named as it was given.
    """
    home = Scripted(tmp_path / "home")
    home.agent("reader", "cat")
    home.fleet.talk.post(OPERATOR, "strategy", "first")
    home.fleet.bus.emit(OPERATOR, "note", {"n": "0"})
    ghost = Actor(home, "ghost", "mode: shadow")
    ghost.does()
    writer = home.fleet.author._replace(name="ghost")
    home.fleet.memory.goal(writer, "one goal")
    shared = [
        ["post", "strategy", "hello"], ["reply", "strategy#1", "yes"],
        ["react", "strategy#1", "agree"], ["pin", "strategy#1"], ["send", "reader", "hello"],
        ["emit", "note", "n=1", "--to", "reader"], ["metric", "record", "a", "views", "1"],
        ["lesson", "add", "short"], ["goal", "add", "more"], ["goal", "progress", "G1", "half"],
        ["research", "add", "it is", "--source", "a page"], ["memory", "plan", "add", "try"],
        ["strength", "add", "lines"], ["weakness", "add", "long mails"],
    ]  # fmt: skip
    own = [["claim", "lead:x"], ["report", "done"], ["ack", "events#1"]]

    done = ghost.does(
        *(call(*words) for words in (*shared, *own)),
        *(call(*words, "--json") for words in (*shared, *own[:2])),
        call("emit", "note", "n=1", "--id", "K1"),
        call("emit", "note", "n=2", "--id", "K1"),
    )

    plain, as_json = done[: len(shared)], done[len(shared) + len(own) : -4]
    assert {one.code for one in done[:-1]} == {0}, done
    assert {one.out.count("\n") for one in done[:-1]} == {1}
    assert not [one for one in plain if "(staged: waits for a person's word)" not in one.out]
    assert not [one for one in as_json if json.loads(one.out).get("staged") is not True]
    assert plain[5].out.startswith("emitted ")
    assert " to reader (staged" in plain[5].out
    assert not [one for one in done[len(shared) : -len(shared) - 4] if "staged" in one.out]
    assert done[-1].code == 3
    assert "the id 'K1' was used for another record" in done[-1].err


def test_nothing_is_accepted_that_todays_files_refuse(home: Scripted) -> None:
    """Every write that its agent could not make now is named; all of them or none is written."""
    strict = (home.root / "schemas/note.json").read_text().replace('["n"]', '["n", "why"]')
    channel = (home.root / "channels/strategy.yaml").read_text()
    plain = (home.root / "schemas/note.json").read_text()
    home.put("schemas/note.json", strict)
    home.put("channels/strategy.yaml", channel.replace("members: all", "members: [reader]"))
    home.put("agents/ghost.yaml", (home.root / "agents/ghost.yaml").read_text().replace(
        "[strategy]", "[]"))  # fmt: skip

    refused = home.call("shadow", "accept", "ghost")

    assert refused.returncode == 3
    first, second, third, last = refused.stderr.splitlines()
    assert "write 1, to channels/strategy: ghost is no member of strategy" in first
    assert "write 2, to events: note: " in second
    assert "why" in second
    assert "write 3, to channels/strategy: ghost is no member" in third
    assert "nothing was written, 3 writes of run " in last
    assert written(home) == []

    home.put("schemas/note.json", plain)
    (home.root / "channels/strategy.yaml").unlink()
    home.put("channels/other.yaml", channel)
    home.put("agents/reader.yaml", (home.root / "agents/reader.yaml").read_text().replace(
        "[strategy]", "[other]"))  # fmt: skip
    retired = home.call("shadow", "accept", "ghost")
    assert retired.returncode == 3
    assert "there is no channel 'strategy'" in retired.stderr
    assert "2 writes" in retired.stderr
    assert written(home) == []

    home.put("channels/strategy.yaml", channel)
    assert home.call("shadow", "accept", "ghost").returncode == 0
    assert len(written(home)) == 3


def test_an_acceptance_that_was_cut_short_is_finished_under_other_files(home: Scripted) -> None:
    """What stands already is asked nothing again; the addressee of what is left must be there."""
    (run,) = home.ended("ghost")
    shadow = home.fleet.shadow
    for record in shadow.staged(run.id)[:2]:
        shadow._make(run.id, record)  # as far as the killed one came
    schema = (home.root / "schemas/note.json").read_text()
    home.put("schemas/note.json", schema.replace('["n"]', '["n", "why"]'))

    assert home.call("shadow", "accept", "ghost").returncode == 0
    assert len(written(home)) == 3


def test_an_event_for_one_who_is_gone_is_not_accepted(tmp_path: Path) -> None:
    """An addressee that no agent's file makes any more is a fault of the write."""
    home = Scripted(tmp_path / "home")
    home.agent("ghost", "fleet emit note n=1 --to reader", "mode: shadow")
    home.agent("reader", "cat")
    home.call("run", "ghost")
    (home.root / "agents/reader.yaml").unlink()

    refused = home.call("shadow", "accept", "ghost")

    assert refused.returncode == 3
    assert "write 1, to events: there is no agent 'reader'" in refused.stderr
    assert home.fleet.store.head("events") == 0


def test_a_decision_is_said_where_the_writes_are_listed(home: Scripted) -> None:
    """The list of a decided run begins with who decided, when and why; JSON has the word."""
    env = {"FLEET_HOME": str(home.root)}
    before, _, listed, as_json = many(
        home.root,
        [
            call("shadow", "list", "ghost", "--json"),
            call("shadow", "drop", "ghost", "--reason", "spam"),
            call("shadow", "list", "ghost"),
            call("shadow", "list", "ghost", "--json"),
        ],
        env,
    )

    first, second, *_ = listed.out.splitlines()
    assert first.startswith("dropped by operator, ")
    assert first.endswith(": spam")
    assert second == "+ strategy: post"
    assert [json.loads(line)["decided"] for line in before.out.splitlines()] == [None] * 3
    assert [json.loads(line)["decided"] for line in as_json.out.splitlines()] == ["dropped"] * 3


def test_what_was_retracted_is_not_accepted_again(home: Scripted) -> None:
    """Accepted before or not, it is refused; and no word is taken on a run that goes on."""
    (run,) = home.ended("ghost")
    for decide in (shadows.accept, partial(shadows.drop, reason="spam")):
        with pytest.raises(TryAgain, match="is still going"):
            decide(home.fleet, OPERATOR, replace(run, outcome=None))
    env = {"FLEET_HOME": str(home.root)}
    accepted, taken, again = many(
        home.root,
        [
            call("shadow", "accept", "ghost"),
            call("retract", "ghost", "--reason", "wrong page"),
            call("shadow", "accept", "ghost"),
        ],
        env,
    )

    assert (accepted.code, taken.code, again.code) == (0, 0, 3)
    assert "was retracted (wrong page)" in again.err


def test_an_id_that_stands_for_another_record_by_now_stops_the_whole(home: Scripted) -> None:
    """It is found before anything is written, not when its turn comes."""
    home.fleet.bus.emit(OPERATOR, "note", {"n": "9"}, key="K")

    refused = home.call("shadow", "accept", "ghost")

    assert refused.returncode == 3
    used = "write 2, to events: the id 'K' was used for another record (events#1)"
    assert used in refused.stderr
    assert [body["from_agent"] for body in written(home)] == ["operator"]


@pytest.mark.parametrize("word", ["accept", "drop"])
def test_a_word_on_the_last_run_that_waits_closes_its_alert(tmp_path: Path, word: str) -> None:
    """While another run of the agent waits the alert stays; it is closed in the person's name."""
    home = Scripted(tmp_path / "home")
    home.agent("ghost", "true")
    fleet = home.fleet
    raise_alert(fleet.store, kind="shadow", subject="ghost", what="w", done="d", fix="f")
    for run in ("r1", "r2"):
        Staged(fleet.store, "ghost", run).append("metrics", [Draft({"op": "metric"})])
    Staged(fleet.store, "other", "r3").append("metrics", [Draft({"op": "metric"})])

    def decide(run: str) -> list[str]:
        if word == "accept":
            fleet.shadow.accept(OPERATOR, run)
        else:
            fleet.shadow.drop(OPERATOR, run, "spam")
        return [one.subject for one in open_ones(fleet.store, fleet.cache)]

    assert (decide("r1"), decide("r2")) == (["ghost"], [])
    assert fleet.store.read("alerts", 1, 9).records[0].body["by"] == "operator"
