"""What a run sees at once, from a home in which everything is long and there is much of it."""

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from calls import Call, Done, call, many
from conftest import HOME
from fleet.cli.commands import COMMANDS, is_operators
from fleet.identity import SYSTEM, Author, issue_token
from fleet.records import Draft
from fleet.runs import Verdict
from fleet.text import tokens
from fleet.wiring import open_fleet
from reference import leaves

RUN = "019b2e00-0000-7000-8000-000000000001"
PAST = "019b2e00-0000-7000-8000-000000000002"
LONG = "lörem ipsum, dolor 4711 sit amet; " * 8
HUGE = (LONG * 80)[: 16 << 10]
MOST_ITEMS, MOST_TOKENS = 20, 2000

READS: dict[str, str] = {
    "read strategy": "strategy#",
    "read strategy --after 0": "strategy#",
    "read strategy --thread strategy#1": "strategy#",
    "inbox": "outreach+reply-handler#",
    "inbox --all": "outreach+reply-handler#",
    "read outreach+reply-handler": "outreach+reply-handler#",
    "channels": "",
    "agents": "",
    "agents --can 'lörem ipsum'": "",
    "events": "events#",
    "events --for outreach": "events#",
    "events --type pricing-change": "events#",
    "schema list": "",
    "schema show wide": "",
    "metric show": "metrics#",
    "metric show draft-1": "metrics#",
    "show strategy#7": "",
    "show events#7": "",
    "show outreach": "",
    "show L3": "",
    "find lörem": "",
    "claims": "",
    "claims --history lead:7": "",
    "memory show": "",
    "memory show --archive": "",
    "remind": "later#",
    "whoami": "",
}
"""Every way in which an agent reads, and what its items begin with."""

FIT = {"whoami", "claims --history lead:7", "show L3", "show outreach"}
"""Those that are short even here."""

WRITING = {
    "post", "reply", "react", "pin", "unpin", "send", "emit", "ack", "claim", "renew", "release",
    "report", "lesson", "goal", "research", "strength", "weakness", "ask",
}  # fmt: skip


