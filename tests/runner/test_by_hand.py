import json
import signal
from pathlib import Path

import pytest

from fleets import Scripted, running, until

REPORT = "cat > prompt.txt; fleet report 'did it' --next 'more'"


@pytest.mark.parametrize(
    ("script", "outcome", "code"),
    [
        (f"{REPORT}", "ok", 0),
        ("cat > /dev/null", "empty", 8),
        ("echo half; exit 3", "crashed", 8),
        ("echo half; kill -9 $$", "crashed", 8),
    ],
)
def test_a_run_by_hand_ends_with_its_outcome(
    scripted: Scripted, script: str, outcome: str, code: int
) -> None:
    """`fleet run` waits, exits as the outcome table says, and the record says the same."""
    scripted.agent("worker", script)

    done = scripted.call("run", "worker")

    (run,) = scripted.runs()
    assert (run.outcome, done.returncode) == (outcome, code), done.stderr
    assert run.slot == f"hand:{run.id}"
    assert run.by is not None
    (fire,) = scripted.fires()
    assert (fire.body["result"], fire.body["run"]) == ("started", run.id)
    assert scripted.fleet.claims.live() == []


def test_a_run_that_its_command_cannot_start_names_it(scripted: Scripted) -> None:
    """A command that is not there is `launch_failed`, and one line names it."""
    scripted.agent("worker", "true")
    path = scripted.root / "agents" / "worker.yaml"
    path.write_text(path.read_text().replace("/bin/sh", "/no/such/program"))

    done = scripted.call("run", "worker")

    (run,) = scripted.runs()
    assert (done.returncode, run.outcome) == (8, "launch_failed")
    assert "/no/such/program" in run.reason


def test_a_template_with_a_fault_launches_nothing(scripted: Scripted) -> None:
    """An undefined name is `render_failed` with template and line; no process is started."""
    scripted.put("prompts/base.md.j2", "{% block context %}\n{{ agent.nmae }}{% endblock %}")
    scripted.agent("worker", "touch ran; echo ran")

    done = scripted.call("run", "worker")

    (run,) = scripted.runs()
    assert (done.returncode, run.outcome) == (8, "render_failed")
    assert "base.md.j2" in run.reason
    assert not (scripted.root / "work" / "worker" / "ran").exists()
    assert scripted.fleet.claims.live() == []


def test_an_agent_whose_memory_was_lost_is_not_launched(scripted: Scripted) -> None:
    """Its run is `config` and says what was lost: no agent works as if it had learned nothing."""
    scripted.agent("worker", "touch ran; echo ran")
    scripted.call("--as", "worker", "lesson", "add", "Short lines win")
    (segment,) = (scripted.root / "state" / "memory-log" / "worker").glob("*.jsonl")
    segment.write_bytes(b"")

    done = scripted.call("run", "worker")

    (run,) = scripted.runs()
    assert (done.returncode, run.outcome) == (8, "config"), done.stderr
    assert "memory-log/worker lost records" in run.reason
    assert not (scripted.root / "work" / "worker" / "ran").exists()
    assert scripted.fleet.claims.live() == []


def test_the_same_agent_never_runs_twice_at_once(scripted: Scripted) -> None:
    """A second run of an agent is refused with exit 6 while the first is alive."""
    scripted.agent("worker", "touch started; while [ ! -e go ]; do sleep 0.05; done; echo done")
    cwd = scripted.root / "work" / "worker"
    first = scripted.start("run", "worker")
    assert until((cwd / "started").exists)

    second = scripted.call("run", "worker")
    (cwd / "go").touch()

    assert first.wait(20) == 0
    assert second.returncode == 6, second.stderr
    assert "worker" in second.stderr
    assert len(scripted.runs()) == 1


def test_the_cap_counts_runs_of_other_terminals(tmp_path: Path) -> None:
    """With `concurrency: 1` a run of another agent is not started (75) while one is alive."""
    home = Scripted(tmp_path / "home", concurrency=1)
    home.agent("one", "touch started; while [ ! -e go ]; do sleep 0.05; done; echo done")
    home.agent("two", "echo done")
    cwd = home.root / "work" / "one"
    first = home.start("run", "one")
    assert until((cwd / "started").exists)

    refused = home.call("run", "two")
    (cwd / "go").touch()

    assert first.wait(20) == 0
    assert refused.returncode == 75
    assert home.call("run", "two").returncode == 0


