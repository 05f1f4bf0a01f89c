"""Bytes and numbers that no JSON reader takes: refused at the door, or made harmless."""

import json
from pathlib import Path

from calls import Done, call, many
from conftest import Fleet

BAD_BYTES = [b"caf\xe9 \xff\xb2", b"\xed\xa0\x80", b"\xf0\x9f\x92"]
SURROGATES = [r"\ud800", r"a\udfffb", r"\udc00\ud800"]
NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "[NaN]", '{"deep": [NaN]}']
TWICE = ['{"n": "1", "n": "2"}', '{"n": "1", "x": {"a": 1, "a": 1}}', '{"n": "1", "\\u006e": "2"}']


def test_bytes_that_are_no_utf8(home: Path, fleet: Fleet) -> None:
    """E6: as argument, on standard input and in a file they are stored as valid UTF-8 or refused.

    Whatever was stored, every log, answer and prompt afterwards is UTF-8.
    """
    codes = []
    for raw in BAD_BYTES:
        (home / "raw.md").write_bytes(raw)
        payload = b'{"competitor": "x", "newPrice": "' + raw + b'"}'
        codes += [
            fleet("post", "strategy", raw).returncode,
            fleet("post", "strategy", "--file", str(home / "raw.md")).returncode,
            fleet("emit", "pricing-change", "competitor=x", b"newPrice=" + raw).returncode,
            fleet("emit", "pricing-change", "--data", "-", stdin=payload).returncode,
        ]

    assert set(codes) <= {0, 3}
    _assert_all_is_text(home, fleet)


def test_a_lone_surrogate(home: Path, fleet: Fleet) -> None:
    """E6: half a character in JSON's own spelling is refused in value and name, exit 3."""
    value = '{"competitor": "x", "newPrice": "%s"}'
    name = '{"competitor": "x", "newPrice": "1", "%s": "y"}'

    done = _emits(home, "pricing-change", [d % s for d in (value, name) for s in SURROGATES])

    assert {one.code for one in done} == {3}
    assert all(len(one.err.splitlines()) == 1 for one in done)
    _assert_all_is_text(home, fleet)


def test_what_is_no_number(home: Path, fleet: Fleet) -> None:
    """E15: NaN, infinities and numbers too large, at any depth and any door, are refused."""
    data = [f'{{"competitor": "x", "newPrice": "1", "score": {one}}}' for one in NO_NUMBERS]
    fields = [["competitor=x", "newPrice=1", f"score={one}"] for one in NO_NUMBERS]

    done = _emits(home, "pricing-change", data)
    done += many(home, [call("emit", "pricing-change", *words) for words in fields])

    assert {one.code for one in done} == {3}, done
    _assert_all_is_text(home, fleet)


def test_the_same_name_twice(home: Path, fleet: Fleet) -> None:
    """E15: no reader has to choose: an object that names a field twice is refused."""
    (home / "schemas" / "n.json").write_text('{"title": "n", "type": "object"}')

    done = _emits(home, "n", TWICE)

    assert {one.code for one in done} == {3}, done
    assert fleet("emit", "n", "n=1", "n=2").returncode == 2
    _assert_all_is_text(home, fleet)


def _emits(home: Path, event_type: str, payloads: list[str]) -> list[Done]:
    """Each payload as an option's value, and on standard input."""
    words = ("emit", event_type, "--data")
    options = [call(*words, payload) for payload in payloads]
    return many(home, [*options, *(call(*words, "-", stdin=payload) for payload in payloads)])


def _assert_all_is_text(home: Path, fleet: Fleet) -> None:
    """Every line of every log parses strictly, and the agent's context encodes."""
    for path in (home / "state").rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            value = json.loads(line.decode(), parse_constant=_refuse, object_pairs_hook=_unique)
            json.dumps(value, ensure_ascii=False).encode()
    context = fleet("context", "outreach")
    assert context.returncode == 0
    context.stdout.encode()


def _refuse(word: str) -> object:
    raise AssertionError(word)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)
