"""Another version of the CLI is told, probed, and tried by one run before the rest follows."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fakeclaude import RESULT, claude_agent
from fleet import alerts
from fleet.config.model import Claude
from fleet.ops import claude_cli
from fleet.runner import cliwatch
from fleet.runner.cliwatch import BROKEN, WORKS, canary_of
from fleet.runner.situation import moment
from fleet.runs import OUTCOMES, Run
from fleet.wiring import Fleet, open_fleet
from fleets import Scripted, running, until

PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then {version}; exit; fi
cat > /dev/null
case $FLEET_AGENT in probe) exit 1;; esac
{body}
echo '{result}'
"""


class Cli:
    """The program that a home's agents are launched with, in one version after the other."""

    def __init__(self, home: Scripted) -> None:
        self.home = home
        self.path = home.root / "bin" / "claude"
        self.be("2.0.1")
        text = (home.root / "fleet.yaml").read_text()
        home.put("fleet.yaml", f"{text}claude: {{path: {self.path}}}\n")

    def be(self, version: str, body: str = "") -> None:
        """Replace the program, as an update does: another file of the same name."""
        says = f"echo '{version} (Claude Code)'" if version else "exit 3"
        text = PROGRAM.format(version=says, body=body, result=json.dumps(RESULT))
        new = self.home.put("bin/new", text)
        new.chmod(0o755)
        new.replace(self.path)


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """A home with two agents of the CLI."""
    home = Scripted(tmp_path / "home")
    claude_agent(home, "one")
    claude_agent(home, "two")
    return home


@pytest.fixture
def cli(scripted: Scripted) -> Cli:
    """Its CLI, version 2.0.1."""
    return Cli(scripted)


@pytest.fixture
def fleet(cli: Cli) -> Fleet:
    """The home, whose CLI was asked for its version."""
    fleet = cli.home.fleet
    cliwatch.learn(fleet)
    return fleet


def probed(fleet: Fleet) -> None:
    """As after the probes."""
    cliwatch._change(fleet.store, lambda body: body | {"probed": True})


def ended(fleet: Fleet, outcome: str, *, at: str = "", **more: object) -> Run:
    """A run that ended so, with the version that is there now."""
    one = claude_cli.known(fleet.store)
    assert one is not None
    run = Run("r1", "one", started=one.at, ended=at or one.at, outcome=outcome, cli=one.version)
    return replace(run, **more)


def told(fleet: Fleet) -> list[tuple[str, str]]:
    """Kind and text of every alert, as often as it was raised."""
    return [(one.kind, one.what) for one in alerts.raised(fleet.store, fleet.cache, 50)]


def test_the_first_version_ever_is_accepted(fleet: Fleet) -> None:
    """Nobody waits and nobody is told, before it was asked and after."""
    one = claude_cli.known(fleet.store)

    assert one is not None
    assert (one.version, one.accepted, one.is_new) == ("2.0.1", "2.0.1", False)
    assert canary_of(fleet) == ("", True)
    assert told(fleet) == []


def test_a_cli_that_was_never_asked_holds_nobody_up(cli: Cli) -> None:
    """Before the first answer, and where there is no such program, agents start."""
    assert canary_of(cli.home.fleet) == ("", True)
    cli.path.unlink()
    assert cliwatch.learn(cli.home.fleet) is None
    assert canary_of(cli.home.fleet) == ("", True)


def test_a_new_version_goes_through_its_steps(fleet: Fleet, cli: Cli) -> None:
    """Asked, told once with both versions and the fix, probed, one run, accepted by its success."""
    cli.be("2.0.2")
    steps = [canary_of(fleet)]
    for _ in range(2):
        cliwatch.learn(fleet)
        steps.append(canary_of(fleet))
    probed(fleet)
    steps.append(canary_of(fleet))
    fleet.runs.start(fleet.author, "two", "r0", slot="s", cli="2.0.2")
    steps.append(canary_of(fleet))
    cliwatch.after(fleet, ended(fleet, "ok"))
    steps.append(canary_of(fleet))

    assert [step.free for step in steps] == [False, False, False, True, False, True]
    assert "another file" in steps[0].why
    assert "is probed" in steps[1].why
    assert "claude 2.0.2 is new, agents worked with 2.0.1" in steps[3].why
    assert steps[-1].why == ""
    (alert,) = alerts.raised(fleet.store, fleet.cache, 50)
    assert (alert.kind, alert.needs_a_person) == ("cli-changed", False)
    assert "claude 2.0.2 now, agents worked with 2.0.1" in alert.what
    assert "fleet doctor --claude" in alert.fix


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_a_run_shows_about_its_cli(fleet: Fleet, cli: Cli, outcome: str) -> None:
    """Each outcome accepts the version, holds the others for ten minutes, or says nothing."""
    cli.be("2.0.2")
    cliwatch.learn(fleet)
    probed(fleet)

    for _ in range(2):
        cliwatch.after(fleet, ended(fleet, outcome))

    one = claude_cli.known(fleet.store)
    assert one is not None
    assert (one.accepted == "2.0.2") == (outcome in WORKS)
    assert bool(one.held) == (outcome in BROKEN)
    assert canary_of(fleet).free == (outcome not in BROKEN)
    broken = [what for kind, what in told(fleet) if kind == "cli-broken"]
    assert len(broken) == (outcome in BROKEN)
    assert all(f"of claude 2.0.2 ended badly: {outcome}" in what for what in broken)