@pytest.mark.parametrize("script", ["exit 3", "exec /no/such/program", "cat > /dev/null"])
def test_a_streak_of_failures_is_one_alert(scripted: Scripted, script: str) -> None:
    """From the third failure in a row, of any kind, there is one alert; a new streak is another.

    The success between them closes the first.
    """
    scripted.agent("worker", f"test -e well && echo done && exit 0; {script}")
    well = scripted.root / "work" / "worker" / "well"

    def alerts() -> int:
        records = scripted.fleet.store.read("alerts", 0, 100).records
        return sum(one.body["op"] == "alert" for one in records)

    counts = []
    for _ in range(5):
        scripted.call("run", "worker")
        counts.append(alerts())
    well.touch()
    assert scripted.call("run", "worker").returncode == 0
    well.unlink()
    for _ in range(3):
        scripted.call("run", "worker")

    assert counts == [0, 0, 1, 1, 1]
    assert alerts() == 2


def test_a_failing_agent_is_seen_behind_a_pause(scripted: Scripted) -> None:
    """`status` says `paused` and still that it fails; a program that is not there is a failure."""
    scripted.agent("worker", "true")
    path = scripted.root / "agents" / "worker.yaml"
    path.write_text(path.read_text().replace("/bin/sh", "/no/such/program"))
    scripted.call("run", "worker")
    scripted.call("pause", "worker")

    (agent,) = json.loads(scripted.call("status", "--json").stdout)["agents"]

    assert (agent["state"], agent["failing"]) == ("paused", True)


def test_nothing_starts_on_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    """Below `limits.min_free` a run by hand is refused with 75, and `up` records `low_disk`."""
    home = Scripted(tmp_path / "home")
    text = (home.root / "fleet.yaml").read_text()
    home.put("fleet.yaml", text.replace("min_free: 1MiB", "min_free: 900000GiB"))
    home.agent("worker", "echo done", schedule="{every: 1s}")

    refused = home.call("run", "worker")

    assert (refused.returncode, home.runs()) == (75, [])
    assert "min_free" in refused.stderr
    with running(home) as up:
        assert until(home.fires, 10), up.said()
        up.stop()
    assert "low_disk" in {fire.body["result"] for fire in home.fires()}
    assert home.fleet.store.head("alerts") == 1


def test_next_answers_at_once_however_far_it_looks(scripted: Scripted) -> None:
    """A year of an agent that wakes each second is not held in memory: the first slots come."""
    scripted.agent("worker", "echo done", schedule="{every: 1s}")

    done = scripted.call("next", "--days", "400", "--limit", "3")

    assert len(done.stdout.splitlines()) == 3


def test_a_person_who_interrupts_a_run_stops_it(scripted: Scripted) -> None:
    """Ctrl-C at `fleet run` ends the command and what escaped it; the record says `killed`."""
    scripted.agent(
        "worker",
        "setsid sh -c 'trap \"\" TERM INT; touch started; sleep 60' & sleep 60",
        "grace: 1s",
    )
    terminal = scripted.start("run", "worker")
    assert until((scripted.root / "work" / "worker" / "started").exists)

    terminal.send_signal(signal.SIGINT)

    assert terminal.wait(20) == 8
    (run,) = scripted.runs()
    assert run.outcome == "killed"
    assert scripted.alive(run.id) == set()


def test_a_claim_of_the_run_is_released_and_a_kept_one_stays(scripted: Scripted) -> None:
    """When a run has ended only what it kept is still held, by its agent."""
    scripted.agent("worker", "fleet claim lead:a@b.c; fleet claim lead:d@e.f --keep 3d")

    assert scripted.call("run", "worker").returncode == 0

    assert [(c.key, c.holder) for c in scripted.fleet.claims.live()] == [("lead:d@e.f", "worker")]


def test_a_run_must_leave_what_the_operator_expects(scripted: Scripted) -> None:
    """Without the expected event a run is `incomplete`; with it, or idle, it is ok."""
    script = "cat > /dev/null; echo working; test -e how && sh how; exit 0"
    scripted.agent("worker", script, "expects: {any_of: [{event: note}, {file: 'out/*.md'}]}")
    how = scripted.root / "work" / "worker" / "how"

    outcomes = [scripted.call("run", "worker").returncode]
    for line in ("fleet emit note n=1", "mkdir out && touch out/a.md", "fleet report --idle none"):
        how.write_text(line + "\n")
        outcomes.append(scripted.call("run", "worker").returncode)
    how.write_text("true\n")
    outcomes.append(scripted.call("run", "worker").returncode)

    assert outcomes == [8, 0, 0, 0, 8]
    assert [run.outcome for run in scripted.runs()][-1] == "incomplete"
