"""claim, renew, release, claims, as real processes on real files."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import Fleet

KEY = "lead:sarah@acme.com"


def test_one_holds_and_the_other_is_told(home: Path, fleet: Fleet, shaped) -> None:
    """A held key is exit 6 for everybody else, with the holder and the time in the line."""
    (taken,) = shaped("claimed", fleet("--as", "outreach", "claim", KEY, "--json").stdout)
    refused = fleet("--as", "reply-handler", "claim", KEY)
    (listed,) = shaped("claim", fleet("claims", "--json").stdout)

    assert refused.returncode == 6
    assert "HELD by outreach until" in refused.stderr
    assert "leave it, do something else" in refused.stderr
    assert (listed["holder"], listed["token"]) == ("outreach", taken["token"])


def test_a_released_key_is_free_and_its_token_grows(home: Path, fleet: Fleet, shaped) -> None:
    """After release another agent takes the key, with a higher token; the history says so."""
    first = fleet("--as", "outreach", "claim", KEY)
    shaped("released", fleet("--as", "outreach", "release", KEY, "--json").stdout)
    second = fleet("--as", "reply-handler", "claim", KEY)
    history = shaped("claim-history", fleet("claims", "--history", KEY, "--json").stdout)
    before = fleet("claims", "--history", KEY, "--until", "2020-01-01", "--json")

    assert (before.returncode, before.stdout) == (0, "")
    assert int(second.stdout) > int(first.stdout)
    assert [line["op"] for line in history] == ["taken", "released", "taken"]


def test_renewing_extends_and_only_the_holder_may(home: Path, fleet: Fleet, shaped) -> None:
    """Renew moves the expiry forward; for anybody else it fails."""
    (taken,) = shaped("claimed", fleet("claim", KEY, "--ttl", "1m", "--json").stdout)
    (renewed,) = shaped("claimed", fleet("renew", KEY, "--ttl", "1h", "--json").stdout)

    assert renewed["expires"] > taken["expires"]
    assert renewed["token"] == taken["token"]
    assert fleet("--as", "outreach", "renew", KEY).returncode in {5, 6}


def test_two_words_are_one_key(home: Path, fleet: Fleet) -> None:
    """`claim lead a@b` is answered with the key that was meant."""
    refused = fleet("claim", "lead", "a@b.example")

    assert refused.returncode == 2
    assert "say fleet claim lead:a@b.example" in refused.stderr


def test_other_words_for_claims_work(home: Path, fleet: Fleet) -> None:
    """lock, unlock and unclaim do what claim and release do."""
    assert fleet("lock", KEY).returncode == 0
    assert fleet("unlock", KEY).returncode == 0
    assert fleet("lock", KEY).returncode == 0
    assert fleet("unclaim", KEY).returncode == 0
    assert fleet("claims", "--json").stdout == ""


def test_fleets_own_keys_are_refused(home: Path, fleet: Fleet) -> None:
    """Keys that begin with agent:, run: or cap: are not for callers."""
    for key in ("agent:outreach", "run:x", "cap:1"):
        assert fleet("claim", key).returncode == 5


def test_a_command_runs_while_the_claim_is_held(home: Path, fleet: Fleet) -> None:
    """The key is held while CMD runs, given back after it, and the exit code is CMD's."""
    program = (
        "import subprocess, sys;"
        "fleet = [sys.executable, '-m', 'fleet', '--as', 'outreach'];"
        f"p = subprocess.run([*fleet, 'claim', {KEY!r}]);"
        "sys.exit(40 + p.returncode)"
    )

    done = fleet("claim", KEY, "--", sys.executable, "-c", program)

    assert done.returncode == 46
    assert fleet("claims", "--json").stdout == ""


def test_once_counts_what_was_completed(home: Path, fleet: Fleet) -> None:
    """Exit 0 of CMD completes the claim, a failure does not; --once then refuses for that time."""
    words = ["claim", "report:weekly", "--once", "7d", "--"]

    failed = fleet(*words, sys.executable, "-c", "raise SystemExit(3)")
    first = fleet(*words, sys.executable, "-c", "print('made')")
    second = fleet(*words, sys.executable, "-c", "print('made')")

    assert [r.returncode for r in (failed, first, second)] == [3, 0, 6]
    assert (first.stdout, second.stdout) == ("made\n", "")


def test_a_killed_command_gives_the_claim_back(home: Path, tmp_path: Path, fleet: Fleet) -> None:
    """SIGTERM goes on to CMD, its death is the exit code, and the key is free again."""
    ready = tmp_path / "ready"
    program = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-m", "fleet", "claim", KEY, "--", sys.executable, "-c", program],
        env=os.environ.copy(),
    )
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)

    process.send_signal(signal.SIGTERM)

    assert process.wait(20) == 128 + signal.SIGTERM
    assert fleet("claims", "--json").stdout == ""


def test_a_program_that_is_not_there_claims_nothing(home: Path, fleet: Fleet) -> None:
    """A wrong CMD is a usage error before the claim."""
    refused = fleet("claim", KEY, "--", "no-such-program")

    assert refused.returncode == 2
    assert fleet("claims", "--history", KEY, "--json").stdout == ""


def test_a_bad_duration_is_explained(home: Path, fleet: Fleet) -> None:
    """`--ttl soon` is exit 2 and says how durations are written."""
    refused = fleet("claim", KEY, "--ttl", "soon")

    assert refused.returncode == 2
    assert "30m" in refused.stderr
