"""P29: each bound holds to the byte: what just fits is kept whole, one more is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import Actor, Call, call, many
from conftest import Write
from fleet.errors import Rejected
from fleet.records import MAX_DOCUMENT, MAX_RECORD
from fleet.wiring import open_fleet
from fleets import Scripted

AGENT = "description: x\nschedule: null\nprompt: outreach.md.j2\n"


def nested(depth: int) -> str:
    """JSON of an object that nests `depth` levels."""
    return (
        '{"competitor": "x", "newPrice": "1", "k": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    )


KEY, NOTE = "k" * 200, "é" * 250
PAIRS: dict[str, tuple[Call, Call]] = {
    "message": (call("post", "strategy", "x" * 16384), call("post", "strategy", "x" * 16385)),
    "message-in-bytes": (
        call("post", "strategy", "é" * 8192),
        call("post", "strategy", "é" * 8193),
    ),
    "message-of-escapes": (
        call("post", "strategy", "-", stdin='"\n' * 8192),
        call("post", "strategy", "-", stdin='"\n' * 8192 + "x"),
    ),
    "message-of-controls": (
        call("post", "strategy", "-", stdin="\x01" * 10_000),
        call("post", "strategy", "-", stdin="\x01" * 16_384),  # six bytes each in JSON
    ),
    "id": (
        call("post", "strategy", "x", "--id", KEY),
        call("post", "strategy", "x", "--id", KEY + "k"),
    ),
    "id-in-bytes": (
        call("post", "strategy", "x", "--id", "é" * 100),
        call("post", "strategy", "x", "--id", "é" * 100 + "k"),
    ),
    "claim": (call("claim", KEY), call("claim", KEY + "k")),
    "note": (call("claim", "a", "--note", NOTE), call("claim", "a", "--note", NOTE + "n")),
    "depth": (
        call("emit", "pricing-change", "--data", nested(32)),
        call("emit", "pricing-change", "--data", nested(33)),
    ),
    "digits": (
        call("emit", "pricing-change", "--data", nested(2).replace("[]", "9" * 400)),
        call("emit", "pricing-change", "--data", nested(2).replace("[]", "9" * 401)),
    ),
}


@pytest.fixture
def answers(home: Path) -> dict[str, tuple[int, int]]:
    """The exit codes of every pair."""
    done = many(home, [one for pair in PAIRS.values() for one in pair])
    codes = [one.code for one in done]
    return dict(zip(PAIRS, zip(codes[::2], codes[1::2], strict=True), strict=True))


def test_what_fits_is_taken_and_a_byte_more_is_refused(answers: dict[str, tuple[int, int]]) -> None:
    """P29: messages, ids, keys, notes, depth and digits: exit 0 at the bound, 3 above it."""
    assert {name: codes for name, codes in answers.items() if codes != (0, 3)} == {}


def test_a_record_is_64_kib_and_no_byte_more(home: Path) -> None:
    """P29: of payloads around the bound those are stored whose whole line fits into 64 KiB."""
    base = ["emit", "pricing-change", "competitor=x"]
    many(home, [call(*base, "newPrice=")])
    (log,) = (home / "state" / "events").glob("*.jsonl")
    least = MAX_RECORD - len(log.read_bytes()) - 12
    text = "é" * 1000  # two bytes each: what counts is the encoded line

    done = many(
        home, [call(*base, f"newPrice={text}{'x' * (least - 2000 + n)}") for n in range(24)]
    )

    lines = log.read_bytes().splitlines(keepends=True)
    assert {one.code for one in done} == {0, 3}
    assert max(map(len, lines)) == MAX_RECORD
    assert len(lines) == 1 + sum(one.code == 0 for one in done)
    assert "65536" in next(one.err for one in done if one.code == 3)
    (shown, verified) = many(home, [call("events", "--json"), call("verify")])
    assert len(shown.out.splitlines()) == len(lines)
    assert verified.code == 0


def test_a_document_is_256_kib_and_no_byte_more(home: Path) -> None:
    """P29: a document just below its bound is kept, one above is refused and changes nothing."""
    store = open_fleet(home, env={}).store
    store.put("control/x", {"a": ""}, expect=0)
    empty = (home / "state" / "control" / "x.json").stat().st_size

    version = store.put("control/x", {"a": "é" * ((MAX_DOCUMENT - empty) // 2)}, expect=1)
    with pytest.raises(Rejected, match=str(MAX_DOCUMENT)):
        store.put("control/x", {"a": "x" * (MAX_DOCUMENT - empty + 2)}, expect=version)

    body, now = store.get("control/x")
    assert now == version
    assert body
    assert (
        MAX_DOCUMENT - 2 <= (home / "state" / "control" / "x.json").stat().st_size <= MAX_DOCUMENT
    )


def test_a_report_is_bounded(tmp_path: Path) -> None:
    """P29: a report and its plan hold 4 KiB each, in bytes."""
    home = Scripted(tmp_path / "home")
    actor = Actor(home, "worker")
    most = "é" * 2048

    done = actor.does(
        call("report", most, "--next", most),
        call("report", most + "x"),
        call("report", "x", "--next", most + "x"),
        call("report", "--idle", most + "x"),
    )

    assert [one.code for one in done] == [0, 3, 3, 3]
    assert home.runs()[0].report == most


def test_depth_is_bounded_for_every_caller(home: Path) -> None:
    """P29: a payload that came by no JSON text is held to 32 levels as well."""
    fleet = open_fleet(home, env={})
    deep: dict[str, object] = {"competitor": "x", "newPrice": "1"}
    for _ in range(31):
        deep = {"competitor": "x", "newPrice": "1", "k": deep}
    fleet.bus.emit(fleet.author, "pricing-change", deep)

    for more in (1, 5000):
        for _ in range(more):
            deep = {"competitor": "x", "newPrice": "1", "k": deep}
        with pytest.raises(Rejected, match="32 levels"):
            fleet.bus.emit(fleet.author, "pricing-change", deep)
    assert fleet.store.head("events") == 1


def filled(head: str, size: int, mark: str = "#") -> str:
    """`head` and comment lines, `size` bytes together."""
    left = size - len(head)
    return (
        head
        + "".join(f"{mark}{'x' * 62}\n" for _ in range(left // 64))
        + mark
        + "x" * (left % 64 - 1)
    )


FILES = {
    "agents/outreach.yaml": AGENT,
    "channels/strategy.yaml": "name: x\npurpose: y\nmembers: all\n",
    "fleet.yaml": "name: test\ntimezone: UTC\n",
}


@pytest.mark.parametrize("name", FILES)
def test_an_operators_file_is_256_kib_and_no_byte_more(home: Path, write: Write, name: str) -> None:
    """P29: agents, channels and fleet.yaml: at the bound valid, above it one error."""
    write(name, filled(FILES[name], 256 * 1024))
    (fits,) = many(home, [call("check", "--json")])
    write(name, filled(FILES[name], 256 * 1024 + 1))
    (over,) = many(home, [call("check", "--json")])

    assert (fits.code, over.code) == (0, 7)
    found = [one for one in map(json.loads, over.out.splitlines()) if one["file"] == name]
    assert "256 KiB" in found[0]["what"]


def test_a_schema_and_a_template_are_bounded(home: Path, write: Write) -> None:
    """P29: 256 KiB for the operator's JSON and Jinja files too."""
    schema = json.loads((home / "schemas" / "pricing-change.json").read_text())
    write("schemas/pricing-change.json", json.dumps(schema | {"$comment": "x" * 256 * 1024}))
    write("prompts/outreach.md.j2", '{% extends "base.md.j2" %}' + "x" * 256 * 1024)

    (checked, emitted, shown) = many(
        home,
        [
            call("check", "--json"),
            call("emit", "pricing-change", "competitor=x", "newPrice=1"),
            call("context", "outreach"),
        ],
    )

    assert checked.code == 7
    assert '"schemas/pricing-change.json"' in checked.out
    assert emitted.code in {4, 7}
    assert shown.code in {7, 8}


