"""emit, events, ack, schema, as real processes on real files."""

import json
from pathlib import Path

import pytest

from conftest import Fleet


def emit(fleet: Fleet, competitor: str) -> None:
    """One pricing-change of a competitor."""
    done = fleet("emit", "pricing-change", f"competitor={competitor}", "newPrice=$20")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "way", ["fields", "data", "payload", "bare object", "stdin", "dash", "file", "lines"]
)
def test_every_way_to_give_a_payload_stores_the_same(
    home: Path, fleet: Fleet, tmp_path: Path, way: str
) -> None:
    """Fields, JSON and `key: value` lines, by argument, file or standard input, are one payload."""
    payload = {"competitor": "`Cursor` $(id)", "newPrice": "$20", "score": 0.5}
    text = json.dumps(payload)
    (tmp_path / "p.json").write_text(text)
    lines = "competitor: `Cursor` $(id)\nnewPrice: $20\n\nscore: 0.5\n"
    words, stdin = {
        "fields": ([f"{k}={v}" for k, v in payload.items()], ""),
        "data": (["--data", text], ""),
        "payload": (["--payload", text], ""),
        "bare object": ([text], ""),
        "stdin": (["--data", "-"], text),
        "dash": (["-"], text),
        "file": (["--data", "@p.json"], ""),
        "lines": (["--data", "-"], lines),
    }[way]

    done = fleet("emit", "pricing-change", *words, stdin=stdin)

    assert (done.returncode, done.stdout, done.stderr) == (0, "events#1\n", "")
    assert json.loads(fleet("events", "--json").stdout)["payload"] == payload


@pytest.mark.parametrize(
    "data",
    ['{"competitor": "a", "newPrice": "b", "score": NaN}',
     '{"competitor": "a", "newPrice": "b", "score": Infinity}',
     '{"competitor": "a", "competitor": "b", "newPrice": "c"}',
     '{"competitor": "\\ud800", "newPrice": "b"}',
     "[1]",
     '{"competitor": ',
     '{"x":' * 40 + "1" + "}" * 40],
)  # fmt: skip
def test_json_that_readers_would_take_differently_is_refused(
    home: Path, fleet: Fleet, data: str
) -> None:
    """NaN, infinities, a name twice, half a surrogate, depth and no object are exit 3."""
    refused = fleet("emit", "pricing-change", "--data", "-", stdin=data)

    assert refused.returncode == 3
    assert fleet("events", "--json").stdout == ""


def test_60_kib_of_payload_pass(home: Path, fleet: Fleet) -> None:
    """A payload just under the record's limit is stored and comes back whole; above is exit 3."""
    for size, code in ((60 * 1024, 0), (64 * 1024, 3)):
        text = json.dumps({"competitor": "x" * size, "newPrice": "1"})
        assert fleet("emit", "pricing-change", "--data", "-", stdin=text).returncode == code

    assert len(json.loads(fleet("events", "--json").stdout)["payload"]["competitor"]) == 60 * 1024


def test_a_missing_field_is_answered_with_the_whole_command(home: Path, fleet: Fleet) -> None:
    """The corrected emit has every field that was given and names the missing one."""
    refused = fleet("emit", "reply-received", "email=a@b.example")

    assert refused.returncode == 3
    assert "fleet emit reply-received email=a@b.example classification=" in refused.stderr


def test_misspelt_names_are_suggested(home: Path, fleet: Fleet) -> None:
    """A wrong type and a wrong --to are exit 4 with the nearest name."""
    payload = ["competitor=a", "newPrice=b"]

    for words, near in (
        (["emit", "pricing-chnge", *payload], "pricing-change"),
        (["emit", "pricing-change", *payload, "--to", "outreech"], "outreach"),
        (["events", "--for", "outreech"], "outreach"),
        (["schema", "show", "pricing-chnge"], "pricing-change"),
    ):
        refused = fleet(*words)
        assert (refused.returncode, f"'{near}'" in refused.stderr) == (4, True), words


