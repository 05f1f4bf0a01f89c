"""What the hook allows does in a real bash what it promises: runs fleet, and expands nothing."""

import itertools
import os
import random
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.hook import is_fleet_only

SEED = 20261130
PIECES = [
    *(
        "fleet",
        "fleet ",
        "\nfleet ",
        "&& fleet ",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        "\n",
        "a",
        "-x",
        "x=1",
    ),
    *("'", "'", '"', '"', "\\", "\\\n", "$", "$HOME", "`", "${X}", "$(touch made)", "`touch made`"),
    *(
        "<<",
        " <<'E'",
        ' <<"E"',
        " <<E",
        " <<-'E'",
        "E",
        "\nE\n",
        "\nE",
        "<",
        ">",
        ">made",
        "<a",
        "2",
    ),
    *("&", "&&", "|", "||", ";", "#", " #", "~", " ~", "a~1", "=", "=~", ":~", "{a,b}", "{", "}"),
    *("*", "?", "[ab]", "!", "!!", "!(a)", "(", ")", "()", "%", "@", "^", "+", "é", "\u00a0", "\r"),
    *(
        "touch made",
        "\ntouch made\n",
        ";touch made",
        "if ",
        "time ",
        "! ",
        "\x01",
        "\x7f",
        "\u2028",
    ),
]
WATCH = """
set -o functrace
trap 'printf "%s\\0" "$BASH_COMMAND" >> "$SEEN"' DEBUG
eval "$COMMAND"
"""


class Bash:
    """A bash that knows one program, a fleet that writes down what it is given.

    Worlds differ in folder, files, home and variables, so that what is expanded shows.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bin = root / "bin"
        self._bin.mkdir()
        fake = self._bin / "fleet"
        fake.write_text(
            "#!/bin/sh\n"
            'for word in "$@"; do printf "%s\\0" "$word"; done >> "$GIVEN"\n'
            'test -p /dev/stdin || test -f /dev/stdin && /bin/cat >> "$GIVEN"\n'
            'printf "\\0\\0" >> "$GIVEN"\n'
        )
        fake.chmod(0o755)

    def given(self, command: str, *, world: str) -> bytes:
        """The words and the input that fleet got, after seeing that nothing else happened."""
        folder = self._root / world
        folder.mkdir(exist_ok=True)
        for name in ("a", "b", "E", f"{world}-file", "-x"):
            (folder / name).write_text(world)
        before = sorted(path.name for path in folder.iterdir())
        seen, given = self._root / "seen", self._root / "given"
        for path in (seen, given):
            path.write_bytes(b"")
        done = subprocess.run(
            ["/bin/bash", "-c", WATCH],
            cwd=folder,
            env={
                "PATH": str(self._bin),
                "HOME": f"/home/{world}",
                "X": world,
                "LANG": "C.UTF-8",
                "COMMAND": command,
                "SEEN": str(seen),
                "GIVEN": str(given),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=10,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), command
        assert sorted(path.name for path in folder.iterdir()) == before, command
        ran = [line.split()[0] for line in seen.read_bytes().split(b"\0")[:-1]]
        assert set(ran) == {b"eval", b"fleet"}, command
        return given.read_bytes()


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Bash:
    """The bash of this module's tests."""
    if not os.access("/bin/bash", os.X_OK):
        pytest.skip("there is no /bin/bash here")
    return Bash(tmp_path_factory.mktemp("bash"))


def every(length: int) -> Iterator[str]:
    """Every command of so many pieces that the hook allows."""
    for pieces in itertools.product(dict.fromkeys(PIECES), repeat=length):
        command = "fleet " + "".join(pieces)
        if is_fleet_only(command):
            yield command


def some(tries: int, sample: int) -> list[str]:
    """A sample of the longer random commands that the hook allows."""
    dice = random.Random(SEED)
    commands = {
        "fleet " + "".join(dice.choices(PIECES, k=dice.randint(3, 9))) for _ in range(tries)
    }
    return dice.sample(sorted(filter(is_fleet_only, commands)), sample)


def check(bash: Bash, commands: Iterable[str]) -> None:
    """Each gives fleet the same in two worlds, nothing but its own text, and all of its words."""
    for command in commands:
        got = bash.given(command, world="one")
        assert got == bash.given(command, world="other"), command
        text = iter(command.encode())
        assert all(byte in text for byte in got if byte != 0), command
        if not set(command) & set("<&\\\n"):
            words = shlex.split(command)[1:]
            assert got == b"".join(word.encode() + b"\0" for word in words) + b"\0\0", command


def test_no_short_command_that_is_allowed_does_more(bash: Bash) -> None:
    """Of all commands of one and two dangerous pieces, those that are allowed run fleet alone."""
    commands = [*every(1), *every(2)]

    assert len(commands) > 200
    check(bash, commands)


def test_no_random_command_that_is_allowed_does_more(bash: Bash) -> None:
    """Of 60,000 longer ones, a sample of those that are allowed runs fleet alone."""
    check(bash, some(60_000, 100))


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_no_command_of_a_million_does_more(bash: Bash) -> None:
    """Thousands that are allowed, of all three pieces and of a million, run fleet alone."""
    check(bash, random.Random(SEED).sample(list(every(3)), 4000))
    check(bash, some(1_000_000, 3000))


def test_the_harness_sees_what_a_shell_does(bash: Bash) -> None:
    """A glob, a variable, a redirect, a second program: each of them fails the check above."""
    for command in (
        "fleet *",
        "fleet $HOME",
        "fleet >made",
        "fleet; :",
        "fleet ~",
        "fleet $(:)",
        "fleet #",
    ):
        with pytest.raises(AssertionError):
            check(bash, [command])


TEXTS = st.text(
    st.characters(blacklist_categories=["Cc", "Cs"]) | st.sampled_from("\n\t '\"\\$`!#")
)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_any_text_in_single_quotes_is_allowed_and_arrives(bash: Bash, words: list[str]) -> None:
    """Words in single quotes are allowed whatever they say, and reach fleet unchanged."""
    quoted = ["'" + word.replace("'", "'\"'\"'") + "'" for word in words]
    command = " ".join(["fleet", *quoted])

    got = bash.given(command, world="one")

    assert is_fleet_only(command)
    assert got == b"".join(word.encode() + b"\0" for word in words) + b"\0\0"


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_any_text_in_a_here_document_is_allowed_and_arrives(bash: Bash, text: str) -> None:
    """A quoted here-document is allowed whatever it says, and reaches fleet unchanged."""
    command = f"fleet post a - <<'END_OF_IT'\n{text}\nEND_OF_IT"

    got = bash.given(command, world="one")

    assert is_fleet_only(command)
    assert got == b"post\0a\0-\0" + text.encode() + b"\n\0\0"