BOMBS = {
    "laughs": "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
    + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 8)}]\n"
        for old, new in zip("bcdefgh", "cdefghi", strict=True)
    ),
    "itself": "a: &a [*a]\n",
    "deep": "a: " + "[" * 40 + "]" * 40 + "\n",
    "very-deep": "a: " + "{a: " * 20_000 + "}" * 20_000 + "\n",
    "many": "a: [" + "x," * 50_000 + "]\n",
}


def test_aliases_and_depth_of_a_file_are_bounded(home: Path, write: Write) -> None:
    """P29: a few bytes that would grow to gigabytes, or nest without end, are one error each."""
    for name, text in BOMBS.items():
        write(f"agents/{name}.yaml", AGENT + text)

    (checked,) = many(home, [call("check", "--json")])

    found = {one["file"] for one in map(json.loads, checked.out.splitlines())}
    assert checked.code == 7
    assert {f"agents/{name}.yaml" for name in BOMBS} <= found


@pytest.mark.parametrize("words", [["post", "strategy", "-"], ["emit", "pricing-change", "-"]])
def test_an_input_without_end_is_cut_off(home: Path, words: list[str]) -> None:
    """P29: a pipe that never ends is refused after what a record could hold, not read for ever."""
    read, write = os.pipe()
    feeder = subprocess.Popen(["yes"], stdout=write, stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fleet", *words],
            stdin=read,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(read)
        feeder.kill()
        feeder.wait()

    assert done.returncode == 3
    assert "256 KiB" in done.stderr