def test_other_runs_show_nothing(fleet: Fleet, cli: Cli) -> None:
    """A run of the version before, one of another command and one that goes on change nothing."""
    cli.be("2.0.2")
    cliwatch.learn(fleet)
    probed(fleet)

    for more in ({"cli": "2.0.1"}, {"cli": None}, {"ended": None}):
        cliwatch.after(fleet, ended(fleet, "ok", **more))

    one = claude_cli.known(fleet.store)
    assert one is not None
    assert one.accepted == "2.0.1"


def test_an_old_failure_does_not_hold_again(fleet: Fleet, cli: Cli) -> None:
    """What was settled may be settled again: the hold ends where the newest failure ends it."""
    cli.be("2.0.2")
    cliwatch.learn(fleet)
    later = ended(fleet, "config", at="2027-01-01T00:00:00.000+00:00", id="r2")
    cliwatch.after(fleet, later)
    before = claude_cli.known(fleet.store)

    cliwatch.after(fleet, ended(fleet, "config"))

    assert claude_cli.known(fleet.store) == before
    assert len(told(fleet)) == 2


def test_the_same_version_in_another_file_is_no_change(fleet: Fleet, cli: Cli) -> None:
    """An installation anew is asked, and then agents go on without a canary."""
    cli.be("2.0.1")
    assert not canary_of(fleet).free

    cliwatch.learn(fleet)

    assert canary_of(fleet) == ("", True)
    assert told(fleet) == []


def test_who_has_another_path_is_told_the_same(fleet: Fleet, tmp_path: Path) -> None:
    """Where a person's PATH leads to another CLI, the runner's is what holds agents or does not."""
    other = tmp_path / "bin" / "claude"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    cliwatch._change(fleet.store, lambda body: body | {"name": "claude"})
    fleet.__dict__["config"] = fleet.config._replace(claude=Claude("claude"))
    there = open_fleet(fleet.root, env={"PATH": str(other.parent)})
    there.__dict__["config"] = fleet.config

    cliwatch.learn_by_hand(there)

    assert canary_of(there) == canary_of(fleet) == ("", True)
    assert claude_cli.known(fleet.store).version == "2.0.1"  # type: ignore[union-attr]


def test_another_name_in_fleet_yaml_is_another_cli(fleet: Fleet, cli: Cli) -> None:
    """From the edit on nothing of it starts until it was asked."""
    (cli.home.root / "bin" / "pinned").write_bytes(cli.path.read_bytes())
    (cli.home.root / "bin" / "pinned").chmod(0o755)
    text = (cli.home.root / "fleet.yaml").read_text()
    cli.home.put("fleet.yaml", text.replace("bin/claude}", "bin/pinned}"))
    fleet = cli.home.fleet
    assert not canary_of(fleet).free

    cliwatch.learn(fleet)

    assert canary_of(fleet) == ("", True)


def test_back_to_the_accepted_version_frees_everybody(fleet: Fleet, cli: Cli) -> None:
    """With the older program in its place again nobody waits any more."""
    cli.be("2.0.2")
    cliwatch.learn(fleet)
    cliwatch.after(fleet, ended(fleet, "config"))
    assert not canary_of(fleet).free

    cli.be("2.0.1")
    cliwatch.learn(fleet)

    assert canary_of(fleet) == ("", True)


def test_a_cli_that_says_no_version_has_to_show_that_it_works(fleet: Fleet, cli: Cli) -> None:
    """Without an answer it is a new version like any other; the one after it is accepted again."""
    cli.be("")
    cliwatch.learn(fleet)
    probed(fleet)
    assert canary_of(fleet).why.startswith("a claude that does not say its version is new")

    cliwatch.after(fleet, ended(fleet, "ok"))
    assert canary_of(fleet) == ("", True)
    cli.be("2.0.3")
    cliwatch.learn(fleet)

    assert canary_of(fleet) == ("", True)


def test_a_cli_that_did_not_answer_is_asked_again(cli: Cli) -> None:
    """One that says its version at last is accepted; a person's run does not ask it twice."""
    fleet = cli.home.fleet
    flag = cli.home.root / "answers"
    cli.be("", "true; }\n{ true")
    text = cli.path.read_text().replace("exit 3", f"[ -e {flag} ] && echo 2.0.1; exit 0")
    cli.path.write_text(text)
    cliwatch.learn(fleet)
    flag.touch()
    cliwatch.learn_by_hand(fleet)
    before = claude_cli.known(fleet.store)
    cliwatch.learn(fleet, again=True)
    after = claude_cli.known(fleet.store)

    assert before is not None
    assert after is not None
    assert (before.version, after.version, after.accepted) == ("", "2.0.1", "2.0.1")


