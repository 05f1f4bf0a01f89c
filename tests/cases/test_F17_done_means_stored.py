"""Exit 0 of a write is only said for what a fresh process reads back."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calls import Call, Done, call, many

WRITES = {
    "post": call("post", "strategy", "a post"),
    "reply": call("reply", "strategy#1", "an answer"),
    "react": call("react", "strategy#1", "agree"),
    "pin": call("pin", "strategy#1"),
    "unpin": call("unpin", "strategy#1"),
    "emit": call("emit", "pricing-change", "competitor=x", "newPrice=1"),
    "metric": call("metric", "record", "draft-1", "views", "3"),
    "lesson": call("--as", "outreach", "lesson", "add", "short subject lines"),
    "claim": call("claim", "lead:x"),
    "renew": call("renew", "lead:x", "--ttl", "2h"),
    "release": call("release", "lead:x"),
    "pause": call("pause", "outreach", "--reason", "why"),
    "resume": call("resume", "outreach"),
    "halt": call("halt", "outreach"),
    "skip": call("skip", "outreach", "--to", "now"),
}
READS = {
    "read": call("read", "strategy", "--json"),
    "events": call("events", "--json"),
    "metric": call("metric", "show", "--json"),
    "memory": call("memory", "show", "--agent", "outreach", "--json"),
    "claims": call("claims", "--history", "lead:x", "--json"),
    "status": call("status", "--json"),
    "runs": call("runs", "--json"),
    "context": call("context", "outreach"),
}


def seen(home: Path) -> dict[str, str]:
    """What a process that starts now reads of everything that can be written."""
    return {
        name: one.out for name, one in zip(READS, many(home, list(READS.values())), strict=True)
    }


def test_what_is_said_to_be_written_is_there(home: Path) -> None:
    """F17: after each write a new process reads another state, with the reference named."""
    for name, write in WRITES.items():
        before = (home / "state").exists() and stored(home)

        (done,) = many(home, [write])

        assert done.code == 0, (name, done)
        assert stored(home) != before, name
        if name in {"post", "reply", "emit"}:
            shown = seen(home)["events" if name == "emit" else "read"]
            assert done.out.strip() in [json.loads(line)["ref"] for line in shown.splitlines()]


def stored(home: Path) -> dict[str, bytes]:
    """The logs and documents, without locks and caches."""
    return {
        str(path): path.read_bytes()
        for path in (home / "state").rglob("*")
        if path.is_file() and not {"locks", "cache"} & set(path.parts)
    }


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder on a read-only mount: what holds for root too."""
    bound = ["mount", "--bind", str(folder), str(folder)]
    if subprocess.run(bound, check=False, capture_output=True).returncode:
        pytest.skip("a read-only mount needs root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_nothing_is_said_to_be_written_on_a_read_only_state(home: Path) -> None:
    """F17: every write fails in one line without a reference; readers answer; then it works."""
    setup: list[Call] = [WRITES[name] for name in ("post", "emit", "claim", "pause")]
    setup.append(call("post", "strategy", "a pinned one", "--pin"))
    writes = WRITES | {"unpin": call("unpin", "strategy#2")}  # it would change something
    assert {one.code for one in many(home, setup)} == {0}
    before, known = stored(home), seen(home)

    with read_only(home / "state"):
        refused: dict[str, Done] = dict(zip(writes, many(home, list(writes.values())), strict=True))
        still = seen(home)

    assert {name: one for name, one in refused.items() if one.code != 75} == {}
    assert {one.out for one in refused.values()} == {""}
    assert all(
        one.err.count("\n") == 1 and "read-only" in one.err.lower() for one in refused.values()
    )
    assert stored(home) == before
    for name in ("read", "events", "claims", "runs"):
        assert still[name] == known[name]
    assert {one.code for one in many(home, list(writes.values()))} == {0}
