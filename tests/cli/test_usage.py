"""Wrong words: exit 2 and the corrected line; faults of the world: one line and their code."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet
from fleet.cli.commands import COMMANDS


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["pots", "strategy", "x"], "did you mean 'post'?"),
        (["publish", "strategy", "x y"], "say fleet emit strategy 'x y'"),
        (["messages", "strategy#1"], "say fleet show strategy#1"),
        (["post", "strategy", "two", "words"], "say fleet post strategy 'two words'"),
        (["post", "strategy", "x", "--repyl-to", "strategy#1"], "--reply-to strategy#1"),
        (["post"], "for example fleet post strategy"),
        (["post", "strategy"], "say fleet post strategy 'TEXT'"),
        (["post", "strategy", "x", "--file", "y"], "two texts"),
        (["reply", "412", "x"], "strategy#412"),
        (["claim"], "for example fleet claim lead:sarah@acme.com"),
        (["events", "--limit", "many"], "--limit"),
        (["events", "--since", "lately"], "3h"),
        (["events", "--where", "competitor"], "KEY=VALUE"),
        (["emit", "pricing-change", "competitor", "newPrice=1"], "KEY=VALUE"),
        (["emit", "pricing-change", "newPrice=1", "newPrice=2"], "twice"),
        (["halt"], "--all"),
        (["report"], "fleet report 'TEXT'"),
        ([], "fleet --help"),
        (["--hom", "x", "status"], "--home"),
    ],
)
def test_wrong_words_are_answered_with_right_ones(
    home: Path, fleet: Fleet, words: list[str], fix: str
) -> None:
    """Usage errors are exit 2, one sentence on stderr with what to type, and nothing on stdout."""
    refused = fleet(*words)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert fix in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.startswith("fleet: ")


@pytest.mark.parametrize(
    "name", ["../x", "a/b", ".", "", "x" * 300, "a\nb", "strategy.", "strategy ", "Strategy"]
)
def test_names_never_become_paths(home: Path, fleet: Fleet, tmp_path: Path, name: str) -> None:
    """A channel, type, agent or run that is no name is refused and nothing is written anywhere."""
    fleet("post", "strategy", "so that the state is there")
    before = {p for p in tmp_path.rglob("*") if "cache" not in p.parts}

    for words in (
        ["post", name, "x"], ["read", name], ["emit", name, "a=b"], ["logs", name],
        ["--as", name, "post", "strategy", "x"], ["schema", "show", name], ["context", name],
    ):  # fmt: skip
        assert fleet(*words).returncode in {2, 3, 4, 5}, words

    assert {p for p in tmp_path.rglob("*") if "cache" not in p.parts} == before


def test_no_home_makes_nothing(fleet: Fleet, tmp_path: Path) -> None:
    """Without a home every command is exit 7 and no file appears."""
    for words in (["post", "strategy", "x"], ["status"], ["check"], ["verify"], ["up"]):
        refused = fleet(*words, env={"FLEET_HOME": None})

        assert refused.returncode == 7
        assert "fleet init" in refused.stderr
    assert [p for p in tmp_path.iterdir() if p.name != "user"] == []


def test_errors_of_the_files_are_all_named_at_once(home: Path, fleet: Fleet) -> None:
    """An operator's command on a broken home is exit 7 with every fault, file and line."""
    agent = home / "agents" / "outreach.yaml"
    agent.write_text(agent.read_text().replace("schedule:", "shedule:") + "may_run: 5\n")
    channel = home / "channels" / "strategy.yaml"
    channel.write_text(channel.read_text() + "membres: all\n")

    refused = fleet("up")

    assert refused.returncode == 7
    for part in ("agents/outreach.yaml:2", "schedule", "channels/strategy.yaml:4", "members"):
        assert part in refused.stderr


def test_hostile_words_are_not_echoed_raw(home: Path, fleet: Fleet) -> None:
    """What a caller typed comes back in an error only escaped."""
    for words in (["\x1b[2Jx"], ["post", "\x1b]0;x\x07", "hi"], ["read", "a\u202eb"]):
        refused = fleet(*words)

        assert refused.returncode in {2, 4}
        assert not set("\x1b\x07\u202e") & set(refused.stderr)


def test_a_bug_is_one_line_and_a_traceback_on_request(home: Path, fleet: Fleet) -> None:
    """An unexpected fault is exit 1 and says so; --debug shows where."""
    patch = "import fleet.cli.session as s; s.Session.root = property(lambda self: 1 / 0); "
    call = "import sys; from fleet.__main__ import main; sys.argv[0] = 'fleet'; main()"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", patch + call, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    plain, debug = run("whoami"), run("--debug", "whoami")

    assert (plain.returncode, debug.returncode) == (1, 1)
    assert plain.stderr.startswith("fleet: this is a bug: ZeroDivisionError")
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr


def test_a_reader_that_leaves_is_no_fault(home: Path) -> None:
    """`fleet events | head -1` ends quietly."""
    argv = f"{sys.executable} -m fleet events --json"
    for _ in range(3):
        words = ["emit", "pricing-change", "competitor=" + "x" * 60_000, "newPrice=1"]
        subprocess.run([sys.executable, "-m", "fleet", *words], check=True, capture_output=True)

    done = subprocess.run(f"{argv} | head -c 10", shell=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_is_130_and_silent(home: Path, fleet: Fleet) -> None:
    """Ctrl-C while following ends with 130 and no traceback; what was shown was shown at once."""
    fleet("post", "strategy", "first")
    process = subprocess.Popen(
        [sys.executable, "-m", "fleet", "read", "strategy", "-f"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(2)]
    fleet("post", "strategy", "second")
    seen += [process.stdout.readline() for _ in range(2)]

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)

    assert [line.strip() for line in seen[1::2]] == ["first", "second"]
    assert (process.returncode, err) == (130, "")


@pytest.mark.parametrize("lang", ["C", "de_DE.ISO-8859-1", "en_US.UTF-8", ""])
def test_any_locale_is_fine(home: Path, fleet: Fleet, lang: str) -> None:
    """Text stays UTF-8 whatever LANG says."""
    env = {"LC_ALL": lang, "LANG": lang, "PYTHONUTF8": None, "PYTHONIOENCODING": None}

    assert fleet("post", "strategy", "naïve 🦊", env=env).returncode == 0
    assert "naïve 🦊" in fleet("read", "strategy", env=env).stdout


@pytest.mark.parametrize("env", [{"TERM": None}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_codes_anywhere(home: Path, fleet: Fleet, env: dict[str, str | None]) -> None:
    """Without TERM, and with NO_COLOR, nothing contains an escape sequence."""
    for words in (["status"], ["--help"], ["channels"], ["nonsense"]):
        done = fleet(*words, env=env)
        assert "\x1b" not in done.stdout + done.stderr


def test_a_terminal_gets_words_a_pipe_the_reference(home: Path, fleet: Fleet) -> None:
    """On a terminal a write answers in words, in a pipe with the bare reference."""
    piped = fleet("post", "strategy", "one")
    leader, follower = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "fleet", "post", "strategy", "two"], stdout=follower, check=True
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + 5
    while b"\n" not in shown and time.monotonic() < deadline:
        shown += os.read(leader, 1000)
    os.close(leader)

    assert piped.stdout == "strategy#1\n"
    assert shown.decode().strip() == "posted strategy#2"


def test_the_next_reader_is_named_when_the_runner_left_word(home: Path, fleet: Fleet) -> None:
    """A post inside a run ends with the member that is due next, as the runner's cache says."""
    from fleet.places import NEXT_DUE
    from fleet.wiring import open_fleet

    now = time.time()
    due = {
        "reply-handler": [now + 600, "06:10"],
        "competitor-watch": [now + 900, "06:15"],
        "outreach": [now + 60, "06:01"],
        "gone": [now + 5, "06:00"],
    }
    open_fleet(home, env={}).cache.save(NEXT_DUE, json.dumps(due).encode())
    leader, follower = pty.openpty()

    subprocess.run(
        [sys.executable, "-m", "fleet", "--as", "outreach", "post", "strategy", "x"],
        stdout=follower,
        check=True,
    )
    os.close(follower)
    shown = os.read(leader, 1000).decode()
    os.close(leader)

    assert shown.strip() == "posted strategy#1 · next reader reply-handler 06:10"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(home: Path, fleet: Fleet, closed: str) -> None:
    """A caller that closed standard streams still gets his message stored, and exit 0."""
    argv = f"{sys.executable} -m fleet post strategy hello {closed}"

    done = subprocess.run(argv, shell=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert fleet("read", "strategy", "--json").stdout.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(fleet: Fleet, shell: str) -> None:
    """Each shell gets its script, and the names of commands from it."""
    script = fleet(env={"_FLEET_COMPLETE": f"{shell}_source"})
    names = fleet(
        env={
            "_FLEET_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": "fleet re" if shell != "fish" else "fleet",
            "COMP_CWORD": "1" if shell != "fish" else "re",
        }
    )

    assert (script.returncode, names.returncode) == (0, 0)
    assert "_FLEET_COMPLETE" in script.stdout
    for name in ("read", "reply", "release", "report"):
        assert name in names.stdout


def test_what_follows_a_word_is_completed_too(home: Path) -> None:
    """Every command completes, and below each group its commands and their options."""
    asked = {
        "fleet ": set(COMMANDS),
        "fleet memory p": {"plan"},
        "fleet goal ": {"add", "progress", "achieve", "abandon"},
        "fleet lesson add --imp": {"--importance"},
    }
    lines = [
        call(_FLEET_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
        for words in asked
    ]

    for (words, names), done in zip(asked.items(), many(home, lines), strict=True):
        found = {line.partition(",")[2] for line in done.out.splitlines()}
        assert found == names, (words, done)
