"""P7: an event is consumed only by a successful run that was shown it, or set aside loudly."""

from pathlib import Path

from fleets import Scripted, until

READS = (
    "cat > /dev/null; fleet events --for $FLEET_AGENT; fleet read strategy --unread;"
    " fleet ack events#1;"
)
FAILING = {
    "crashed": (READS + "echo half; exit 3", ()),
    "empty": (READS.replace(";", " > /dev/null;"), ()),
    "timeout": ("cat > /dev/null; echo on; sleep 30", ("timeout: 1s", "grace: 1s")),
    "stalled": ("cat > /dev/null; sleep 30", ("idle_timeout: 1s", "grace: 1s")),
    "incomplete": (READS + "echo done", ("expects: {any_of: [{event: note}]}",)),
    "killed": ("cat > /dev/null; touch started; sleep 30", ("grace: 1s",)),
    "launch_failed": ("true", ('command: ["/no/such/program"]',)),
    "render_failed": ("true", ("prompt: broken.md.j2",)),
}


def test_no_end_but_success_consumes(tmp_path: Path) -> None:
    """One event and eight agents whose runs end badly, each in its own way: it waits for all."""
    home = Scripted(tmp_path / "home", concurrency=len(FAILING))
    home.put("prompts/broken.md.j2", "{% block context %}{{ agent.nmae }}{% endblock %}")
    for outcome, (script, lines) in FAILING.items():
        home.agent(outcome.replace("_", "-"), script, *lines)
    ref = home.call("emit", "note", "n=1").stdout.strip()
    home.call("post", "strategy", "hello")

    runs = [home.start("run", agent) for agent in home.fleet.config.agents]
    assert until((home.root / "work" / "killed" / "started").exists)
    assert home.call("halt", "killed").returncode == 0

    assert [run.wait(60) for run in runs] == [8] * len(runs)
    fleet = home.fleet
    assert {run.outcome for run in home.runs()} == set(FAILING)
    for run in home.runs():
        assert run.advance == {}
        assert run.delivered == (() if run.outcome == "render_failed" else (ref,))
        assert fleet.bus.lag(run.agent, fleet.runs.last_ok_advance(run.agent)) == 1
        assert fleet.talk.digest(run.agent, "strategy", 0, 9).unread == 1
    home.call("resume", "killed")
    for agent in ("killed", "crashed"):
        assert ref in home.call("context", agent).stdout


def test_looking_consumes_nothing(scripted: Scripted) -> None:
    """Whatever is read or tried out beside runs, no cursor moves."""
    scripted.agent("worker", "cat > /dev/null; echo done")
    scripted.call("emit", "note", "n=1")
    assert scripted.call("run", "worker").returncode == 0
    ref = scripted.call("emit", "note", "n=2").stdout.strip()
    cursors = scripted.root / "state" / "cursors"
    before = {path.name: path.read_bytes() for path in cursors.iterdir()}

    for argv in (
        ("context", "worker"),
        ("events", "--for", "worker"),
        ("--as", "worker", "read", "strategy", "--unread"),
        ("run", "worker", "--dry-run"),
        ("status",),
        ("verify",),
    ):
        assert scripted.call(*argv).returncode == 0

    assert {path.name: path.read_bytes() for path in cursors.iterdir()} == before
    assert ref in scripted.call("context", "worker").stdout


def test_what_success_did_not_show_waits(scripted: Scripted) -> None:
    """A run that acknowledges the first of three events consumes that one; the others wait."""
    script = "cat > /dev/null; test -e all || fleet ack events#1; echo done"
    scripted.agent("worker", script)
    refs = [scripted.call("emit", "note", f"n={n}").stdout.strip() for n in range(3)]

    assert scripted.call("run", "worker").returncode == 0
    (scripted.root / "work" / "worker" / "all").touch()
    assert scripted.call("run", "worker").returncode == 0
    assert scripted.call("run", "worker").returncode == 0

    delivered = [list(run.delivered) for run in reversed(scripted.runs())]
    assert delivered == [refs, refs[1:], []]


def test_a_run_is_told_what_waits_and_consumes_it_by_success(scripted: Scripted) -> None:
    """An event is in the prompt of the first run that ends well, and of no later one."""
    scripted.agent("worker", "cat > seen-$FLEET_RUN_ID.txt; test -e ready && echo done")
    event = scripted.call("emit", "note", "n=first").stdout.strip()

    assert scripted.call("run", "worker").returncode == 8
    (scripted.root / "work" / "worker" / "ready").touch()
    assert scripted.call("run", "worker").returncode == 0
    assert scripted.call("run", "worker").returncode == 0

    delivered = [event in run.delivered for run in reversed(scripted.runs())]
    assert delivered == [True, True, False]
    prompts = sorted((scripted.root / "work" / "worker").glob("seen-*.txt"))
    sections = [path.read_text().split("## Events")[1].split("## Channels")[0] for path in prompts]
    assert [event in section for section in sections] == delivered


def test_five_failures_set_an_event_aside_and_the_rest_goes_on(scripted: Scripted) -> None:
    """A poisonous event ends in the dead letters with an alert; its neighbours are delivered."""
    script = "cat > prompt; if grep -q poison prompt; then exit 1; fi; echo done"
    scripted.agent("worker", script)
    refs = [scripted.call("emit", "note", f"n={n}").stdout.strip() for n in ("a", "poison", "c")]

    codes = [scripted.call("run", "worker").returncode for _ in range(9)]

    fleet = scripted.fleet
    dead = [r.body for r in fleet.store.read("deadletters", 0, 10).records]
    assert [(d["event"], d["attempts"]) for d in dead] == [(refs[1], 5)]
    assert "dead-letter" in [r.body["kind"] for r in fleet.store.read("alerts", 0, 10).records]
    delivered = [ref for run in scripted.runs() if run.outcome == "ok" for ref in run.delivered]
    assert sorted(delivered) == [refs[0], refs[2]]
    assert codes[-1] == 0
