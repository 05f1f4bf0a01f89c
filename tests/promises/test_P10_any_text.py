"""P10: records end at LF only; any Unicode text comes back byte for byte."""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleets import Scripted

ENDS = "\n \r \r\n \x0b \x0c \x1c \x1d \x1e \x1f \x85 \u2028 \u2029 \0 \x1b[2J \ufeff \u202e \ufffe"
PIECE = 3000  # characters, at most 12 KB


@pytest.fixture
def home(scripted: Scripted) -> Scripted:
    """A home with one agent."""
    scripted.agent("worker", "true")
    return scripted


def everything(step: int) -> Iterator[str]:
    """Each code point there is (of every `step` pieces one), in pieces with words around them."""
    surrogates = range(0xD800, 0xE000)
    points = [chr(n) for n in range(sys.maxunicode + 1) if n not in surrogates]
    for start in range(0, len(points), PIECE * step):
        yield "a " + "".join(points[start : start + PIECE]) + " b"


def segments(home: Scripted, log: str) -> bytes:
    """The bytes of a log."""
    found = sorted((home.root / "state" / log).glob("*.jsonl"))
    return b"".join(path.read_bytes() for path in found)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.prove)])
def test_every_code_point_comes_back(home: Scripted, step: int) -> None:
    """As messages and as fields of events; the files hold one line a record, cut at LF alone."""
    texts = [ENDS, *everything(step)]
    fleet = home.fleet
    for text in texts:
        fleet.talk.post(fleet.author, "strategy", text)
        fleet.bus.emit(fleet.author, "note", {"n": text, text[:50]: [text[-50:]]})

    read = home.fleet.talk.read(fleet.author, "strategy", since_seq=0, limit=10**6)
    assert [message.text for message in read] == texts
    events = [record.body["payload"] for record in home.fleet.store.read("events", 0, 9999).records]
    assert events == [{"n": text, text[:50]: [text[-50:]]} for text in texts]
    for log in ("channels/strategy", "events"):
        lines = segments(home, log).split(b"\n")
        assert lines.pop() == b""
        assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(texts) + 1))


def test_every_command_ends_records_at_lf_only(home: Scripted, tmp_path: Path) -> None:
    """Through the command line a text with every line end in it is one record, and one line."""
    (tmp_path / "text").write_bytes(ENDS.encode())
    assert home.call("post", "strategy", "--file", str(tmp_path / "text")).returncode == 0
    assert home.call("emit", "note", "--data", json.dumps({"n": ENDS})).returncode == 0

    read = home.call("read", "strategy", "--json").stdout
    events = home.call("events", "--json").stdout

    assert json.loads(read)["text"] == ENDS
    assert json.loads(events)["payload"]["n"] == ENDS
    assert (read.count("\n"), events.count("\n")) == (1, 1)
    assert home.call("verify").returncode == 0


def test_random_texts_come_back(home: Scripted) -> None:
    """100 texts of random code points, long and short, in every kind of record that takes text."""
    rng = random.Random(10)
    alphabet = [*ENDS, *'"\\{}[],:', "a", "é", "漢", "😀", "\u0301", "\u200d"]
    fleet = home.fleet
    texts = ["x" + "".join(rng.choices(alphabet, k=rng.randrange(400))) for _ in range(100)]
    for text in texts:
        fleet.talk.post(fleet.author, "strategy", text, key=f"{len(text)}.{rng.random()}")

    read = fleet.talk.read(fleet.author, "strategy", since_seq=0, limit=10**6)
    assert [message.text for message in read] == texts


@pytest.mark.parametrize("wrong", ["\udc80", "a\ud800b"])
def test_what_is_no_text_is_refused(home: Scripted, tmp_path: Path, wrong: str) -> None:
    """Bytes that are no UTF-8 and lone surrogates are refused in one line, and nothing is kept."""
    (tmp_path / "text").write_bytes(wrong.encode("utf-8", "surrogatepass"))
    for argv in (
        ("post", "strategy", "--file", str(tmp_path / "text")),
        ("emit", "note", "--data", f"@{tmp_path / 'text'}"),
        ("emit", "note", "--data", json.dumps({"n": wrong})),
    ):
        done = home.call(*argv)
        assert done.returncode in {2, 3}
        assert done.stderr.count("\n") == 1
    assert home.fleet.store.head("events") == home.fleet.store.head("channels/strategy") == 0