def test_a_run_by_hand_waits_for_nobody_and_accepts(scripted: Scripted, cli: Cli) -> None:
    """A person's run has the version on record, goes ahead of the canary and takes its place."""
    calls = [json.loads(scripted.call("run", "one", "--json").stdout)]
    cli.be("2.0.2")
    calls.append(json.loads(scripted.call("run", "two", "--json").stdout))

    assert [(call["outcome"], call["cli"]) for call in calls] == [("ok", "2.0.1"), ("ok", "2.0.2")]
    assert [kind for kind, _ in told(scripted.fleet)] == ["cli-changed"]
    assert canary_of(scripted.fleet) == ("", True)
    shown = [json.loads(line) for line in scripted.call("runs", "--json").stdout.splitlines()]
    assert [run["cli"] for run in shown] == ["2.0.2", "2.0.1"]


def test_a_run_keeps_the_version_it_began_with(scripted: Scripted, cli: Cli) -> None:
    """An update in the middle of a run is no news about that run."""
    cli.be("2.0.1", "cp ../../bin/claude ../../bin/new; mv ../../bin/new ../../bin/claude")

    said = json.loads(scripted.call("run", "one", "--json").stdout)

    assert (said["outcome"], said["cli"]) == ("ok", "2.0.1")


def test_under_fleet_up_one_run_goes_first(scripted: Scripted, cli: Cli) -> None:
    """After an update one agent runs while the others wait, and when it ended well all go on.

    Nobody had to ask: the change and the probes that failed are among the alerts.
    """
    for name in ("one", "two", "three"):
        claude_agent(scripted, name, schedule="{every: 1s}")

    def of(version: str) -> list[Run]:
        return [run for run in scripted.runs() if run.cli == version]

    with running(scripted) as up:
        assert until(lambda: len({run.agent for run in of("2.0.1") if run.ended}) == 3), up.said()
        cli.be("2.0.2", "while [ ! -e ../../go ]; do sleep 0.05; done")
        assert until(lambda: of("2.0.2"), 30), up.said()
        assert not until(lambda: len(of("2.0.2")) > 1, 2.5), up.said()
        first = of("2.0.2")
        (scripted.root / "go").touch()
        assert until(lambda: len({run.agent for run in of("2.0.2")}) == 3, 30), up.said()
        assert up.stop() == 0

    assert len(first) == 1
    last = max(run.started for run in of("2.0.1"))
    rest = [run for run in of("2.0.2") if run.id != first[0].id]
    (done,) = [run for run in scripted.runs() if run.id == first[0].id]
    assert last < first[0].started < str(done.ended) < min(run.started for run in rest)
    assert {kind for kind, _ in told(scripted.fleet)} == {"cli-changed", "cli-probes"}


def test_asking_is_left_alone_when_there_is_nothing_to_ask(fleet: Fleet, cli: Cli) -> None:
    """The chore starts a process for another file, once, and none for one that is known."""
    said: list[str] = []
    watch = cliwatch.CliWatch(said.append)
    now = moment(fleet)
    watch.look(fleet, now)
    assert watch._asking is None
    cli.be("2.0.2")
    watch._next = 0.0

    watch.look(fleet, now)

    asking = watch._asking
    assert asking is not None
    watch.look(fleet, now)
    assert watch._asking is asking
    assert until(asking.over, 30)
    one = claude_cli.known(fleet.store)
    assert one is not None
    assert (one.version, one.probed, asking.fault) == ("2.0.2", True, "")
    watch.look(fleet, now)
    assert (watch._asking, said) == (None, [])


def test_probes_end_with_the_runner(
    fleet: Fleet, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that is stopped while its CLI is probed leaves no process and no folder of that."""
    aside = tmp_path / "tmp"
    aside.mkdir()
    fleet = open_fleet(fleet.root, env={**os.environ, "TMPDIR": str(aside)})
    cli.be("2.0.2", "touch $TMPDIR/begun; exec sleep 60")
    cli.path.write_text(cli.path.read_text().replace("probe) exit 1", "none) exit 1"))
    watch = cliwatch.CliWatch(print)
    watch.look(fleet, moment(fleet))
    assert until(lambda: list(aside.rglob("begun"))), watch._asking

    watch.close(fleet)

    assert until(lambda: not list(aside.iterdir()), 5)
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if _has(path, aside)]


def _has(environ: Path, folder: Path) -> bool:
    """Whether a process was started with that folder in its environment."""
    try:
        return str(folder).encode() in environ.read_bytes()
    except OSError:
        return False