def test_the_same_id_twice_is_one_event(home: Path, fleet: Fleet) -> None:
    """Repeating an emit with its --id answers the first event; another payload is refused."""
    words = ["emit", "pricing-change", "competitor=a", "--id", "K"]

    results = [fleet(*words, f"newPrice={price}") for price in ("1", "1", "2")]

    assert [r.returncode for r in results] == [0, 0, 3]
    assert results[0].stdout == results[1].stdout == "events#1\n"
    assert len(fleet("events", "--json").stdout.splitlines()) == 1


def test_events_filter_and_page(home: Path, fleet: Fleet, shaped) -> None:
    """--type, --where, --after, --since and --limit choose, and the shape is as documented."""
    for name in "abcab":
        emit(fleet, name)
    fleet("emit", "reply-received", "email=x@y.example", "classification=no")

    def seqs(*words: str) -> list[object]:
        return [event["seq"] for event in shaped("event", fleet("events", "--json", *words).stdout)]

    assert seqs() == [1, 2, 3, 4, 5, 6]
    assert seqs("--type", "reply-received") == [6]
    assert seqs("--where", "competitor=a") == [1, 4]
    assert seqs("--after", "events#4") == [5, 6]
    assert seqs("--after", "2", "--limit", "2") == [3, 4]
    assert seqs("--limit", "2") == [5, 6]
    assert seqs("--since", "1h") == [1, 2, 3, 4, 5, 6]
    assert seqs("--until", "2020-01-01") == []
    assert seqs("--for", "reply-handler") == []


def test_for_shows_what_waits_and_skip_moves_past_it(home: Path, fleet: Fleet) -> None:
    """--for shows an agent's own lanes; only an operator's skip makes them move here."""
    emit(fleet, "a")
    fleet("emit", "task-created", "taskId=1", "assignedTo=outreach", "title=do it")
    emit(fleet, "b")

    waiting = fleet("events", "--for", "outreach", "--json").stdout.splitlines()
    skipped = fleet("skip", "outreach", "--to", "events#2")
    left = fleet("events", "--for", "outreach", "--json").stdout.splitlines()

    assert [json.loads(line)["seq"] for line in waiting] == [1, 2, 3]
    assert json.loads(waiting[1])["to_agent"] == "outreach"
    assert (skipped.returncode, [json.loads(line)["seq"] for line in left]) == (0, [3])


def test_types_are_shown_with_a_line_to_copy(home: Path, fleet: Fleet, shaped) -> None:
    """Schema list has every type in the documented shape, schema show a line for emit."""
    types = shaped("type", fleet("schema", "list", "--json").stdout)
    shown = fleet("schema", "show", "contact-made").stdout

    assert [kind["type"] for kind in types] == [
        "contact-made", "pricing-change", "reply-received", "task-created",
        "question-answered", "reminder-due",
    ]  # fmt: skip
    assert "fleet emit contact-made email=... method=..." in shown


def test_from_any_folder_it_is_the_same_bus(home: Path, fleet: Fleet, tmp_path: Path) -> None:
    """FLEET_HOME decides, not the folder; without a home nothing is made."""
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    payload = ["competitor=a", "newPrice=b"]

    assert fleet("emit", "pricing-change", *payload, cwd=elsewhere).returncode == 0
    lost = fleet("emit", "pricing-change", *payload, cwd=elsewhere, env={"FLEET_HOME": None})

    assert fleet("events", "--json").stdout.count("\n") == 1
    assert lost.returncode == 7
    assert list(elsewhere.iterdir()) == []


def test_within_the_home_the_folder_is_enough(home: Path, fleet: Fleet) -> None:
    """Without FLEET_HOME the nearest folder above with a fleet.yaml is the home."""
    deep = home / "work" / "outreach" / "drafts"
    deep.mkdir(parents=True)

    done = fleet(
        "emit", "pricing-change", "competitor=a", "newPrice=b", cwd=deep, env={"FLEET_HOME": None}
    )

    assert (done.returncode, done.stdout) == (0, "events#1\n")