class Shown(NamedTuple):
    """What each of `READS` printed in one run, and what the last lines of it, copied, printed."""

    plain: dict[str, Done]
    objects: dict[str, Done]
    rest: dict[str, Done]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a run of outreach in a home filled with long texts."""
    root = tmp_path_factory.mktemp("full") / "home"
    for name, text in HOME.items():
        _write(root / name, text)
    for number in range(40):
        text = f"description: {LONG}\nschedule: null\nprompt: base.md.j2\nchannels: [strategy]\n"
        _write(root / f"agents/agent-{number}.yaml", text)
        _write(root / f"channels/c-{number}.yaml", f"name: C\npurpose: {LONG}\nmembers: all\n")
        fields = {f"field-{n}": {"type": "string"} for n in range(200 if number == 0 else 20)}
        kind = {"description": LONG * 4, "type": "object", "properties": fields}
        kind["required"] = list(fields)[:20]
        _write(root / f"schemas/{'wide' if number == 0 else f't-{number}'}.json", json.dumps(kind))
    _fill(root)
    token = issue_token(open_fleet(root, env={}).store, RUN, "outreach", "", 600.0, 0)
    (root / "state" / "run" / RUN).mkdir(parents=True)
    return {"FLEET_HOME": str(root), "FLEET_RUN_ID": RUN, "FLEET_RUN_TOKEN": token}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _fill(root: Path) -> None:
    """200 messages of 16 KiB, 60 events and letters, 100 metrics, claims and lessons."""
    fleet = open_fleet(root, env={})
    store, outreach = fleet.store, Author("outreach", None, "", agent=True)
    said = {"from_agent": "reply-handler", "run": None}
    post = {"op": "post", "text": HUGE, "reply_to": None, "thread": None, "pin": False, **said}
    event = {"op": "event", "type": "pricing-change", "cause": None, "hops": 0, "to_agent": None}
    event |= {"payload": {"competitor": HUGE[:8192]}, **said}
    answer = {**post, "reply_to": "strategy#1", "thread": "strategy#1"}
    store.append("channels/strategy", [Draft(post), *[Draft(answer)] * 199])
    store.append("channels/outreach+reply-handler", [Draft({**post, "text": HUGE[:4096]})] * 60)
    store.append("events", [Draft(event)] * 60)
    lesson = {"op": "lesson", "category": "success", "importance": "high", **said}
    store.append(
        "memory-log/outreach", [Draft({**lesson, "text": f"{n} {LONG}"}) for n in range(100)]
    )
    fleet.runs.start(SYSTEM, "outreach", PAST, slot=f"hand:{PAST}")
    fleet.runs.finish(
        "outreach", PAST, Verdict("ok", reason=HUGE[:4000]), ended="2026-11-30T10:00:00Z"
    )
    for number in range(100):
        fleet.claims.take(outreach, f"lead:{number}", note=LONG)
        fleet.metrics.record(outreach, f"draft-{number % 2}", f"views-{number}", number)
        fleet.later.remind(outreach, LONG, due=store.now().wall + 86400)


@pytest.fixture(scope="module")
def shown(full: dict[str, str]) -> Shown:
    """All reads, as JSON too, and then each command that a last line named."""
    cwd = Path(full["FLEET_HOME"])
    lines = list(READS)
    done = many(cwd, [*map(_call, lines), *(_call(f"{line} --json") for line in lines)], full)
    plain = dict(zip(lines, done, strict=False))
    named = {line: words for line, one in plain.items() if (words := _named(one.out))}
    rest = many(cwd, [_call(words) for words in named.values()], full)
    objects = dict(zip(lines, done[len(lines) :], strict=True))
    return Shown(plain, objects, dict(zip(named, rest, strict=True)))


def _call(line: str) -> Call:
    return call(*shlex.split(line))


def _named(out: str) -> str:
    """The command in the last line of what was printed, "" without one."""
    found = re.search(r"(?:more|clipped): fleet (.+)$", out.splitlines()[-1])
    return found[1] if found else ""


def test_the_table_has_every_reading_command() -> None:
    """No command of the agents' half that reads is left out of the table."""
    own = {name for name in leaves() if not is_operators(name)}
    reading = {name for name in own if name.partition(" ")[0] not in WRITING}
    reading -= {"metric record", *(name for name in own if name.startswith("memory plan"))}

    assert reading == {
        name for name in own if any(f"{line} ".startswith(f"{name} ") for line in READS)
    }
    assert {name.partition(" ")[0] for name in own} == {n for n in COMMANDS if not is_operators(n)}


@pytest.mark.parametrize("line", READS)
def test_a_read_in_a_run_is_short_and_says_how_to_see_the_rest(shown: Shown, line: str) -> None:
    """At most 20 items and 2,000 tokens; what is left out is named with a command that shows it."""
    done = shown.plain[line]
    heads = [text for text in done.out.splitlines() if text[:1] not in {" ", ""}]
    items = [text for text in heads if not re.match(r"(\d+ )?(more|clipped)|\d+ more", text)]

    assert (done.code, done.err) == (0, "")
    assert tokens(done.out) <= MOST_TOKENS
    assert 1 <= len(items) <= MOST_ITEMS
    assert all(text.startswith(READS[line]) for text in items)
    assert (line in shown.rest) == (line not in FIT)
    if line in shown.rest:
        assert shown.rest[line].code == 0
        assert shown.rest[line].out not in {"", done.out}


@pytest.mark.parametrize("line", READS)
def test_json_is_whole_in_a_run(shown: Shown, line: str) -> None:
    """With --json nothing is clipped, and no line of words stands among the objects."""
    done = shown.objects[line]
    objects = [json.loads(text) for text in done.out.splitlines()]

    assert (done.code, done.err) == (0, "")
    assert objects
    if line in {"read strategy", "events", "inbox --all"}:
        assert len(objects) == 50
        assert HUGE[:4096] in json.dumps(objects[0], ensure_ascii=False)
